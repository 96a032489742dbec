/* SPDX-License-Identifier: ISC */
/* vault.c - descriptors by key, in a table that is mapped once. */
#include "config.h"

#include "walker/vault.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for max descriptors.  The table is twice as large: open addressing stays short,
 * and ends.  Pages are used as far as they are needed.  Returns 0 or -errno. */
int
vault_init(struct vault *vault, size_t max)
{
	size_t size = 64;

	while (size < 2 * max)
		size *= 2;
	*vault = (struct vault){.mask = size - 1, .max = max};
	vault->slots = mmap(NULL, size * sizeof(*vault->slots), PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return vault->slots == MAP_FAILED ? -errno : 0;
}

static size_t
home(const struct vault *vault, uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & vault->mask;
}

/* Where the key is, or the free slot where it belongs. */
static size_t
find(const struct vault *vault, uint64_t key)
{
	size_t i = home(vault, key);

	while (vault->slots[i].fd != 0 && vault->slots[i].key != key)
		i = (i + 1) & vault->mask;
	return i;
}

/* Keep a descriptor; the one that the key had is closed.  false when the vault is full:
 * then it is closed itself. */
bool
vault_store(struct vault *vault, uint64_t key, int take_fd)
{
	struct vault_slot *slot = &vault->slots[find(vault, key)];

	if (slot->fd == 0 && vault->n == vault->max) {
		(void)close(take_fd);
		return false;
	}
	if (slot->fd == 0)
		vault->n++;
	else
		(void)close(slot->fd);
	*slot = (struct vault_slot){.key = key, .fd = take_fd};
	return true;
}

/* Close what the key has, if it has anything. */
void
vault_drop(struct vault *vault, uint64_t key)
{
	size_t hole = find(vault, key);

	if (vault->slots[hole].fd == 0)
		return;
	(void)close(vault->slots[hole].fd);
	vault->n--;
	/* Those behind it move up, as far as that does not put them before their home. */
	for (size_t i = (hole + 1) & vault->mask; vault->slots[i].fd != 0;
	     i = (i + 1) & vault->mask) {
		size_t from = home(vault, vault->slots[i].key);

		if (((i - from) & vault->mask) < ((i - hole) & vault->mask))
			continue;
		vault->slots[hole] = vault->slots[i];
		hole = i;
	}
	vault->slots[hole].fd = 0;
}

/* The next ones, up to max, from *at on, which begins as 0; how many: 0 at the end. */
size_t
vault_next(const struct vault *vault, size_t *at, size_t max, uint64_t *ret_keys,
           int *ret_fds)
{
	size_t n = 0;

	for (; n < max && *at <= vault->mask; (*at)++) {
		if (vault->slots[*at].fd == 0)
			continue;
		ret_keys[n] = vault->slots[*at].key;
		ret_fds[n++] = vault->slots[*at].fd;
	}
	return n;
}
