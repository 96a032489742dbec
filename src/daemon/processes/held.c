/* SPDX-License-Identifier: ISC */
/* held.c - what all files about processes do with one: hold it by a pidfd, put its state
 * down, post an event of it, reap it. */
#include "config.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/processes/procs_private.h"
#include "daemon/state/cause.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "os/self/fd.h"

/* Post an event of this life. */
void
proc_post(struct procs *procs, const struct proc *proc, struct event event)
{
	event.ref = proc->ref;
	event.life = proc->life;
	post_event(procs->room->post, &event);
}

/* Write the present state of the process to the ledger. */
void
proc_record(struct procs *procs, const struct proc *proc)
{
	record_slot(procs->room->recording, (uint32_t)(proc - procs->table->at));
}

/* Tell the core of a start that failed, and at which step. */
void
proc_post_failed(struct procs *procs, const struct proc *proc)
{
	struct event event = {
	    .kind = EVENT_SPAWN_FAILED, .code = -1, .error = proc->failed.error};

	cause_step(event.key, proc->failed.step, proc->failed.which);
	proc_post(procs, proc, event);
}

/* Wait no longer for the end of a process by its pidfd, which is closed if it is open. */
void
held_let_go(const struct procs *procs, int *pidfd)
{
	if (*pidfd < 0)
		return;
	/* Before the close: a copy in a child would keep it in the epoll. */
	(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_DEL, *pidfd, NULL);
	fd_close(pidfd);
}

/* Another process reaps this pid: the exit status cannot be known. */
struct reap
end_unknown(pid_t pid)
{
	return (struct reap){.pid = pid, .kind = REAP_SIGNALED, .status = SIGKILL};
}

/* Hold a process by a pidfd; the epoll reports `owner` when it ends.  -1: it has ended,
 * or there is no memory. */
int
held_open(const struct procs *procs, pid_t pid, uint32_t owner)
{
	int fd = fd_raise((int)syscall(SYS_pidfd_open, pid, 0));

	if (fd >= 0 &&
	    epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, fd,
	              &(struct epoll_event){.events = EPOLLIN, .data.u32 = owner}) < 0)
		fd_close(&fd);
	return fd;
}

/* Hold a process of the walker, to wait for its end by ourselves.  -1: the process has
 * ended with an unknown status. */
int
held_take(struct procs *procs, pid_t pid, uint32_t owner)
{
	int fd = held_open(procs, pid, owner);

	/* The pid belongs to another process by now, or is free. */
	if (fd >= 0 && getsid(pid) != pid)
		held_let_go(procs, &fd);
	return fd;
}

/* The main process has ended: the caller puts down how, before it is reaped. */
void
child_ended(struct procs *procs, struct spawned *child)
{
	map_remove(&procs->table->by_pid, (uint64_t)child->pid);
	held_let_go(procs, &child->pidfd);
	child->pid = 0;
	containment_reaped(&child->containment);
}

void
procs_reap(struct procs *procs)
{
	struct reap reap;

	while (procs->n_zombies > 0) {
		const int pidfd = procs->zombies[--procs->n_zombies];

		(void)os_reap_pidfd(pidfd, -1, &reap);
		(void)close(pidfd);
	}
}
