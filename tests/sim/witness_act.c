/* SPDX-License-Identifier: ISC */
/* witness_act.c - what may be done to processes: spawn, stop, kill (I1 to I10, I22). */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"

static enum node_state
state_now(const struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	if (!core_valid(witness->rig->core, node->ref))
		return STATE_STOPPED;
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	return view.state;
}

/* I3, I4: no start below a supervisor that is down or going down. */
static void
check_ancestors(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = witness_parent(witness, node);

	for (; at != NULL; at = witness_parent(witness, at)) {
		enum node_state now = state_now(witness, at);

		if (!witness_runs(at->before) && !witness_runs(now) &&
		    at->before != STATE_STOPPED && at->started < witness->op_began)
			witness_blame(witness, "%s slot %u starts, slot %u above is %s",
			              now == STATE_STOPPING ? "I4" : "I3", node->ref.slot,
			              at->ref.slot, node_state_names[now]);
		if (at->ref.slot == CORE_USER)
			break;
	}
}

/* Is a group below it, or around it, dissolved when a supervisor restarts all it keeps?
 */
static bool
is_rolled(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = witness_parent(witness, node);

	for (; at != NULL; at = witness_parent(witness, at)) {
		if (at->spec->policy.keep_children == KEEP_RESTART || at->spec_changed)
			return true;
		if (at->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/* I8: no member of a group (or a subtree) starts before all members are gone. */
static void
check_barriers(struct witness *witness, const struct witnessed *node)
{
	if (is_rolled(witness, node))
		return;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *other = &witness->nodes[i];
		uint32_t barrier = other->process.barrier;

		if (!other->used || !other->process.there || barrier == 0 ||
		    other->process.unkillable || other->removing ||
		    other->deleted > other->process.asked ||
		    node->told_down > other->process.asked ||
		    witness->barriers - barrier >= SIM_BARRIERS)
			continue;
		for (uint32_t top = 0; top < SIM_NODES_MAX; top++)
			if ((witness->barrier_tops[barrier % SIM_BARRIERS] >> top & 1) !=
			        0 &&
			    witness_below(witness, node, &witness->nodes[top]))
				witness_blame(witness,
				              "I8 slot %u starts before slot %u is gone",
				              node->ref.slot, i);
	}
}

/* I22: no automatic start before the delay is over. */
static void
check_due(struct witness *witness, const struct witnessed *node)
{
	if (node->due_up != node->up || witness_is_kept(witness, node))
		return;
	/* The wait for its last process took the place of the delay. */
	if (node->process.unkillable)
		return;
	if (node->up > witness->turn_began && witness->hurry < node->process.asked)
		witness_blame(witness,
		              "(law 6) slot %u starts in the turn of its failure",
		              node->ref.slot);
	/* A member skipped its delay: so does the whole group. */
	if (witness->rig->now_ms >= node->due_ms || witness->hurry > node->due_up)
		return;
	witness_blame(witness, "I22 slot %u starts %d ms too early", node->ref.slot,
	              (int)(node->due_ms - witness->rig->now_ms));
}

/* Did the elder have its turn since their supervisor was last told to start? */
static bool
has_passed(struct witness *witness, const struct witnessed *elder, uint64_t since)
{
	const struct process *process = &elder->process;
	struct node_view view;

	core_view(witness->rig->core, elder->ref, witness->rig->now_ms, &view);
	/* When `ready: after` is over only the core can say. */
	if ((elder->spec->start.ready == READY_AFTER && view.ready) ||
	    elder->passed > since)
		return true;
	if (!elder->spec->enabled || elder->spec->on_demand ||
	    elder->spec->kind != NODE_WORKER)
		return true;
	/* It may wait beside the others. */
	if (elder->spec->n_needs > 0 || elder->process.unkillable)
		return true;
	if (process->asked < since)
		return elder->down > since || elder->up < since;
	return process->ready || process->main_dead || !process->there ||
	       elder->stop > process->asked || witness->exited;
}

/* I6: no child starts for the first time before its elder sibling is ready. */
static void
check_sequence(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (!witness->clean || parent == NULL || parent->spec->policy.start_parallel ||
	    witness_is_kept(witness, node) || node->ref.slot == CORE_USER ||
	    node->process.asked > parent->up)
		return;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *elder = &witness->nodes[i];

		if (!elder->used || elder->parent != node->parent ||
		    !core_valid(witness->rig->core, elder->ref) ||
		    core_compare_order(witness->rig->core, elder->ref, node->ref) >= 0)
			continue;
		if (!has_passed(witness, elder, parent->up))
			witness_blame(witness, "I6 slot %u starts before slot %u",
			              node->ref.slot, i);
	}
}

/* I4: a stop while its supervisor came up is remembered, for that once. */
static void
check_kept_down(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (node->kept_down > node->up && parent != NULL &&
	    parent->process.asked < node->kept_down)
		witness_blame(witness, "I4 slot %u starts, a stop of it is forgotten",
		              node->ref.slot);
}

/* EVENT_LEFT: the actor has a process before it has begun anything; false: stale. */
bool
witness_left(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);

	if (node == NULL || node->spec->kind == NODE_SUPERVISOR || node->process.there ||
	    event->life != node->life_max + 1)
		return false;
	node->life_max = event->life;
	node->process = (struct process){.life = event->life,
	                                 .there = true,
	                                 .spawned = true,
	                                 .killed = true,
	                                 .left = true};
	return true;
}

