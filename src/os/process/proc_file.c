/* SPDX-License-Identifier: ISC */
/* proc_file.c - what /proc says of one process. */
#include "config.h"

#include "os/process/proc_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/self/fd.h"

#define NAME_BYTES           64
#define MARK_NAME            "SUPD_ID="
#define STATUS_BYTES         4096
#define UID_LINE             "\nUid:\t"
#define ENVIRON_MAX          ((size_t)2 << 20)
#define FLAGS_WITHOUT_MEMORY (PROC_IS_OF_KERNEL | PROC_IS_EXITING)

#define PID_BYTES 11 /* of the longest, with a space */

/* Read a small file of /proc/PID whole; returns its length, or -errno. */
static ssize_t
read_file(pid_t pid, const char *file, char *buf, size_t size)
{
	char name[NAME_BYTES];

	(void)snprintf(name, sizeof(name), "/proc/%d/%s", pid, file);
	CLEANUP(fd_close) int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

/*
 * The last three fields: where the environment begins and ends, and the exit code.  An
 * exec writes the beginning as the end, too, for as long as it lists the variables, and
 * tells where the code begins only after that (create_elf_tables() in the kernel).
 */
static void
take_last_fields(const char *stat, uint64_t code, struct proc_stat *ret)
{
	const char *at[3] = {NULL};

	for (const char *space = stat; space != NULL; space = strchr(space + 1, ' ')) {
		at[0] = at[1];
		at[1] = at[2];
		at[2] = space;
	}
	uint64_t end = at[1] == NULL ? 0 : strtoull(at[1], NULL, 10);
	ret->exit_code = at[2] == NULL ? 0 : (int)strtol(at[2], NULL, 10);
	ret->is_bare =
	    code != 0 && end != 0 && at[0] != NULL && strtoull(at[0], NULL, 10) == end;
}

/* Read /proc/PID/stat, which may take for ever: proc_stat_read() asks a child for it.
 * -errno: there is no such process, or it cannot be understood. */
int
proc_stat_direct(pid_t pid, struct proc_stat *ret)
{
	uint64_t user, system, user_of_reaped, system_of_reaped, code;
	char buf[1024];
	ssize_t r = read_file(pid, "stat", buf, sizeof(buf));

	if (r < 0)
		return (int)r;
	/* The name of the program may contain anything, also a parenthesis. */
	const char *at = strrchr(buf, ')');
	if (at == NULL ||
	    sscanf(at + 1,
	           " %c %d %*d %d %*d %*d %u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
	           " %" SCNu64 " %" SCNu64 " %*d %*d %d %*d %" SCNu64 " %*u %" SCNd64
	           " %*u %" SCNu64,
	           &ret->state, &ret->parent, &ret->session, &ret->flags, &user, &system,
	           &user_of_reaped, &system_of_reaped, &ret->threads, &ret->start,
	           &ret->resident_pages, &code) != 12)
		return -EBADMSG;
	take_last_fields(at, code, ret);
	ret->cpu_ticks = user + system + user_of_reaped + system_of_reaped;
	return 0;
}

/* The number behind this name in /proc/PID/status; 0: there is none. */
static int
number_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at == NULL ? 0 : (int)strtol(at + strlen(name), NULL, 10);
}

/* Read /proc/PID/status, which the kernel always tells; its length, or -errno. */
static int
read_status(pid_t pid, char buf[STATUS_BYTES])
{
	return (int)read_file(pid, "status", buf, STATUS_BYTES);
}

/*
 * What /proc/PID/status has of proc_stat_read(): the kernel always tells it.  The time of
 * the start is not in it (0), nor the flags and what was used.  Returns as that.
 */
int
proc_stat_rough(pid_t pid, struct proc_stat *ret)
{
	char buf[STATUS_BYTES];
	const int r = read_status(pid, buf);

	if (r < 0)
		return r;
	/* A line break in the name of the program is written as two characters. */
	const char *state = strstr(buf, "\nState:\t");
	if (state == NULL)
		return -EBADMSG;
	*ret = (struct proc_stat){.state = state[8],
	                          .parent = number_of(buf, "\nPPid:\t"),
	                          .session = number_of(buf, "\nNSsid:\t"),
	                          .uid = (uid_t)number_of(buf, UID_LINE),
	                          .tracer = number_of(buf, "\nTracerPid:\t"),
	                          /* cut off behind many groups: there may be more */
	                          .threads = strstr(buf, "\nThreads:\t") == NULL
	                                         ? INT_MAX
	                                         : number_of(buf, "\nThreads:\t")};
	return 0;
}

