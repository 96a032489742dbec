/* SPDX-License-Identifier: ISC */
/* reader_file.c - one file of an actor's log, read line by line, packed or not. */
#include "config.h"

#include "logd/read/reader_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/sum.h"
#include "logd/read/reader.h"
#include "logd/read/reader_owner.h"
#include "logd/write/gzip.h"
#include "os/self/fd.h"

#define CHUNK     (64 * 1024)
#define MARK_SIZE 256

/* No file is open. */
void
reader_file_init(struct reader_file *file)
{
	*file = (struct reader_file){.fd = -1};
}

/* ---- packed files ------------------------------------------------------------------ */

/* Have a child unpack the file: what is read from now on is the unpacked text. */
static int
unpack(struct reader_file *file)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = gzip_start(GZIP_UNPACK, file->fd, ends[1]);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return pid;
	}
	file->unpacker = pid;
	(void)close(file->fd);
	file->fd = ends[0];
	file->is_packed = true;
	return 0;
}

/* Wait for the unpacker's end; it may not have liked what it got. */
static void
end_gzip(struct reader_file *file)
{
	int status = 0;

	while (waitpid(file->unpacker, &status, 0) < 0 && errno == EINTR)
		continue;
	file->unpacker = 0;
	file->error = status == 0 ? 0 : -EIO;
}

/* ---- open, close, seek ------------------------------------------------------------- */

/*
 * Open a file at its beginning, with the rights of this owner (reader_owner.h).  -errno;
 * -EINVAL if it is no regular file, -ELOOP or -EMLINK if it is one that a link has led
 * to.
 */
