/* SPDX-License-Identifier: ISC */
/* proc.c - what a process is, as the kernel tells of it. */
#include "config.h"

#include "os/process/proc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "os/process/proc_file.h"

#define PROC_NAME_MAX 64
/* In /proc/PID/stat: forked, but has not executed anything yet (PF_FORKNOEXEC). */
#define FLAG_NO_EXEC 0x40

enum { MARK_TRIES = 3 };
/* Of a number of 64 bits. */
#define HEX_DIGITS 16

/* A mark as it stands in the environment; "" where there is none. */
struct proc_mark_text
proc_mark_text(const struct proc_mark *mark)
{
	struct proc_mark_text ret = {.text = ""};
	struct strbuf text;

	if (mark->secret == NULL)
		return ret;
	/* Twice for each restart: the digits are put down without a call each. */
	for (unsigned int i = 0; i < 2 * HEX_DIGITS; i++)
		ret.text[i] = "0123456789abcdef"[mark->secret[i / HEX_DIGITS] >>
		                                     (60 - 4 * (i % HEX_DIGITS)) &
		                                 15];
	strbuf_borrow(&text, ret.text + 2 * HEX_DIGITS,
	              sizeof(ret.text) - 2 * HEX_DIGITS);
	strbuf_addc(&text, '-');
	if (mark->slot == PROC_MARK_TASK)
		strbuf_adds(&text, "task");
	else
		strbuf_add_number(&text, mark->slot);
	strbuf_addc(&text, '-');
	strbuf_add_number(&text, mark->number);
	return ret;
}

/* True if this process carries the mark, which is not empty, in its environment.  In the
 * midst of an exec it has none for a moment: look again. */
bool
proc_has_mark(pid_t pid, const char *mark)
{
	char its[PROC_MARK_MAX];

	for (int i = 0; i < MARK_TRIES && proc_mark_read(pid, its) == -EAGAIN; i++)
		(void)nanosleep(&(const struct timespec){.tv_nsec = 50000}, NULL);
	return its[0] != '\0' && strcmp(its, mark) == 0;
}

/*
 * True if this child has executed its program.  Told by a flag that all users may read;
 * the environment of another user's process may be hidden.
 */
bool
proc_has_execed(pid_t pid)
{
	struct proc_stat line;

	return proc_stat_read(pid, &line) == 0 && (line.flags & FLAG_NO_EXEC) == 0;
}

/* True if this process, of any user, is stopped by a signal now. */
bool
proc_is_stopped(pid_t pid)
{
	struct proc_stat line;

	return proc_stat_read(pid, &line) == 0 &&
	       (line.state == 'T' || line.state == 't');
}

/* True if this process has begun to end.  Then it has closed its descriptors, or does. */
bool
proc_is_ending(pid_t pid)
{
	struct proc_stat line;

	return proc_stat_read(pid, &line) < 0 || proc_stat_is_dead(&line) ||
	       (line.flags & PROC_IS_EXITING) != 0;
}

/* True if processes of one pid, which started at these times, may be one process.  0:
 * the kernel did not tell the time. */
bool
proc_same_start(uint64_t start, uint64_t other)
{
	return start == other || start == 0 || other == 0;
}

/*
 * Identify a process: its parent, and the time of its start in clock ticks since the
 * system's start; no other process has the same pid and start.  Works for zombies, too. 0
 * or -errno.
 */
int
proc_look(pid_t pid, pid_t *ret_parent, uint64_t *ret_start)
{
	struct proc_stat line;
	int r = proc_stat_read(pid, &line);

	if (r < 0)
		return r;
	*ret_parent = line.parent;
	*ret_start = line.start;
	return 0;
}

/* Now, as proc_look() tells when processes were started. */
uint64_t
proc_ticks(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) *
	       (uint64_t)sysconf(_SC_CLK_TCK) / 1000;
}

/*
 * True if the process that had this pid then (proc_ticks()) is gone: there is none, or
 * one that was started later.  While there is no descriptor to look with, it is taken for
 * being there.
 */
bool
proc_is_gone(pid_t pid, uint64_t since)
{
	struct proc_stat line;
	int r = proc_stat_read(pid, &line);

	return r == -ENOENT || r == -ESRCH || (r == 0 && line.start > since);
}

/* True if we may see what /proc says of this process to its owner only. */
static bool
is_open_to_us(pid_t pid)
{
	char name[PROC_NAME_MAX], target[PROC_NAME_MAX];

	(void)snprintf(name, sizeof(name), "/proc/%d/ns/pid", pid);
	return readlink(name, target, sizeof(target)) >= 0 || errno != EACCES;
}

/*
 * How did this child of another process end, which has not reaped it yet?  Without the
 * times that it took.  Returns 0; -EAGAIN: it is no zombie; -EACCES: that is hidden from
 * us; or another -errno when there is no such process.  In the first three cases
 * *ret_parent is told.
 */
int
proc_zombie(pid_t pid, pid_t *ret_parent, struct reap *ret)
{
	struct proc_stat line;
	int r = proc_stat_read(pid, &line);

	if (r < 0)
		return r;
	*ret_parent = line.parent;
	if (!proc_stat_is_dead(&line))
		return -EAGAIN;
	if (!is_open_to_us(pid))
		return -EACCES;
	*ret = (struct reap){.pid = pid, .kind = REAP_EXITED};
	if (WIFEXITED(line.exit_code)) {
		ret->status = WEXITSTATUS(line.exit_code);
	} else {
		ret->kind = WCOREDUMP(line.exit_code) ? REAP_DUMPED : REAP_SIGNALED;
		ret->status = WTERMSIG(line.exit_code);
	}
	return 0;
}
