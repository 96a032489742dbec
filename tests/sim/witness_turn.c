/* SPDX-License-Identifier: ISC */
/* witness_turn.c - what must hold between turns, and once the world is calm. */
#include "config.h"

#include "base/units.h"
#include "tests/sim/sim.h"
#include "tests/sim/witness_climb.h"

/* I33: every failure was told exactly once, and nothing else was. */
static void
check_told(struct witness *witness, struct witnessed *node)
{
	int most = node->owed + node->maybe;

	if (node->told < node->owed || node->told > most)
		witness_blame(witness, "I33 slot %u: %d failures, %d told",
		              node->ref.slot, node->owed, node->told);
	node->owed = 0;
	node->told = 0;
	node->maybe = 0;
}

/* Was it healthy for long enough? */
bool
witness_is_healthy(const struct witness *witness, const struct witnessed *node)
{
	const struct backoff_spec *backoff = &node->spec->backoff;
	uint64_t now_ms = node->stands ? node->stands_since_ms : witness->rig->now_ms;

	if (backoff->manual_reset || now_ms < node->process.ready_ms)
		return false;
	if (node->spec->kind == NODE_WORKER)
		return node->process.there && node->process.ready &&
		       now_ms - node->process.ready_ms >= backoff->reset_after_ms;
	return witness_runs(node->before) &&
	       now_ms - node->process.ready_ms >= backoff->reset_after_ms;
}

/* I20: failures are forgotten only for a reason. */
static void
check_backoff(struct witness *witness, struct witnessed *node,
              const struct node_view *view)
{
	/* They may have been forgotten earlier in the same turn. */
	if (node->counted_stop && view->backoff.failures == 1 &&
	    (node->renewed || witness_is_healthy(witness, node)))
		node->failures = 0;
	if (view->backoff.failures == node->failures + 1 && node->counted_stop)
		node->failures++;
	if (view->state != STATE_STOPPING)
		node->counted_stop = false;
	if (view->backoff.failures != node->failures) {
		if (view->backoff.failures != 0 ||
		    (!node->renewed && !witness_is_healthy(witness, node)))
			witness_blame(witness, "I20 slot %u: %u failures, not %u",
			              node->ref.slot, view->backoff.failures,
			              node->failures);
		node->failures = view->backoff.failures;
		node->renewed = false;
	}
	if (node->failures == 0)
		node->renewed = false;
}

/* I9, the other half: an actor that does not stop in time is killed. */
static void
check_overdue(struct witness *witness, const struct witnessed *node)
{
	const struct process *process = &node->process;

	if (witness->ticked && process->there && process->stopped && !process->killed &&
	    !node->spec_changed && node->spec->stop.mode == SHUTDOWN_TIMEOUT &&
	    witness->rig->now_ms > process->extended_ms &&
	    witness->rig->now_ms > process->stopped_ms + node->spec->stop.shutdown_ms)
		witness_blame(witness, "I9 slot %u should have been killed",
		              node->ref.slot);
}

/* I36, the other half: what is there for so long after SIGKILL is unkillable. */
static void
check_unkillable(struct witness *witness, const struct witnessed *node,
                 const struct node_view *view)
{
	const struct process *process = &node->process;

	if (view->process.unkillable != (process->there && process->unkillable))
		witness_blame(witness, "I36 slot %u: unkillable is %d", node->ref.slot,
		              view->process.unkillable);
	if (witness->ticked && process->there && process->killed &&
	    !process->unkillable && !node->spec_changed &&
	    witness->rig->now_ms > process->killed_ms + node->spec->stop.kill_timeout_ms)
		witness_blame(witness, "I36 slot %u should be unkillable",
		              node->ref.slot);
}

static void
check_view(struct witness *witness, struct witnessed *node, const struct node_view *view)
{
	if (view->process.alive != node->process.there)
		witness_blame(witness, "I1 slot %u: alive is %d", node->ref.slot,
		              view->process.alive);
	if (node->hold != 0 &&
	    (view->state == STATE_WAITING || view->state == STATE_BACKOFF))
		witness_blame(witness, "I4 slot %u is held and waits for its start",
		              node->ref.slot);
	if (view->backoff.due_ms != 0 && view->state != STATE_BACKOFF)
		witness_blame(witness, "I21 slot %u is %s and due", node->ref.slot,
		              node_state_names[view->state]);
	witness_check_suspended(witness, node, view);
	check_backoff(witness, node, view);
	check_overdue(witness, node);
	check_unkillable(witness, node, view);
	witness_check_hook(witness, node);
	witness_check_living(witness, node, view);
	witness_check_retired(witness, node);
}

