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
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "/run/app/web.sock" has "/run/app/.web.sock.supd"; false: too long. */
static bool
second_name(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	int n = snprintf(ret, PATH_MAX, "%.*s.%s.supd", (int)(name - path), path, name);

	return n > 0 && n < PATH_MAX;
}

static bool
is_sockfile(mode_t mode)
{
	return S_ISSOCK(mode) || S_ISFIFO(mode);
}

/*
 * Give the file this mode and owner ((uid_t)-1 and (gid_t)-1: unchanged).  A link is not
 * followed, and another kind of file is left alone: -ENOTSOCK.  Returns 0 or -errno.
 */
int
sockfile_adjust(const char *path, mode_t mode, uid_t uid, gid_t gid)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[32];
	struct stat st;
	int r = 0;

	if (fd < 0)
		return -errno;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!is_sockfile(st.st_mode))
		r = -ENOTSOCK;
	else if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0 || chmod(self, mode) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

/*
 * Give the file its second name, if the file is new in place of a dead owner's.  Returns
 * 0, also if the second name exists, or -errno.
 */
int
sockfile_secure(const char *path, bool is_new)
{
	char second[PATH_MAX];
	struct stat st;

	if (!second_name(path, second))
		return -ENAMETOOLONG;
	if (lstat(second, &st) == 0 && is_sockfile(st.st_mode)) {
		if (!is_new)
			return 0;
		(void)unlink(second);
	}
	return link(path, second) < 0 ? -errno : 0;
}

/*
 * If there is nothing any more under the first name, it is what is under the second.
 * Returns 1: so it is; 0: there is something, perhaps not ours; -errno.
 */
int
sockfile_restore(const char *path)
{
	char second[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	if (!second_name(path, second))
		return -ENAMETOOLONG;
	if (lstat(second, &st) < 0)
		return -errno;
	if (!is_sockfile(st.st_mode))
		return -ENOTSOCK;
	return link(second, path) < 0 ? -errno : 1;
}

/*
 * Is there certainly something under the first name?  It is asked of what the kernel has
 * in memory alone, so it never waits for a file system; false: nothing is there, or it is
 * not known, also where the kernel is older than 5.12.
 */
bool
sockfile_is_there(const char *path)
{
	const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	                             .resolve = RESOLVE_CACHED};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	/* Of an O_PATH descriptor the file system is told nothing. */
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* Both names go. */
void
sockfile_remove(const char *path)
{
	char second[PATH_MAX];

	(void)unlink(path);
	if (second_name(path, second))
		(void)unlink(second);
}
