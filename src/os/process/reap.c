/* SPDX-License-Identifier: ISC */
/* reap.c - learn how children ended: peek, then reap. */
#include "config.h"

#include "os/process/reap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "os/self/clock.h"

/* Missing in older C libraries. */
enum { OS_P_PIDFD = 3 };

static enum reap_kind
kind_of(int code)
{
	switch (code) {
	case CLD_EXITED:
		return REAP_EXITED;
	case CLD_DUMPED:
		return REAP_DUMPED;
	case CLD_STOPPED:
	case CLD_TRAPPED:
		return REAP_STOPPED;
	case CLD_CONTINUED:
		return REAP_CONTINUED;
	default:
		return REAP_SIGNALED;
	}
}

static uint64_t
microseconds(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
}

/*
 * The system call itself: its fifth argument, which waitid(3) hides, is the rusage of
 * the one child that was waited for, also without reaping it.
 */
static int
wait_for(int type, int id, int options, struct reap *ret)
{
	struct rusage usage;
	siginfo_t info;
	long r;

	info.si_pid = 0;
	do {
		r = syscall(SYS_waitid, type, id, &info, options | WNOHANG | __WALL,
		            &usage);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	if (info.si_pid == 0)
		return 0;
	*ret = (struct reap){
	    .pid = info.si_pid,
	    .kind = kind_of(info.si_code),
	    .status = info.si_status,
	    .utime_us = microseconds(usage.ru_utime),
	    .stime_us = microseconds(usage.ru_stime),
	    .maxrss_kib = (uint64_t)usage.ru_maxrss,
	};
	return 1;
}

/* The most memory that this process was seen to have. */
static uint64_t ours_kib;

/*
 * True if the most memory of a child was that of its program.  The kernel also counts
 * what it shared with this process before that; our own peak is looked up only where the
 * child's is beyond the one known, so that ends of small programs cost no system call.
 */
bool
os_reap_is_own_memory(const struct reap *reap)
{
	struct rusage usage;

	if (reap->maxrss_kib > ours_kib && getrusage(RUSAGE_SELF, &usage) == 0)
		ours_kib = (uint64_t)usage.ru_maxrss;
	return reap->maxrss_kib > ours_kib;
}

static int
wait_for_one(int pidfd, pid_t pid, int options, struct reap *ret)
{
	ASSERT(pidfd >= 0 || pid > 0);
	return pidfd >= 0 ? wait_for(OS_P_PIDFD, pidfd, options, ret)
	                  : wait_for(P_PID, pid, options, ret);
}

/*
 * Learn how a child of ours ended and leave it a zombie, as often as one likes.  By its
 * pidfd, or where that is -1 by its pid.  Never waits.
 *
 * Returns 1 and fills ret if it has ended, 0 if it has not, -ECHILD if it is not our
 * child or was reaped already, or another -errno.  Stops and continues are not told.
 */
int
os_reap_peek(int pidfd, pid_t pid, struct reap *ret)
{
	return wait_for_one(pidfd, pid, WEXITED | WNOWAIT, ret);
}

/*
 * As os_reap_peek(), and the zombie is gone: from now on the pid may be anybody's.  The
 * pidfd stays open.  The cost does not depend on the number of children.
 */
int
os_reap_pidfd(int pidfd, pid_t pid, struct reap *ret)
{
	return wait_for_one(pidfd, pid, WEXITED, ret);
}

/*
 * As os_reap_pidfd(), and wait for the end, so long at most.  Without a pidfd nothing is
 * waited for.
 */
int
os_reap_wait(int pidfd, pid_t pid, int timeout_ms, struct reap *ret)
{
	const uint64_t until_ms = clock_mono_ms() + (uint64_t)timeout_ms;
	int r = -1;

	/* Signals come, that of another child's end above all. */
	while (pidfd >= 0 && r < 0 && timeout_ms >= 0) {
		r = poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, timeout_ms);
		timeout_ms = (int)(int64_t)(until_ms - clock_mono_ms());
	}
	return os_reap_pidfd(pidfd, pid, ret);
}

/*
 * Take the next news of any child: an end, which reaps it, a stop or a continue, each of
 * which is told once.  Also of those that have a pidfd, so look the pid up first.  Call
 * until it returns 0; each call walks the list of all children (waitid(P_ALL)).
 *
 * Returns 1 and fills ret, 0 if there is no news or no child at all, or -errno.
 */
int
os_reap_any(struct reap *ret)
{
	int r = wait_for(P_ALL, 0, WEXITED | WSTOPPED | WCONTINUED, ret);

	return r == -ECHILD ? 0 : r;
}

/*
 * As os_reap_any(), and it stays news: the same again at the next call, until
 * os_reap_peeked() is called for it.  Returns 1 and fills ret, 0, or -errno.
 */
int
os_reap_peek_any(struct reap *ret)
{
	int r = wait_for(P_ALL, 0, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT, ret);

	return r == -ECHILD ? 0 : r;
}

/* Take the news that os_reap_peek_any() told: an end reaps the child. */
void
os_reap_peeked(const struct reap *reap)
{
	int options = WEXITED;
	struct reap same;

	if (reap->kind == REAP_STOPPED)
		options = WSTOPPED;
	else if (reap->kind == REAP_CONTINUED)
		options = WCONTINUED;
	/* A child that went on meanwhile has no such news any more. */
	(void)wait_for(P_PID, reap->pid, options, &same);
}

/* An end in words: "exit status 3", "SIGSEGV (core dumped)".  Returns buf. */
const char *
os_reap_text(const struct reap *end, char buf[REAP_TEXT_MAX])
{
	if (end->kind == REAP_EXITED)
		(void)snprintf(buf, REAP_TEXT_MAX, "exit status %d", end->status);
	else
		(void)snprintf(buf, REAP_TEXT_MAX, "%s%s", signal_name(end->status),
		               end->kind == REAP_DUMPED ? " (core dumped)" : "");
	return buf;
}

/* True if this child of ours is stopped by a signal that os_reap_any() has not told
 * yet. */
bool
os_reap_is_stopped(int pidfd)
{
	struct reap reap;

	return pidfd >= 0 && wait_for(OS_P_PIDFD, pidfd, WSTOPPED | WNOWAIT, &reap) > 0;
}

/*
 * Become the parent of every orphan below us (prctl(2), PR_SET_CHILD_SUBREAPER).  It
 * stays over exec and is not inherited by children.  Returns 0 or -errno.
 */
int
os_become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : -errno;
}
