/* SPDX-License-Identifier: ISC */
/* strategy.c - which siblings are affected: marks on the tree.  The stop of the failed
 * actor begins here, through motion.h, and a pending sibling enters the state that it is
 * to be pending in; all other steps are those of reconcile.c. */
#include "config.h"

#include "base/assert.h"
#include "base/units.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* True if the sibling is concerned when this child is restarted or stopped (OTP O-17 to
 * O-19). */
bool
strategy_in_scope(const struct core *core, const struct node *child,
                  const struct node *sibling)
{
	if (node_is_hidden(sibling) || sibling->growth.removing ||
	    sibling->growth.presence == PRESENCE_DELETED)
		return false;
	switch (spec_of(node_supervisor(core, child))->policy.strategy) {
	case STRATEGY_ONE_FOR_ALL:
		return true;
	case STRATEGY_REST_FOR_ONE:
		return sibling->links.index >= child->links.index;
	case STRATEGY_ONE_FOR_ONE:
	case STRATEGY_MAX:
		break;
	}
	return sibling == child;
}

static void
join_group(struct turn *turn, struct node *member)
{
	part_pass(turn->core, member);
	goal_start_now(member, false);
	goal_leave_sequence(member);
	gate_end_standby(member);
	if (member->goal == GOAL_DOWN && node_is_pending(member) &&
	    children_of(member)->are != CHILDREN_DOWN)
		down_wait_turn(turn->core, member);
	part_join(turn->core, member);
	if (member->goal != GOAL_DOWN && node_is_pending(member)) {
		/* Its own delay is over: the group's counts. */
		state_set(turn->core, member, down_pending_state(turn->core, member));
	}
	queue_node(turn->core, member);
}

/*
 * True if siblings outside the scope of this restart wait for the end of the group's
 * delay: the order of the siblings has changed since.
 */
static bool
others_wait(const struct core *core, const struct node *node)
{
	const struct node *supervisor = node_supervisor(core, node);

	if (children_of(supervisor)->group_delay_ms == DURATION_INFINITE)
		return false;
	CHILDREN_FOREACH (core, supervisor, member)
		if (member->part.grouped && member->goal != GOAL_DOWN &&
		    !strategy_in_scope(core, node, member))
			return true;
	return false;
}

static void
begin_group(struct turn *turn, struct node *supervisor, struct node *leader,
            uint64_t delay_ms)
{
	struct core *core = turn->core;

	deadline_clear(core, supervisor, TIMER_GROUP);
	children_of(supervisor)->group_delay_ms = delay_ms;
	children_of(supervisor)->group_leader = node_slot(core, leader);
	children_begin(core, supervisor, OP_STOP);
	/* A dead leader is down already, or has leftovers that can go at once. */
	if (node_is_ending(leader) ||
	    (node_has_process(leader) && !process_is_main_there(leader)))
		down_bring(turn, leader);
}

/*
 * Restart the node, and under one_for_all and rest_for_one all that are in scope: they
 * are stopped in reverse, and when all of them are gone and the delay is over they are
 * started in order (OTP's terminate-all-then-start-all).
 */
void
strategy_restart(struct turn *turn, struct node *node, uint64_t delay_ms)
{
	struct core *core = turn->core;
	struct node *supervisor = node_supervisor(core, node);

	goal_restart_by_policy(node,
	                       node->failed == FAILED_BRINGS_DOWN ? RESTARTED_FOR_FAILURE
	                                                          : RESTARTED_FOR_END,
	                       delay_ms);
	if (spec_of(supervisor)->policy.strategy == STRATEGY_ONE_FOR_ONE) {
		/* A first attempt that failed counts as passed (DECISIONS 18). */
		part_pass(core, node);
		down_bring(turn, node);
		return;
	}
	if (!others_wait(core, node))
		children_of(supervisor)->group_index = node->links.index;
	else if (delay_ms < children_of(supervisor)->group_delay_ms)
		delay_ms = children_of(supervisor)->group_delay_ms;
	children_of(supervisor)->group_leader = node_slot(core, node);
	CHILDREN_FOREACH (core, supervisor, member) {
		if (!strategy_in_scope(core, node, member))
			continue;
		if (node_revives(member)) {
			if (member != node)
				goal_restart_by_policy(member, RESTARTED_FOR_GROUP,
				                       member->plan.delay_ms);
			if (member != node)
				goal_forget_end(member);
		} else {
			goal_down_by_policy(member);
			wait_state_changed(core, member);
			if (node_is_down(member))
				continue;
		}
		join_group(turn, member);
	}
	begin_group(turn, supervisor, node, delay_ms);
}

