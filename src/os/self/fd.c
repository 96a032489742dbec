/* SPDX-License-Identifier: ISC */
/* fd.c - descriptors: standard ones open, high ones for ourselves, a bound on them. */
#include "config.h"

#include "os/self/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

/*
 * Open /dev/null for each of the descriptors 0, 1 and 2 that is closed, so that nothing
 * that supd opens later is taken for somebody's output.  Returns 0 or -errno.
 */
int
fd_open_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this descriptor: those below are open. */
		if (open("/dev/null", O_RDWR) < 0)
			return -errno;
	}
	return 0;
}

/*
 * Close every descriptor from `first` on: what a careless parent left open.  Called
 * first, when none is ours.
 */
void
fd_close_strangers(int first)
{
	(void)close_range((unsigned int)first, ~0U, 0);
}

/*
 * Move a descriptor of ours out of the window of low numbers; close-on-exec.
 *
 * Returns the new number; the old one is closed.  Where that is not possible (a tiny
 * RLIMIT_NOFILE, or all in use) the descriptor is returned as it is: that costs speed,
 * nothing else.  A negative fd, an error of the call before, is returned as it is.
 */
int
fd_raise(int fd)
{
	if (fd < 0 || fd >= FD_WINDOW)
		return fd;
	int raised = fcntl(fd, F_DUPFD_CLOEXEC, FD_WINDOW);
	if (raised < 0)
		return fd;
	(void)close(fd);
	return raised;
}

/*
 * Open what a descriptor refers to once more, close-on-exec: a pipe's other end, or one
 * that shares nothing with the first.  -errno.
 */
int
fd_reopen(int fd, int flags)
{
	char link[32];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int r = open(link, flags | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/*
 * The limit on open descriptors as it is now: asked at the start, it is what children
 * inherit, however far supd raises its own later.  Returns 0 or -errno.
 */
int
fd_limit(struct rlimit *ret)
{
	return getrlimit(RLIMIT_NOFILE, ret) == 0 ? 0 : -errno;
}

/*
 * See to it that `wanted` descriptors may be open in this process: raises the soft limit
 * to the hard one, and that one too if it is too low and the kernel lets us.  Never
 * lowers anything.
 *
 * Returns 0, or -EMFILE with a sentence that names both numbers, or another -errno.
 */
int
fd_raise_limit(uint64_t wanted, struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return err_set(err, errno, "read the limit on open descriptors");
	rlim_t hard = limit.rlim_max;
	if (limit.rlim_max < wanted) {
		limit.rlim_cur = limit.rlim_max = (rlim_t)wanted;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
			return 0;
		return err_say(err, -EMFILE,
		               "%" PRIu64 " open descriptors are needed, and the limit "
		               "(RLIMIT_NOFILE, hard) is %ju",
		               wanted, (uintmax_t)hard);
	}
	if (limit.rlim_cur == hard)
		return 0;
	limit.rlim_cur = hard;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return 0;
	/* An infinite hard limit is more than fs.nr_open: take what is needed. */
	limit.rlim_cur = (rlim_t)wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return 0;
	err_set(err, errno, "raise the limit on open descriptors to %" PRIu64, wanted);
	return -EMFILE;
}

/*
 * Allow as many open descriptors as the system lets us have, `max` at most.  Returns how
 * many there may be now; an error counts as a low limit.
 */
uint64_t
fd_raise_limit_up_to(uint64_t max)
{
	struct rlimit limit;
	struct err err;

	if (fd_limit(&limit) < 0)
		return 0;
	(void)fd_raise_limit(limit.rlim_max < max ? limit.rlim_max : max, &err);
	(void)fd_limit(&limit);
	return limit.rlim_cur < max ? limit.rlim_cur : max;
}

/* Close *fd if it is open (not -1), and set it to -1. */
void
fd_close(int *fd)
{
	/* Nothing sensible is left to do when close(2) fails; on Linux it is closed. */
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/*
 * Write all of data, whatever it takes; a descriptor that does not block should not be
 * given.  Returns 0, or -errno when some of it may have been written (-EAGAIN too).
 */
int
fd_write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Open a directory that may belong to another user, close-on-exec, but not a file system
 * that the user mounted there, as that may never answer: -EXDEV.  No link is followed.
 * Returns the descriptor or -errno, which is in errno as well.
 */
int
fd_open_directory(int dir_fd, const char *name)
{
	const struct open_how how = {
	    .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	    .resolve = RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/*
 * Make the directories that a file `path` needs, its last component not included unless
 * a slash follows it.  Those that exist are left alone, whatever their mode; new ones
 * get `mode` less the umask.  Returns 0 or -errno; -ENOTDIR where a file is in the way.
 */
int
fd_mkdir_parents(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (const char *slash = strchr(path, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);

		if (len == 0)
			continue;
		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdir(part, mode) == 0)
			continue;
		if (errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		/* An existing directory may be in a place where no user may create
		 * directories. */
		int code = errno;

		if (stat(part, &st) < 0)
			return -(code == EEXIST ? errno : code);
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
	}
	return 0;
}

/*
 * Make the file `name` in `dir`, and the directories on the way, and lock the file for as
 * long as the descriptor and its copies are open; close-on-exec, at or above FD_WINDOW.
 * No other user may open it, or they could lock it.  Returns the descriptor, -EWOULDBLOCK
 * when another process has the lock, or another -errno with a sentence.
 */
int
fd_lock(const char *dir, const char *name, struct err *err)
{
	char path[PATH_MAX];
	int fd = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (fd < 0 || (size_t)fd >= sizeof(path))
		return err_set(err, ENAMETOOLONG, "lock %s", name);
	int r = fd_mkdir_parents(path, 0755);
	if (r < 0)
		return err_set(err, -r, "create the directory %s", dir);
	fd = fd_raise(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
	if (fd >= 0 && fchmod(fd, 0600) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	err_set(err, errno, "lock %s", path);
	fd_close(&fd);
	return -err->code;
}

/* Open a directory, for fd_tell_removals().  The descriptor, at or above FD_WINDOW, or
 * -errno with a sentence. */
int
fd_watch_directory(const char *path, struct err *err)
{
	int fd = fd_raise(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	return fd < 0 ? err_set(err, errno, "watch %s", path) : fd;
}

/*
 * SIGIO, which the caller listens to, tells that a name in the directory was removed, or
 * renamed where `is_above` is set, until the directory is closed (F_NOTIFY in fcntl(2)).
 * The close of an inotify descriptor would last up to 24 ms.  0 or -errno.
 */
int
fd_tell_removals(int directory_fd, bool is_above)
{
	return fcntl(directory_fd, F_NOTIFY,
	             (is_above ? DN_RENAME : DN_DELETE) | DN_MULTISHOT) < 0
	           ? -errno
	           : 0;
}

/* A file in memory with these bytes, so that no disk is waited for; -1: no memory. */
int
fd_memory(const char *name, const void *data, size_t len)
{
	int fd = fd_raise(memfd_create(name, MFD_CLOEXEC));

	if (fd >= 0 && fd_write_all(fd, data, len) < 0)
		fd_close(&fd);
	return fd;
}
