/* SPDX-License-Identifier: ISC */
/* witness.c - watches a run from outside: which inputs there are, and what came of them.
 */
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
		witness_event(witness, &op->event);
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
