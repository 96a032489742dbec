/* SPDX-License-Identifier: ISC */
/* stores.c - `fd_store`: descriptors that a process stores for its successor.
 *
 * Each store has a table, a memfd that the walker keeps, and each descriptor in it a key
 * of its own.  A descriptor is kept before its entry says so, and an entry is removed
 * before its descriptor is released: a new guardian finds each as a whole or not at all,
 * and a store under way at a death comes again, with its message.
 */
#include "config.h"

#include "daemon/messages/stores.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log_pace.h"
#include "daemon/messages/readables.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/harmless.h"

/* Newer than the headers that we build with: are two descriptors of the same file? */
#ifndef F_DUPFD_QUERY
#define F_DUPFD_QUERY (1024 + 3)
#endif
/* A key has so many bits for the place in the table. */
#define PLACE_BITS 8

struct entry {
	_Atomic uint32_t is_stored;
	bool is_polled;
	uint64_t order;
	char name[STORE_NAME_MAX];
};

/* In the memfd: every guardian lays this out the same way (LEDGER_VERSION). */
struct shelf {
	uint64_t next_order;
	struct entry entries[CONF_FD_STORE_MAX];
};

struct store {
	struct ref ref;
	struct shelf *shelf;
	int fds[CONF_FD_STORE_MAX]; /* -1: free */
	size_t n;
};

struct stores {
	struct keeper *keeper;
	struct store **at; /* by slot, NULL: none */
	uint32_t cap;
	struct readables readables; /* for what hangs up */
	struct log_pace pace;       /* of lines about what is refused */
};

_Static_assert(CONF_FD_STORE_MAX <= 1 << PLACE_BITS, "places have too many bits");

static uint64_t
shelf_key(struct ref ref)
{
	return VAULT_KEY(VAULT_SHELF, (uint64_t)ref.slot << 24 | (ref.tenant & 0xffffff));
}

static uint64_t
entry_key(struct ref ref, size_t place)
{
	return VAULT_KEY(VAULT_STORED, (uint64_t)ref.slot << PLACE_BITS | place);
}

static struct store *
find_store(const struct stores *stores, struct ref ref)
{
	struct store *store = ref.slot < stores->cap ? stores->at[ref.slot] : NULL;

	return store != NULL && store->ref.tenant == ref.tenant ? store : NULL;
}

/* ---- the table --------------------------------------------------------------------- */

static struct shelf *
map_shelf(int fd)
{
	if (ftruncate(fd, sizeof(struct shelf)) < 0)
		return NULL;
	void *map =
	    mmap(NULL, sizeof(struct shelf), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

/* A store around this table; takes the descriptor. */
static struct store *
make_store(struct stores *stores, struct ref ref, int take_fd)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store != NULL)
		store->shelf = map_shelf(take_fd);
	(void)close(take_fd);
	if (store == NULL || store->shelf == NULL) {
		free(store);
		return NULL;
	}
	store->ref = ref;
	for (size_t i = 0; i < CONF_FD_STORE_MAX; i++)
		store->fds[i] = -1;
	stores->at[ref.slot] = store;
	return store;
}

/* The store of this actor, a new one where it has none; NULL: that cannot be had. */
static struct store *
have_store(struct stores *stores, struct ref ref)
{
	struct store *store = find_store(stores, ref);

	if (store != NULL)
		return store;
	/* Held in full now: a page that is missing later would be the end of us. */
	int fd = fd_raise(memfd_create("supd-store", MFD_CLOEXEC));
	if (fd < 0 || posix_fallocate(fd, 0, sizeof(struct shelf)) != 0) {
		fd_close(&fd);
		return NULL;
	}
	keeper_keep(stores->keeper, shelf_key(ref), fd);
	store = make_store(stores, ref, fd);
	if (store == NULL)
		keeper_release(stores->keeper, shelf_key(ref));
	return store;
}

/* ---- in and out -------------------------------------------------------------------- */

/* Tell of its other end.  Of a file that has none nothing is asked: its file system might
 * keep us. */
static void
poll_entry(struct stores *stores, const struct store *store, size_t place)
{
	if (store->shelf->entries[place].is_polled &&
	    fd_is_socket_or_pipe(store->fds[place]))
		(void)readables_watch(&stores->readables,
		                      ((uint64_t)store->ref.slot << PLACE_BITS | place),
		                      0, store->fds[place]);
}

