/* SPDX-License-Identifier: ISC */
/* adopt_compare.c - post what happened unseen while no guardian ran. */
#include "config.h"

#include <signal.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/recovery/adopt.h"
#include "daemon/reload/trial.h"
#include "daemon/report/report.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"

static void
report_adopted(const struct reporter *reporter, const struct proc *proc)
{
	const struct node_view view = engine_view(reporter->engine, proc->ref);

	report_process_adopted(reporter, &view, proc->child.pid);
}

/* Post what may have happened unseen while no guardian ran. */
static void
tell_living(struct procs *procs, struct proc *proc, const struct node_view *view)
{
	const bool is_stopped = actors_get(procs->actors, proc->ref)->sigstopped;

	/* No guardian could hear the process: its watchdog begins anew. */
	if (view->process.watchdog)
		proc_post(procs, proc,
		          (struct event){.kind = EVENT_WATCHDOG, .code = -1});
	proc->needs_comparison = false;
	if (view->process.sigstopped != is_stopped)
		ends_tell_stopped(procs, proc, is_stopped, is_stopped ? SIGSTOP : 0);
}

static void
tell_alive(const struct reporter *reporter, struct procs *procs, struct proc *proc,
           const struct node_view *view)
{
	if (proc->ready_life == proc->life && !view->ready)
		proc_post(procs, proc, (struct event){.kind = EVENT_READY, .code = -1});
	freezing_adopt(procs, proc, view->state == STATE_SUSPENDED);
	if (proc->stop == STOP_ASKED_LATE)
		proc_post(procs, proc,
		          (struct event){.kind = EVENT_STOP_SENT, .code = -1});
	procs_order_again(procs, proc);
	if (proc_has_ended(proc))
		gone_adopt(procs, proc, view->process.main_alive);
	else if (proc->child.pid != 0)
		report_adopted(reporter, proc);
	if (proc->child.pid != 0)
		tell_living(procs, proc, view);
}

static void
compare_slot(const struct reporter *reporter, struct procs *procs, struct proc *proc,
             const struct node_view *view)
{
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	/* Ordered, and not begun. */
	if (view->process.alive && !view->process.spawned &&
	    proc->life != view->process.life && !proc_is_used(proc))
		procs_spawn(procs, proc->ref, view->process.life);
	if (!view->process.alive || proc->life != view->process.life)
		return;
	if (proc_is_coming(proc)) {
		if (!procs_waits_for(procs->room, actor->predecessor))
			procs_inherit(procs, proc->ref);
	} else if (proc->failed.step != SPAWN_STEP_NONE) {
		if (!view->process.spawned)
			proc_post_failed(procs, proc);
	} else {
		tell_alive(reporter, procs, proc, view);
	}
}

/* The core's view of the actor of this process; false: the actor is gone. */
static bool
view_owner(const struct processes *processes, const struct proc *proc,
           struct node_view *ret)
{
	if (!core_valid(processes->engine->core, proc->ref) ||
	    actors_get(processes->actors, proc->ref) == NULL)
		return false;
	*ret = engine_view(processes->engine, proc->ref);
	return true;
}

/* Processes spawned but not acknowledged: post SPAWNED before any message of theirs. */
static void
acknowledge(struct processes *processes)
{
	for (uint32_t slot = 0; slot < processes->proctable->cap; slot++) {
		struct proc *proc = &processes->proctable->at[slot];
		struct node_view view;

		if (view_owner(processes, proc, &view) && view.process.alive &&
		    !view.process.spawned && proc->life == view.process.life &&
		    !proc_is_coming(proc) && proc->failed.step == SPAWN_STEP_NONE)
			proc_post(processes->procs, proc,
			          (struct event){.kind = EVENT_SPAWNED, .code = -1});
	}
}

static void
compare(struct processes *processes, const struct reporter *reporter)
{
	for (uint32_t slot = 0; slot < processes->proctable->cap; slot++) {
		struct proc *proc = &processes->proctable->at[slot];
		struct node_view view;

		keeper_beat(processes->keeper);
		if (view_owner(processes, proc, &view))
			compare_slot(reporter, processes->procs, proc, &view);
	}
	gone_tell(processes->procs);
}

void
adopt_compare(struct processes *processes, const struct reporter *reporter,
              struct trial *trial)
{
	acknowledge(processes);
	/* Messages of a process come before its end. */
	notify_drain(processes->messages->notify);
	tasks_adopt(processes->tasks);
	trial_adopt(trial);
	compare(processes, reporter);
	post_event(processes->post, &(const struct event){.kind = EVENT_UNWAIT,
	                                                  .ref = REF_NONE,
	                                                  .token = TOKEN_OTHERS});
	/* Unless it was told already. */
	post_event(processes->post, &(struct event){.kind = EVENT_BOOT, .ref = REF_NONE});
	if (processes->recording->facts.shutting_down)
		post_event(processes->post, &(const struct event){.kind = EVENT_SHUTDOWN,
		                                                  .ref = REF_NONE});
}
