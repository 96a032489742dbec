/* SPDX-License-Identifier: ISC */
/* handover.h - what the walker gives to a new guardian.
 *
 * Received once, at the start; then each room takes its descriptors by their keys.  The
 * rest is closed, and dropped from the vault, when the guardian knows all that it needs.
 *
 * Owns the descriptors that no room took, not the link.
 */
#ifndef LEDGER_HANDOVER_H
#define LEDGER_HANDOVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/link.h"

struct handover_entry {
	uint64_t key;
	int fd; /* -1: taken */
};

struct handover {
	int link_fd;
	struct link_hello hello;
	int exits_fd;                 /* -1: taken */
	int ledger_fd;                /* -1: there is none, or taken */
	struct handover_entry *vault; /* ordered by key */
	size_t n;
};

int handover_receive(int link_fd, struct handover *ret, struct err *err);
int handover_take(struct handover *handover, uint64_t key);
int handover_drop_rest(struct handover *handover);
void handover_done(struct handover *handover);

#endif
