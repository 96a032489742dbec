/* SPDX-License-Identifier: ISC */
/* namelock.c - a lock on a directory that lasts when the directory is removed.
 *
 * A locked file is gone with its directory.  An abstract socket has no file: its name,
 * made of our user, the file system and the path, is taken for as long as it is open.
 */
#include "config.h"

#include "os/self/namelock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "os/self/fd.h"

/* Between bind and listen a holder refuses connections. */
#define TRIES  20
#define TRY_MS 5

/* Containers may share the names of sockets, and have other file systems at the same
 * path.  Returns the length of the address, or -errno. */
static int
address_of(const char *dir, struct sockaddr_un *ret)
{
	char path[PATH_MAX];
	struct stat st;

	if (realpath(dir, path) == NULL || stat(path, &st) < 0)
		return -errno;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	int n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
	                 "supd/lock/%u/%u:%u/%016llx", (unsigned int)geteuid(),
	                 major(st.st_dev), minor(st.st_dev),
	                 (unsigned long long)fnv_text(path));
	return (int)offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

/* Which process has the name?  Returns 0, -ECONNREFUSED if it does not listen, or another
 * -errno. */
static int
ask_holder(const struct sockaddr_un *address, socklen_t len, struct ucred *ret)
{
	CLEANUP(fd_close)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(*ret);

	if (fd < 0)
		return -errno;
	return connect(fd, (const struct sockaddr *)address, len) < 0 ||
	               getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) < 0
	           ? -errno
	           : 0;
}

/* The sentence for why it cannot be had; `holder` is NULL where it is not known. */
static int
refuse(const char *dir, int r, const struct ucred *holder, struct err *err)
{
	if (r != -EADDRINUSE)
		return err_set(err, -r, "lock the name of %s", dir);
	if (holder == NULL)
		return err_say(err, -EPERM,
		               "an unknown process holds the name that locks %s", dir);
	if (holder->uid != geteuid() && holder->uid != 0)
		return err_say(err, -EPERM,
		               "user %u holds the name that locks %s (pid %d)",
		               (unsigned int)holder->uid, dir, (int)holder->pid);
	return err_say(err, -EADDRINUSE, "the supd of pid %d runs in %s",
	               (int)holder->pid, dir);
}

/*
 * Have the lock for as long as the descriptor and its copies are open; close-on-exec, at
 * or above FD_WINDOW.  The directory must exist.
 *
 * Returns the descriptor; -EADDRINUSE with a sentence when a process of ours or root's
 * has it; another -errno with a sentence when it cannot be had for other reasons, such as
 * a name that a stranger has taken.
 */
int
name_lock(const char *dir, struct err *err)
{
	struct sockaddr_un address;
	struct ucred holder = {0};
	int len = address_of(dir, &address);
	int fd = len < 0 ? len : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = -EADDRINUSE, told = -ECONNREFUSED;

	if (fd < 0) {
		r = len < 0 ? len : -errno;
		return err_set(err, -r, "lock the name of %s", dir);
	}
	for (int i = 0; i < TRIES && r == -EADDRINUSE && told == -ECONNREFUSED; i++) {
		if (i > 0)
			(void)poll(NULL, 0, TRY_MS);
		r = bind(fd, (struct sockaddr *)&address, (socklen_t)len) < 0 ? -errno
		                                                              : 0;
		if (r == -EADDRINUSE)
			told = ask_holder(&address, (socklen_t)len, &holder);
	}
	if (r == 0 && listen(fd, SOMAXCONN) < 0)
		r = -errno;
	if (r == 0)
		return fd_raise(fd);
	(void)close(fd);
	return refuse(dir, r, told == 0 ? &holder : NULL, err);
}
