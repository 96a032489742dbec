/* SPDX-License-Identifier: ISC */
/* witness_exit.c - supd ends with the work of actors: exit_code_from (I38). */
#include "config.h"

#include "core/tree/node.h"
#include "tests/sim/sim.h"

static bool
is_named(const struct witnessed *node)
{
	return node->used && node->spec->gives_exit && node->ref.slot != CORE_USER &&
	       !node->removing;
}

static enum node_state
state_of(const struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	if (!core_valid(witness->rig->core, node->ref))
		return STATE_DONE;
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	return view.growth.removing ? STATE_STOPPED : view.state;
}

static bool
is_down(enum node_state state)
{
	return state == STATE_STOPPED || state == STATE_DONE || state == STATE_FAILED ||
	       state == STATE_UNKILLABLE;
}

/* Is it down for good with its group, or by a death pact, and not only by a command? That
 * of this turn is not known yet.  A stop goes on without what cannot be killed. */
static bool
is_taken_along(const struct witness *witness, const struct witnessed *node)
{
	const enum node_state state = state_of(witness, node);
	const bool is_taken = node->taken > node->up;

	return node->spec->enabled && !node->removing &&
	       ((state == STATE_STOPPED && (node->told_down < node->up || is_taken)) ||
	        (state == STATE_UNKILLABLE && is_taken));
}

/* Has it ended for good? */
static bool
is_final(const struct witness *witness, const struct witnessed *node)
{
	return state_of(witness, node) == STATE_FAILED ||
	       state_of(witness, node) == STATE_DONE || is_taken_along(witness, node);
}

/* Its main process ended, or never ran. */
void
witness_exit_status(struct witnessed *node, const struct event *event)
{
	node->has_status = event->kind == EVENT_EXITED;
	node->last_status = event->signal > 0 ? 128 + event->signal : event->code;
}

/* Of a temporary actor that never began the removal is all that is told. */
static bool
is_end(const struct action *action)
{
	return action->kind == ACTION_REMOVED ||
	       (action->kind == ACTION_REPORT && action->report == REPORT_TERMINATED &&
	        action->death.watch == 0);
}

/* It is told that the actor waits for what has ended for good. */
static bool
is_in_vain(const struct action *action)
{
	return action->kind == ACTION_REPORT && action->report == REPORT_FAILURE &&
	       action->ruling.reason == DECIDED_NEED;
}

/* Was that told of the actor, or (NULL) of any? */
static bool
was_told_in_vain(const struct witness *witness, const struct witnessed *node)
{
	for (size_t i = 0; i < witness->rig->n_log; i++)
		if (is_in_vain(&witness->rig->log[i]) &&
		    (node == NULL || witness->rig->log[i].ref.slot == node->ref.slot))
			return true;
	return false;
}

/* How many actions the core gave before it found that supd is to end: up to the end of a
 * named actor, or else of a supervisor above one; or all those that wait in vain were
 * told of. */
static size_t
find_end(struct witness *witness)
{
	const struct rig *rig = witness->rig;
	size_t above = 0;
	size_t at = 0;
	bool in_vain = false;

	for (size_t i = 0; i < rig->n_log; i++) {
		const struct witnessed *ended = witness_find(witness, rig->log[i].ref);

		if (is_in_vain(&rig->log[i])) {
			at = i + 1;
			in_vain = true;
		}
		if (in_vain || ended == NULL || !is_end(&rig->log[i]))
			continue;
		if (is_named(ended))
			at = i + 1;
		for (uint32_t k = 0; k < SIM_NODES_MAX && above == 0; k++)
			if (is_named(&witness->nodes[k]) &&
			    witness_below(witness, &witness->nodes[k], ended))
				above = i + 1;
	}
	return at > 0 ? at : above;
}

/* Has a supervisor of the actor ended? */
static bool
is_below_ended(struct witness *witness, const struct witnessed *node)
{
	while ((node = witness_parent(witness, node)) != NULL &&
	       node->ref.slot != CORE_USER)
		if (is_final(witness, node))
			return true;
	return false;
}

/* Of what is taken along before it began nothing is told but the failure. */
static size_t
find_failure(const struct rig *rig)
{
	size_t at = rig->n_log;

	while (at > 0 && (rig->log[at - 1].kind != ACTION_REPORT ||
	                  rig->log[at - 1].report != REPORT_FAILURE))
		at--;
	return at;
}

/* Before the core's actions are looked at: did it decide that supd ends by itself? */
void
witness_exit_look(struct witness *witness)
{
	const struct witnessed *user = &witness->nodes[CORE_USER];
	bool any_began;

	witness->end_at = SIZE_MAX;
	if (witness->shutdown || witness->ends || !witness->rig->core->shutting_down ||
	    !user->used ||
	    (is_down(state_of(witness, user)) && !was_told_in_vain(witness, NULL)))
		return;
	witness->ends = true;
	witness->end_at = find_end(witness);
	any_began = witness->end_at > 0;
	if (find_failure(witness->rig) > witness->end_at)
		witness->end_at = find_failure(witness->rig);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		if (!is_named(node))
			continue;
		if (was_told_in_vain(witness, node)) {
			witness->end_statuses[witness->n_end_statuses++] =
			    CORE_EXIT_GAVE_UP;
			continue;
		}
		/* Also one that was told of earlier in this turn, and had only a hook. */
		any_began = any_began || node->process.asked > 0 || node->started > 0 ||
		            node->ended > 0 || is_taken_along(witness, node) ||
		            state_of(witness, node) == STATE_UNKILLABLE ||
		            is_below_ended(witness, node);
		if (!is_down(state_of(witness, node)))
			witness_blame(witness, "I38 supd ends, and slot %u runs", i);
		if (!node->has_status || node->spec->kind == NODE_SUPERVISOR)
			witness->is_status_unsure = true;
		else if (node->last_status == 0)
			witness->has_zero = true;
		else
			witness->end_statuses[witness->n_end_statuses++] =
			    node->last_status;
	}
	if (!any_began)
		witness_blame(witness, "I38 supd ends without an end");
}

