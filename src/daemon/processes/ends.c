/* SPDX-License-Identifier: ISC */
/* ends.c - how processes end: reaped, and gone with all that they forked.
 *
 * Deaths are seen through one epoll of pidfds, so that one death costs the same among
 * ten thousand as among ten; a walk over all children is only for strangers, stops and
 * continues, and at most ten times a second.  Those that came from a guardian before us
 * are children of the walker, which tells of them.
 *
 * Peek, put down, reap: whenever we die, the end of a process is known to our successor,
 * or its zombie still is there to be asked.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/state/log.h"
#include "daemon/state/shell.h"
#include "ledger/exits.h"
#include "os/self/fd.h"
#include "os/self/signals.h"

#define COLLECT_BATCH 256
/* A walk over all children happens at most once in so long. */
#define WALK_SECONDS 0.1
/* How often leftovers without a cgroup are looked for again. */
#define SWEEP_SECONDS 0.02
/* How long a missed notification of the cgroup may delay us. */
#define RECHECK_SECONDS 0.1

/* ---- leftovers --------------------------------------------------------------------- */

static void
leftover_add(struct procs *procs, struct proc *proc)
{
	uint32_t slot = (uint32_t)(proc - procs->table->at);

	proc->leftover = true;
	proc->prev = PROCS_NONE;
	proc->next = procs->leftovers;
	if (proc->next != PROCS_NONE)
		procs->table->at[proc->next].prev = slot;
	procs->leftovers = slot;
}

/* As long as anything is left over, look again: soon without a cgroup, else just in case
 * the kernel's notification was missed. */
static void
arm_sweep(struct procs *procs)
{
	bool cgroups_only = true;

	if (procs->leftovers == PROCS_NONE || ev_is_active(&procs->sweep))
		return;
	for (uint32_t slot = procs->leftovers; slot != PROCS_NONE && cgroups_only;
	     slot = procs->table->at[slot].next)
		cgroups_only = procs->table->at[slot].containment.is_cgroup &&
		               !procs->table->at[slot].killing;
	ev_timer_set(&procs->sweep, cgroups_only ? RECHECK_SECONDS : SWEEP_SECONDS, 0.);
	ev_timer_start(procs->shell->loop, &procs->sweep);
}

static void
leftover_remove(struct procs *procs, struct proc *proc)
{
	if (!proc->leftover)
		return;
	proc->leftover = false;
	if (proc->prev != PROCS_NONE)
		procs->table->at[proc->prev].next = proc->next;
	else
		procs->leftovers = proc->next;
	if (proc->next != PROCS_NONE)
		procs->table->at[proc->next].prev = proc->prev;
}

/* A process that ends may remove the files of its sockets. */
static void
mend_mailboxes(const struct procs *procs, const struct proc *proc)
{
	const struct actor *actor = actors_get(&procs->shell->actors, proc->ref);

	if (actor != NULL && actor->conf->process.n_sockets > 0)
		mailboxes_mend(procs->shell, actor);
}

/* Post how the main process ended, and whether nothing else is left either. */
static void
tell_core(struct procs *procs, const struct proc *proc, bool is_gone)
{
	const struct reap *reap = &proc->end;
	struct event event = {.kind = EVENT_EXITED, .code = -1, .gone = is_gone};

	mend_mailboxes(procs, proc);
	if (reap->kind == REAP_EXITED)
		event.code = reap->status;
	else
		event.signal = reap->status;
	event.core = reap->kind == REAP_DUMPED;
	/* Read from the kernel each time, so that no count has to be remembered.  The
	 * kernel counts every process that it killed: the main process is not among them
	 * if supd killed it. */
	event.oom =
	    event.signal == SIGKILL && !proc->killing &&
	    containment_ran_out_of_memory(&proc->containment, &procs->shell->cgroups);
	proc_post(procs, proc, event);
}

/* Remove a process from the list of processes that are ending. */
void
ends_drop(struct procs *procs, struct proc *proc)
{
	leftover_remove(procs, proc);
	proc->fresh = false;
}

/*
 * The main process ended under a guardian before us, or while there was none.  With
 * is_news the core was not told yet: ends_tell() does.
 */
void
ends_adopt(struct procs *procs, struct proc *proc, bool is_news)
{
	if (proc->used) {
		if (!proc->leftover)
			leftover_add(procs, proc);
		proc->fresh = is_news;
		if (!is_news)
			(void)containment_watch(&proc->containment,
			                        &procs->shell->cgroups, proc->ref.slot);
		return;
	}
	/* Its containment was empty already. */
	if (is_news)
		tell_core(procs, proc, true);
	else
		proc_post(procs, proc, (struct event){.kind = EVENT_GONE, .code = -1});
}

