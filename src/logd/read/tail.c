/* SPDX-License-Identifier: ISC */
/* tail.c - the last that a stream said, for the guardian: read without waiting. */
#include "config.h"

#include "logd/read/tail.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/cleanup.h"
#include "logd/write/batch.h"
#include "logd/write/state.h"
#include "os/self/fd.h"

/* How often we look again when the log process was writing just then. */
#define TRIES 100

/* Nothing is open; what tail_close() leaves. */
void
tail_init(struct tail *tail)
{
	*tail = (struct tail){.fd = -1, .copy = {-1, -1}};
}

/* Look at what the log process keeps of all streams, in this memfd of state_new(). */
void
tail_open(struct tail *tail, int state_fd)
{
	tail->fd = state_fd;
	tail->head = state_look(state_fd, &tail->entries);
}

static void
close_copy(struct tail *tail)
{
	fd_close(&tail->copy[0]);
	fd_close(&tail->copy[1]);
}

/* Look no longer; the state stays open. */
void
tail_close(struct tail *tail)
{
	state_look_away(tail->head);
	close_copy(tail);
	tail_init(tail);
}

static bool
is_at(const struct tail *tail, uint32_t entry, uint64_t key)
{
	return __atomic_load_n(&tail->entries[entry].key, __ATOMIC_ACQUIRE) == key;
}

/* How many entries there are; 0 where they are not known. */
static uint32_t
count_used(const struct tail *tail)
{
	const uint32_t used =
	    tail->head == NULL ? 0 : __atomic_load_n(&tail->head->used, __ATOMIC_ACQUIRE);

	return used > STATE_STREAMS_MAX ? 0 : used;
}

/* The entry of a stream, or NULL.  Where it is not known, streams that were named one
 * after the other have entries beside each other: it is looked for as far from the guess
 * as the stream before was from its own, and then further away on both sides. */
static const struct state_entry *
find_entry(struct tail *tail, struct tail_stream *stream)
{
	const uint32_t used = count_used(tail);

	for (uint32_t i = 0; i <= used; i++) {
		const uint32_t aside = i % 2 != 0 ? i / 2 : used - i / 2;
		const uint32_t at =
		    i == 0 ? stream->entry
		           : ((stream->entry + tail->shift) % used + aside) % used;

		if (at < used && is_at(tail, at, stream->key)) {
			if (i > 0)
				tail->shift = at - stream->entry;
			stream->entry = at;
			return &tail->entries[at];
		}
	}
	return NULL;
}

/* True if what was read of a stream since it was at `turns` agrees. */
static bool
is_settled(const struct state_entry *entry, uint32_t turns)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return turns % 2 == 0 &&
	       __atomic_load_n(&entry->turns, __ATOMIC_RELAXED) == turns;
}

/* How many bytes are in its pipe. */
static size_t
count_waiting(const struct tail_stream *stream)
{
	return stream->pipe_fd < 0 ? 0 : batch_pipe_fill(stream->pipe_fd);
}

/* The last `len` bytes in the ring of an entry that has `total`; how many they are. */
static size_t
get_ring(const struct tail *tail, uint32_t entry, uint64_t total, char *ret, size_t len)
{
	const off_t ring = (off_t)state_ring_offset(entry);
	const size_t at = (size_t)((total - len) % STATE_RING_BYTES);
	const size_t first = len < STATE_RING_BYTES - at ? len : STATE_RING_BYTES - at;

	if (pread(tail->fd, ret, first, ring + (off_t)at) != (ssize_t)first)
		return 0;
	if (first < len &&
	    pread(tail->fd, ret + first, len - first, ring) != (ssize_t)(len - first))
		return 0;
	return len;
}

/* Copy the last `size` of the `fill` bytes that are in a pipe; how many they are. */
static size_t
copy_pipe(struct tail *tail, int pipe_fd, size_t fill, char *buf, size_t size)
{
	ssize_t n = tee(pipe_fd, tail->copy[1], fill, SPLICE_F_NONBLOCK);
	size_t len = 0;

	for (size_t left = n > 0 ? (size_t)n : 0; left > 0; left -= (size_t)n) {
		/* What comes before the last `size` bytes is overwritten by them. */
		const size_t skip = left > size ? left - size : 0;

		n = read(tail->copy[0], buf + len,
		         skip > 0 && skip < size ? skip : size - len);
		if (n <= 0) {
			/* The next one begins with an empty pipe. */
			close_copy(tail);
			break;
		}
		len = skip > 0 ? 0 : len + (size_t)n;
	}
	return len;
}

