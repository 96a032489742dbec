/* SPDX-License-Identifier: ISC */
/* witness.c - watches a run from outside: what inputs mean, and what came of them. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"
#include "tests/sim/witness_climb.h"

void
witness_init(struct witness *witness, struct rig *rig, const struct tape *tape)
{
	memset(witness, 0, sizeof(*witness));
	witness->rig = rig;
	witness->tape = tape;
	witness->clean = true;
	witness->punctual = true;
	witness->quiet = true;
	witness->climber = UINT32_MAX;
	witness->hash = UINT64_C(14695981039346656037);
}

void
witness_done(struct witness *witness)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		free(witness->nodes[i].grants);
}

/* Remember the first thing that was seen to be wrong. */
void
witness_blame(struct witness *witness, const char *fmt, ...)
{
	va_list ap;

	if (witness->wrong[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(witness->wrong, sizeof(witness->wrong), fmt, ap);
	va_end(ap);
}

/* Before an input: the states at its arrival. */
void
witness_before(struct witness *witness)
{
	const struct core *core = witness->rig->core;

	witness->op_began = witness->seq;
	witness->op_deletes = false;
	witness->op_refused = false;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];
		struct node_view view;

		node->before = STATE_STOPPED;
		if (!node->used || !core_valid(core, node->ref))
			continue;
		core_view(core, node->ref, witness->rig->now_ms, &view);
		node->before = view.state;
		node->before_since_ms = view.since_ms;
	}
}

/* A new actor (ADD). */
void
witness_added(struct witness *witness, struct ref ref, struct ref parent,
              const struct spec *spec, uint64_t name)
{
	struct witnessed *node = &witness->nodes[ref.slot % SIM_NODES_MAX];
	uint64_t *grants = node->grants;

	if (ref.slot >= SIM_NODES_MAX || node->used) {
		witness_blame(witness, "a new actor in a slot that is taken");
		return;
	}
	memset(node, 0, sizeof(*node));
	node->grants = grants != NULL ? grants : calloc(SIM_STAMPS_MAX, sizeof(*grants));
	if (node->grants == NULL)
		abort();
	node->used = true;
	node->ref = ref;
	node->parent = parent.slot;
	node->spec = spec;
	node->name = name;
	for (uint32_t i = 0; i < SIM_NODES_MAX && name != 0; i++)
		if (&witness->nodes[i] != node && witness->nodes[i].used &&
		    witness->nodes[i].name == name)
			witness->name_shared[name] = true;
	node->up = ++witness->seq;
	witness_watches(witness, node);
	for (uint32_t i = 0; i < SIM_BARRIERS; i++)
		witness->barrier_tops[i] &= ~(UINT64_C(1) << ref.slot);
	node->may_be_stopped = witness_group_is_doomed(witness, node);
}

/* ---- what an input means ---------------------------------------------------------- */

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

static void
saw_event(struct witness *witness, const struct event *event)
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

static bool
is_same(const struct op *op, const struct witnessed *node, const struct spec *spec)
{
	return op->kind == OP_UPDATE && node != NULL && node->spec == spec;
}

/* Take in an input, before the core is given it. */
void
witness_op(struct witness *witness, const struct op *op, const struct spec *spec)
{
	struct witnessed *node =
	    op->kind == OP_POST ? NULL : witness_find(witness, op->ref);

	witness->seq++;
	witness->op = op;
	if (op->kind == OP_POST) {
		saw_event(witness, &op->event);
		return;
	}
	if (op->kind == OP_SETTLE || op->kind == OP_MOVE)
		return;
	/* What is as it was has no effect (I30). */
	if (is_same(op, node, spec)) {
		witness->turn_events++;
		witness->op_same = true;
		node->renewed = true;
		return;
	}
	witness->quiet = false;
	witness_pace_renew(witness);
	if (node == NULL)
		return;
	if (op->kind != OP_ADD || witness->nodes[CORE_USER].before != STATE_STOPPED)
		witness->clean = false;
	if (op->kind == OP_UPDATE) {
		witness_demand_changed(witness, node, spec);
		if (node->spec->policy.strategy != spec->policy.strategy)
			witness_forget_barriers(witness, node);
		node->spec = spec;
		/* The failure of /user may be one of it. */
		witness->user_failed = witness->user_failed && !spec->gives_exit;
		witness_watches(witness, node);
		node->spec_changed = true;
		node->renewed = true;
		node->intensity_changed = true;
	} else if (op->kind == OP_REMOVE) {
		witness_leave(witness, node);
	} else if (op->kind == OP_PLACE) {
		witness_leave_barriers(witness, node);
	} else if (op->kind == OP_RESTORE) {
		witness_restored(witness, node);
	} else if (op->kind == OP_BOUNCE) {
		witness_doubt(witness, node);
		if (!node->spec->enabled || node->hold != 0)
			return;
		witness_mark(witness, node, &node->stop);
		witness_mark(witness, node, &node->up);
		witness->hurry = witness->seq;
		node->renewed = true;
		witness_renew(witness, node);
	}
}