/* This life is over.  The cgroup lives as long as the actor: the next life has it. */
void
ends_close(struct procs *procs, struct proc *proc)
{
	const struct actor *actor = actors_get(&procs->shell->actors, proc->ref);

	if (actor != NULL)
		output_flush(procs->shell->output, actor);
	leftover_remove(procs, proc);
	containment_unwatch(&proc->containment, &procs->shell->cgroups);
	if (!proc->containment.is_cgroup)
		(void)containment_close(&proc->containment, &procs->shell->cgroups);
	proc->used = false;
	proc->frozen = false;
	proc_record(procs, proc);
}

static void
proc_gone(struct procs *procs, struct proc *proc)
{
	mend_mailboxes(procs, proc);
	proc_post(procs, proc, (struct event){.kind = EVENT_GONE, .code = -1});
	ends_close(procs, proc);
}

/* Is nothing left of it, and of the helpers that a process of it had? */
static bool
is_empty(const struct procs *procs, const struct proc *proc)
{
	return !tasks_hold(procs->shell->tasks, proc->ref) &&
	       containment_is_empty(&proc->containment, &procs->shell->cgroups,
	                            procs->sweeper);
}

/* Look at all actors without a main process: a single sweep of /proc serves them all. */
static void
check_leftovers(struct procs *procs)
{
	struct shell *shell = procs->shell;
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != PROCS_NONE) {
		struct proc *proc = &procs->table->at[slot];

		slot = proc->next;
		if (proc->fresh ||
		    (!proc->killing && tasks_hold(shell->tasks, proc->ref)))
			continue;
		if (!swept && containment_needs_sweep(&proc->containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		if (is_empty(procs, proc)) {
			proc_gone(procs, proc);
		} else if (proc->killing) {
			/* Whatever was forked meanwhile, too. */
			(void)containment_kill(&proc->containment, &shell->cgroups,
			                       procs->sweeper);
		}
	}
}

static void
on_sweep(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct procs *procs = timer->data;

	(void)loop;
	(void)revents;
	check_leftovers(procs);
	arm_sweep(procs);
	tasks_check(procs->shell->tasks);
}

static void
on_cgroup(struct ev_loop *loop, ev_io *io, int revents)
{
	struct procs *procs = io->data;
	uint64_t tokens[64];

	(void)loop;
	(void)revents;
	while (cgroup_root_next(&procs->shell->cgroups, tokens, ARRAY_SIZE(tokens)) > 0)
		continue;
	tasks_check(procs->shell->tasks);
	check_leftovers(procs);
}

/* Wait no longer for the end of a process by its pidfd, which is closed if it is open. */
void
ends_let_go(const struct procs *procs, int *pidfd)
{
	if (*pidfd < 0)
		return;
	/* Before the close: a copy in a child would keep it in the epoll. */
	(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_DEL, *pidfd, NULL);
	fd_close(pidfd);
}

static void
forget_pid(struct procs *procs, struct proc *proc)
{
	map_remove(&procs->table->by_pid, (uint64_t)proc->pid);
	ends_let_go(procs, &proc->pidfd);
	proc->pid = 0;
}

/* The main process ended: noted first, told when all that died with it is known. */
void
ends_add(struct procs *procs, struct proc *proc, const struct reap *reap)
{
	struct actor *actor = actors_get(&procs->shell->actors, proc->ref);

	if (mainpid_next(procs, proc))
		return;
	forget_pid(procs, proc);
	containment_reaped(&proc->containment);
	proc->end = *reap;
	proc->ended = true;
	proc->fresh = true;
	if (actor != NULL) {
		actor->pid = 0;
		actor->sigstopped = false;
	}
	leftover_add(procs, proc);
	proc_record(procs, proc);
}

/* Tell the core of an end, and whether anything else is left of the actor. */
static void
tell_end(struct procs *procs, struct proc *proc)
{
	struct shell *shell = procs->shell;
	bool is_gone;

	tasks_end_life(shell->tasks, proc->ref);
	prober_end_life(shell->prober, proc->ref);
	is_gone = is_empty(procs, proc);
	proc->fresh = false;
	tell_core(procs, proc, is_gone);
	if (is_gone) {
		ends_close(procs, proc);
		return;
	}
	(void)containment_watch(&proc->containment, &shell->cgroups, proc->ref.slot);
	if (proc->stopping)
		procs_stop(procs, proc->ref, proc->life, false);
}

/* Post all ends: a single sweep of /proc serves them all. */
void
ends_tell(struct procs *procs)
{
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != PROCS_NONE) {
		struct proc *proc = &procs->table->at[slot];

		slot = proc->next;
		if (!proc->fresh)
			continue;
		if (!swept && containment_needs_sweep(&proc->containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		tell_end(procs, proc);
	}
	arm_sweep(procs);
	tasks_check(procs->shell->tasks);
}

/* Tell the core whether a signal has stopped it. */
void
ends_tell_stopped(struct procs *procs, const struct proc *proc, bool is_stopped,
                  int signo)
{
	const struct event event = {
	    .kind = is_stopped ? EVENT_PAUSED : EVENT_CONTINUED,
	    .code = -1,
	    .signal = signo,
	};

	proc_post(procs, proc, event);
}

/*
 * A process was stopped or continued from outside: record, then post; a new guardian
 * compares. false: that has to wait, because the core has much to do.
 */
static bool
on_stopped_or_continued(struct procs *procs, const struct reap *reap)
{
	struct proc *proc = proc_by_pid(procs->table, reap->pid);
	struct actor *actor =
	    proc == NULL ? NULL : actors_get(&procs->shell->actors, proc->ref);
	bool is_stopped;

	if (actor == NULL)
		return true;
	/* The signal may have been ours; and, where we hear of it late, be undone. */
	is_stopped =
	    reap->kind == REAP_STOPPED && !proc->frozen && proc_is_stopped(proc->pid);
	if (actor->sigstopped == is_stopped)
		return true;
	if (!shell_has_room(procs->shell, 1))
		return false;
	actor->sigstopped = is_stopped;
	proc_record(procs, proc);
	if (!proc->uncompared)
		ends_tell_stopped(procs, proc, is_stopped, is_stopped ? reap->status : 0);
	return true;
}

/* SIGCHLD: the walk over all children finds out of which process.  Until then the signal
 * stays pending, and the deaths that follow cost nothing here. */
static void
arm_walk(struct procs *procs)
{
	if (!ev_is_active(&procs->walk)) {
		ev_timer_set(&procs->walk, WALK_SECONDS, 0.);
		ev_timer_start(procs->shell->loop, &procs->walk);
	}
}

/* Look at all children: orphans that came to us, stops, continues, merged signals. */
static void
on_walk(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct procs *procs = timer->data;
	struct reap reap;

	(void)loop;
	(void)revents;
	/* Before we look: what comes after this wakes us again. */
	(void)signals_take(procs->child_fd);
	notify_drain(procs->shell->notify);
	(void)procs_collect(procs);
	while (os_reap_peek_any(&reap) > 0) {
		struct proc *proc = proc_by_pid(procs->table, reap.pid);
		struct task *task = task_by_pid(procs->shell->tasks, reap.pid);

		if (reap.kind == REAP_STOPPED || reap.kind == REAP_CONTINUED) {
			if (!on_stopped_or_continued(procs, &reap)) {
				arm_walk(procs);
				break;
			}
		} else if (proc != NULL) {
			ends_add(procs, proc, &reap);
		} else if (task != NULL) {
			task_ended(procs->shell->tasks, task, &reap);
		} else {
			bounded_reaped(&procs->shell->closers, reap.pid);
			bounded_reaped(&procs->shell->bounded, reap.pid);
		}
		os_reap_peeked(&reap);
	}
	ends_tell(procs);
}

/* Another process reaps this pid: the exit status cannot be known. */
struct reap
end_unknown(pid_t pid)
{
	return (struct reap){.pid = pid, .kind = REAP_SIGNALED, .status = SIGKILL};
}

/* Reap one by its pidfd; false when there was nothing to reap after all. */
static bool
collect_one(struct procs *procs, uint32_t slot)
{
	struct proc *proc = &procs->table->at[slot];
	struct reap reap;
	int r;

	if (proc->pid == 0)
		return false;
	r = os_reap_peek(proc->pidfd, proc->pid, &reap);
	if (r == 0)
		return false;
	if (r < 0 && proc->leader != 0)
		return mainpid_collect(procs, proc);
	if (r < 0 && proc->adopted) {
		if (!foster_collect(procs, &proc->pid, &proc->pidfd, &reap))
			return proc->pid == 0;
	} else if (r < 0) {
		reap = end_unknown(proc->pid);
		log_line(LOG_LEVEL_ERROR, "pid %d of %s was reaped by another process",
		         (int)proc->pid, shell_path(procs->shell, proc->ref));
	}
	ends_add(procs, proc, &reap);
	(void)os_reap_pidfd(-1, reap.pid, &reap);
	return true;
}

size_t
procs_collect(struct procs *procs)
{
	struct epoll_event events[COLLECT_BATCH];
	size_t collected = 0;
	int n;

	do {
		n = epoll_wait(procs->epoll_fd, events, COLLECT_BATCH, 0);
		for (int i = 0; i < n; i++)
			if (events[i].data.u32 == PROCS_NONE)
				arm_walk(procs);
			else if ((events[i].data.u32 & PROCS_TASK) != 0)
				collected +=
				    tasks_collect(procs->shell->tasks,
				                  events[i].data.u32 & ~PROCS_TASK);
			else
				collected += collect_one(procs, events[i].data.u32);
	} while (n == COLLECT_BATCH);
	if (collected > 0)
		ends_tell(procs);
	return collected;
}

/* Take the oldest of what the walker tells of its children, those that we took over and
 * strangers; false: there is nothing. */
bool
ends_take_exit(struct procs *procs)
{
	struct exits *exits = procs->shell->exits;
	struct task *task;
	struct proc *proc;
	struct reap reap;

	if (!exits_peek(exits, &reap))
		return false;
	proc = proc_by_pid(procs->table, reap.pid);
	task = task_by_pid(procs->shell->tasks, reap.pid);
	if (reap.kind == REAP_STOPPED || reap.kind == REAP_CONTINUED) {
		if (!on_stopped_or_continued(procs, &reap))
			return false;
	} else if (proc != NULL && (proc->adopted || proc->leader != 0)) {
		ends_add(procs, proc, &reap);
	} else if (task != NULL && task->adopted) {
		task_ended(procs->shell->tasks, task, &reap);
	}
	exits_take(exits);
	return true;
}

/* Take all that the walker has told by now. */
void
ends_take_exits(struct procs *procs)
{
	while (ends_take_exit(procs))
		continue;
}

/* Hold a process of the walker, to wait for its end by ourselves; the epoll reports
 * `data` then. -1: the process has ended with an unknown status. */
int
ends_hold(struct procs *procs, pid_t pid, uint32_t who)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = who};
	int fd = fd_raise((int)syscall(SYS_pidfd_open, pid, 0));

	/* The pid belongs to another process by now, or is free. */
	if (fd >= 0 && (getsid(pid) != pid ||
	                epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0))
		fd_close(&fd);
	return fd;
}

