/* SPDX-License-Identifier: ISC */
/* freezing.c - processes that stand still, with all their descendants.
 *
 * A cgroup is frozen by the kernel, as a whole.  Without a cgroup each process gets
 * SIGSTOP: the main process at once, the others at the end of the turn, when a single
 * sweep of /proc serves all actors; and again, until no process moved in two sweeps.
 *
 * The record that an actor is to stand still is written before the first SIGSTOP, and
 * taken back only when all of its processes go on: a new guardian begins anew with what
 * the core says.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>

#include "daemon/processes/procs_private.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"

/* How often an actor is swept again for processes that fork meanwhile: at once, then
 * soon, and in all.  A parent that waits for the child of a vfork never looks stopped,
 * but is. */
#define IDLE_SCANS     2
#define PASSES_AT_ONCE 4
#define SCANS_MAX      50
#define AGAIN_SECONDS  0.02

static void
put_off(struct procs *procs, struct proc *proc)
{
	proc->freeze.n_scans = 0;
	proc->freeze.n_idle_scans = 0;
	if (proc->freeze.is_pending)
		return;
	proc->freeze.is_pending = true;
	procs->freeze_pending[procs->n_freeze_pending++] =
	    (uint32_t)(proc - procs->table->at);
}

/* Freeze or thaw what can be done at once; the rest is put off. */
static void
begin_freezing(struct procs *procs, struct proc *proc)
{
	if (!proc->child.containment.is_cgroup) {
		if (proc->child.pid != 0)
			(void)child_signal(procs, &proc->child,
			                   proc->freeze.is_wanted ? SIGSTOP : SIGCONT);
		put_off(procs, proc);
		return;
	}
	int r = containment_freeze(&proc->child.containment, procs->cgroups,
	                           proc->freeze.is_wanted);
	if (r < 0)
		log_errno(r, "%s: cannot %s its cgroup",
		          actors_path(procs->room->actors, proc->ref),
		          proc->freeze.is_wanted ? "freeze" : "thaw");
}

/* To be frozen is recorded before the process stops, to be thawed after it goes on. */
static void
freeze_or_thaw(struct procs *procs, struct proc *proc, bool freeze)
{
	proc->freeze.is_wanted = freeze;
	if (freeze)
		proc_record(procs, proc);
	begin_freezing(procs, proc);
	if (!freeze)
		proc_record(procs, proc);
}

/* Action of the core: everything of this life stands still. */
void
procs_freeze(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs->table, ref, life);

	if (proc != NULL)
		freeze_or_thaw(procs, proc, true);
}

/* Action of the core: it goes on. */
void
procs_thaw(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs->table, ref, life);

	if (proc != NULL)
		freeze_or_thaw(procs, proc, false);
}

/* An earlier guardian began to freeze or to thaw this process, and may not have ended. */
void
freezing_adopt(struct procs *procs, struct proc *proc, bool freeze)
{
	if (freeze || proc->freeze.is_wanted)
		freeze_or_thaw(procs, proc, freeze);
}

/* A sweep for each actor; an actor with a process that may still move is swept again. */
static void
pass(struct procs *procs)
{
	uint32_t kept = 0;

	(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
	for (uint32_t i = 0; i < procs->n_freeze_pending; i++) {
		struct proc *proc = &procs->table->at[procs->freeze_pending[i]];
		int n = 0;

		if (proc_is_used(proc) && proc->freeze.is_wanted)
			n = containment_stop(&proc->child.containment, procs->sweeper);
		else if (proc_is_used(proc))
			containment_continue(&proc->child.containment, procs->sweeper);
		proc->freeze.n_idle_scans = n > 0 ? 0 : proc->freeze.n_idle_scans + 1;
		if (proc->freeze.is_wanted && proc->freeze.n_idle_scans < IDLE_SCANS &&
		    ++proc->freeze.n_scans < SCANS_MAX) {
			procs->freeze_pending[kept++] = procs->freeze_pending[i];
			continue;
		}
		proc->freeze.is_pending = false;
		proc_record(procs, proc);
	}
	procs->n_freeze_pending = kept;
}

/* The end of a turn: all processes stand still or go on before any reply says so. */
void
procs_on_turn(struct procs *procs)
{
	births_on_turn(procs);
	for (int i = 0; i < PASSES_AT_ONCE && procs->n_freeze_pending > 0; i++)
		pass(procs);
	if (procs->n_freeze_pending > 0 && !ev_is_active(&procs->again)) {
		timer_begin(procs->loop, &procs->again, AGAIN_SECONDS);
	}
}

static void
on_again(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
	/* Waking up is all: the turn does the rest. */
}

/* Nobody stands still yet. */
void
freezing_init(struct procs *procs)
{
	timer_prepare(&procs->again, on_again, procs);
}

/* Look no longer. */
void
freezing_done(struct procs *procs)
{
	ev_timer_stop(procs->loop, &procs->again);
	free(procs->freeze_pending);
	procs->freeze_pending = NULL;
}