/* ACTION_SPAWN */
void
witness_spawn(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	struct process *process;

	if (node == NULL || node->spec->kind == NODE_SUPERVISOR) {
		witness_blame(witness, "I1 somebody unknown is spawned");
		return;
	}
	process = &node->process;
	if (process->there)
		witness_blame(witness, "I1 slot %u is spawned twice", node->ref.slot);
	if (action->life <= node->life_max)
		witness_blame(witness, "I1 slot %u has an old life", node->ref.slot);
	if (node->hold != 0)
		witness_blame(witness, "I4 slot %u is held and starts", node->ref.slot);
	if (node->hook.serial != 0)
		witness_blame(witness, "H3 slot %u starts beside its hook",
		              node->ref.slot);
	if (!node->prepared && !node->spec_changed &&
	    (node->spec->hooks >> HOOK_PRE_START & 1) != 0)
		witness_blame(witness, "H3 slot %u starts without its pre_start",
		              node->ref.slot);
	node->prepared = false;
	if (node->up < node->down && !witness_is_kept(witness, node))
		witness_blame(witness, "I4 slot %u starts, nobody wants it up",
		              node->ref.slot);
	if (node->up < process->asked && !witness_is_kept(witness, node))
		witness_blame(witness, "I10 slot %u starts again for no reason",
		              node->ref.slot);
	witness_demanded(witness, node);
	check_kept_down(witness, node);
	check_ancestors(witness, node);
	check_barriers(witness, node);
	check_due(witness, node);
	witness_pace_spawn(witness, node);
	check_sequence(witness, node);
	if ((node->spec->hooks >> HOOK_PRE_START & 1) == 0)
		witness_check_needs(witness, node);
	witness_check_lost(witness, node);
	memset(&node->wellbeing, 0, offsetof(struct wellbeing, stamp));
	node->wellbeing.every_ms = node->spec->watchdog_ms;
	node->life_max = action->life;
	if (witness_group_is_doomed(witness, node))
		node->may_be_stopped = true;
	memset(process, 0, sizeof(*process));
	process->life = action->life;
	process->there = true;
	process->asked = witness->seq;
	process->asked_ms = witness->rig->now_ms;
	witness_begins(witness, node);
	node->spec_changed = false;
}

/* ---- signals ----------------------------------------------------------------------- */

