/* SPDX-License-Identifier: ISC */
/* perform.c - each action of the core to exactly one room. */
#include "config.h"

#include "daemon/loop/perform.h"

#include "daemon/loop/owner.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/rundir.h"
#include "daemon/messages/stores.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/processes/unkillable_text.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/report.h"
#include "daemon/server/server.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

static void
removed(struct supd *supd, const struct action *action)
{
	const struct actor *actor = actors_get(&supd->actors, action->ref);
	const struct ref predecessor = actor != NULL ? actor->predecessor : REF_NONE;
	struct grown *grown = actor != NULL ? actor->grown : NULL;
	const struct conf *owner = actor != NULL ? actor->conf_owner : NULL;
	const struct ref successor = actor != NULL ? actor->successor : REF_NONE;

	if (action->kept || actor == NULL)
		return;
	notify_close(supd->messages->notify, action->ref);
	readiness_close(supd->messages->readiness, action->ref);
	stores_clear(supd->messages->stores, action->ref);
	procs_forget(supd->processes->procs, action->ref);
	if (actors_has_name(&supd->actors, action->ref)) {
		ledger_set_past(supd->recording.ledger, actor->path, action->incarnation);
		output_drop(supd->messages->output, actor->path);
	}
	actors_clear(&supd->actors, action->ref);
	record_slot(&supd->recording, action->ref.slot);
	reload_release(supd->reloader, owner);
	if (grown != NULL)
		additions_release(supd->reloader, grown);
	if (actors_get(&supd->actors, predecessor) != NULL)
		record_slot(&supd->recording, predecessor.slot);
	procs_inherit(supd->processes->procs, successor);
}

/* What only a resume keeps, or nothing at all, is given up. */
static void
clear(struct supd *supd, const struct action *action)
{
	const struct actor *actor = actors_get(&supd->actors, action->ref);

	if (actor == NULL)
		return;
	const struct conf_process *process = actor->conf->process;
	if (action->is_final || !process->kept.fds_on_restart)
		stores_clear(supd->messages->stores, action->ref);
	if (process->kept.runtime_directory &&
	    (action->is_final || !process->kept.directory_on_restart))
		rundir_clear(supd->messages->rundirs, actor);
}

/* A failure may end the trial of a configuration; the report is made after that. */
static void
judge_and_report(struct supd *supd, const struct action *action)
{
	if (action->report == REPORT_FAILURE && action->ref.slot != CORE_ROOT) {
		trial_on_failure(supd->trial, action->ref, &action->cause);
		trial_on_failure(supd->trial, action->origin, &action->cause);
	}
	report(supd->reporter, action);
}

/* A process that has ended needs no signal. */
static void
send_signal(struct supd *supd, const struct action *action)
{
	if (proctable_life(supd->proctable, action->ref) == action->life)
		(void)procs_signal(supd->processes->procs, action->ref, action->signal);
}

/* Without a control socket yet the caller was connected to the guardian before. */
static void
reply(struct supd *supd, const struct action *action)
{
	log_flush();
	control_remember(supd->control, supd->recording.ledger, &supd->engine, action);
	if (supd->control != NULL)
		control_on_reply(supd->control, action);
}

/* The last action: supd ends with this status. */
static void
leave(struct supd *supd, const struct action *action)
{
	unkillable_log_left(&supd->engine, &supd->actors);
	supd->engine.exiting = true;
	supd->engine.exit_status = action->status;
}

/* X(kind, the room that performs it) */
#define PERFORM_MAP(X)                                                         \
	X(ACTION_SPAWN, procs_spawn(procs, ref, life))                         \
	X(ACTION_STOP, procs_stop(procs, ref, life, action->watchdog_expired)) \
	X(ACTION_KILL, procs_kill(procs, ref, life))                           \
	X(ACTION_CONTINUE, procs_continue(procs, ref, life))                   \
	X(ACTION_PROBE, prober_ask(supd->processes->prober, action))           \
	X(ACTION_HOOK, tasks_hook(supd->processes->tasks, action))             \
	X(ACTION_HOOK_KILL, tasks_hook(supd->processes->tasks, action))        \
	X(ACTION_FREEZE, procs_freeze(procs, ref, life))                       \
	X(ACTION_THAW, procs_thaw(procs, ref, life))                           \
	X(ACTION_ADDED, additions_name(supd->reloader, action))                \
	X(ACTION_CLEAR, clear(supd, action))                                   \
	X(ACTION_REMOVED, removed(supd, action))                               \
	X(ACTION_REPLY, reply(supd, action))                                   \
	X(ACTION_EXIT, leave(supd, action))                                    \
	X(ACTION_SIGNAL, send_signal(supd, action))                            \
	X(ACTION_REACT, tasks_react(supd->processes->tasks, action))           \
	X(ACTION_LISTEN, (void)0) /* standin_touch() sees all that happens */  \
	X(ACTION_REPORT, judge_and_report(supd, action))
#define AS_PERFORM(symbol, perform_it) \
	case symbol:                   \
		perform_it;            \
		break;

static void
perform_one(struct supd *supd, const struct action *action)
{
	struct procs *procs = supd->processes->procs;
	const struct ref ref = action->ref;
	const uint32_t life = action->life;

	switch (action->kind) {
		PERFORM_MAP(AS_PERFORM)
	case ACTION_KIND_MAX:
		break;
	}
}

/* Of the budget: to say something is cheap beside what reaches processes and files. */
static uint32_t
cost_of(const struct action *action)
{
	return action->kind == ACTION_REPORT || action->kind == ACTION_REPLY ? 1 : 16;
}

/*
 * Actions are numbered from the last checkpoint on, and the number of performed actions
 * is recorded after each.  An event of the stream carries the number of its action: so
 * for the action under way at a crash it is known whether its event is in the stream.
 * Other actions may be repeated without harm: a spawn is recognised by its life, and a
 * process may be told to stop twice.
 */
uint32_t
perform(struct supd *supd, const struct action_list *actions, uint32_t from,
        uint32_t *budget)
{
	const uint64_t epoch = (uint64_t)ledger_epoch(supd->recording.ledger) << 32;
	const uint32_t performed = ledger_performed(supd->recording.ledger);

	for (; *budget > 0 && from < actions->n; from++) {
		const uint32_t number = ++supd->post->n_actions;
		const uint32_t cost = cost_of(&actions->at[from]);

		*budget -= cost < *budget ? cost : *budget;
		if (number <= performed)
			continue;
		supd->events.by = epoch | number;
		perform_one(supd, &actions->at[from]);
		/* Starting ten thousand actors takes a while. */
		keeper_beat(supd->keeper);
		standin_touch(supd->sockets->standin, actions->at[from].ref);
		supd->events.by = 0;
		ledger_set_performed(supd->recording.ledger, number);
		if (clock_mono_ms() > supd->post->until_ms)
			*budget = 0;
	}
	return from;
}
