/* SPDX-License-Identifier: ISC */
/* witness_event.c - what the events mean that a run was given. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"
#include "tests/sim/witness_climb.h"

static bool
end_is_normal(const struct witnessed *node, const struct event *event)
{
	const struct spec *spec = node->spec;

	if ((!node->process.ready && spec->start.ready != READY_EXIT) || event->oom)
		return false;
	return exit_set_has(&spec->success_exits, event->code) ||
	       signal_set_has(&spec->success_signals, event->signal);
}

/* The actor failed: a report must follow, unless it went down already. */
void
witness_owe(struct witness *witness, struct witnessed *node)
{
	if (node->may_be_stopped || node->process.barrier != 0 ||
	    witness_is_kept(witness, node))
		node->maybe++;
	else
		node->owed++;
}

/* A permanent actor that ended normally takes the restart path, without a decision. */
static void
normal_end(struct witness *witness, struct witnessed *node)
{
	struct witnessed *parent = witness_parent(witness, node);

	node->maybe++;
	if (node->spec->on_demand && !spec_runs_once(node->spec)) {
		witness_is_done(witness, node);
	} else if (node->spec->restart == RESTART_PERMANENT) {
		if (parent == NULL || !parent->spec->policy.limit.on)
			witness_restarted(witness, node, true);
		else
			witness_may_restart(witness, node);
		witness_count(witness, parent, false);
		witness_pace_normal(witness, node);
		node->counted_stop = node->spec->backoff.on_stop;
	} else {
		node->exited_by_itself = true;
		node->down = witness->seq;
		if (node->spec->kind == NODE_BOTH) {
			witness_mark(witness, node, &node->stop);
			witness_mark(witness, node, &node->down);
		}
	}
}

static void
saw_exit(struct witness *witness, struct witnessed *node, const struct event *event)
{
	struct process *process = &node->process;
	bool wanted = node->stop > process->asked || process->stopped || process->killed;

	process->main_dead = true;
	witness_exit_status(node, event);
	node->passed = witness->seq;
	process->ended_ms = witness->rig->now_ms;
	witness_pace_ended(witness, node,
	                   !wanted && process->barrier == 0 && !node->may_be_stopped &&
	                       !witness_is_kept(witness, node));
	if (event->gone)
		witness_gone(witness, node);
	else
		node->stop = witness->seq;
	process->there = !event->gone;
	if (wanted || process->barrier != 0) {
		node->maybe++;
		/* Its work may have been done, or not: then it has ended by itself. */
		if (node->may_be_retired > process->asked && end_is_normal(node, event))
			node->counted_stop = node->spec->backoff.on_stop;
		/* What outlives that stop may come back by itself. */
		if (witness_is_kept(witness, node) && end_is_normal(node, event)) {
			if (node->spec->restart == RESTART_PERMANENT &&
			    node->told_down < process->asked) {
				witness_may_restart(witness, node);
				witness_doubt(witness, witness_parent(witness, node));
			}
			witness_count(witness, witness_parent(witness, node), false);
			node->counted_stop = node->spec->backoff.on_stop;
			node->may_be_natural = true;
		}
	} else if (end_is_normal(node, event))
		normal_end(witness, node);
	else if (node->may_be_stopped || witness_is_kept(witness, node))
		node->maybe++;
	else
		node->owed++;
	process->ready = false;
}

static void
saw_no_start(struct witness *witness, struct witnessed *node, const struct event *event)
{
	const bool is_moot = node->stop > node->process.asked || node->may_be_stopped ||
	                     node->process.barrier != 0 || witness_is_kept(witness, node);

	if (witness_is_shortage(event)) {
		if (!is_moot)
			witness_no_room(witness, node);
		else if (node->told_down < node->process.asked && node->down <= node->up)
			node->up = witness->seq;
		return;
	}
	node->no_room = 0;
	witness_pace_ended(witness, node, !is_moot);
	if (is_moot)
		node->maybe++;
	else
		node->owed++;
}

