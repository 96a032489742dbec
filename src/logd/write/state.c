/* SPDX-License-Identifier: ISC */
/* state.c - what survives the death of a log process at any instruction. */
#include "config.h"

#include "logd/write/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

#define LAYOUT   3
#define PAGE     4096
#define PAGES(n) (((n) + PAGE - 1) / PAGE * PAGE)

#define HEAD_BYTES    PAGES(sizeof(struct state_head))
#define ENTRIES_BYTES PAGES(sizeof(struct state_entry) * STATE_STREAMS_MAX)
#define MAPPED_BYTES  (HEAD_BYTES + ENTRIES_BYTES)
#define ALL_BYTES     (MAPPED_BYTES + (size_t)STATE_RING_BYTES * STATE_STREAMS_MAX)

static size_t
entry_offset(uint32_t entry)
{
	return HEAD_BYTES + sizeof(struct state_entry) * entry;
}

/* Where the ring of the entry with this number is in the memfd. */
size_t
state_ring_offset(uint32_t entry)
{
	return MAPPED_BYTES + (size_t)STATE_RING_BYTES * entry;
}

/* A new, empty state: a memfd, close-on-exec.  -errno with a sentence. */
int
state_new(struct err *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int fd = memfd_create("supd-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_set(err, errno, "memory for the state of the log");
	/* The head is allocated from the beginning, so that access cannot fail. */
	if (ftruncate(fd, (off_t)ALL_BYTES) < 0 ||
	    fallocate(fd, 0, 0, (off_t)HEAD_BYTES) < 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) < 0) {
		err_set(err, errno, "memory for the state of the log");
		(void)close(fd);
		return -err->code;
	}
	return fd;
}

/* All but the rings; NULL with errno. */
static char *
map_front(int fd, int prot)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size != ALL_BYTES) {
		errno = EINVAL;
		return NULL;
	}
	char *map = mmap(NULL, MAPPED_BYTES, prot, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * Look at the state that another process keeps: its head, and its entries, of which those
 * below head->used may be read: their memory was allocated before they were counted, and
 * the seal keeps the size.  NULL where that is not certain, and for another version.
 */
const struct state_head *
state_look(int fd, const struct state_entry **ret_entries)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	char *map = NULL;

	if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0)
		map = map_front(fd, PROT_READ);
	if (map == NULL)
		return NULL;
	*ret_entries = (const struct state_entry *)(const void *)(map + HEAD_BYTES);
	return (const struct state_head *)(const void *)map;
}

/* Look no longer; NULL is fine. */
void
state_look_away(const struct state_head *head)
{
	if (head != NULL)
		(void)munmap((void *)(uintptr_t)head, MAPPED_BYTES);
}

