/* SPDX-License-Identifier: ISC */
/* spawn_clone.c - make the child: in our memory, or with a copy of it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/self/fd.h"
#include "os/spawn/spawn_child.h"

/* The child is there. */
static int
have(struct spawn_place *place, pid_t pid, int pidfd)
{
	place->pid = pid;
	place->pidfd = fd_raise(pidfd);
	return 0;
}

/*
 * The child shares our memory until it executes its program: the cost of that does not
 * grow with our memory, nor, where the descriptors that it needs have room in the window,
 * with our descriptors.  Needs clone3.  0 or -errno.
 */
int
spawn_clone_shared(struct spawner *spawner, struct spawn_place *place)
{
	struct spawn_child *child = &place->child;
	char *stack = spawn_place_stack(place);
	int pidfd = -1;
	struct clone_args args = {
	    .flags = CLONE_VM | CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID |
	             CLONE_CHILD_CLEARTID,
	    .child_tid = (uintptr_t)&child->lives,
	    .parent_tid = (uintptr_t)&child->trace->pid,
	    .pidfd = (uintptr_t)&pidfd,
	    .exit_signal = SIGCHLD,
	    .stack = (uintptr_t)stack,
	    .stack_size = (size_t)((char *)place - stack),
	};

	if (child->spawn->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)child->spawn->cgroup_fd;
	}
	/* No handler of ours may run in the child: clone3 has taken them all away before
	 * its first instruction. */
	child->to_reset = spawner->ignored;
	child->is_shared = spawn_window_stage(spawner, place);
	if (child->is_shared)
		args.flags |= CLONE_FILES;
	else
		spawn_window_unstage(spawner, place);
	pid_t pid = os_clone3(&args, spawn_child_run, child);
	if (pid > 0)
		return have(place, pid, pidfd);
	if (child->is_shared)
		spawn_window_unstage(spawner, place);
	return pid;
}

/* As fork(), but with a pidfd; and the kernel writes the pid into the trace, which
 * survives us, before the child runs.  0 in the child, its pid, or -errno. */
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

	if (spawner->has_clone3) {
		if (cgroup_fd >= 0) {
			args.flags |= CLONE_INTO_CGROUP;
			args.cgroup = (uint64_t)cgroup_fd;
		}
		return os_clone3(&args, spawn_child_run, child);
	}
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, NULL,
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
 * Start a child with a copy of our memory; 0 or -errno.  This is for a cgroup that may
 * run out of memory, which would otherwise end us, too; for another oom_score_adj than
 * that of children under way; when too many children hang; where clone3 is refused; and
 * under a sanitizer.
 */
int
spawn_clone_copied(struct spawner *spawner, struct spawn_place *place)
{
	struct spawn_child *child = &place->child;
	sigset_t all, old;
	int pidfd = -1;
	int ends[2];

	/* Its closing tells of the exec. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child->is_shared = false;
	child->is_joining = !spawner->has_clone3 && child->spawn->cgroup_fd >= 0;
	child->exec_fd = ends[1];
	child->to_reset = spawner->has_clone3 ? spawner->ignored : UINT64_MAX;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid_t pid = fork_child(spawner, child, &pidfd);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	(void)close(ends[1]);
	if (pid > 0) {
		place->end_fd = fd_raise(ends[0]);
		return have(place, pid, pidfd);
	}
	(void)close(ends[0]);
	return pid;
}
