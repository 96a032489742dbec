/* SPDX-License-Identifier: ISC */
/* file.c - a configuration file as text. */
#include "config.h"

#include "conf/text/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Until `len` bytes are there, or the file turns out to be shorter. */
static ssize_t
read_all(int fd, char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, text + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Is it a regular file that is not too large? */
static int
check_open(int fd, const char *path, size_t bytes_max, struct file_text *file,
           struct err *err)
{
	if (fstat(fd, &file->stat) < 0)
		return err_set(err, errno, "cannot read %s", path);
	if (!S_ISREG(file->stat.st_mode))
		return err_say(err, -EINVAL, "%s is not a regular file", path);
	if ((unsigned long long)file->stat.st_size > bytes_max)
		return err_say(
		    err, -EFBIG,
		    "%s is too large: all files together have at most %zu bytes", path,
		    bytes_max);
	return 0;
}

static int
read_open(struct arena *arena, int fd, const char *path, struct file_text *file,
          struct err *err)
{
	file->text = arena_alloc(arena, (size_t)file->stat.st_size + 1, 1);
	if (file->text == NULL)
		return err_set(err, ENOMEM, "cannot read %s", path);
	ssize_t n = read_all(fd, file->text, (size_t)file->stat.st_size);
	if (n < 0)
		return err_set(err, (int)-n, "cannot read %s", path);
	file->len = (size_t)n;
	return 0;
}

/*
 * Read a whole regular file into the arena.  What is no regular file (a pipe could block
 * for ever), is larger than bytes_max or cannot be read is an error, and err says which.
 */
int
file_read(struct arena *arena, const char *path, size_t bytes_max, struct file_text *ret,
          struct err *err)
{
	struct file_text file = {0};
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_set(err, errno, "cannot read %s", path);
	int r = check_open(fd, path, bytes_max, &file, err);
	if (r == 0)
		r = read_open(arena, fd, path, &file, err);
	if (r == 0)
		*ret = file;
	return r;
}
