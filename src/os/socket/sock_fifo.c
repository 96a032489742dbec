/* SPDX-License-Identifier: ISC */
/* sock_fifo.c - fifos, and what a dead owner left of a socket or a fifo. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/self/fd.h"
#include "os/socket/sock.h"

/* True if a process has the fifo open for reading, and in doubt. */
static bool
fifo_has_reader(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);

	if (fd < 0)
		return errno != ENXIO;
	(void)close(fd);
	return true;
}

/* True if there is certainly a unix socket that no process holds, or a fifo that none
 * reads. */
bool
sock_is_left(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 &&
	       ((S_ISSOCK(st.st_mode) && !sock_unix_is_live(path)) ||
	        (S_ISFIFO(st.st_mode) && !fifo_has_reader(path)));
}

/* A new fifo has this mode until it is open: another one in its place has not. */
#define NEW_FIFO_MODE (S_ISUID | S_ISVTX | S_IRUSR | S_IWUSR)

/* Make the fifo: 1; or leave an existing fifo without a reader to be taken: 0.
 * -EADDRINUSE: it has a reader. */
static int
make_fifo(const struct sock_file *file, const char *path)
{
	mode_t old = umask(0);
	int r = mkfifo(path, NEW_FIFO_MODE) == 0 ? 1 : -errno;

	if (r == -EEXIST && !sock_is_left(path))
		r = -EADDRINUSE;
	else if (r == -EEXIST && !file->is_shared)
		r = 0;
	else if (r == -EEXIST && unlink(path) == 0)
		r = mkfifo(path, NEW_FIFO_MODE) == 0 ? 1 : -errno;
	(void)umask(old);
	return r;
}

/* True if this is the fifo that was made, or that may be taken.  Another user's could be
 * read by that user. */
static bool
is_own_fifo(const struct stat *st, bool is_new)
{
	const bool is_owner = st->st_uid == geteuid();

	return S_ISFIFO(st->st_mode) &&
	       (is_new ? is_owner && (st->st_mode & 07777) == NEW_FIFO_MODE
	               : is_owner || geteuid() == 0);
}

/*
 * Open a fifo for reading, made with this mode and owner. supd holds it open for writing,
 * too, so that the last writer's close is not its end.  An existing fifo without a reader
 * is used, or replaced where others may have put it there; any other file is in the way:
 * -EADDRINUSE.  Returns the descriptor, at or above FD_WINDOW, or -errno with a sentence.
 */
int
sock_open_fifo(const struct sock_file *file, struct err *err)
{
	const bool has_owner = file->uid != (uid_t)-1 || file->gid != (gid_t)-1;
	const char *path = file->name != NULL ? file->name : file->path;
	int r = make_fifo(file, path);
	struct stat st;
	int fd = -1;

	if (r < 0)
		goto fail;
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else if (!is_own_fifo(&st, r == 1))
		r = -EADDRINUSE;
	else if ((has_owner && fchown(fd, file->uid, file->gid) < 0) ||
	         fchmod(fd, file->mode) < 0)
		r = -errno;
	if (r >= 0)
		return fd_raise(fd);
fail:
	err_set(err, -r, "open fifo %s", file->path);
	if (fd >= 0)
		(void)close(fd);
	return r;
}
