/* SPDX-License-Identifier: ISC */
/* role.c - the same program again, in another role: in a child, or in our place. */
#include "config.h"

#include "os/self/role.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/self/fd.h"
#include "os/self/say.h"

/*
 * Open the file for the one that is executed in our place, close-on-exec, at its number,
 * which nothing else ever gets from then on.  To be called when only the standard
 * descriptors are open.  Returns 0 or -errno.
 */
int
role_reserve(void)
{
	int fd = memfd_create("supd-role", MFD_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	/* Where not even the standard descriptors could be opened. */
	if (fd != ROLE_FD) {
		r = dup3(fd, ROLE_FD, O_CLOEXEC) < 0 ? -errno : 0;
		(void)close(fd);
	}
	return r;
}

/* The user's arguments with a place for the role.  The caller frees the array; the
 * strings stay borrowed.  NULL: no memory. */
char **
role_arguments(char **argv)
{
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	char **all = calloc(n + 3, sizeof(*all));
	if (all == NULL)
		return NULL;
	all[0] = n > 0 ? argv[0] : (char *)(uintptr_t) "supd";
	for (size_t i = 1; i < n; i++)
		all[i + 1] = argv[i];
	return all;
}

/*
 * The binary that this process runs, whatever becomes of its file: a descriptor, which
 * is close-on-exec and at or above FD_WINDOW, or -errno.  ret_path says where it was
 * started from, as far as that is known and fits; it is filled up with NULs.
 */
int
role_binary(char *ret_path, size_t size)
{
	int fd = fd_raise(open("/proc/self/exe", O_PATH | O_CLOEXEC));

	if (fd < 0)
		return -errno;
	memset(ret_path, 0, size);
	(void)!readlink("/proc/self/exe", ret_path, size - 1);
	return fd;
}

/* Become this binary in this role, in place.  Safe in a child; returns only -errno. */
int
role_exec(int binary_fd, char **arguments, const char *role)
{
	/* execve(2) does not write there. */
	arguments[1] = (char *)(uintptr_t)role;
	(void)fexecve(binary_fd, arguments, environ);
	return -errno;
}

/* In the child: only calls that are safe there. */
static void
play(int binary_fd, char **arguments, const char *role, int fd)
{
	sigset_t none;
	int r = dup2(fd, ROLE_FD) == ROLE_FD ? 0 : -errno;

	(void)setpgid(0, 0);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (r == 0)
		r = role_exec(binary_fd, arguments, role);
	say("cannot run supd as %s: %s", role, strerror(-r));
	_exit(EX_OSERR);
}

/*
 * Start a child that runs this binary in this role, with fd as its ROLE_FD, in a process
 * group of its own, with no signal blocked.  Returns its pid or -errno; one that cannot
 * be executed says so and ends with EX_OSERR.
 */
int
role_start(int binary_fd, char **arguments, const char *role, int fd)
{
	pid_t pid = fork();

	if (pid == 0)
		play(binary_fd, arguments, role, fd);
	return pid < 0 ? -errno : pid;
}

/* What follows is written for the one that is executed in our place, and what was
 * written before, for an attempt that failed, is not.  0 or -errno. */
int
role_begin(void)
{
	return ftruncate(ROLE_FD, 0) < 0 || lseek(ROLE_FD, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* Add to what is written.  0 or -errno. */
int
role_write(const void *data, size_t bytes)
{
	return fd_write_all(ROLE_FD, data, bytes);
}

/* What was written for us there; false where there is not so much, or nothing at all. */
bool
role_read(void *ret, size_t bytes, size_t at)
{
	return pread(ROLE_FD, ret, bytes, (off_t)at) == (ssize_t)bytes;
}