static void
hold(struct procs *procs, struct proc *proc)
{
	proc->pidfd = ends_hold(procs, proc->pid, proc->ref.slot);
	if (proc->pidfd < 0) {
		const struct reap reap = end_unknown(proc->pid);

		ends_add(procs, proc, &reap);
	}
}

void
procs_walker_died(struct procs *procs)
{
	ends_take_exits(procs);
	proc_sweep_include(procs->sweeper, 0);
	for (uint32_t slot = 0; slot < procs->table->cap; slot++)
		if (procs->table->at[slot].adopted && procs->table->at[slot].pid != 0 &&
		    procs->table->at[slot].pidfd < 0)
			hold(procs, &procs->table->at[slot]);
	tasks_hold_adopted(procs->shell->tasks, false);
	ends_tell(procs);
}

void
procs_take_exits(struct procs *procs)
{
	notify_drain(procs->shell->notify);
	ends_take_exits(procs);
	ends_tell(procs);
}

static void
on_death(struct ev_loop *loop, ev_io *io, int revents)
{
	struct procs *procs = io->data;

	(void)loop;
	(void)revents;
	/* A program that says READY and dies must be seen ready first. */
	notify_drain(procs->shell->notify);
	(void)procs_collect(procs);
}

/* Begin to watch; the loop holds its watchers until ends_unwatch().  0 or -errno. */
int
ends_watch(struct procs *procs)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = PROCS_NONE};
	struct ev_loop *loop = procs->shell->loop;

	procs->child_fd = signals_listen(SIGCHLD);
	if (procs->child_fd < 0)
		return procs->child_fd;
	if (epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, procs->child_fd, &event) < 0)
		return -errno;
	ev_io_init(&procs->death, on_death, procs->epoll_fd, EV_READ);
	procs->death.data = procs;
	ev_io_start(loop, &procs->death);
	ev_timer_init(&procs->walk, on_walk, WALK_SECONDS, 0.);
	procs->walk.data = procs;
	ev_timer_init(&procs->sweep, on_sweep, SWEEP_SECONDS, 0.);
	procs->sweep.data = procs;
	ev_io_init(&procs->cgroup, on_cgroup, procs->shell->cgroups.watch_fd, EV_READ);
	procs->cgroup.data = procs;
	if (procs->shell->cgroups.watch_fd >= 0)
		ev_io_start(loop, &procs->cgroup);
	return 0;
}

/* Watch no longer. */
void
ends_unwatch(struct procs *procs)
{
	struct ev_loop *loop = procs->shell->loop;

	ev_io_stop(loop, &procs->death);
	ev_io_stop(loop, &procs->cgroup);
	fd_close(&procs->child_fd);
	ev_timer_stop(loop, &procs->walk);
	ev_timer_stop(loop, &procs->sweep);
}