/* Put all known entries into the map, and the others aside. */
static int
index_entries(struct state *state)
{
	for (uint32_t i = 0; i < state->head->used; i++) {
		if (state->entries[i].key == 0) {
			state->free[state->n_free++] = i;
			continue;
		}
		int r = map_put(&state->by_key, state->entries[i].key, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Map the state; `fd` stays the caller's and must outlive it.  One of another version,
 * or one that makes no sense, begins anew: then the batch in hand may be doubled.
 * Returns 0 or -errno with a sentence.
 */
int
state_open(struct state *state, int fd, struct err *err)
{
	char *map = map_front(fd, PROT_READ | PROT_WRITE);

	*state = (struct state){.fd = fd};
	if (map == NULL)
		return err_set(err, errno, "map the state of the log (descriptor %d)",
		               fd);
	state->free = malloc(sizeof(*state->free) * STATE_STREAMS_MAX);
	if (state->free == NULL) {
		err_set(err, ENOMEM, "index the state of the log");
		(void)munmap(map, MAPPED_BYTES);
		return -ENOMEM;
	}
	state->head = (struct state_head *)(void *)map;
	state->entries = (struct state_entry *)(void *)(map + HEAD_BYTES);
	if (state->head->version != LAYOUT || state->head->used > STATE_STREAMS_MAX) {
		*state->head = (struct state_head){.version = LAYOUT};
	}
	/* Of the pages of entries those that are used were allocated. */
	state->allocated = PAGES(entry_offset(state->head->used));
	if (index_entries(state) < 0) {
		err_set(err, ENOMEM, "index the state of the log");
		state_close(state);
		return -ENOMEM;
	}
	return 0;
}

/* Unmap it; the memfd stays open. */
void
state_close(struct state *state)
{
	if (state->head != NULL)
		(void)munmap(state->head, MAPPED_BYTES);
	free(state->free);
	map_done(&state->by_key);
	*state = (struct state){.fd = -1};
}

/* Memory for the entry: touching a page that cannot be had would kill us.  0 or -errno.
 */
static int
allocate(struct state *state, uint32_t entry)
{
	const size_t end = PAGES(entry_offset(entry + 1));

	if (end <= state->allocated)
		return 0;
	if (fallocate(state->fd, 0, (off_t)state->allocated,
	              (off_t)(end - state->allocated)) < 0)
		return -errno;
	state->allocated = end;
	return 0;
}

/*
 * The entry of a stream; a new one where there is none.  Returns 0, -ENOSPC when there
 * are STATE_STREAMS_MAX, or another -errno.
 */
int
state_find(struct state *state, uint64_t key, uint32_t *ret)
{
	const bool recycled = state->n_free > 0;
	uint32_t entry = state->head->used;

	ASSERT(key != 0);
	if (map_get(&state->by_key, key, ret))
		return 0;
	if (recycled)
		entry = state->free[state->n_free - 1];
	else if (entry == STATE_STREAMS_MAX)
		return -ENOSPC;
	int r = allocate(state, entry);
	if (r == 0)
		r = map_put(&state->by_key, key, entry);
	if (r < 0)
		return r;
	state->entries[entry] = (struct state_entry){.key = key};
	if (recycled)
		state->n_free--;
	else
		__atomic_store_n(&state->head->used, entry + 1, __ATOMIC_RELEASE);
	*ret = entry;
	return 0;
}

/* Forget a stream; its ring's memory is given back. */
void
state_drop(struct state *state, uint64_t key)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	uint32_t entry;

	if (!map_get(&state->by_key, key, &entry))
		return;
	map_remove(&state->by_key, key);
	state->entries[entry] = (struct state_entry){0};
	state->free[state->n_free++] = entry;
	/* Only memory is at stake: the next owner overwrites what is left. */
	(void)fallocate(state->fd, punch, (off_t)state_ring_offset(entry),
	                STATE_RING_BYTES);
}

/* The single store between two phases: what was stored before becomes valid with this
 * store. */
void
state_set_phase(struct state *state, enum batch_phase phase)
{
	__atomic_store_n(&state->head->batch.phase, (uint32_t)phase, __ATOMIC_SEQ_CST);
}

/* The batch is out of the pipe: note it at its stream.  Twice is as good as once. */
void
state_settle(struct state *state)
{
	const struct state_batch *batch = &state->head->batch;

	ASSERT(batch->entry < state->head->used);
	struct state_entry *entry = &state->entries[batch->entry];
	if (entry->key != batch->key)
		return;
	entry->total = batch->total;
	entry->lost = batch->lost;
	entry->lost_noted = batch->lost_noted;
	entry->line_inode = batch->line_inode;
	entry->line_end = batch->line_end;
	__atomic_store_n(&entry->turns, (entry->turns | 1) + 1, __ATOMIC_SEQ_CST);
}

/*
 * Put into the ring what a stream said, up to STATE_RING_BYTES: it comes after the total
 * of the entry and `skip` bytes more.  Until state_settle() says that the total is more,
 * readers know that the two do not agree.
 */
void
state_say(struct state *state, uint32_t entry, uint64_t skip, const char *data,
          size_t len)
{
	struct state_entry *e = &state->entries[entry];
	const off_t ring = (off_t)state_ring_offset(entry);
	const size_t at = (size_t)((e->total + skip) % STATE_RING_BYTES);
	const size_t first = len < STATE_RING_BYTES - at ? len : STATE_RING_BYTES - at;

	ASSERT(len <= STATE_RING_BYTES);
	__atomic_store_n(&e->turns, e->turns | 1, __ATOMIC_SEQ_CST);
	/* Without memory the last words are lost, and nothing else. */
	(void)!pwrite(state->fd, data, first, ring + (off_t)at);
	if (len > first)
		(void)!pwrite(state->fd, data + first, len - first, ring);
}
