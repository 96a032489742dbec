/* SPDX-License-Identifier: ISC */
/* handing.h - what the walker has to tell its guardian, and how far it is with that.
 *
 * First all that a new guardian is to know (LINK_HELLO, LINK_VAULT, LINK_END), then what
 * comes up.  The walker never waits for a guardian that does not read: it goes on another
 * time where it stopped.  Plain data: it stays the same over an exec.
 */
#ifndef LEDGER_HANDING_H
#define LEDGER_HANDING_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/link.h"
#include "ledger/vault.h"

enum handing_step { HANDING_HELLO, HANDING_VAULT, HANDING_NEWS };

struct handing {
	int link_fd;   /* -1: nobody listens */
	int exits_fd;  /* of the record of ended processes */
	int ledger_fd; /* -1: there is none */
	enum handing_step step;
	struct link_hello hello; /* has_ledger is found out */
	uint64_t at;             /* how far in the vault */
	uint32_t has_ack;        /* the guardian waits for an answer ... */
	uint32_t ack;            /* ... which is this */
	uint32_t has_fetch;      /* or for the descriptors stored under ... */
	uint32_t n_wanted;       /* ... these keys */
	uint64_t wanted[LINK_STORE_MAX];
	uint32_t has_news;     /* in the exits */
	uint32_t has_question; /* is it alive? */
	uint32_t signals;      /* not yet passed on: bit n */
};

void handing_begin(struct handing *handing, int take_link_fd);
int handing_send(struct handing *handing, const struct vault *vault);

#endif
