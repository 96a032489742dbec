/* SPDX-License-Identifier: ISC */
/* vault.h - descriptors by key, in a table that is mapped once.
 *
 * Owns the descriptors in it.  Nothing here fails but vault_init().
 */
#ifndef WALKER_VAULT_H
#define WALKER_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vault_slot {
	uint64_t key;
	int32_t fd; /* 0: free; a stored one never has that number */
	int32_t unused;
};

struct vault {
	struct vault_slot *slots;
	size_t mask; /* one less than their number, a power of two */
	size_t n;
	size_t max;
};

int vault_init(struct vault *vault, size_t max);
bool vault_store(struct vault *vault, uint64_t key, int take_fd);
void vault_drop(struct vault *vault, uint64_t key);
size_t vault_next(const struct vault *vault, size_t *at, size_t max, uint64_t *ret_keys,
                  int *ret_fds);

#endif