/* Events about a process; false: it cannot have any effect (I34). */
static bool
saw_process(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);
	struct process *process = node == NULL ? NULL : &node->process;

	if (event->kind == EVENT_LEFT)
		return witness_left(witness, event);
	if (process == NULL || !process->there || process->life != event->life ||
	    event->life == 0)
		return false;
	if (event->kind == EVENT_SPAWNED && !process->spawned) {
		process->spawned = true;
		process->spawned_ms = witness->rig->now_ms;
		node->no_room = 0;
		if (node->spec->start.ready == READY_EXEC) {
			process->ready = true;
			process->ready_ms = witness->rig->now_ms;
			node->passed = witness->seq;
		}
	} else if (event->kind == EVENT_SPAWN_FAILED && !process->spawned) {
		process->there = false;
		witness_exit_status(node, event);
		node->passed = witness->seq;
		process->ended_ms = witness->rig->now_ms;
		witness_gone(witness, node);
		saw_no_start(witness, node, event);
	} else if (event->kind == EVENT_READY && process->spawned &&
	           !process->main_dead && !process->ready &&
	           node->spec->start.ready == READY_TOLD) {
		process->ready = true;
		process->ready_ms = witness->rig->now_ms;
		node->passed = witness->seq;
	} else if (event->kind == EVENT_EXITED && process->spawned &&
	           !process->main_dead) {
		saw_exit(witness, node, event);
	} else if (event->kind == EVENT_BACKOFF_RESET) {
		node->renewed = true;
		node->failures = 0;
	} else if (event->kind == EVENT_STOP_SENT) {
		if (process->stopped && !process->killed)
			process->stopped_ms = witness->rig->now_ms;
	} else if (event->kind >= EVENT_WATCHDOG && event->kind <= EVENT_PROBED) {
		return witness_living(witness, node, event);
	} else if (event->kind == EVENT_GONE && process->main_dead) {
		process->there = false;
		witness_gone(witness, node);
	} else {
		return false;
	}
	return true;
}

static void
saw_shutdown(struct witness *witness, const struct event *event)
{
	struct witnessed *user = &witness->nodes[CORE_USER];

	witness->shutdown = true;
	witness->quit = witness->quit || event->kind == EVENT_QUIT;
	if (!user->used)
		return;
	witness_mark(witness, user, &user->stop);
	witness_mark(witness, user, &user->down);
	witness_mark(witness, user, &user->told_down);
}

static void
saw_tick(struct witness *witness)
{
	witness->ticked = true;
	if (core_deadline(witness->rig->core) < witness->rig->now_ms)
		witness->punctual = false;
}

void
witness_event(struct witness *witness, const struct event *event)
{
	bool had_effect = true;

	switch (event->kind) {
	case EVENT_BOOT:
	case EVENT_KIND_MAX:
		break;
	case EVENT_TICK:
		saw_tick(witness);
		break;
	case EVENT_LEFT:
	case EVENT_SPAWNED:
	case EVENT_SPAWN_FAILED:
	case EVENT_READY:
	case EVENT_EXITED:
	case EVENT_GONE:
	case EVENT_BACKOFF_RESET:
	case EVENT_STOP_SENT:
	case EVENT_WATCHDOG:
	case EVENT_WATCHDOG_TRIGGER:
	case EVENT_WATCHDOG_EVERY:
	case EVENT_EXTEND:
	case EVENT_SELF_REPORT:
	case EVENT_PAUSED:
	case EVENT_CONTINUED:
	case EVENT_PROBED:
		had_effect = saw_process(witness, event);
		break;
	case EVENT_REACT_DONE:
		had_effect = witness_message_done(witness, event);
		break;
	case EVENT_HOOK_DONE:
		had_effect = witness_hook_done(witness, event);
		break;
	case EVENT_START:
	case EVENT_STOP:
	case EVENT_RESTART:
	case EVENT_RESET:
	case EVENT_KILL:
	case EVENT_WAIT:
	case EVENT_ADD:
	case EVENT_DELETE:
	case EVENT_SUSPEND:
	case EVENT_RESUME:
	case EVENT_UNWAIT:
		witness_command(witness, event);
		break;
	case EVENT_DEMAND:
	case EVENT_IDLE:
		had_effect = witness_demand(witness, event);
		break;
	case EVENT_SHUTDOWN:
	case EVENT_QUIT:
		saw_shutdown(witness, event);
		break;
	}
	witness->turn_events++;
	if (had_effect)
		witness->quiet = false;
}
