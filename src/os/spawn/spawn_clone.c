/* SPDX-License-Identifier: ISC */
/* spawn_clone.c - make the child, and wait until it has executed its program, but never
 * for long.
 *
 * A child can be stopped by other processes of its user, and the files that it needs may
 * lie on a file system that does not answer.  So the parent waits in a way that has an
 * end: a child that was stopped is continued, one that takes too long is killed, and one
 * that even then does not end (state D) is left alone.  SIGKILL is pending for that one:
 * it never executes an instruction of a program again, neither ours nor its own.  But the
 * kernel may still write where the child's system call said, and a 0 into `lives`: both
 * lie in the child's place (struct spawn_place), which is kept until `lives` is 0.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/spawn/clone3.h"
#include "os/spawn/spawn_child.h"

/* How often a child that is waited for is continued (SIGCONT), and the time that a killed
 * child may take to die, in milliseconds. */
enum { STALL_MS = 20, KILL_MS = 200 };

/* Put /dev/null back where a descriptor was staged. */
static void
unstage(const struct spawner *spawner, const struct spawn_child *child)
{
	for (size_t i = 0; i < child->spawn->n_fds; i++)
		if (child->is_borrowed[i])
			(void)dup3(spawner->null_fd, child->from[i], O_CLOEXEC);
}

/*
 * Put what the child needs into the window, right above the numbers it will have, so
 * that it need copy no more of the table than this.  The child renames them once the
 * table is its own.  false: the window is too small; the child copies all of the table.
 */
static bool
stage(const struct spawner *spawner, struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;
	int slot = (int)spawn->n_fds;

	child->keep = slot;
	for (size_t i = 0; i < spawn->n_fds; i++) {
		child->from[i] = spawn->fds[i];
		if (spawn->fds[i] == (int)i || spawn->fds[i] == SPAWN_FD_CLOSED)
			continue;
		if (i > 0 && spawn->fds[i] == spawn->fds[i - 1] &&
		    child->from[i - 1] >= child->keep) {
			child->from[i] = child->from[i - 1];
			continue;
		}
		while (slot < FD_WINDOW && !spawner->is_slot[slot])
			slot++;
		if (slot >= FD_WINDOW)
			return false;
		child->from[i] = slot;
		/* What was not asked for is there already: a slot is /dev/null. */
		if (spawn->fds[i] >= 0) {
			if (dup3(spawn->fds[i], slot, O_CLOEXEC) < 0)
				return false;
			child->is_borrowed[i] = true;
		}
		slot++;
	}
	child->keep = slot;
	return true;
}

/*
 * What to do about the child that is waited for since begun_ms: SIGCONT to go on, SIGKILL
 * when its time is over, 0 to leave it.
 */
static int
next_signal(const struct spawn_child *child, uint64_t begun_ms)
{
	const uint64_t waited_ms = clock_mono_ms() - begun_ms;

	if (waited_ms < child->patience_ms)
		return SIGCONT;
	return waited_ms < child->patience_ms + KILL_MS ? SIGKILL : 0;
}

/* Wait until the child lets go of our memory.  Nothing here may touch errno, which is the
 * child's at that time. */
static void
wait_for_memory(struct spawn_child *child, int pidfd)
{
	static const struct timespec stall = {.tv_nsec = STALL_MS * 1000 * 1000};
	const uint64_t begun_ms = clock_mono_ms();
	int signo;

	while (atomic_load(&child->lives) != 0) {
		if (os_quiet_syscall(SYS_futex, (long)&child->lives, FUTEX_WAIT, 1,
		                     (long)&stall) != -ETIMEDOUT)
			continue;
		signo = next_signal(child, begun_ms);
		if (signo == 0)
			break;
		child->is_late |= signo == SIGKILL;
		(void)os_quiet_syscall(SYS_pidfd_send_signal, pidfd, signo, 0, 0);
	}
}

/* The same by the end of a pipe, which the exec closes, of a child with memory of its
 * own. */
