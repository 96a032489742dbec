/* SPDX-License-Identifier: ISC */
/* proc_file.c - what /proc says of one process. */
#include "config.h"

#include "os/process/proc_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 64
#define PID_BYTES  11 /* of the longest, with a space */

/* Read a small file of /proc whole; returns its length, or -errno. */
static ssize_t
read_file(const char *name, char *buf, size_t size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	(void)close(fd);
	return n;
}

/* The last three fields: where the environment begins and ends, and the exit code. */
static void
take_last_fields(const char *stat, struct proc_stat *ret)
{
	const char *at[3] = {NULL};
	uint64_t end;

	for (const char *space = stat; space != NULL; space = strchr(space + 1, ' ')) {
		at[0] = at[1];
		at[1] = at[2];
		at[2] = space;
	}
	end = at[1] == NULL ? 0 : strtoull(at[1], NULL, 10);
	ret->exit_code = at[2] == NULL ? 0 : (int)strtol(at[2], NULL, 10);
	ret->is_bare = end != 0 && strtoull(at[0], NULL, 10) == end;
}

/* Read /proc/PID/stat; -errno: there is no such process, or it cannot be understood. */
int
proc_stat_read(pid_t pid, struct proc_stat *ret)
{
	uint64_t user, system, user_of_reaped, system_of_reaped;
	char name[NAME_BYTES], buf[1024];
	const char *at;
	ssize_t r;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	r = read_file(name, buf, sizeof(buf));
	if (r < 0)
		return (int)r;
	/* The name of the program may contain anything, also a parenthesis. */
	at = strrchr(buf, ')');
	if (at == NULL ||
	    sscanf(at + 1,
	           " %c %d %*d %d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
	           " %" SCNu64 " %" SCNu64 " %*d %*d %d %*d %" SCNu64 " %*u %" SCNd64,
	           &ret->state, &ret->parent, &ret->session, &ret->flags, &user, &system,
	           &user_of_reaped, &system_of_reaped, &ret->threads, &ret->start,
	           &ret->resident_pages) != 11)
		return -EBADMSG;
	take_last_fields(at, ret);
	ret->cpu_ticks = user + system + user_of_reaped + system_of_reaped;
	return 0;
}

/*
 * The real user in /proc/PID/status, also of a process that hides what it can: the owner
 * of its files in /proc is root then.  -errno as for proc_stat_read().
 */
int
proc_uid_read(pid_t pid, uid_t *ret)
{
	char name[NAME_BYTES], buf[1024];
	const char *at;
	ssize_t r;

	(void)snprintf(name, sizeof(name), "/proc/%d/status", pid);
	r = read_file(name, buf, sizeof(buf));
	if (r < 0)
		return (int)r;
	/* A line break in the name of the program is written as two characters. */
	at = strstr(buf, "\nUid:\t");
	return at != NULL && sscanf(at + 6, "%u", ret) == 1 ? 0 : -EBADMSG;
}

/* The first thread may end before the others: the process lives. */
bool
proc_stat_is_dead(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

/* The pids in one "children" file: decimal numbers, a space after each. */
static int
take_listed(const char *name, proc_take_child *take, void *arg)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	char buf[4096];
	pid_t pid = 0;
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return -errno;
	/* A read that leaves room for one more was the last: the kernel fills the buffer
	 * as far as whole numbers go. */
	for (n = sizeof(buf); r == 0 && n > (ssize_t)sizeof(buf) - PID_BYTES;) {
		n = read(fd, buf, sizeof(buf));
		for (ssize_t i = 0; i < n && r == 0; i++) {
			if (isdigit((unsigned char)buf[i])) {
				pid = pid * 10 + (buf[i] - '0');
			} else if (pid > 0) {
				r = take(arg, pid);
				pid = 0;
			}
		}
	}
	(void)close(fd);
	return r;
}

/*
 * The children that one thread of a process has forked.  Returns 0, what `take`
 * returned, or -errno; -ENOENT: it is gone, or the kernel has no such lists.
 */
int
proc_children_of_thread(pid_t pid, pid_t thread, proc_take_child *take, void *arg)
{
	char name[NAME_BYTES];

	(void)snprintf(name, sizeof(name), "/proc/%d/task/%d/children", pid, thread);
	return take_listed(name, take, arg);
}

/*
 * The children of every thread: a child belongs to the thread that forked it.  Returns
 * as proc_children_of_thread(); 0 also when the process is gone.
 */
int
proc_children(pid_t pid, proc_take_child *take, void *arg)
{
	char name[NAME_BYTES];
	struct dirent *entry;
	bool found = false;
	DIR *threads;
	int r = 0;

	(void)snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	if (threads == NULL)
		return errno == ENOENT ? 0 : -errno;
	while (r != -ENOMEM && (entry = readdir(threads)) != NULL) {
		const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		r = proc_children_of_thread(pid, thread, take, arg);
		found = found || r == 0;
	}
	(void)closedir(threads);
	/* A thread that has ended meanwhile is no failure; none with the file is. */
	return found || r == -ENOMEM ? (r == -ENOMEM ? r : 0) : r;
}