static void
drop_entry(struct stores *stores, struct store *store, size_t place)
{
	atomic_store(&store->shelf->entries[place].is_stored, 0);
	/* The walker has a copy until it is told: not the last one goes here. */
	readables_remove(&stores->readables, &store->fds[place]);
	keeper_release(stores->keeper, entry_key(store->ref, place));
	store->n--;
}

static bool
is_same_file(int a, int b)
{
	const pid_t self = getpid();
	int r = fcntl(a, F_DUPFD_QUERY, b);

	return r >= 0 ? r > 0 : syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}

/* True if the store has this descriptor already: then it is not stored again (systemd's
 * FDSTORE=1). */
static bool
is_there(const struct store *store, int fd)
{
	for (size_t i = 0; i < CONF_FD_STORE_MAX; i++)
		if (store->fds[i] >= 0 && is_same_file(store->fds[i], fd))
			return true;
	return false;
}

static size_t
free_place(const struct store *store)
{
	size_t place = 0;

	while (place < CONF_FD_STORE_MAX && store->fds[place] >= 0)
		place++;
	return place;
}

/* Store the descriptor under this name. */
static void
add_entry(struct stores *stores, struct store *store, const char *name, int take_fd,
          bool is_polled)
{
	const size_t place = free_place(store);
	struct entry *entry = &store->shelf->entries[place];
	const int fd = fd_raise(take_fd);

	memset(entry->name, 0, sizeof(entry->name));
	memcpy(entry->name, name, strlen(name));
	entry->is_polled = is_polled;
	entry->order = store->shelf->next_order++;
	keeper_keep(stores->keeper, entry_key(store->ref, place), fd);
	atomic_store(&entry->is_stored, 1);
	store->fds[place] = fd;
	store->n++;
	poll_entry(stores, store, place);
}

/* The name of FDNAME=, if it is printable and has no colon, else "stored" (sd_notify(3)).
 */
static void
read_name(const struct notify_message *message, char ret[STORE_NAME_MAX])
{
	size_t len;
	const char *name = notify_value(message, "FDNAME", &len);
	bool good = name != NULL && len > 0 && len < STORE_NAME_MAX;

	for (size_t i = 0; good && i < len; i++)
		good = name[i] > ' ' && name[i] < 0x7f && name[i] != ':';
	(void)snprintf(ret, STORE_NAME_MAX, "%.*s", good ? (int)len : 6,
	               good ? name : "stored");
}

static bool
says(const struct notify_message *message, const char *key, char value)
{
	size_t len;
	const char *found = notify_value(message, key, &len);

	return found != NULL && len == 1 && *found == value;
}

/* Why this descriptor cannot be put down; NULL: it can. */
static const char *
why_refused(const struct store *store, uint32_t max, int fd)
{
	if (store == NULL)
		return "there is no memory for it";
	if (store->n >= max)
		return "fd_store allows no more";
	if (!fd_is_harmless(fd))
		return "its file system is not local, and could keep supd waiting";
	return NULL;
}

static void
put_down(struct stores *stores, const struct actor *actor, struct notify_message *message,
         const char *name)
{
	const uint32_t max = actor->conf->process->kept.fd_store;
	const bool is_polled = !says(message, "FDPOLL", '0');
	struct store *store = have_store(stores, actor->ref);

	for (size_t i = 0; i < message->n_fds; i++) {
		if (store != NULL && is_there(store, message->fds[i]))
			continue;
		const char *why = why_refused(store, max, message->fds[i]);
		if (why == NULL) {
			add_entry(stores, store, name, message->fds[i], is_polled);
			message->fds[i] = -1;
			continue;
		}
		log_paced(&stores->pace, LOG_LEVEL_WARNING,
		          "%s: a descriptor for its store (%s) is refused: %s",
		          actor->path, name, why);
	}
}

static void
take_back(struct stores *stores, struct ref ref, const char *name)
{
	struct store *store = find_store(stores, ref);

	for (size_t i = 0; store != NULL && i < CONF_FD_STORE_MAX; i++)
		if (store->fds[i] >= 0 &&
		    strcmp(store->shelf->entries[i].name, name) == 0)
			drop_entry(stores, store, i);
}

