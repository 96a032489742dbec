/* SPDX-License-Identifier: ISC */
/* sockfile.c - the file of a unix socket or a fifo, and its second name.
 *
 * A program that is given a socket may remove its file when it ends, as if it had made
 * the file; nginx does when its parent is another process by then.  A removed file cannot
 * be made again for the same socket, and clients in its queue would wait for ever.  So
 * the file has a second name beside it, from which the first is restored.
 */
#include "config.h"

#include "os/socket/sockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/un.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "os/self/fd.h"
#include "os/socket/sock.h"

/* "/run/app/web.sock" has "/run/app/.web.sock.supd"; false: too long. */
static bool
second_name(const char *path, char ret[PATH_MAX])
{
	const char *name = names_last(path);
	int n = snprintf(ret, PATH_MAX, "%.*s.%s.supd", (int)(name - path), path, name);

	return n > 0 && n < PATH_MAX;
}

static bool
is_sockfile(mode_t mode)
{
	return S_ISSOCK(mode) || S_ISFIFO(mode);
}

/* A descriptor of what has this name, or -errno; -ENOTSOCK: no socket and no fifo. */
static int
open_name(const char *path)
{
	struct stat st;
	int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (file < 0)
		return -errno;
	if (fstat(file, &st) == 0 && is_sockfile(st.st_mode))
		return file;
	fd_close(&file);
	return -ENOTSOCK;
}

/* What is under the first name, or else under the second. */
static int
open_by_name(const char *path)
{
	char second[PATH_MAX];
	int file = open_name(path);

	return (file == -ENOENT || file == -ENOTSOCK) && second_name(path, second)
	           ? open_name(second)
	           : file;
}

/*
 * Find the file of an open socket or fifo, whatever name it has by now: others may have
 * given that to another file.  The kernel tells it of a socket to a process with
 * CAP_NET_ADMIN.  To others it does not: then it is what has the name, if that
 * `may_decide`.
 *
 * Returns a descriptor for the functions below, to be closed by the caller, or -errno:
 * -ENOENT: it has no file; -EPERM: the kernel does not tell, and the name may not decide.
 */
int
sockfile_find(int fd, const char *path, bool may_decide)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	int file = S_ISFIFO(st.st_mode) ? fcntl(fd, F_DUPFD_CLOEXEC, 0)
	                                : ioctl(fd, SIOCUNIXFILE);
	if (file >= 0 || (errno != EPERM && errno != ENOTTY && errno != EINVAL))
		return file >= 0 ? file : -errno;
	return may_decide ? open_by_name(path) : -EPERM;
}

/* True if this is a name of the file. */
static bool
is_name(int file, const char *path)
{
	struct stat named, st;

	return lstat(path, &named) == 0 && fstat(file, &st) == 0 &&
	       named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

/* Give the file this mode and owner ((uid_t)-1 and (gid_t)-1: unchanged).  Returns 0 or
 * -errno. */
int
sockfile_adjust(int file, mode_t mode, uid_t uid, gid_t gid)
{
	char self[32];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
	return fchownat(file, "", uid, gid, AT_EMPTY_PATH) < 0 || chmod(self, mode) < 0
	           ? -errno
	           : 0;
}

/*
 * Give the file its second name where it has the first.  If the file is new, a second
 * name that a dead owner left is taken from what has it.  Returns 0, or -errno: -ENOENT:
 * the first name is another file's by now; -EEXIST: the second one is.
 */
int
sockfile_secure(int file, const char *path, bool is_new)
{
	char second[PATH_MAX];

	if (!second_name(path, second))
		return -ENAMETOOLONG;
	if (!is_name(file, path))
		return -ENOENT;
	if (is_name(file, second))
		return 0;
	if (is_new && sock_is_left(second))
		(void)unlink(second);
	return link(path, second) < 0 ? -errno : 0;
}

/*
 * If there is nothing any more under the first name, and the file has the second one, it
 * gets the first.  Returns 1: so it is; 0: there is something, perhaps not ours; -errno.
 */
int
sockfile_restore(int file, const char *path)
{
	char second[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (!second_name(path, second))
		return -ENAMETOOLONG;
	if (!is_name(file, second))
		return -ENOENT;
	return link(second, path) < 0 ? -errno : 1;
}

/*
 * True if a file certainly has the first name.  Only the names that the kernel has in
 * memory are looked at, so no file system is waited for; false: no file has the name, or
 * the kernel does not know without its file system.
 */
bool
sockfile_is_there(const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	                             .resolve = RESOLVE_CACHED};
	CLEANUP(fd_close)
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* When an O_PATH descriptor is closed the file system is told nothing. */
	return fd >= 0;
}

/* Both names go, unless they are another file's by now. */
void
sockfile_remove(int file, const char *path)
{
	char second[PATH_MAX];

	if (is_name(file, path))
		(void)unlink(path);
	if (second_name(path, second) && is_name(file, second))
		(void)unlink(second);
}
