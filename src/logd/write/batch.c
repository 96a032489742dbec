/* SPDX-License-Identifier: ISC */
/* batch.c - a piece of a stream, on its way from the pipe to where it belongs. */
#include "config.h"

#include "logd/write/batch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "os/self/fd.h"

/* How many names of a directory are looked at for a file that was renamed. */
#define NAMES_MAX 100000

/* How many bytes are in a pipe. */
size_t
batch_pipe_fill(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

/*
 * The scratch pipe is half of the staging pipe: so what fits into the one fits into the
 * other, also when its first buffer was split.
 */
static int
open_scratch(struct batch *batch)
{
	if (pipe2(batch->scratch, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* Refused if the user's pipes have all the memory that they may have: then they
	 * are smaller. */
	(void)fcntl(batch->staging[1], F_SETPIPE_SZ, 2 * BATCH_BYTES);
	int staging = fcntl(batch->staging[1], F_GETPIPE_SZ);
	if (staging < 0 || fcntl(batch->scratch[1], F_SETPIPE_SZ, staging / 2) < 0)
		return -errno;
	batch->max = (size_t)staging / 2;
	return 0;
}

/* Be ready for batches; state and staging stay the caller's.  -errno and a sentence. */
int
batch_open(struct batch *batch, struct state *state, const int staging[2],
           struct err *err)
{
	*batch = (struct batch){
	    .state = state,
	    .scratch = {-1, -1},
	    .staging = {staging[0], staging[1]},
	    .null = open("/dev/null", O_WRONLY | O_CLOEXEC),
	};
	if (batch->null < 0)
		return err_set(err, errno, "open /dev/null");
	int r = open_scratch(batch);
	if (r == 0)
		batch->data = malloc(batch->max);
	if (r == 0 && batch->data == NULL)
		r = -ENOMEM;
	if (r < 0) {
		err_set(err, -r, "pipes of the log process");
		batch_close(batch);
	}
	return r;
}

/* Give back what batch_open() took. */
void
batch_close(struct batch *batch)
{
	fd_close(&batch->scratch[0]);
	fd_close(&batch->scratch[1]);
	fd_close(&batch->null);
	free(batch->data);
	batch->data = NULL;
}

static void
empty_pipe(const struct batch *batch, int fd)
{
	ssize_t n;

	do {
		n = splice(fd, NULL, batch->null, NULL, 2 * BATCH_BYTES,
		           SPLICE_F_NONBLOCK);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

/* The end of the batch: what was taken out is noted, and let go. */
static void
finish_batch(struct batch *batch)
{
	state_set_phase(batch->state, BATCH_DRAINING);
	empty_pipe(batch, batch->staging[0]);
	state_settle(batch->state);
	state_set_phase(batch->state, BATCH_NONE);
}

static bool
is_file(int fd, const struct state_batch *record)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == record->device &&
	       st.st_ino == record->inode;
}

/* Look for the file of a batch under another name in its directory; -1: not there. */
static int
find_renamed(const struct state_batch *record)
{
	const char *slash = strrchr(record->path, '/');
	char directory[PATH_MAX] = ".";
	int fd = -1;

	if (slash != NULL) {
		size_t len = (size_t)(slash - record->path);

		memcpy(directory, record->path, len);
		directory[len] = '\0';
	}
	CLEANUP_DIR DIR *names = opendir(slash == record->path ? "/" : directory);
	if (names == NULL)
		return -1;
	for (unsigned int i = 0; i < NAMES_MAX && fd < 0; i++) {
		const struct dirent *entry = readdir(names);

		if (entry == NULL)
			break;
		if (entry->d_ino != record->inode)
			continue;
		fd = openat(dirfd(names), entry->d_name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && !is_file(fd, record))
			fd_close(&fd);
	}
	return fd;
}

/* Cut off what the batch may have added to its file: it is still in the pipe. */
static int
cut_back(const struct state_batch *record)
{
	CLEANUP(fd_close) int fd = open(record->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && !is_file(fd, record))
		fd_close(&fd);
	if (fd < 0)
		fd = find_renamed(record);
	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size > record->offset &&
	    ftruncate(fd, (off_t)record->offset) < 0)
		return -errno;
	return 0;
}

/*
 * Begin where a predecessor ended: before anything else.
 *
 * Returns 0; 1 where the rest of a batch must be taken out of a stream first: see
 * batch_resume(); -errno where its file cannot be cut back, so that the end of it may
 * be there twice.
 */
int
batch_recover(struct batch *batch)
{
	struct state_batch *record = &batch->state->head->batch;
	int r = 0;

	switch ((enum batch_phase)record->phase) {
	case BATCH_WRITING:
		r = cut_back(record);
		break;
	case BATCH_TAKING:
		if (record->entry < batch->state->head->used)
			return 1;
		break;
	case BATCH_DRAINING:
		if (record->entry < batch->state->head->used)
			finish_batch(batch);
		break;
	case BATCH_NONE:
		break;
	}
	batch_give_up(batch);
	return r;
}

/* No stream will come for this batch: abandon it. */
void
batch_give_up(struct batch *batch)
{
	empty_pipe(batch, batch->staging[0]);
	state_set_phase(batch->state, BATCH_NONE);
}

/* Move the bytes of the batch that are still in the pipe, and be done with it. */
static int
take_out(struct batch *batch, int fd)
{
	const size_t length = (size_t)batch->state->head->batch.length;
	const unsigned int flags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;
	size_t moved = batch_pipe_fill(batch->staging[0]);
	int r = 0;

	while (moved < length && r == 0) {
		ssize_t n =
		    splice(fd, NULL, batch->staging[1], NULL, length - moved, flags);

		if (n > 0)
			moved += (size_t)n;
		else if (n == 0)
			r = -ENODATA;
		else if (errno != EINTR)
			r = -errno;
	}
	finish_batch(batch);
	return r;
}

/*
 * Finish the batch of a predecessor if it is of this stream.  Returns whether none is
 * left to be finished.
 */
int
batch_resume(struct batch *batch, const struct batch_source *source)
{
	const struct state_batch *record = &batch->state->head->batch;

	if (record->phase != BATCH_TAKING)
		return 1;
	if (record->key != batch->state->entries[source->entry].key ||
	    record->pipe != source->pipe)
		return 0;
	(void)take_out(batch, source->fd);
	return 1;
}

/*
 * Look at what is in a pipe: up to batch->max bytes of it go into the scratch pipe.
 * Returns how many, 0 for none, -errno.
 */
ssize_t
batch_peek(struct batch *batch, int fd)
{
	ssize_t n;

	do {
		n = tee(fd, batch->scratch[1], batch->max, SPLICE_F_NONBLOCK);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n;
}

/* Read the `len` bytes that were looked at into batch->data.  0 or -errno. */
int
batch_load(struct batch *batch, size_t len)
{
	size_t have = 0;

	ASSERT(len <= batch->max);
	while (have < len) {
		ssize_t n = read(batch->scratch[0], batch->data + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		have += (size_t)n;
	}
	return 0;
}

/* Forget what was looked at. */
void
batch_discard(struct batch *batch)
{
	empty_pipe(batch, batch->scratch[0]);
}

/* From now on the file may hold a part of the batch, from `offset` on.  0 or -errno. */
int
batch_begin(struct batch *batch, const char *path, uint64_t device, uint64_t inode,
            uint64_t offset)
{
	struct state_batch *record = &batch->state->head->batch;
	const size_t size = strlen(path) + 1;

	if (size > sizeof(record->path))
		return -ENAMETOOLONG;
	/* The last one could neither be written nor undone: that comes first. */
	if (record->phase == BATCH_WRITING) {
		int r = cut_back(record);

		if (r < 0 && r != -ENOENT && record->inode == inode)
			return r;
		state_set_phase(batch->state, BATCH_NONE);
	}
	memcpy(record->path, path, size);
	record->device = device;
	record->inode = inode;
	record->offset = offset;
	batch_set_line(batch, 0, 0);
	state_set_phase(batch->state, BATCH_WRITING);
	return 0;
}

/* The file is as it was. */
void
batch_abandon(struct batch *batch)
{
	state_set_phase(batch->state, BATCH_NONE);
}

/* After this batch the file `inode` ends at `end` with a part of a line; 0: it does not.
 */
void
batch_set_line(struct batch *batch, uint64_t inode, uint64_t end)
{
	batch->state->head->batch.line_inode = inode;
	batch->state->head->batch.line_end = end;
}

static int
take(struct batch *batch, const struct batch_source *source, size_t len, size_t lost)
{
	struct state_batch *record = &batch->state->head->batch;
	const struct state_entry *entry = &batch->state->entries[source->entry];

	record->entry = source->entry;
	record->key = entry->key;
	record->pipe = source->pipe;
	record->length = len;
	record->total = entry->total + len;
	record->lost = entry->lost + lost;
	record->lost_noted = batch->notes ? entry->lost : entry->lost_noted;
	state_set_phase(batch->state, BATCH_TAKING);
	return take_out(batch, source->fd);
}

/*
 * `len` bytes of the stream are at their destination: take them out of its pipe.  Returns
 * 0; -errno if the pipe does not hold them, so that another process must have taken them.
 */
int
batch_take(struct batch *batch, const struct batch_source *source, size_t len)
{
	return take(batch, source, len, 0);
}

/*
 * Take `len` bytes of the stream, which have no destination, out of its pipe and count
 * them as lost.  As batch_take(); -EBUSY while the batch before is not undone.
 */
int
batch_drop(struct batch *batch, const struct batch_source *source, size_t len)
{
	const struct state_entry *entry = &batch->state->entries[source->entry];

	if (batch->state->head->batch.phase != BATCH_NONE)
		return -EBUSY;
	batch_set_line(batch, entry->line_inode, entry->line_end);
	return take(batch, source, len, len);
}