/* Does an actor of that name, which has ended, not meet the need? */
static bool
is_missed(const struct witness *witness, const struct need_spec *need,
          const struct witnessed *target)
{
	const enum node_state state = state_of(witness, target);

	return target->used && target->name == need->target &&
	       (state == STATE_FAILED || is_taken_along(witness, target) ||
	        (state == STATE_DONE && need->level == NEED_READY));
}

/* Is it, or an actor below it, what an actor that does not run needs and lacks? */
static bool
is_lacked(const struct witness *witness, const struct witnessed *ended)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		if (!node->used || witness_runs(state_of(witness, node)))
			continue;
		for (uint32_t k = 0; k < SIM_NODES_MAX * node->spec->n_needs; k++) {
			const struct witnessed *target =
			    &witness->nodes[k % SIM_NODES_MAX];
			const struct need_spec *need =
			    &node->spec->needs[k / SIM_NODES_MAX];

			if (is_missed(witness, need, target) ||
			    (target->used && target->name == need->target &&
			     witness_below(witness, target, ended)))
				return true;
		}
	}
	return false;
}

/* REPORT_FAILURE: true if an actor that is named will never run, for what it needs has
 * ended. */
bool
witness_exit_in_vain(struct witness *witness, const struct action *report)
{
	const struct witnessed *node = witness_find(witness, report->ref);
	const struct witnessed *ended = witness_find(witness, report->origin);

	if (!is_in_vain(report))
		return false;
	if (node == NULL || ended == NULL || !witness->ends || !is_named(node) ||
	    witness_runs(state_of(witness, node))) {
		witness_blame(witness, "I38 supd ends for an actor that does not wait");
		return true;
	}
	if (!is_final(witness, ended) ||
	    (!is_lacked(witness, ended) && !witness_below(witness, node, ended)))
		witness_blame(witness, "I38 slot %u may come, and supd ends for it",
		              ended->ref.slot);
	return true;
}

/* The same as a shutdown by command, from here on. */
void
witness_exit_begin(struct witness *witness)
{
	struct witnessed *user = &witness->nodes[CORE_USER];

	witness->shutdown = true;
	witness->seq++;
	witness_mark(witness, user, &user->stop);
	witness_mark(witness, user, &user->down);
	witness_mark(witness, user, &user->told_down);
}

/* ACTION_EXIT: the status is that of a named actor, and 0 only if all have it. */
void
witness_exit_check(struct witness *witness)
{
	bool is_one = witness->has_zero && witness->n_end_statuses == 0 &&
	              witness->exit_status == 0;

	if (!witness->ends || witness->is_status_unsure)
		return;
	for (uint32_t i = 0; i < witness->n_end_statuses; i++)
		is_one = is_one || witness->end_statuses[i] == witness->exit_status;
	if (!is_one)
		witness_blame(witness, "I38 supd ends with %d, as no actor named for it",
		              witness->exit_status);
}

/* Are all supervisors of the actor running? */
static bool
is_below_running(struct witness *witness, const struct witnessed *node)
{
	while ((node = witness_parent(witness, node)) != NULL) {
		if (state_of(witness, node) != STATE_RUNNING)
			return false;
		if (node->ref.slot == CORE_USER)
			return true;
	}
	return false;
}

/* Does a supervisor of the actor come up, or go down?  What that ends is decided then. */
static bool
is_below_moving(struct witness *witness, const struct witnessed *node)
{
	while ((node = witness_parent(witness, node)) != NULL)
		if (!is_down(state_of(witness, node)) &&
		    state_of(witness, node) != STATE_RUNNING)
			return true;
	return false;
}

/* Does the actor wait for one that has ended for good? */
static bool
waits_in_vain(struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	if (view.state != STATE_WAITING || view.on_standby)
		return false;
	for (uint32_t i = 0; i < node->spec->n_needs; i++) {
		const struct need_spec *need = &node->spec->needs[i];

		for (uint32_t k = 0; k < SIM_NODES_MAX; k++) {
			const struct witnessed *target = &witness->nodes[k];

			if ((view.unmet >> i & 1) != 0 &&
			    is_missed(witness, need, target) &&
			    core_valid(witness->rig->core, target->ref) &&
			    !witness->name_shared[need->target] &&
			    is_below_running(witness, target))
				return true;
		}
	}
	return false;
}

/* The turn is over: without commands, the end of all that are named ends supd. */
void
witness_exit_turn(struct witness *witness)
{
	bool has_one = false, in_vain = false, all_ended = true;

	if (!witness->clean || witness->shutdown || witness->rig->core->shutting_down)
		return;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		if (!is_named(node))
			continue;
		if (is_below_moving(witness, node) ||
		    state_of(witness, node) == STATE_UNKILLABLE)
			return;
		if (!is_down(state_of(witness, node))) {
			if (!waits_in_vain(witness, node))
				return;
			in_vain = true;
			continue;
		}
		all_ended = all_ended && is_final(witness, node);
		has_one = has_one || (is_final(witness, node) &&
		                      core_valid(witness->rig->core, node->ref) &&
		                      is_below_running(witness, node));
	}
	if (in_vain ? all_ended : has_one)
		witness_blame(witness,
		              "I38 all that are named have ended, and supd runs");
}