/* How many pages of a process are in memory: cheaper than all of proc_stat_read(). */
int
proc_resident_read(pid_t pid, uint64_t *ret)
{
	char buf[256];
	ssize_t r = read_file(pid, "statm", buf, sizeof(buf));

	if (r < 0)
		return (int)r;
	return sscanf(buf, "%*u %" SCNu64, ret) == 1 ? 0 : -EBADMSG;
}

/*
 * The real user in /proc/PID/status, also of a process that hides what it can: the owner
 * of its files in /proc is root then.  -errno as for proc_stat_rough().
 */
int
proc_uid_read(pid_t pid, uid_t *ret)
{
	char buf[STATUS_BYTES];
	const int r = read_status(pid, buf);
	/* Asked of all processes of the machine: no other line is understood. */
	const char *at = r < 0 ? NULL : strstr(buf, UID_LINE);

	if (at == NULL)
		return r < 0 ? r : -EBADMSG;
	*ret = (uid_t)strtol(at + strlen(UID_LINE), NULL, 10);
	return 0;
}

/* The name of the program that a process runs, as it calls itself; false: not known. */
bool
proc_program(pid_t pid, char ret[PROC_PROGRAM_MAX])
{
	if (pid <= 0 || read_file(pid, "comm", ret, PROC_PROGRAM_MAX) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return ret[0] != '\0';
}

/* True if the whole process has ended.  Its first thread may end before others: then it
 * lives. */
bool
proc_stat_is_dead(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

/* The pids in one "children" file: decimal numbers, a space after each. */
static int
take_listed(int fd, proc_take_child *take, void *arg)
{
	char buf[4096];
	pid_t pid = 0;
	off_t at = 0;
	ssize_t n;
	int r = 0;

	/* A read that leaves room for one more was the last: the kernel fills the buffer
	 * as far as whole numbers go. */
	for (n = sizeof(buf); r == 0 && n > (ssize_t)sizeof(buf) - PID_BYTES; at += n) {
		n = pread(fd, buf, sizeof(buf), at);
		for (ssize_t i = 0; i < n && r == 0; i++) {
			if (isdigit((unsigned char)buf[i])) {
				pid = pid * 10 + (buf[i] - '0');
			} else if (pid > 0) {
				r = take(pid, arg);
				pid = 0;
			}
		}
	}
	return r;
}

static int
open_list(pid_t pid, pid_t thread)
{
	char name[NAME_BYTES];

	(void)snprintf(name, sizeof(name), "/proc/%d/task/%d/children", pid, thread);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Take in the children of a process with one thread, again and again: *fd, -1 at first,
 * is kept for that, and the caller's to be closed.  0; what take() returned; -ENOENT: the
 * kernel keeps no such list, or the process was gone at the first time; or -errno.
 */
int
proc_children_again(int *fd, pid_t pid, proc_take_child *take, void *arg)
{
	if (*fd < 0)
		*fd = open_list(pid, pid);
	if (*fd < 0)
		return *fd;
	*fd = fd_raise(*fd);
	return take_listed(*fd, take, arg);
}

/*
 * The children of every thread: a child belongs to the thread that forked it.  Where the
 * process has one thread, as far as is known, no thread is looked for; 0: not known.
 * Returns as proc_children_again(); 0 also when the process is gone, but for one that has
 * one thread: -ENOENT.
 */
int
proc_children(pid_t pid, int n_threads, proc_take_child *take, void *arg)
{
	char name[NAME_BYTES];
	struct dirent *entry;
	bool found = false;
	int r = 0;

	if (n_threads == 1) {
		CLEANUP(fd_close) int only = open_list(pid, pid);
		return only < 0 ? only : take_listed(only, take, arg);
	}
	(void)snprintf(name, sizeof(name), "/proc/%d/task", pid);
	CLEANUP_DIR DIR *threads = opendir(name);
	if (threads == NULL)
		return errno == ENOENT ? 0 : -errno;
	while (r != -ENOMEM && (entry = readdir(threads)) != NULL) {
		const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		CLEANUP(fd_close) int fd = open_list(pid, thread);
		r = fd < 0 ? fd : take_listed(fd, take, arg);
		found = found || r == 0;
	}
	/* A thread that has ended meanwhile is no failure; none with the file is. */
	return found || r == -ENOMEM ? (r == -ENOMEM ? r : 0) : r;
}

/* Open this file of an environment; -ENODATA: nothing is in it; or another -errno. */
static int
open_environ(const char *name)
{
	char first;
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : pread(fd, &first, 1, 0);
	const int r = n > 0 ? fd : n < 0 ? -errno : -ENODATA;

	if (n <= 0)
		fd_close(&fd);
	return r;
}

/*
 * Open the environment of a process.  A main thread that has ended has none any more,
 * and its files belong to root; living threads share it.  -EACCES or -EPERM: we may not
 * look; another -errno: none of the threads has any.
 */
int
proc_environ_open(pid_t pid)
{
	char name[NAME_BYTES];
	const struct dirent *entry;

	(void)snprintf(name, sizeof(name), "/proc/%d/environ", pid);
	int fd = open_environ(name);
	(void)snprintf(name, sizeof(name), "/proc/%d/task", pid);
	CLEANUP_DIR DIR *threads = fd < 0 ? opendir(name) : NULL;
	while (threads != NULL && fd < 0 && (entry = readdir(threads)) != NULL) {
		(void)snprintf(name, sizeof(name), "/proc/%d/task/%.10s/environ", pid,
		               entry->d_name);
		if (isdigit((unsigned char)entry->d_name[0]))
			fd = open_environ(name);
	}
	return fd;
}

/* Look for "SUPD_ID=" at the start of a variable in this file of an environment; its
 * value, or "" where there is none.  False: the process has left this environment. */
static bool
read_mark(int fd, char ret[PROC_MARK_MAX])
{
	const size_t name_len = strlen(MARK_NAME);
	char buf[4096];
	size_t matched = 0, used = 0, total = 0;
	bool skipping = false;
	ssize_t n;

	while (total < ENVIRON_MAX && (n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] == '\0') {
				if (matched == name_len) {
					ret[used] = '\0';
					return true;
				}
				matched = 0;
				skipping = false;
			} else if (skipping) {
				continue;
			} else if (matched < name_len) {
				skipping = buf[i] != MARK_NAME[matched];
				matched++;
			} else if (used < PROC_MARK_MAX - 1) {
				ret[used++] = buf[i];
			}
		}
	}
	ret[0] = '\0';
	return total > 0;
}

/* True if a process whose environment seemed to be empty is, or was just then, in the
 * midst of an exec: the kernel has a moment, long on a busy machine, between the old
 * environment and the new. */
bool
proc_stat_is_executing(const struct proc_stat *stat)
{
	return !stat->is_bare && !proc_stat_is_dead(stat) &&
	       (stat->flags & FLAGS_WITHOUT_MEMORY) == 0;
}

/* What proc_mark_read() asks a child for, `ret` being "": it may take for ever. */
int
proc_mark_direct(pid_t pid, char ret[PROC_MARK_MAX])
{
	struct proc_stat stat;
	CLEANUP(fd_close) int fd = proc_environ_open(pid);
	const bool is_known =
	    fd >= 0 ? read_mark(fd, ret) : fd == -EACCES || fd == -EPERM;

	return !is_known && proc_stat_direct(pid, &stat) == 0 &&
	               proc_stat_is_executing(&stat)
	           ? -EAGAIN
	           : 0;
}

/* What proc_wchan_read() asks a child for: it may take for ever. */
void
proc_wchan_direct(pid_t pid, char ret[PROC_WCHAN_MAX])
{
	/* "0" is the kernel's word for "nowhere", or for "not for you". */
	if (read_file(pid, "wchan", ret, PROC_WCHAN_MAX) <= 0 || strcmp(ret, "0") == 0)
		ret[0] = '\0';
}
