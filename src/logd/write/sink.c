/* SPDX-License-Identifier: ISC */
/* sink.c - a log file: open by name, written at an offset, noticed when it is gone. */
#include "config.h"

#include "logd/write/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/fd.h"

/* A sink without streams, not open yet; NULL: without memory. */
struct sink *
sink_new(enum feed_target target, const char *path, const struct feed_log *log)
{
	const size_t size = strlen(path) + 1;
	struct sink *sink = calloc(1, sizeof(*sink) + size);

	if (sink == NULL)
		return NULL;
	*sink = (struct sink){.target = target, .log = *log, .fd = -1};
	memcpy(sink->path, path, size);
	TAILQ_INIT(&sink->streams);
	return sink;
}

/* Let go of a sink that no stream goes to. */
void
sink_free(struct sink *sink)
{
	if (sink == NULL)
		return;
	if (sink->packer > 0) {
		sink_pack_stop(sink);
		sink_tidy(sink);
	}
	sink_close(sink);
	free(sink);
}

static int
open_file(struct sink *sink, struct stat *ret)
{
	/* Where others may write in the directory, they may put a link there. */
	const int flags =
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
	int fd = open(sink->path, flags, 0640);

	if (fd < 0 && errno == ENOENT) {
		int r = fd_mkdir_parents(sink->path, 0755);

		if (r < 0)
			return r;
		fd = open(sink->path, flags, 0640);
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode)) {
		(void)close(fd);
		return -EINVAL;
	}
	sink->fd = fd;
	sink->device = ret->st_dev;
	sink->inode = ret->st_ino;
	return 0;
}

/*
 * See to it that the file is open, that it has a name, and how large it is: others may
 * have removed it or cut it.  Directories are made as needed.  0 or -errno.
 */
int
sink_open(struct sink *sink, uint64_t *ret_size)
{
	struct stat st;

	if (sink->fd >= 0 && (fstat(sink->fd, &st) < 0 || st.st_nlink == 0))
		sink_close(sink);
	if (sink->fd < 0) {
		int r = open_file(sink, &st);
		if (r < 0)
			return r;
	}
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Close the file; the next sink_open() opens it by its name. */
void
sink_close(struct sink *sink)
{
	fd_close(&sink->fd);
}

/* Does a file of this size end with a part of a line?  1, 0 or -errno. */
int
sink_ends_in_line(const struct sink *sink, uint64_t size)
{
	char last;

	if (size == 0)
		return 0;
	ssize_t n = pread(sink->fd, &last, 1, (off_t)(size - 1));
	if (n < 0)
		return -errno;
	return n == 1 && last != '\n';
}

/* Write all of data at the offset.  0; -errno: a part of it may be there. */
int
sink_write(const struct sink *sink, uint64_t offset, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = pwrite(sink->fd, data, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		data += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/*
 * Move `len` bytes of a pipe to the offset.  0 or -errno; *ret_done is how many of them
 * are in the file in any case.
 */
int
sink_splice(const struct sink *sink, uint64_t offset, int pipe_fd, size_t len,
            size_t *ret_done)
{
	off_t at = (off_t)offset;
	int r = 0;

	*ret_done = 0;
	while (*ret_done < len && r == 0) {
		ssize_t n = splice(pipe_fd, NULL, sink->fd, &at, len - *ret_done,
		                   SPLICE_F_NONBLOCK);

		if (n > 0)
			*ret_done += (size_t)n;
		else if (n == 0)
			r = -ENOSPC;
		else if (errno != EINTR)
			r = -errno;
	}
	return r;
}

/* Cut the file to this size.  0 or -errno. */
int
sink_cut(const struct sink *sink, uint64_t size)
{
	return ftruncate(sink->fd, (off_t)size) == 0 ? 0 : -errno;
}
