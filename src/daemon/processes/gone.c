/* SPDX-License-Identifier: ISC */
/* gone.c - what is left of an actor when its main process has ended, until it is gone. */
#include "config.h"

#include <signal.h>

#include "base/assert.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/sockets/mailbox.h"
#include "helper/watchers.h"

/* How often leftovers without a cgroup are looked for again. */
#define SWEEP_SECONDS 0.02
/* How long a missed notification of the cgroup may delay us. */
#define RECHECK_SECONDS 0.1

/* As long as anything is left over, look again: soon without a cgroup, else just in case
 * the kernel's notification was missed. */
static void
arm_sweep(struct procs *procs)
{
	bool cgroups_only = true;

	if (procs->leftovers == PROCS_NONE || ev_is_active(&procs->sweep))
		return;
	for (uint32_t slot = procs->leftovers; slot != PROCS_NONE && cgroups_only;
	     slot = procs->table->at[slot].rest.next)
		cgroups_only = procs->table->at[slot].child.containment.is_cgroup &&
		               !procs->table->at[slot].child.killing;
	timer_begin(procs->loop, &procs->sweep,
	            cgroups_only ? RECHECK_SECONDS : SWEEP_SECONDS);
}

static void
leftover_remove(struct procs *procs, struct proc *proc)
{
	if (!proc->rest.is_listed)
		return;
	proc->rest.is_listed = false;
	if (proc->rest.prev != PROCS_NONE)
		procs->table->at[proc->rest.prev].rest.next = proc->rest.next;
	else
		procs->leftovers = proc->rest.next;
	if (proc->rest.next != PROCS_NONE)
		procs->table->at[proc->rest.next].rest.prev = proc->rest.prev;
}

/* A process that ends may remove the files of its sockets. */
static void
mend_mailboxes(const struct procs *procs, const struct proc *proc)
{
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	if (actor != NULL && actor->conf->process->n_sockets > 0)
		mailboxes_mend(procs->room->sockets, actor);
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
	    event.signal == SIGKILL && !proc->child.killing &&
	    containment_ran_out_of_memory(&proc->child.containment, procs->cgroups);
	proc_post(procs, proc, event);
}

/*
 * The main process ended under a guardian before us, or while there was none.  With
 * is_news the core was not told yet: gone_tell() does.
 */
void
gone_adopt(struct procs *procs, struct proc *proc, bool is_news)
{
	if (proc_is_used(proc)) {
		if (!proc->rest.is_listed)
			ends_expect_gone(procs, proc, is_news);
		proc->rest.is_news = is_news;
		if (!is_news)
			(void)containment_watch(&proc->child.containment, procs->cgroups,
			                        proc->ref.slot);
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
gone_close(struct procs *procs, struct proc *proc)
{
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	if (actor != NULL)
		output_flush(procs->room->messages->output, actor);
	leftover_remove(procs, proc);
	containment_unwatch(&proc->child.containment, procs->cgroups);
	if (!proc->child.containment.is_cgroup)
		(void)containment_close(&proc->child.containment, procs->cgroups);
	proc_enter(proc, proc_has_ended(proc) ? PROC_GONE : PROC_NONE);
	/* The next one runs. */
	proc->freeze.is_wanted = false;
	proc_record(procs, proc);
}

static void
proc_gone(struct procs *procs, struct proc *proc)
{
	mend_mailboxes(procs, proc);
	proc_post(procs, proc, (struct event){.kind = EVENT_GONE, .code = -1});
	gone_close(procs, proc);
}

/* True if nothing is left of the process, nor of tasks that were about it. */
static bool
is_empty(const struct procs *procs, struct proc *proc)
{
	return !tasks_hold(procs->room->tasks, proc->ref) &&
	       containment_is_empty(&proc->child.containment, procs->cgroups,
	                            procs->sweeper);
}

/* Look at all actors without a main process: a single sweep of /proc serves them all. */
static void
check_leftovers(struct procs *procs)
{
	struct processes *room = procs->room;
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != PROCS_NONE) {
		struct proc *proc = &procs->table->at[slot];

		slot = proc->rest.next;
		if (proc->rest.is_news ||
		    (!proc->child.killing && tasks_hold(room->tasks, proc->ref)))
			continue;
		if (!swept && containment_needs_sweep(&proc->child.containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		if (is_empty(procs, proc)) {
			proc_gone(procs, proc);
		} else if (proc->child.killing) {
			/* Whatever was forked meanwhile, too. */
			(void)containment_kill(&proc->child.containment, room->cgroups,
			                       procs->sweeper);
		}
	}
}

static void
on_sweep(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct procs *procs = timer->data;

	check_leftovers(procs);
	arm_sweep(procs);
	tasks_check(procs->room->tasks);
}

static void
on_cgroup(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct procs *procs = io->data;
	uint64_t tokens[64];

	while (cgroup_root_next(procs->cgroups, tokens, ARRAY_SIZE(tokens)) > 0)
		continue;
	tasks_check(procs->room->tasks);
	check_leftovers(procs);
}

/* Tell the core of an end, and whether anything else is left of the actor. */
static void
tell_end(struct procs *procs, struct proc *proc)
{
	struct processes *room = procs->room;

	tasks_end_life(room->tasks, proc->ref);
	prober_end_life(room->prober, proc->ref);
	bool is_gone = is_empty(procs, proc);
	proc->rest.is_news = false;
	tell_core(procs, proc, is_gone);
	if (is_gone) {
		gone_close(procs, proc);
	} else {
		(void)containment_watch(&proc->child.containment, room->cgroups,
		                        proc->ref.slot);
		if (proc->stop != STOP_NOT_ASKED)
			procs_stop(procs, proc->ref, proc->life, false);
	}
}

/* Post all ends: a single sweep of /proc serves them all. */
void
gone_tell(struct procs *procs)
{
	bool swept = false;
	uint32_t slot = procs->leftovers;

	while (slot != PROCS_NONE) {
		struct proc *proc = &procs->table->at[slot];

		slot = proc->rest.next;
		if (!proc->rest.is_news)
			continue;
		if (!swept && containment_needs_sweep(&proc->child.containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		tell_end(procs, proc);
	}
	arm_sweep(procs);
	tasks_check(procs->room->tasks);
}

/* Begin to watch; the loop holds its watchers until gone_unwatch(). */
void
gone_watch(struct procs *procs)
{
	timer_prepare(&procs->sweep, on_sweep, procs);
	io_prepare(&procs->cgroup, on_cgroup, procs);
	if (procs->cgroups->watch_fd >= 0)
		io_begin(procs->loop, &procs->cgroup, procs->cgroups->watch_fd, EV_READ);
}

/* Watch no longer. */
void
gone_unwatch(struct procs *procs)
{
	ev_io_stop(procs->loop, &procs->cgroup);
	ev_timer_stop(procs->loop, &procs->sweep);
}
