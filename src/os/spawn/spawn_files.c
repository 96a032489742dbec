/* SPDX-License-Identifier: ISC */
/* spawn_files.c - the files that the child opens for itself, as its user.
 *
 * The files belong to the actor: the actor chose them, or may change their paths.  So no
 * file is opened that its user could not open, and none that another user put there as a
 * trap.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/spawn/spawn_child.h"

enum { CHUNK = 8192 };

/* As open(2), with a path that counts from the root of the parent. */
static int
open_outside(const struct spawn_child *child, const char *path, int flags, mode_t mode)
{
	const struct open_how how = {
	    .flags = (unsigned int)flags,
	    .mode = (flags & O_CREAT) != 0 ? mode : 0,
	    .resolve = RESOLVE_IN_ROOT,
	};

	if (child->root_fd < 0)
		return open(path, flags, mode);
	return (int)syscall(SYS_openat2, child->root_fd, path, &how, sizeof(how));
}

/*
 * May the actor have meant this file?  A regular file of root, of the child's user or of
 * supd's, without a second name that could have brought it here; or a device; or, with
 * may_be_pipe, a named pipe. 0 or an errno: EINVAL, EMLINK, EPERM.
 */
static int
judge(const struct spawn_child *child, int fd, bool may_be_pipe, struct stat *ret)
{
	if (fstat(fd, ret) < 0)
		return errno;
	if (S_ISCHR(ret->st_mode) || (may_be_pipe && S_ISFIFO(ret->st_mode)))
		return 0;
	if (!S_ISREG(ret->st_mode))
		return EINVAL;
	if (ret->st_nlink > 1)
		return EMLINK;
	if (ret->st_uid != 0 && ret->st_uid != child->uid &&
	    ret->st_uid != child->parent_uid)
		return EPERM;
	return 0;
}

/* Waiting neither for the reader nor for the writer of a pipe, ever; the process may. */
static int
open_own(const struct spawn_child *child, const char *path, bool for_reading)
{
	const int both = O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	const int flags = O_WRONLY | O_APPEND | O_CREAT;
	int fd;

	if (for_reading)
		return open_outside(child, path, O_RDONLY | both, 0);
	fd = open_outside(child, path, flags | both, 0640);
	if (fd >= 0 || errno != ENOENT || child->root_fd >= 0)
		return fd;
	errno = -fd_mkdir_parents(path, 0755);
	return errno != 0 ? -1 : open_outside(child, path, flags | both, 0640);
}

/* Have the file as descriptor `own`; -1 with errno. */
static int
place_file(const struct spawn_child *child, int own)
{
	const char *path = child->spawn->files[own];
	const bool for_reading = own == STDIN_FILENO;
	struct stat st;
	int fd, code;

	/* The lowest free number is the one that is opened. */
	(void)close(own);
	fd = open_own(child, path, for_reading);
	if (fd < 0)
		return -1;
	code = fd != own ? EBADF : judge(child, fd, true, &st);
	if (code == 0 && for_reading && S_ISFIFO(st.st_mode)) {
		/* With the writing end in the reader's own hands it has no end when its
		 * writers go. */
		(void)close(own);
		fd = open_outside(child, path,
		                  O_RDWR | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
		code = fd < 0 ? errno : judge(child, fd, true, &st);
	}
	if (code == 0 && fcntl(fd, F_SETFL, for_reading ? 0 : O_APPEND) < 0)
		code = errno;
	errno = code;
	return code != 0 ? -1 : 0;
}

/* Open what is to be its standard descriptors, or report and end. */
void
spawn_open_files(const struct spawn_child *child)
{
	const char *const *files = child->spawn->files;

	for (int own = 0; own < 3; own++) {
		const enum spawn_step step =
		    own == STDIN_FILENO ? SPAWN_STEP_INPUT : SPAWN_STEP_OUTPUT;
		int r;

		if (files[own] == NULL)
			continue;
		spawn_child_begin(child, step);
		if (own == STDERR_FILENO && files[own] == files[STDOUT_FILENO])
			r = dup2(STDOUT_FILENO, own);
		else
			r = place_file(child, own);
		if (r < 0)
			spawn_child_fail(child, step, -1);
	}
}

/* ---- environment files ---- */

/* Read all of it into the caller's room; the length or -errno.  By way of our stack: when
 * this process was given up the kernel may still write where read(2) said. */
static ssize_t
read_all(const struct spawn_child *child, int fd)
{
	const struct spawn *spawn = child->spawn;
	char chunk[CHUNK];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
		if (len + (size_t)n >= spawn->room_size)
			return -EFBIG;
		memcpy(spawn->room + len, chunk, (size_t)n);
		len += (size_t)n;
	}
	if (n < 0)
		return -errno;
	spawn->room[len] = '\0';
	return (ssize_t)len;
}

/* Take one file; 0 or -errno, with a sentence. */
static int
take_file(const struct spawn_child *child, const char *path)
{
	const struct spawn *spawn = child->spawn;
	const bool is_optional = path[0] == '-';
	struct err *err = &child->shared->err;
	ssize_t len = -1;
	struct stat st;
	int fd, r;

	path += is_optional;
	fd = open_outside(child, path,
	                  O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 && errno == ENOENT && is_optional)
		return 0;
	r = fd < 0 ? -errno : -judge(child, fd, false, &st);
	if (r == 0)
		len = read_all(child, fd);
	if (r == 0 && len < 0)
		r = (int)len;
	if (r < 0) {
		err_set(err, 0, "%s cannot be read%s", path,
		        r == -EFBIG ? ": it is too large" : "");
		return r;
	}
	(void)close(fd);
	return spawn->on_file(spawn->on_file_data, path, spawn->room, (size_t)len, err);
}

/* Read the files with variables, or report and end. */
void
spawn_read_environment(const struct spawn_child *child)
{
	char *const *file = child->spawn->environment_files;

	spawn_child_begin(child, SPAWN_STEP_ENVIRONMENT_FILE);
	for (; file != NULL && *file != NULL; file++) {
		int r = take_file(child, *file);

		if (r == 0)
			continue;
		errno = -r;
		spawn_child_fail(child,
		                 r == -E2BIG ? SPAWN_STEP_ENVIRONMENT
		                             : SPAWN_STEP_ENVIRONMENT_FILE,
		                 -1);
	}
}