/* ---- what came of it -------------------------------------------------------------- */

static void
saw_removed(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL) {
		witness_blame(witness, "I2 the removal of somebody unknown");
		return;
	}
	if (node->process.there || node->hook.serial != 0)
		witness_blame(witness, "I2 slot %u is removed, its process is there",
		              action->ref.slot);
	if (!action->kept)
		node->used = false;
}

/* A process that was given up belongs to no running actor. */
static void
saw_clear(struct witness *witness, const struct action *action)
{
	const struct witnessed *node = witness_find(witness, action->ref);

	if (node != NULL && node->process.there)
		witness_blame(witness, "what slot %u keeps is cleared while it runs",
		              action->ref.slot);
}

static void
saw_exit_of_supd(struct witness *witness, const struct action *action)
{
	witness->exited = true;
	witness->exit_status = action->status;
	witness_check_exit(witness);
	witness_exit_check(witness);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used && ((witness->nodes[i].process.there &&
		                                !witness->nodes[i].process.unkillable) ||
		                               witness->nodes[i].hook.serial != 0))
			witness_blame(witness, "I2 exit while slot %u has a process", i);
}

static void
hash_action(struct witness *witness, const struct action *action)
{
	const char *at = (const char *)action;
	uint64_t word;

	_Static_assert(sizeof(*action) % sizeof(word) == 0, "whole words");
	for (size_t i = 0; i < sizeof(*action); i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		witness->hash = (witness->hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
		witness->hash ^= witness->hash >> 29;
	}
}

static void
saw_action(struct witness *witness, const struct action *action)
{
	witness_acts(witness, action);
	switch (action->kind) {
	case ACTION_SPAWN:
		witness_spawn(witness, action);
		break;
	case ACTION_STOP:
	case ACTION_KILL:
		witness_signal(witness, action);
		break;
	case ACTION_CLEAR:
		saw_clear(witness, action);
		break;
	case ACTION_CONTINUE:
		witness_continue(witness, action);
		break;
	case ACTION_PROBE:
		witness_probe(witness, action);
		break;
	case ACTION_HOOK:
		witness_hook(witness, action);
		break;
	case ACTION_HOOK_KILL:
		witness_hook_kill(witness, action);
		break;
	case ACTION_SIGNAL:
	case ACTION_REACT:
		witness_message(witness, action);
		break;
	case ACTION_ADDED:
		witness_joined(witness, action);
		break;
	case ACTION_FREEZE:
	case ACTION_THAW:
		witness_freeze(witness, action);
		break;
	case ACTION_REMOVED:
		saw_removed(witness, action);
		break;
	case ACTION_REPLY:
		witness_reply(witness, action);
		break;
	case ACTION_LISTEN:
		witness_listen(witness, action);
		break;
	case ACTION_EXIT:
		saw_exit_of_supd(witness, action);
		break;
	case ACTION_REPORT:
		witness_report(witness, action);
		break;
	case ACTION_KIND_MAX:
		witness_blame(witness, "an action of no kind");
		break;
	}
}

/* Look at the actions that the core gave since the last time. */
void
witness_actions(struct witness *witness)
{
	struct rig *rig = witness->rig;

	witness_exit_look(witness);
	for (size_t i = 0; i < rig->n_log; i++) {
		const struct action *action = &rig->log[i];

		if (i == witness->end_at)
			witness_exit_begin(witness);
		hash_action(witness, action);
		witness->turn_actions++;
		witness->seq++;
		if (witness->exited && action->kind != ACTION_REPLY &&
		    action->kind != ACTION_REMOVED)
			witness_blame(witness, "I2 a %s after the exit",
			              action_kind_names[action->kind]);
		saw_action(witness, action);
	}
	if (witness->end_at == rig->n_log)
		witness_exit_begin(witness);
	witness_check_joined(witness);
	rig_forget(rig);
	if (rig->fault != NULL)
		witness_blame(witness, "core: %s", rig->fault);
}

/* After an input: the changes of states. */
void
witness_after(struct witness *witness, const struct op *op)
{
	const struct core *core = witness->rig->core;

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];
		struct node_view view;

		witness_reached(witness, node);
		if (!node->used || !core_valid(core, node->ref))
			continue;
		core_view(core, node->ref, witness->rig->now_ms, &view);
		witness_retiring(witness, node, view.state);
		if (view.state != STATE_STOPPING)
			node->stopping = 0;
		else if (node->stopping == 0)
			node->stopping = witness->seq;
		/* When it has been ready for long enough only the core says. */
		if (view.ready && !node->process.ready && node->process.there &&
		    !node->process.main_dead && node->spec->start.ready == READY_AFTER) {
			node->process.ready = true;
			node->process.ready_ms = witness->rig->now_ms;
			node->passed = witness->seq;
		}
	}
	witness_delete(witness, &op->event);
	if (op->kind == OP_SETTLE)
		witness_turn_over(witness);
}
