/* SPDX-License-Identifier: ISC */
/* vault.h - descriptors by key, in tables that are mapped once.
 *
 * The walker's; what a guardian stores outlives it.  Owns the descriptors in it.
 * Storing and dropping take no memory.  Ours may be the last reference to a socket into
 * which strangers have put files, and to what an actor has put down: these are closed by
 * a child (os/socket/closer.h).
 */
#ifndef LEDGER_VAULT_H
#define LEDGER_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/socket/closer.h"

/* Descriptors, however many the system would let us have. */
#define VAULT_MAX (1 << 20)

/* Places reserved for what must survive: configurations, what was added at run time, the
 * control socket, the log process, the cgroups. */
#define VAULT_RESERVE 24

struct vault_slot {
	uint64_t key;
	int32_t fd; /* 0: free; a stored descriptor never has that number */
	int32_t unused;
};

struct vault {
	struct vault_slot *slots; /* of the table in use */
	size_t mask;              /* one less than their number, a power of two */
	size_t n, max;
	struct bounded closers; /* of what strangers have a part in … */
	/* … and descriptors for which there is no child yet */
	int waiting[CLOSER_FDS_MAX];
	size_t n_waiting;
};

int vault_open(struct vault *vault, size_t spare, struct err *err);
void vault_done(struct vault *vault);
bool vault_store(struct vault *vault, uint64_t key, int take_fd);
size_t vault_store_all(struct vault *vault, const uint64_t *keys, const int *take_fds,
                       size_t n);
int vault_peek(const struct vault *vault, uint64_t key);
bool vault_has_room(const struct vault *vault, size_t n);
void vault_drop(struct vault *vault, uint64_t key);
void vault_drop_all(struct vault *vault, const uint64_t *keys, size_t n);
size_t vault_next(const struct vault *vault, size_t *at, size_t max, uint64_t *ret_keys,
                  int *ret_fds);
void vault_tend(struct vault *vault);
void vault_keep_open(const struct vault *vault, bool keep);
int vault_write(const struct vault *vault);
int vault_read(struct vault *vault, size_t at, struct err *err);

#endif