/* True if a child waits for the end of the group's delay, to be started then. */
static bool
group_is_awaited(const struct core *core, const struct node *supervisor)
{
	CHILDREN_FOREACH (core, supervisor, member)
		if (member->part.grouped && member->goal != GOAL_DOWN)
			return true;
	return false;
}

/*
 * Stop the node for good, and under one_for_all and rest_for_one all that are in scope.
 * The supervisor lives on (Akka's processFailure with Stop).
 */
void
strategy_stop(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	struct node *supervisor = node_supervisor(core, node);

	if (spec_of(supervisor)->policy.strategy == STRATEGY_ONE_FOR_ONE) {
		down_bring(turn, node);
		return;
	}
	children_of(supervisor)->group_index = node->links.index;
	CHILDREN_FOREACH (core, supervisor, member) {
		if (!strategy_in_scope(core, node, member))
			continue;
		goal_down_by_policy(member);
		if (member != node)
			goal_forget_end(member);
		/* A stopped member changes no state, so its waiters are told here. */
		wait_state_changed(core, member);
		if (!node_is_down(member))
			join_group(turn, member);
	}
	core->look_early = true;
	/* Other members may wait for a delay to come up again: that delay goes on. */
	bool awaited = group_is_awaited(core, supervisor);
	uint32_t leader = children_of(supervisor)->group_leader;
	uint64_t delay_ms = children_of(supervisor)->group_delay_ms;
	begin_group(turn, supervisor, node, DURATION_INFINITE);
	if (awaited) {
		children_of(supervisor)->group_leader = leader;
		children_of(supervisor)->group_delay_ms = delay_ms;
	}
}

/*
 * While a group is on its way down: true if a node that is down and is to start now
 * belongs to it, and waits until all of the group are gone.
 */
bool
strategy_joins(const struct core *core, const struct node *node)
{
	const struct node *supervisor = node_supervisor(core, node);

	if (children_of(supervisor)->op != OP_STOP &&
	    children_of(supervisor)->op != OP_DELAY)
		return false;
	/* Children removed one by one form no group. */
	return children_of(supervisor)->group_index != NONE &&
	       (spec_of(supervisor)->policy.strategy == STRATEGY_ONE_FOR_ALL ||
	        node->links.index >= children_of(supervisor)->group_index);
}

/* A child came between others, which get new numbers: a group begins where it began. */
void
strategy_number(struct core *core, struct node *parent, const struct node *newcomer)
{
	const uint32_t group_index = children_of(parent)->group_index;
	bool is_found = group_index == NONE;
	uint32_t index = 0;

	CHILDREN_FOREACH (core, parent, child) {
		if (!is_found && child != newcomer && child->links.index >= group_index) {
			children_of(parent)->group_index = index;
			is_found = true;
		}
		child->links.index = index++;
	}
	if (!is_found)
		children_of(parent)->group_index = index;
}

/*
 * The node is removed while its supervisor runs on: removed ones are stopped one after
 * the other from the right, as everything is, unless the supervisor stops in parallel.
 */
void
strategy_leave(struct core *core, struct node *node)
{
	struct node *supervisor = node_supervisor(core, node);

	if (!node_is_live(node) || node->part.grouped ||
	    spec_of(supervisor)->policy.stop_parallel ||
	    supervisor->state == STATE_STOPPING)
		return;
	part_join(core, node);
	if (children_of(supervisor)->op == OP_NONE ||
	    children_of(supervisor)->op == OP_START) {
		children_of(supervisor)->group_delay_ms = DURATION_INFINITE;
		children_of(supervisor)->group_leader = NONE;
		children_of(supervisor)->group_index = NONE;
	}
	deadline_clear(core, supervisor, TIMER_GROUP);
	children_begin(core, supervisor, OP_STOP);
}

/*
 * Walk over all children in the scope of a restart of this child, in start order:
 * REF_NONE begins and ends.
 */
struct ref
core_scope_next(const struct core *core, struct ref child, struct ref prev)
{
	const struct node *node = node_lookup(core, child);

	if (node == NULL || node->links.parent == NONE)
		return REF_NONE;
	const struct node *at = node_lookup(core, prev);
	at = at == NULL ? node_at(core, node_supervisor(core, node)->links.first)
	                : node_at(core, at->links.next);
	while (at != NULL && !strategy_in_scope(core, node, at))
		at = node_at(core, at->links.next);
	return at == NULL ? REF_NONE : node_ref(core, at);
}
