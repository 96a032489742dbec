/* SPDX-License-Identifier: ISC */
/* tail.c - the last that a stream said, for the guardian: read without waiting. */
#include "config.h"

#include "logd/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "logd/state.h"

/* So often we look again when the log process was at it just then. */
#define TRIES 100

/* Entries that are looked at with one read. */
#define CHUNK 64

static bool
get_entry(int fd, uint32_t entry, struct state_entry *ret)
{
	ssize_t n = pread(fd, ret, sizeof(*ret), (off_t)state_entry_offset(entry));

	return n == (ssize_t)sizeof(*ret);
}

/* Where a stream is; *entry is where it was the last time. */
static bool
find_entry(int fd, uint64_t key, uint32_t *entry)
{
	struct state_entry chunk[CHUNK];
	const off_t at = offsetof(struct state_head, used);
	uint32_t used;

	if (*entry < STATE_STREAMS_MAX && get_entry(fd, *entry, &chunk[0]) &&
	    chunk[0].key == key)
		return true;
	if (pread(fd, &used, sizeof(used), at) != (ssize_t)sizeof(used))
		return false;
	for (uint32_t i = 0; i < used; i += CHUNK) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)state_entry_offset(i));

		for (uint32_t k = 0; n > 0 && k < (size_t)n / sizeof(chunk[0]); k++) {
			if (chunk[k].key != key || i + k >= used)
				continue;
			*entry = i + k;
			return true;
		}
	}
	return false;
}

/* The ring in its order; its length. */
static size_t
get_ring(int fd, uint32_t entry, uint64_t total, char ret[STATE_RING_BYTES])
{
	const off_t ring = (off_t)state_ring_offset(entry);
	const size_t at = (size_t)(total % STATE_RING_BYTES);
	ssize_t n;

	if (total < STATE_RING_BYTES) {
		n = pread(fd, ret, at, ring);
		return n == (ssize_t)at ? at : 0;
	}
	n = pread(fd, ret, STATE_RING_BYTES - at, ring + (off_t)at);
	if (n != (ssize_t)(STATE_RING_BYTES - at))
		return 0;
	n = pread(fd, ret + STATE_RING_BYTES - at, at, ring);
	return n == (ssize_t)at ? STATE_RING_BYTES : 0;
}

/* Copy the last `size` of the `fill` bytes that are in a pipe; how many they are. */
static size_t
copy_pipe(int pipe_fd, const int copy[2], size_t fill, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	/* A busy one may have been made larger; then so must be its copy. */
	if (fill > TAIL_MAX - STATE_RING_BYTES)
		(void)fcntl(copy[1], F_SETPIPE_SZ, fcntl(pipe_fd, F_GETPIPE_SZ));
	n = tee(pipe_fd, copy[1], fill, SPLICE_F_NONBLOCK);
	for (size_t left = n > 0 ? (size_t)n : 0; left > 0; left -= (size_t)n) {
		/* What comes before the last `size` bytes is overwritten by them. */
		const size_t skip = left > size ? left - size : 0;

		n = read(copy[0], buf + len, skip > 0 && skip < size ? skip : size - len);
		if (n <= 0)
			break;
		len = skip > 0 ? 0 : len + (size_t)n;
	}
	return len;
}

/* What is in the pipe, without taking it out; its length. */
static size_t
peek_pipe(int pipe_fd, char *buf, size_t size)
{
	int copy[2];
	int fill = 0;
	size_t len;

	if (pipe_fd < 0 || ioctl(pipe_fd, FIONREAD, &fill) < 0 || fill <= 0 ||
	    pipe2(copy, O_CLOEXEC | O_NONBLOCK) < 0)
		return 0;
	len = copy_pipe(pipe_fd, copy, (size_t)fill, buf, size);
	(void)close(copy[0]);
	(void)close(copy[1]);
	return len;
}

/*
 * How many bytes the stream `key` said in all, those in its pipe included; 0 where
 * nothing is known.  As for tail_read(), a batch that is being written may count twice.
 */
uint64_t
tail_total(int state_fd, uint64_t key, uint32_t *entry, int pipe_fd)
{
	struct state_entry found;
	int waiting = 0;

	if (ioctl(pipe_fd, FIONREAD, &waiting) < 0 || waiting < 0)
		waiting = 0;
	if (!find_entry(state_fd, key, entry) || !get_entry(state_fd, *entry, &found))
		return (uint64_t)waiting;
	return found.total + (uint64_t)waiting;
}

/*
 * The last that the stream `key` said, the newest at the end, at most size bytes of it:
 * what the log process took, and behind it what its pipe still holds, unless pipe_fd is
 * -1.  *entry is STATE_NONE at first and remembers where the stream was found.
 *
 * Returns how many bytes are in buf, 0 where nothing is known; *ret_total is how many
 * the stream said in all.  While the log process is between two steps of a batch, or
 * died there, the two parts may overlap.
 */
size_t
tail_read(int state_fd, uint64_t key, uint32_t *entry, int pipe_fd, char *buf,
          size_t size, uint64_t *ret_total)
{
	char both[TAIL_MAX];
	struct state_entry before = {0};
	struct state_entry after;
	size_t len = 0;
	size_t taken = 0;

	for (unsigned int i = 0; i < TRIES; i++) {
		if (!find_entry(state_fd, key, entry) ||
		    !get_entry(state_fd, *entry, &before)) {
			before = (struct state_entry){0};
			taken = 0;
			len = peek_pipe(pipe_fd, both, sizeof(both));
			break;
		}
		taken = get_ring(state_fd, *entry, before.total, both);
		len = taken + peek_pipe(pipe_fd, both + taken, sizeof(both) - taken);
		if (get_entry(state_fd, *entry, &after) && after.turns == before.turns &&
		    after.turns % 2 == 0)
			break;
	}
	*ret_total = before.total + (len - taken);
	if (size > len)
		size = len;
	memcpy(buf, both + len - size, size);
	return size;
}