static void
wait_for_pipe(struct spawn_child *child, int fd, int pidfd)
{
	const uint64_t begun_ms = clock_mono_ms();
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int signo;

	while (poll(&end, 1, STALL_MS) <= 0) {
		signo = next_signal(child, begun_ms);
		if (signo == 0)
			break;
		child->is_late |= signo == SIGKILL;
		(void)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
	}
	child->lives = end.revents != 0 ? 0 : 1;
}

/*
 * The child shares our memory until it executes its program: the cost of that does not
 * grow with our memory, nor, where the descriptors that it needs have room in the window,
 * with our descriptors.  Needs clone3 and a place.  0 or -errno.
 */
int
spawn_start_shared(struct spawner *spawner, struct spawn_child *child, void *stack,
                   size_t stack_size, struct spawn_result *ret)
{
	const struct spawn *spawn = child->spawn;
	struct clone_args args = {
	    .flags = CLONE_VM | CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID |
	             CLONE_CHILD_CLEARTID,
	    .child_tid = (uintptr_t)&child->lives,
	    .parent_tid = (uintptr_t)&child->trace->pid,
	    .pidfd = (uintptr_t)&ret->pidfd,
	    .exit_signal = SIGCHLD,
	    .stack = (uintptr_t)stack,
	    .stack_size = stack_size,
	};
	pid_t pid;

	if (spawn->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)spawn->cgroup_fd;
	}
	child->to_reset = spawner->ignored;
	child->is_shared = stage(spawner, child);
	if (child->is_shared)
		args.flags |= CLONE_FILES;
	else
		unstage(spawner, child);
	pid = os_clone3(&args, spawn_child_run, child);
	if (pid > 0)
		wait_for_memory(child, ret->pidfd);
	else
		child->lives = 0;
	if (child->is_shared)
		unstage(spawner, child);
	if (pid < 0)
		return pid;
	ret->pid = pid;
	ret->pidfd = fd_raise(ret->pidfd);
	return 0;
}

/* As fork(), but with a pidfd, and the pid is in the trace before the child runs, which
 * survives us.  0 in the child, its pid, or -errno. */
static pid_t
fork_child(const struct spawner *spawner, struct spawn_child *child, int *ret_pidfd)
{
	const int cgroup_fd = child->spawn->cgroup_fd;
	struct clone_args args = {
	    .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID,
	    .parent_tid = (uintptr_t)&child->trace->pid,
	    .pidfd = (uintptr_t)ret_pidfd,
	    .exit_signal = SIGCHLD,
	};
	pid_t pid;

	if (spawner->has_clone3) {
		if (cgroup_fd >= 0) {
			args.flags |= CLONE_INTO_CGROUP;
			args.cgroup = (uint64_t)cgroup_fd;
		}
		return os_clone3(&args, spawn_child_run, child);
	}
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, NULL,
	                     &child->trace->pid, NULL, NULL);
	if (pid == 0)
		(void)spawn_child_run(child);
	if (pid < 0)
		return -errno;
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd >= 0)
		return pid;
	/* Without a pidfd the wait would have no end. */
	pid = -errno;
	(void)kill(child->trace->pid, SIGKILL);
	return pid;
}

/*
 * The child has a copy of our memory: where its cgroup may run out of memory, which would
 * otherwise end us, too; where no place is left; where clone3 is refused; under a
 * sanitizer. 0 or -errno.
 */
int
spawn_start_copied(struct spawner *spawner, struct spawn_child *child,
                   struct spawn_result *ret)
{
	int ends[2];
	pid_t pid;

	/* Its closing tells of the exec. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child->is_joining = !spawner->has_clone3 && child->spawn->cgroup_fd >= 0;
	child->exec_fd = ends[1];
	child->to_reset = spawner->has_clone3 ? spawner->ignored : UINT64_MAX;
	pid = fork_child(spawner, child, &ret->pidfd);
	(void)close(ends[1]);
	if (pid > 0)
		wait_for_pipe(child, ends[0], ret->pidfd);
	(void)close(ends[0]);
	if (pid < 0)
		return pid;
	ret->pid = pid;
	ret->pidfd = fd_raise(ret->pidfd);
	return 0;
}
