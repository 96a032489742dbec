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
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/spawn/spawn_child.h"

enum { CHUNK = 8192 };

/* As open(2), with a path that counts from the root of the parent; -errno. */
static long
open_outside(const struct spawn_child *child, const char *path, int flags, mode_t mode)
{
	const struct open_how how = {
	    .flags = (unsigned int)(flags | O_LARGEFILE),
	    .mode = (flags & O_CREAT) != 0 ? mode : 0,
	    .resolve = RESOLVE_IN_ROOT,
	};

	if (child->root_fd < 0)
		return os_quiet_syscall(SYS_openat, AT_FDCWD, (long)path,
		                        flags | O_LARGEFILE, mode, 0);
	return os_quiet_syscall(SYS_openat2, child->root_fd, (long)path, (long)&how,
	                        sizeof(how), 0);
}

/*
 * May the actor have meant this file?  A regular file of root, of the child's user or of
 * supd's, without a second name that could have brought it here; or a device; or, with
 * may_be_pipe, a named pipe. 0 or -errno: EINVAL, EMLINK, EPERM.
 */
static long
judge(const struct spawn_child *child, long fd, bool may_be_pipe, struct statx *ret)
{
	const long r = os_quiet_syscall(SYS_statx, fd, (long)"", AT_EMPTY_PATH,
	                                STATX_BASIC_STATS, (long)ret);

	if (r < 0)
		return r;
	if (S_ISCHR(ret->stx_mode) || (may_be_pipe && S_ISFIFO(ret->stx_mode)))
		return 0;
	if (!S_ISREG(ret->stx_mode))
		return -EINVAL;
	if (ret->stx_nlink > 1)
		return -EMLINK;
	if (ret->stx_uid != 0 && ret->stx_uid != child->uid &&
	    ret->stx_uid != child->parent_uid)
		return -EPERM;
	return 0;
}

/* Make the directories that are missing on the way to the file; 0, or why one could not
 * be made. */
static long
make_parents(const char *path)
{
	char part[PATH_MAX];
	long r, failed = 0;

	if (strlen(path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (const char *slash = strchr(path, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		const size_t len = (size_t)(slash - path);

		if (len == 0)
			continue;
		memcpy(part, path, len);
		part[len] = '\0';
		r = spawn_call(SYS_mkdirat, AT_FDCWD, (long)part, 0755);
		if (r < 0 && r != -EEXIST && failed == 0)
			failed = r;
	}
	return failed;
}

/* Waiting neither for the reader nor for the writer of a pipe, ever; the process may. */
static long
open_own(const struct spawn_child *child, const char *path, bool for_reading)
{
	const int both = O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
	const int flags = O_WRONLY | O_APPEND | O_CREAT;

	if (for_reading)
		return open_outside(child, path, O_RDONLY | both, 0);
	long fd = open_outside(child, path, flags | both, 0640);
	if (fd != -ENOENT || child->root_fd >= 0)
		return fd;
	long failed = make_parents(path);
	fd = open_outside(child, path, flags | both, 0640);
	return fd == -ENOENT && failed < 0 ? failed : fd;
}

/* Have the file as descriptor `own`; 0 or -errno. */
static long
place_file(const struct spawn_child *child, int own)
{
	const char *path = child->spawn->files[own];
	const bool for_reading = own == STDIN_FILENO;
	struct statx st;

	/* The lowest free number is the one that is opened. */
	(void)spawn_call(SYS_close, own, 0, 0);
	long fd = open_own(child, path, for_reading);
	if (fd < 0)
		return fd;
	long r = fd != own ? -EBADF : judge(child, fd, true, &st);
	if (r == 0 && for_reading && S_ISFIFO(st.stx_mode)) {
		/* With the writing end in the reader's own hands it has no end when its
		 * writers go. */
		(void)spawn_call(SYS_close, own, 0, 0);
		fd = open_outside(child, path,
		                  O_RDWR | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0);
		r = fd < 0 ? fd : judge(child, fd, true, &st);
	}
	if (r == 0)
		r = spawn_call(SYS_fcntl, fd, F_SETFL, for_reading ? 0 : O_APPEND);
	return r;
}

/* Open what is to be its standard descriptors, or report and end. */
void
spawn_open_files(const struct spawn_child *child)
{
	const char *const *files = child->spawn->files;

	for (int own = 0; own < 3; own++) {
		const enum spawn_step step =
		    own == STDIN_FILENO ? SPAWN_STEP_INPUT : SPAWN_STEP_OUTPUT;
		long r;

		if (files[own] == NULL)
			continue;
		spawn_child_begin(child, step);
		if (own == STDERR_FILENO && files[own] == files[STDOUT_FILENO])
			r = spawn_call(SYS_dup3, STDOUT_FILENO, own, 0);
		else
			r = place_file(child, own);
		if (r < 0)
			spawn_child_fail(child, step, -1, r);
	}
}

/* ---- environment files ---- */

/* Read all of it into the caller's room; the length or -errno.  By way of our stack: when
 * this process was given up the kernel may still write where read(2) said. */
static long
read_all(const struct spawn_child *child, long fd)
{
	const struct spawn *spawn = child->spawn;
	char chunk[CHUNK];
	size_t len = 0;
	long n;

	while ((n = spawn_call(SYS_read, fd, (long)chunk, sizeof(chunk))) > 0) {
		if (len + (size_t)n >= spawn->room_size)
			return -EFBIG;
		memcpy(spawn->room + len, chunk, (size_t)n);
		len += (size_t)n;
	}
	if (n < 0)
		return n;
	spawn->room[len] = '\0';
	return (long)len;
}

/* Take one file; 0 or -errno, with a sentence. */
static long
take_file(const struct spawn_child *child, const char *path)
{
	const struct spawn *spawn = child->spawn;
	const bool is_optional = path[0] == '-';
	struct err *err = &child->shared->err;
	struct statx st;
	long fd, r, len = -1;

	path += is_optional;
	fd = open_outside(child, path,
	                  O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd == -ENOENT && is_optional)
		return 0;
	r = fd < 0 ? fd : judge(child, fd, false, &st);
	if (r == 0)
		len = read_all(child, fd);
	if (r == 0 && len < 0)
		r = len;
	if (r < 0) {
		err_set(err, 0, "%s cannot be read%s", path,
		        r == -EFBIG ? ": it is too large" : "");
		return r;
	}
	(void)spawn_call(SYS_close, fd, 0, 0);
	return spawn->on_file(spawn->on_file_data, path, spawn->room, (size_t)len, err);
}

/* Read the files with variables, or report and end. */
void
spawn_read_environment(const struct spawn_child *child)
{
	char *const *file = child->spawn->environment_files;

	spawn_child_begin(child, SPAWN_STEP_ENVIRONMENT_FILE);
	for (; file != NULL && *file != NULL; file++) {
		const long r = take_file(child, *file);

		if (r < 0)
			spawn_child_fail(child,
			                 r == -E2BIG ? SPAWN_STEP_ENVIRONMENT
			                             : SPAWN_STEP_ENVIRONMENT_FILE,
			                 -1, r);
	}
}