int
reader_file_open(struct reader_file *file, const char *path, bool packed,
                 const char *owner)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
	struct stat st;
	int r = 0;

	ASSERT(file->fd < 0);
	file->fd = reader_owner_open(owner, path, flags);
	if (file->fd < 0) {
		r = file->fd;
		file->fd = -1;
		return r;
	}
	if (fstat(file->fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -EINVAL;
	else if (st.st_nlink > 1)
		r = -EMLINK;
	else if (packed)
		r = unpack(file);
	if (r < 0) {
		fd_close(&file->fd);
		return r;
	}
	file->inode = st.st_ino;
	return 0;
}

/* Close it and forget where it was; the memory is kept for the next one. */
void
reader_file_close(struct reader_file *file)
{
	char *data = file->data;
	size_t cap = file->cap;

	fd_close(&file->fd);
	if (file->unpacker > 0) {
		(void)kill(file->unpacker, SIGKILL);
		end_gzip(file);
	}
	reader_file_init(file);
	file->data = data;
	file->cap = cap;
}

/* Close it and give back the memory. */
void
reader_file_done(struct reader_file *file)
{
	reader_file_close(file);
	free(file->data);
	reader_file_init(file);
}

static int
make_room(struct reader_file *file)
{
	const size_t cap =
	    file->cap == 0 ? CHUNK : SMALLER(2 * file->cap, READER_LINE_MAX);

	if (file->start > 0) {
		memmove(file->data, file->data + file->start, file->len - file->start);
		file->len -= file->start;
		file->start = 0;
	}
	if (file->len < file->cap)
		return 0;
	if (cap == file->cap)
		return -EMSGSIZE;
	char *data = realloc(file->data, cap);
	if (data == NULL)
		return -ENOMEM;
	file->data = data;
	file->cap = cap;
	return 0;
}

/* Read more; 1, 0 at the end of what there is, -EMSGSIZE if there is no room, -errno. */
static int
fill(struct reader_file *file)
{
	ssize_t n;
	int r = make_room(file);

	if (r < 0)
		return r;
	do {
		n = read(file->fd, file->data + file->len, file->cap - file->len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	file->len += (size_t)n;
	if (n == 0 && file->unpacker > 0)
		end_gzip(file);
	return n > 0 ? 1 : file->error;
}

/* Begin at this place; of a packed file only what is ahead can be reached. */
int
reader_file_seek(struct reader_file *file, uint64_t offset)
{
	int r = 1;

	if (!file->is_packed) {
		file->start = file->len = 0;
		file->offset = offset;
		return lseek(file->fd, (off_t)offset, SEEK_SET) < 0 ? -errno : 0;
	}
	while (file->offset < offset && r > 0) {
		uint64_t left = offset - file->offset;
		size_t have = file->len - file->start;

		if (have > 0)
			reader_file_take(file, have < left ? have : (size_t)left);
		else
			r = fill(file);
	}
	return r < 0 ? r : 0;
}

/* ---- lines ------------------------------------------------------------------------- */

/*
 * The next line, without its newline.  1; 0 when there is no complete line any more, or
 * yet; -errno.  Without reader_file_take() it stays the next.  One that is longer than
 * READER_LINE_MAX is given out in pieces of that length.
 */
int
reader_file_next(struct reader_file *file, const char **ret, size_t *ret_len)
{
	size_t seen = file->start;

	for (;;) {
		const char *newline = NULL;

		if (file->len > seen)
			newline = memchr(file->data + seen, '\n', file->len - seen);
		if (newline != NULL && file->is_cut &&
		    newline == file->data + file->start) {
			/* The rest of a line after a piece of the greatest length. */
			reader_file_take(file, 1);
			file->is_cut = false;
			seen = file->start;
			continue;
		}
		if (newline != NULL) {
			*ret = file->data + file->start;
			*ret_len = (size_t)(newline - *ret);
			file->is_cut = false;
			return 1;
		}
		seen = file->len - file->start;
		int r = fill(file);
		if (r == -EMSGSIZE) {
			*ret_len = reader_file_rest(file, ret);
			file->is_cut = true;
			return 1;
		}
		if (r <= 0)
			return r;
		/* What is not taken was moved to the front. */
		seen += file->start;
	}
}

/* The piece of the incomplete line that was read up to now; returns its length. */
size_t
reader_file_rest(const struct reader_file *file, const char **ret)
{
	size_t len = file->len - file->start;

	*ret = len > 0 ? file->data + file->start : "";
	return len;
}

/* `len` bytes are done with; the newline of a line counts. */
void
reader_file_take(struct reader_file *file, size_t len)
{
	ASSERT(len <= file->len - file->start);
	file->start += len;
	file->offset += len;
}

/* ---- marks ------------------------------------------------------------------------- */

/*
 * Know the file again by its first line, also when it was renamed or packed.  Of a packed
 * file only at its beginning.  The mark stays 0 as long as there is no such line.
 */
void
reader_file_find_mark(struct reader_file *file)
{
	uint64_t mark = FNV_BEGIN, words = mark;
	char line[MARK_SIZE];
	const char *text = line, *rest;
	ssize_t n;

	if (file->mark != 0 || (file->is_packed && file->offset > 0))
		return;
	if (!file->is_packed) {
		n = pread(file->fd, line, sizeof(line), 0);
	} else {
		while (file->len - file->start < sizeof(line) && fill(file) > 0)
			continue;
		n = (ssize_t)reader_file_rest(file, &rest);
		text = rest;
	}
	if (n > MARK_SIZE)
		n = MARK_SIZE;
	if (n <= 0 || (n < MARK_SIZE && memchr(text, '\n', (size_t)n) == NULL))
		return;
	for (ssize_t i = 0; i < n && text[i] != '\n'; i++) {
		mark = fnv_add(mark, (unsigned char)text[i]);
		if (!isdigit((unsigned char)text[i]))
			words = fnv_add(words, (unsigned char)text[i]);
	}
	file->mark = mark != 0 ? mark : 1;
	file->words = words;
}

/* ---- the end of a file ------------------------------------------------------------- */

/* Behind the newline in front of the last `lines` lines of what was read, from the back.
 */
static uint64_t
seek_back(const struct reader_file *file, uint64_t size, uint64_t lines,
          uint64_t *ret_found)
{
	char data[CHUNK];
	uint64_t end = size, found = 0;

	while (end > 0) {
		size_t len = end < sizeof(data) ? (size_t)end : sizeof(data);
		ssize_t n = pread(file->fd, data, len, (off_t)(end - len));

		if (n < (ssize_t)len)
			break;
		for (size_t i = len; i > 0; i--) {
			/* A newline ends the line before it: the last one is none of
			 * ours, but text behind it is a line that is not complete. */
			if (data[i - 1] != '\n' || end - len + i == size)
				continue;
			if (++found == lines) {
				*ret_found = found;
				return end - len + i;
			}
		}
		end -= len;
	}
	*ret_found = found + (size > 0);
	return 0;
}

/* Of a packed file the lines have to be counted from the front, then it is read again. */
static int
count_lines(struct reader_file *file, uint64_t *ret)
{
	const char *text;
	uint64_t n = 0;
	size_t len;
	int r;

	while ((r = reader_file_next(file, &text, &len)) > 0) {
		reader_file_take(file, len < file->len - file->start ? len + 1 : len);
		n++;
	}
	*ret = n + (reader_file_rest(file, &text) > 0);
	return r;
}

/*
 * Begin at the last `lines` lines, at least 1, or where there are fewer at the beginning:
 * *ret_found is how many there are.  A packed file is at its end then, and *ret_found is
 * all of its lines: open it again and take the first ones.
 */
int
reader_file_seek_tail(struct reader_file *file, uint64_t lines, uint64_t *ret_found)
{
	struct stat st;

	ASSERT(lines > 0);
	if (file->is_packed)
		return count_lines(file, ret_found);
	if (fstat(file->fd, &st) < 0)
		return -errno;
	return reader_file_seek(file,
	                        seek_back(file, (uint64_t)st.st_size, lines, ret_found));
}

/* Only what comes from now on. */
int
reader_file_seek_end(struct reader_file *file)
{
	struct stat st;

	if (file->is_packed)
		return reader_file_seek(file, INT64_MAX);
	return fstat(file->fd, &st) < 0 ? -errno
	                                : reader_file_seek(file, (uint64_t)st.st_size);
}