bool
stores_wants(const struct actor *actor, const struct notify_message *message)
{
	return actor->conf->process->kept.fd_store > 0 && says(message, "FDSTORE", '1') &&
	       !says(message, "FDSTOREREMOVE", '1');
}

void
stores_take(struct stores *stores, const struct actor *actor,
            struct notify_message *message)
{
	char name[STORE_NAME_MAX];

	read_name(message, name);
	if (says(message, "FDSTOREREMOVE", '1'))
		take_back(stores, actor->ref, name);
	else if (message->n_fds > 0 && stores_wants(actor, message))
		put_down(stores, actor, message, name);
}

/* ---- for the next process ---------------------------------------------------------- */

size_t
stores_of(const struct stores *stores, struct ref ref, int fds[CONF_FD_STORE_MAX],
          const char *names[CONF_FD_STORE_MAX])
{
	const struct store *store = find_store(stores, ref);
	size_t places[CONF_FD_STORE_MAX];
	size_t n = 0;

	for (size_t i = 0; store != NULL && i < CONF_FD_STORE_MAX; i++) {
		size_t at = n;

		if (store->fds[i] < 0)
			continue;
		while (at > 0 && store->shelf->entries[places[at - 1]].order >
		                     store->shelf->entries[i].order) {
			places[at] = places[at - 1];
			at--;
		}
		places[at] = i;
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		fds[i] = store->fds[places[i]];
		names[i] = store->shelf->entries[places[i]].name;
	}
	return n;
}

void
stores_clear(struct stores *stores, struct ref ref)
{
	struct store *store = find_store(stores, ref);

	if (store == NULL)
		return;
	for (size_t i = 0; i < CONF_FD_STORE_MAX; i++)
		if (store->fds[i] >= 0)
			drop_entry(stores, store, i);
	keeper_release(stores->keeper, shelf_key(ref));
	(void)munmap(store->shelf, sizeof(*store->shelf));
	stores->at[ref.slot] = NULL;
	free(store);
}

void
stores_adopt(struct stores *stores, struct ref ref)
{
	int fd = keeper_take(stores->keeper, shelf_key(ref));
	struct store *store = fd < 0 ? NULL : make_store(stores, ref, fd);

	for (size_t i = 0; store != NULL && i < CONF_FD_STORE_MAX; i++) {
		struct entry *entry = &store->shelf->entries[i];

		if (atomic_load(&entry->is_stored) == 0)
			continue;
		store->fds[i] = keeper_take(stores->keeper, entry_key(ref, i));
		if (store->fds[i] < 0) {
			atomic_store(&entry->is_stored, 0);
			continue;
		}
		store->n++;
		poll_entry(stores, store, i);
	}
}

/* ---- all of them ------------------------------------------------------------------- */

/* Drop a stored descriptor that is useless since its other end hung up (systemd's
 * FDPOLL).  Always true. */
static bool
drop_hung_up(void *data, uint64_t key)
{
	struct stores *stores = data;
	const size_t place = key & ((1 << PLACE_BITS) - 1);
	struct store *store = stores->at[key >> PLACE_BITS];

	if (store != NULL && store->fds[place] >= 0)
		drop_entry(stores, store, place);
	return true;
}

static void
on_hang_up(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct stores *stores = io->data;

	readables_drain(&stores->readables, drop_hung_up, stores);
}

int
stores_reserve(struct stores *stores, uint32_t slots)
{
	struct store *const none = NULL;

	return ARRAY_EXTEND(stores->at, slots, stores->cap, &none) ? 0 : -ENOMEM;
}

struct stores *
stores_new(struct ev_loop *loop, struct keeper *keeper, struct err *err)
{
	struct stores *stores = calloc(1, sizeof(*stores));
	const int r = stores == NULL
	                  ? -ENOMEM
	                  : readables_open(&stores->readables, loop, on_hang_up, stores);

	if (r < 0) {
		err_set(err, -r, "stores of descriptors");
		free(stores);
		return NULL;
	}
	stores->keeper = keeper;
	return stores;
}

void
stores_free(struct stores *stores)
{
	if (stores == NULL)
		return;
	for (uint32_t slot = 0; slot < stores->cap; slot++)
		if (stores->at[slot] != NULL)
			stores_clear(stores, stores->at[slot]->ref);
	readables_close(&stores->readables);
	free(stores->at);
	free(stores);
}
