/* SPDX-License-Identifier: ISC */
/* ends.c - the end of a process is noted, that of a child (deaths.c) and what the walker
 * tells of its children; signals, which must not meet another process. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/post.h"
#include "ledger/exits.h"
#include "os/self/fd.h"

/* Its main process has ended: something else may be left. */
void
ends_expect_gone(struct procs *procs, struct proc *proc, bool is_news)
{
	uint32_t slot = (uint32_t)(proc - procs->table->at);

	proc->rest.is_listed = true;
	proc->rest.is_news = is_news;
	proc->rest.prev = PROCS_NONE;
	proc->rest.next = procs->leftovers;
	if (proc->rest.next != PROCS_NONE)
		procs->table->at[proc->rest.next].rest.prev = slot;
	procs->leftovers = slot;
}

/* The main process ended: noted first, told when all that died with it is known. */
void
ends_add(struct procs *procs, struct proc *proc, const struct reap *reap)
{
	struct actor *actor = actors_get(procs->actors, proc->ref);

	if (mainpid_next(procs, proc))
		return;
	notify_hear(procs->room->messages->notify, proc->ref.slot);
	child_ended(procs, &proc->child);
	proc_enter(proc, PROC_LEFT);
	proc->end = *reap;
	if (actor != NULL) {
		actor->pid = 0;
		actor->sigstopped = false;
	}
	ends_expect_gone(procs, proc, true);
	proc_record(procs, proc);
}

/* Tell the core whether a signal has stopped it. */
void
ends_tell_stopped(struct procs *procs, const struct proc *proc, bool is_stopped,
                  int signo)
{
	proc_post(procs, proc,
	          (struct event){
	              .kind = is_stopped ? EVENT_PAUSED : EVENT_CONTINUED,
	              .code = -1,
	              .signal = signo,
	          });
}

/*
 * A process was stopped or continued from outside: record, then post; a new guardian
 * compares. false: that has to wait, because the core has much to do.
 */
bool
ends_stopped_or_continued(struct procs *procs, const struct reap *reap)
{
	struct proc *proc = proc_by_pid(procs->table, reap->pid);
	struct actor *actor = proc == NULL ? NULL : actors_get(procs->actors, proc->ref);

	if (actor == NULL)
		return true;
	/* The signal may have been ours; and, where we hear of it late, be undone. */
	bool is_stopped = reap->kind == REAP_STOPPED && !proc->freeze.is_wanted &&
	                  proc_is_stopped(proc->child.pid);
	if (actor->sigstopped == is_stopped)
		return true;
	if (!post_has_room(procs->room->post, 1))
		return false;
	actor->sigstopped = is_stopped;
	proc_record(procs, proc);
	if (!proc->needs_comparison)
		ends_tell_stopped(procs, proc, is_stopped, is_stopped ? reap->status : 0);
	return true;
}

/* Take the oldest of what the walker tells of its children, those that we took over and
 * strangers; false: there is nothing. */
bool
ends_take_exit(struct procs *procs)
{
	struct exits *exits = procs->exits;
	struct reap reap;
	uint32_t owner;

	if (!exits_peek(exits, &reap))
		return false;
	/* An earlier process of this pid comes first. */
	if (!map_get(&procs->table->by_pid, (uint64_t)reap.pid, &owner))
		births_meet(procs, reap.pid);
	struct proc *proc = proc_by_pid(procs->table, reap.pid);
	struct task *task = task_by_pid(procs->room->tasks, reap.pid);
	if (reap.kind == REAP_STOPPED || reap.kind == REAP_CONTINUED) {
		if (!ends_stopped_or_continued(procs, &reap))
			return false;
	} else if (proc != NULL && proc->child.adopted) {
		ends_add(procs, proc, &reap);
	} else if (task != NULL && task->child.adopted) {
		task_ended(procs->room->tasks, task, &reap);
	}
	exits_take(exits);
	return true;
}

/* Take all that the walker has told by now. */
void
ends_take_exits(struct procs *procs)
{
	while (ends_take_exit(procs))
		procs->is_unheard = true;
}

/* ---- signals ---- */

/*
 * Signal a main process.  A child of ours keeps its pid until we reap it; one of the
 * walker's may be reaped at any time, but not before we can know: so hold it first, then
 * look whether it has ended (its pid is 0 then).
 */
int
child_signal(struct procs *procs, const struct spawned *child, int signo)
{
	if (!child->adopted)
		return kill(child->pid, signo) < 0 ? -errno : 0;
	/* The walker does not reap this process: it is held by a pidfd already. */
	if (child->pidfd >= 0)
		return (int)syscall(SYS_pidfd_send_signal, child->pidfd, signo, NULL, 0) <
		               0
		           ? -errno
		           : 0;
	CLEANUP(fd_close) int fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	ends_take_exits(procs);
	if (fd < 0 || child->pid == 0)
		return -ESRCH;
	return (int)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0) < 0 ? -errno : 0;
}

/* Kill a process and all its descendants. */
void
child_kill_all(struct procs *procs, struct spawned *child)
{
	if (child->pid != 0)
		(void)child_signal(procs, child, SIGKILL);
	if (containment_needs_sweep(&child->containment))
		(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
	(void)containment_kill(&child->containment, procs->cgroups, procs->sweeper);
}
