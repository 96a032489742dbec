/* SPDX-License-Identifier: ISC */
/* vault.c - descriptors by key, in tables that are mapped once. */
#include "config.h"

#include "ledger/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/self/role.h"

#define SIZE_MIN 64

/*
 * Room for max descriptors: one behind the other tables of 64, 128, 256... slots, of
 * which one is in use.  It is twice as large as what is in it: open addressing stays
 * short, and ends.  With all of them in the largest one at once each would take a page of
 * its own.
 */
static int
map(struct vault *vault, size_t max, struct err *err)
{
	size_t size = SIZE_MIN;

	while (size < 2 * max)
		size *= 2;
	*vault = (struct vault){.mask = SIZE_MIN - 1, .max = max};
	vault->slots = mmap(NULL, 2 * size * sizeof(*vault->slots),
	                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return vault->slots == MAP_FAILED ? err_set(err, errno, "memory for the vault")
	                                  : 0;
}

/*
 * A vault for as many descriptors as this process may have open, less those that it
 * needs itself; its limit is raised as far as that goes.  Returns 0, or -errno with a
 * sentence.
 */
int
vault_open(struct vault *vault, size_t spare, struct err *err)
{
	uint64_t limit = fd_raise_limit_up_to(VAULT_MAX);

	return map(vault, limit > spare ? (size_t)limit - spare : 0, err);
}

static size_t
home(const struct vault *vault, uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & vault->mask;
}

/* Where the key is, or the free slot where it belongs. */
static size_t
find_slot(const struct vault *vault, uint64_t key)
{
	size_t i = home(vault, key);

	while (vault->slots[i].fd != 0 && vault->slots[i].key != key)
		i = (i + 1) & vault->mask;
	return i;
}

/* Go on in the next table.  There is one: the last is not full before the vault is. */
static void
grow(struct vault *vault)
{
	const struct vault_slot *old = vault->slots;
	const size_t size = vault->mask + 1;
	const size_t before = (2 * size - SIZE_MIN) * sizeof(*old);

	vault->slots += size;
	vault->mask = 2 * size - 1;
	for (size_t i = 0; i < size; i++)
		if (old[i].fd != 0)
			vault->slots[find_slot(vault, old[i].key)] = old[i];
	/* The memory of the smaller tables is given back, as far as it is whole pages. */
	(void)madvise((char *)vault->slots - before,
	              before - before % (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED);
}

/* Give the waiting descriptors to a child that closes them, if there is a child now. */
void
vault_tend(struct vault *vault)
{
	if (vault->n_waiting > 0 &&
	    closer_close(&vault->closers, (uint64_t)vault->waiting[0], vault->waiting,
	                 vault->n_waiting) == 0)
		vault->n_waiting = 0;
}

/* Before the end: no child is left behind.  The descriptors are left to the exit. */
void
vault_done(struct vault *vault)
{
	bounded_done(&vault->closers);
}

/* The last close of these is not ours to wait for. */
static const uint64_t shared_kinds =
    UINT64_C(1) << VAULT_CONTROL | UINT64_C(1) << VAULT_SOCKET |
    UINT64_C(1) << VAULT_NOTIFY | UINT64_C(1) << VAULT_STORED |
    UINT64_C(1) << VAULT_GIVEN | UINT64_C(1) << VAULT_CALLER |
    UINT64_C(1) << VAULT_METRICS;

/* What actors could not run on without. */
static const uint64_t vital_kinds =
    UINT64_C(1) << VAULT_CONTROL | UINT64_C(1) << VAULT_CONF | UINT64_C(1) << VAULT_LOG |
    UINT64_C(1) << VAULT_CGROUP | UINT64_C(1) << VAULT_ADDITIONS |
    UINT64_C(1) << VAULT_TRIAL | UINT64_C(1) << VAULT_BEFORE;

static bool
is_among(uint64_t kinds, uint64_t key)
{
	return VAULT_KIND_OF(key) < 64 && (kinds >> VAULT_KIND_OF(key) & 1) != 0;
}

static void
let_go(struct vault *vault, uint64_t key, int take_fd)
{
	if (!is_among(shared_kinds, key)) {
		(void)close(take_fd);
		return;
	}
	/* While it waits for as many as hang already, it stays open. */
	if (vault->n_waiting < CLOSER_FDS_MAX)
		vault->waiting[vault->n_waiting++] = take_fd;
	vault_tend(vault);
}

/* The bound on keys that are not vital. */
static size_t
ordinary_max(const struct vault *vault)
{
	return vault->max > VAULT_RESERVE ? vault->max - VAULT_RESERVE : 0;
}

/* What waits to be closed takes a place, too. */
static size_t
in_use(const struct vault *vault)
{
	return vault->n + vault->n_waiting;
}

/* True if there is room for n more, and for a few vital ones. */
bool
vault_has_room(const struct vault *vault, size_t n)
{
	if (in_use(vault) + VAULT_RESERVE / 4 > vault->max)
		return false;
	return n == 0 || in_use(vault) + n <= ordinary_max(vault);
}

/* Keep a descriptor; the one that the key had is closed.  false when the vault is full:
 * then it is closed itself. */
bool
vault_store(struct vault *vault, uint64_t key, int take_fd)
{
	struct vault_slot *slot = &vault->slots[find_slot(vault, key)];
	const size_t max = is_among(vital_kinds, key) ? vault->max : ordinary_max(vault);

	if (slot->fd == 0 && in_use(vault) >= max) {
		let_go(vault, key, take_fd);
		return false;
	}
	if (slot->fd == 0 && 2 * (vault->n + 1) > vault->mask + 1) {
		grow(vault);
		slot = &vault->slots[find_slot(vault, key)];
	}
	if (slot->fd == 0)
		vault->n++;
	else
		let_go(vault, key, slot->fd);
	*slot = (struct vault_slot){.key = key, .fd = take_fd};
	return true;
}

/* vault_store() for several; how many of them it did not keep. */
size_t
vault_store_all(struct vault *vault, const uint64_t *keys, const int *take_fds, size_t n)
{
	size_t n_lost = 0;

	for (size_t i = 0; i < n; i++)
		if (!vault_store(vault, keys[i], take_fds[i]))
			n_lost++;
	return n_lost;
}

/* What the key has, which stays the vault's; -1: nothing. */
int
vault_peek(const struct vault *vault, uint64_t key)
{
	const struct vault_slot *slot = &vault->slots[find_slot(vault, key)];

	return slot->fd == 0 ? -1 : slot->fd;
}

/* Close what the key has, if it has anything. */
void
vault_drop(struct vault *vault, uint64_t key)
{
	size_t hole = find_slot(vault, key);

	if (vault->slots[hole].fd == 0)
		return;
	let_go(vault, key, vault->slots[hole].fd);
	vault->n--;
	/* Entries behind the hole move up, as far as that does not put them before their
	 * home. */
	for (size_t i = (hole + 1) & vault->mask; vault->slots[i].fd != 0;
	     i = (i + 1) & vault->mask) {
		if (((i - home(vault, vault->slots[i].key)) & vault->mask) <
		    ((i - hole) & vault->mask))
			continue;
		vault->slots[hole] = vault->slots[i];
		hole = i;
	}
	vault->slots[hole].fd = 0;
}

/* vault_drop() for several. */
void
vault_drop_all(struct vault *vault, const uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vault_drop(vault, keys[i]);
}

/* The next ones, up to max, from *at on, which begins as 0; how many: 0 at the end. */
size_t
vault_next(const struct vault *vault, size_t *at, size_t max, uint64_t *ret_keys,
           int *ret_fds)
{
	size_t n = 0;

	for (; n < max && *at <= vault->mask; (*at)++) {
		if (vault->slots[*at].fd != 0) {
			ret_keys[n] = vault->slots[*at].key;
			ret_fds[n++] = vault->slots[*at].fd;
		}
	}
	return n;
}

/* Set whether an exec closes the descriptors; by default it does. */
void
vault_keep_open(const struct vault *vault, bool keep)
{
	for (size_t i = 0; i <= vault->mask; i++)
		if (vault->slots[i].fd != 0)
			(void)fcntl(vault->slots[i].fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

/* Write for the role to come (os/self/role.h) which key has which descriptor.  0 or
 * -errno. */
int
vault_write(const struct vault *vault)
{
	int r = role_write(&vault->max, sizeof(vault->max));

	for (size_t i = 0; r == 0 && i <= vault->mask; i++)
		if (vault->slots[i].fd != 0)
			r = role_write(&vault->slots[i], sizeof(vault->slots[i]));
	return r;
}

/*
 * Be the vault that was written, from `at` to the end of what was left to us: the
 * descriptors are open.  Returns 0, or -errno with a sentence.
 */
int
vault_read(struct vault *vault, size_t at, struct err *err)
{
	struct vault_slot slot;
	size_t max;

	if (!role_read(&max, sizeof(max), at))
		return err_say(err, -EPROTO, "there is no vault");
	int r = map(vault, max, err);
	for (at += sizeof(max); r == 0 && role_read(&slot, sizeof(slot), at);
	     at += sizeof(slot))
		(void)vault_store(vault, slot.key, slot.fd);
	return r;
}