/* The turn is over. */
void
witness_turn_over(struct witness *witness)
{
	const struct core *core = witness->rig->core;

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];
		struct node_view view;

		if (!node->used)
			continue;
		check_told(witness, node);
		if (!core_valid(core, node->ref)) {
			node->failures = 0;
			node->suspends = 0;
			if (node->process.there)
				witness_blame(witness, "I2 slot %u is forgotten", i);
			continue;
		}
		core_view(core, node->ref, witness->rig->now_ms, &view);
		check_view(witness, node, &view);
	}
	witness_exit_turn(witness);
	if (witness->quiet && witness->turn_events > 0 && witness->turn_actions > 0)
		witness_blame(witness, "%s",
		              witness->op_same ? "I30 what is as it was has an effect"
		                               : "I34 a stale event had an effect");
	witness->op_same = false;
	witness->quiet = true;
	witness->turn_began = witness->seq;
	witness->turn_events = 0;
	witness->turn_actions = 0;
	witness->ticked = false;
}

static bool
is_settled(const struct node_view *view)
{
	const enum node_state state = view->state;

	return view->on_standby || state == STATE_RUNNING || state == STATE_STOPPED ||
	       state == STATE_DONE || state == STATE_FAILED;
}

/*
 * Siblings wait with an actor that waits for its needs; so does a restart after its
 * delay, below a supervisor that is not up itself.
 */
static bool
may_wait(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = node;
	struct node_view view;
	bool is_due;

	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	is_due = view.state == STATE_BACKOFF && view.backoff.due_ms == 0;
	while (is_due && view.state != STATE_WAITING && view.state != STATE_STARTING &&
	       at->ref.slot != CORE_USER) {
		at = witness_parent(witness, at);
		core_view(witness->rig->core, at->ref, witness->rig->now_ms, &view);
	}
	return view.state == STATE_WAITING || view.state == STATE_STARTING;
}

/* In a group an elder that was stopped in the middle of a start holds up the rest. */
static bool
may_be_held_up(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	return !witness->clean && parent != NULL &&
	       parent->spec->policy.strategy != STRATEGY_ONE_FOR_ONE;
}

/* A restart above left it as it was: down, perhaps. */
static bool
may_be_untouched(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = witness_parent(witness, node);

	for (; at != NULL; at = witness_parent(witness, at)) {
		if (at->spec->policy.keep_children == KEEP_UNTOUCHED || at->spec_changed)
			return true;
		if (at->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/*
 * I35: long after the last failure, with every start successful and every caller
 * answered, the tree is settled: wanted actors run.
 */
void
witness_calm(struct witness *witness)
{
	const struct core *core = witness->rig->core;

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];
		const struct witnessed *parent;
		struct node_view view;
		bool held_up;

		if (!node->used || !core_valid(core, node->ref))
			continue;
		core_view(core, node->ref, witness->rig->now_ms, &view);
		if (view.suspended > 0)
			witness_blame(witness, "I27 slot %u is suspended by nobody", i);
		held_up = witness_holds_up(witness);
		if (!is_settled(&view) && !(held_up && may_wait(witness, node)))
			witness_blame(witness, "I35 slot %u stays %s", i,
			              node_state_names[view.state]);
		witness_check_watches(witness, node);
		if (view.growth.removing)
			witness_blame(witness, "I35 slot %u is never removed", i);
		witness_check_decided(witness, node);
		if (node->must_go)
			witness_blame(witness, "I31 slot %u failed to start, and stays",
			              i);
		parent = witness_parent(witness, node);
		if (i == CORE_USER || parent == NULL || !core_valid(core, parent->ref) ||
		    node->up < node->down || node->hold != 0 || node->unsure ||
		    !node->spec->enabled || node->spec_changed ||
		    node->spec->restart != RESTART_PERMANENT ||
		    may_be_held_up(witness, node) || may_be_untouched(witness, node))
			continue;
		core_view(core, parent->ref, witness->rig->now_ms, &view);
		if (view.state != STATE_RUNNING)
			continue;
		core_view(core, node->ref, witness->rig->now_ms, &view);
		if (held_up && may_wait(witness, node))
			continue;
		/* A limit may refuse the restart after a normal end as well. */
		if (view.state != STATE_RUNNING && parent->spec->policy.limit.on)
			continue;
		if (view.state != STATE_RUNNING && !view.on_standby)
			witness_blame(witness, "I10 slot %u should run, it is %s", i,
			              node_state_names[view.state]);
	}
	for (uint32_t i = 0; i < witness->n_tokens; i++)
		if (witness->tokens[i].command && !witness_holds_up(witness))
			witness_blame(witness, "I29 token %d was never answered",
			              (int)witness->tokens[i].token);
	if (core_deadline(core) != DURATION_INFINITE)
		witness_blame(witness, "I21 a timer is left");
}