/* The last of the `fill` bytes in the pipe, without taking them out; how many. */
static size_t
peek_pipe(struct tail *tail, const struct tail_stream *stream, size_t fill, char *buf,
          size_t size)
{
	const bool is_large = fill > TAIL_MAX - STATE_RING_BYTES;

	if (fill == 0)
		return 0;
	CLEANUP(fd_close) int fd = fd_reopen(stream->pipe_fd, O_RDONLY | O_NONBLOCK);
	if (fd < 0 ||
	    (tail->copy[0] < 0 && pipe2(tail->copy, O_CLOEXEC | O_NONBLOCK) < 0))
		return 0;
	/* A busy one may have been made larger; then so must be its copy. */
	if (is_large)
		(void)fcntl(tail->copy[1], F_SETPIPE_SZ, fcntl(fd, F_GETPIPE_SZ));
	size_t len = copy_pipe(tail, fd, fill, buf, size);
	if (is_large)
		close_copy(tail);
	return len;
}

/*
 * The errno that keeps the file of a stream from being written; 0: it is written.
 * *ret_lost is how many bytes of the stream were dropped for that, since the stream
 * began.
 */
int
tail_blocked(struct tail *tail, struct tail_stream *stream, uint64_t *ret_lost)
{
	const struct state_entry *entry = find_entry(tail, stream);

	*ret_lost = 0;
	if (entry == NULL)
		return 0;
	*ret_lost = __atomic_load_n(&entry->lost, __ATOMIC_RELAXED);
	return __atomic_load_n(&entry->blocked, __ATOMIC_RELAXED);
}

/* True if the file of any stream cannot be written, or lacks bytes that were dropped for
 * that: looks at all of them. */
bool
tail_is_troubled(const struct tail *tail)
{
	const uint32_t used = count_used(tail);

	for (uint32_t i = 0; i < used; i++)
		if (__atomic_load_n(&tail->entries[i].lost, __ATOMIC_RELAXED) != 0 ||
		    __atomic_load_n(&tail->entries[i].blocked, __ATOMIC_RELAXED) != 0)
			return true;
	return false;
}

/*
 * How many bytes the stream said in all, those in its pipe included.  Where the log
 * process is between two steps of a batch, or died there, it may have said more than
 * that: no less than `known`, what it had said before.
 */
uint64_t
tail_total(struct tail *tail, struct tail_stream *stream, uint64_t known)
{
	const struct state_entry *entry = find_entry(tail, stream);
	uint64_t total = 0;

	if (entry == NULL)
		return count_waiting(stream);
	for (unsigned int i = 0; i < TRIES; i++) {
		const uint32_t turns = __atomic_load_n(&entry->turns, __ATOMIC_ACQUIRE);

		total = __atomic_load_n(&entry->total, __ATOMIC_RELAXED);
		total += count_waiting(stream);
		if (is_settled(entry, turns))
			return total;
	}
	return total > known ? total : known;
}

/*
 * The last that the stream said, the newest at the end, at most size bytes of it: what
 * the log process took since the total was stream->begun, and behind it what its pipe
 * still holds, which may be older.
 *
 * Returns how many bytes are in buf, 0 where nothing is known; *ret_total is how many
 * the stream said in all.  While the log process is between two steps of a batch, or
 * died there, the two parts may overlap.
 */
size_t
tail_read(struct tail *tail, struct tail_stream *stream, char *buf, size_t size,
          uint64_t *ret_total)
{
	const uint64_t begun = stream->begun;
	const struct state_entry *entry = find_entry(tail, stream);
	char both[TAIL_MAX];
	uint64_t total = 0;
	size_t len = 0, waiting = 0, taken;

	if (entry == NULL) {
		waiting = count_waiting(stream);
		len = peek_pipe(tail, stream, waiting, both, sizeof(both));
	}
	for (unsigned int i = 0; i < TRIES && entry != NULL; i++) {
		uint32_t turns = __atomic_load_n(&entry->turns, __ATOMIC_ACQUIRE);
		total = __atomic_load_n(&entry->total, __ATOMIC_RELAXED);
		taken =
		    total > begun ? (size_t)SMALLER(total - begun, STATE_RING_BYTES) : 0;
		if (taken > 0)
			taken = get_ring(tail, stream->entry, total, both, taken);
		waiting = count_waiting(stream);
		len = taken + peek_pipe(tail, stream, waiting, both + taken,
		                        sizeof(both) - taken);
		if (is_settled(entry, turns))
			break;
	}
	*ret_total = total + waiting;
	if (size > len)
		size = len;
	memcpy(buf, both + len - size, size);
	return size;
}