/* A supervisor above it kills, or has waited long enough for its subtree. */
static bool
killed_from_above(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = witness_parent(witness, node);

	for (; at != NULL; at = witness_parent(witness, at)) {
		struct node_view view;

		if (!core_valid(witness->rig->core, at->ref))
			break;
		core_view(witness->rig->core, at->ref, witness->rig->now_ms, &view);
		if (at->spec_changed)
			return true;
		if (view.state == STATE_STOPPING || view.process.unkillable) {
			if (at->spec->stop.mode == SHUTDOWN_BRUTAL_KILL)
				return true;
			if (at->spec->kind == NODE_SUPERVISOR &&
			    at->spec->stop.mode == SHUTDOWN_TIMEOUT &&
			    witness->rig->now_ms >=
			        view.since_ms + at->spec->stop.shutdown_ms)
				return true;
		}
		if (at->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/* I9: only after the polite signal and its time, or where it is asked for. */
static void
check_kill(struct witness *witness, const struct witnessed *node)
{
	const struct process *process = &node->process;
	const struct spec *spec = node->spec;
	uint64_t now_ms = witness->rig->now_ms;

	if (witness->quit || node->spec_changed ||
	    spec->stop.mode == SHUTDOWN_BRUTAL_KILL || killed_from_above(witness, node))
		return;
	if (spec->stop.mode == SHUTDOWN_INFINITY)
		witness_blame(witness, "I9 slot %u may never be killed", node->ref.slot);
	else if (!process->stopped)
		witness_blame(witness, "I9 slot %u is killed without a stop",
		              node->ref.slot);
	else if (now_ms < process->stopped_ms + spec->stop.shutdown_ms)
		witness_blame(witness, "I9 slot %u is killed too early", node->ref.slot);
	else if (witness->punctual && now_ms > process->extended_ms &&
	         now_ms > process->stopped_ms + spec->stop.shutdown_ms)
		witness_blame(witness, "I9 slot %u is killed too late", node->ref.slot);
}

/* Did it go down because of its own watch before its supervisor did? */
static bool
was_leaving(const struct witnessed *child, const struct witnessed *supervisor)
{
	return child->own_stop > supervisor->started &&
	       child->own_stop < supervisor->stop;
}

/* I7: below a supervisor that stops, younger siblings are gone before the elder goes. */
static void
check_reverse(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *child = node;
	const struct witnessed *at = witness_parent(witness, node);

	if (!witness->clean || witness->quit || node->process.main_dead ||
	    node->told > 0 || witness_is_kept(witness, node))
		return;
	for (; at != NULL; child = at, at = witness_parent(witness, at)) {
		/* Its stop may have been decided only after this. */
		if (at->stop < at->started)
			return;
		if (at->spec->policy.stop_parallel || was_leaving(child, at) ||
		    killed_from_above(witness, child) ||
		    state_now(witness, at) != STATE_STOPPING ||
		    (child->stopping != 0 &&
		     (at->stopping == 0 || child->stopping < at->stopping)))
			return;
		for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
			const struct witnessed *other = &witness->nodes[i];

			if (other->used && other->parent == child->parent &&
			    other != child &&
			    core_valid(witness->rig->core, other->ref) &&
			    core_compare_order(witness->rig->core, child->ref,
			                       other->ref) < 0 &&
			    witness_anyone_there(witness, other))
				witness_blame(witness,
				              "I7 slot %u is stopped before slot %u",
				              child->ref.slot, i);
		}
		if (at->ref.slot == CORE_USER)
			break;
	}
}

/* True if failures of siblings do not concern the actor. */
static bool
is_alone(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	return parent != NULL && parent->spec->policy.strategy == STRATEGY_ONE_FOR_ONE;
}

/* ACTION_STOP, ACTION_KILL */
void
witness_signal(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	struct process *process;

	if (node == NULL || !node->process.there || node->process.life != action->life ||
	    !node->process.spawned) {
		witness_blame(witness, "I5 a signal to nobody (slot %u life %u)",
		              action->ref.slot, action->life);
		return;
	}
	process = &node->process;
	if (process->frozen)
		witness_blame(witness, "I28 slot %u is frozen and gets a %s",
		              node->ref.slot, action_kind_names[action->kind]);
	if (node->stop < process->asked && !node->may_be_stopped &&
	    !witness_is_kept(witness, node))
		witness_blame(witness, "%s slot %u is stopped for no reason",
		              is_alone(witness, node) ? "I12" : "I11", node->ref.slot);
	if (!process->stopped && !process->killed)
		check_reverse(witness, node);
	if (action->kind == ACTION_KILL) {
		if (process->killed)
			witness_blame(witness, "I9 slot %u is killed twice",
			              node->ref.slot);
		check_kill(witness, node);
		process->killed = true;
		process->killed_ms = witness->rig->now_ms;
		return;
	}
	if (process->stopped || process->killed)
		witness_blame(witness, "I9 slot %u gets a second stop", node->ref.slot);
	process->stopped = true;
	process->stopped_ms = witness->rig->now_ms;
}
