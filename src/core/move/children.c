/* SPDX-License-Identifier: ISC */
/* children.c - a supervisor and its children: sequences of starts and stops, groups. */
#include "config.h"

#include "base/units.h"
#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* True if the child failed, and lived on while the failure climbed.  Then that is what it
 * ends of. */
static bool
has_failed_alive(const struct node *child)
{
	return child->failed == FAILED_BRINGS_DOWN && child->goal == GOAL_UP &&
	       process_is_main_there(child);
}

/* A supervisor stops: its children's goals are taken away, in reverse they go. */
void
children_stop(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;

	deadline_clear(core, supervisor, TIMER_GROUP);
	children_of(supervisor)->are = CHILDREN_DOWN;
	watch_revoke(core, supervisor);
	CHILDREN_FOREACH (core, supervisor, child) {
		if (node_is_hidden(child))
			continue;
		if (has_failed_alive(child))
			goal_down_as(child, STATE_FAILED);
		else
			goal_down(child);
		goal_mark_for_sequence(child, false);
		goal_forget_end(child);
		if (stop_kills_children(supervisor))
			goal_kill(child);
		/* A stopped child changes no state, so its waiters are told here. */
		wait_state_changed(core, child);
		part_pass(core, child);
		if (node_is_pending(child) && children_of(child)->are != CHILDREN_DOWN)
			down_wait_turn(core, child);
		if (node_is_live(child))
			part_join(core, child);
		if (node_is_pending(child) || stop_kills(child) ||
		    process_is_unkillable(child))
			queue_node(core, child);
	}
	children_begin(core, supervisor, OP_STOP);
}

/* True if no child runs, and none is to start. */
bool
children_are_down(const struct node *supervisor)
{
	return children_of(supervisor)->n_live == 0 &&
	       children_of(supervisor)->n_pending == 0;
}

/* Its supervisor starts anew: what was counted and what had ended is forgotten. */
static void
renew_child(struct core *core, struct node *child, enum restart_kind kind)
{
	dynamic_show(core, child);
	goal_undelete(child);
	run_renew(child);
	pace_forget(core, child);
	part_leave(core, child);
	goal_renew(child,
	           spec_of(child)->enabled && child->plan.stay == STAY_NOT &&
	               !child->growth.removing,
	           kind);
	goal_keep_down(child, STAY_NOT);
	state_set(core, child, child->goal == GOAL_UP ? STATE_WAITING : STATE_STOPPED);
}

/* The children begin anew, in order, those that are enabled and not held. */
static void
start_anew(struct core *core, struct node *supervisor)
{
	const enum restart_kind kind = supervisor->run.started_as == RESTARTED_FOR_COMMAND
	                                   ? RESTARTED_FOR_COMMAND
	                                   : RESTARTED_FOR_SUPERVISOR;

	CHILDREN_FOREACH (core, supervisor, child) {
		renew_child(core, child, kind);
		part_line_up(core, child, child->goal == GOAL_UP);
	}
	children_of(supervisor)->op = OP_START;
}

static void
put_in_sequence(struct core *core, struct node *child)
{
	part_line_up(core, child, true);
	/* Whether the child is needed is looked at when its turn comes. */
	gate_end_standby(child);
}

/* Mark each child for a restart in its turn: no group is under way any more. */
static void
mark_all(struct core *core, struct node *supervisor)
{
	deadline_clear(core, supervisor, TIMER_GROUP);
	children_of(supervisor)->op = OP_START;
	CHILDREN_FOREACH (core, supervisor, child) {
		part_leave(core, child);
		if (node_is_hidden(child) || child->growth.removing ||
		    child->growth.presence == PRESENCE_DELETED)
			continue;
		goal_mark_for_sequence(child, node_revives(child) &&
		                                  child->plan.stay == STAY_NOT);
		goal_keep_down(child, STAY_NOT);
		goal_forget_command(child);
		if (node_is_in_sequence(child) || node_is_down(child))
			continue;
		/* An actor that runs once is never started again (OTP O-20). */
		goal_down_by_policy(child);
	}
}

/*
 * The supervisor is up again, and its children have outlived that: the children to be
 * restarted are restarted in order, and so are the children that failed meanwhile;
 * children that waited go on (Akka's step 6, A-20, A-21).
 */
static void
rejoin(struct core *core, struct node *supervisor)
{
	if (!node_is_resuming(supervisor) &&
	    spec_of(supervisor)->policy.keep_children == KEEP_RESTART)
		mark_all(core, supervisor);
	if (children_of(supervisor)->op == OP_NONE)
		children_of(supervisor)->op = OP_START;
	/* A child that is left down does not come up with the supervisor. */
	core->look_early = true;
	CHILDREN_FOREACH (core, supervisor, child) {
		if (node_is_hidden(child) || child->growth.removing ||
		    child->growth.presence == PRESENCE_DELETED || child->part.grouped)
			continue;
		/* A stop since then is remembered, as in mark_all(). */
		if (child->plan.stay != STAY_NOT)
			goal_mark_for_sequence(child, false);
		if (node_is_in_sequence(child))
			goal_revive(child);
		if (child->goal == GOAL_DOWN)
			continue;
		if (node_is_down(child) ||
		    (node_is_in_sequence(child) && node_is_pending(child)))
			state_set(core, child, STATE_WAITING);
		if (node_is_in_sequence(child) || child->state == STATE_WAITING)
			put_in_sequence(core, child);
	}
}

/* All nodes below look again at starts that had to wait. */
static void
wake_all(struct core *core, struct node *supervisor)
{
	for (struct node *at = supervisor; at != NULL;
	     at = node_next(core, supervisor, at)) {
		/* The delay ended while no node below could be started. */
		if (at != supervisor && at->state == STATE_BACKOFF &&
		    at->goal != GOAL_DOWN && !at->part.grouped &&
		    deadline_due(core, at, TIMER_STATE) == 0)
			goal_start_now(at, true);
		queue_node(core, at);
		/* What ended meanwhile can be told now. */
		watch_state_changed(core, at);
	}
}

/* No child may start any more; those that run go on until they are told. */
void
children_close(struct node *supervisor)
{
	if (children_of(supervisor)->are == CHILDREN_OPEN)
		children_of(supervisor)->are = CHILDREN_KEPT;
}

/* Everything before the children is done: the children start, or go on. */
void
children_open(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;
	const bool were_kept = children_of(supervisor)->are != CHILDREN_DOWN;

	children_of(supervisor)->are = CHILDREN_OPEN;
	suspend_below_end(core, supervisor);
	if (were_kept)
		rejoin(core, supervisor);
	else
		start_anew(core, supervisor);
	children_of(supervisor)->cursor = children_of(supervisor)->op == OP_STOP
	                                      ? supervisor->links.last
	                                      : supervisor->links.first;
	if (were_kept)
		wake_all(core, supervisor);
	watch_restore(core, supervisor);
	queue_node(core, supervisor);
}

/* The group's delay is over: its members start in order. */
void
children_group_due(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;

	if (children_of(supervisor)->op != OP_DELAY)
		return;
	deadline_clear(core, supervisor, TIMER_GROUP);
	if (children_of(supervisor)->n_grouped > 0) {
		/* A member is stopped after all, with children that had outlived it. */
		children_begin(core, supervisor, OP_STOP);
		if (children_of(supervisor)->group_delay_ms != DURATION_INFINITE)
			children_of(supervisor)->group_delay_ms = 0;
		return;
	}
	CHILDREN_FOREACH (core, supervisor, child) {
		if (!child->part.grouped)
			continue;
		part_leave(core, child);
		if (child->goal == GOAL_DOWN)
			continue;
		goal_restart_is_due(child);
		state_set(core, child, STATE_WAITING);
		put_in_sequence(core, child);
	}
	children_begin(core, supervisor, OP_START);
}

/* All of the group is gone. */
static void
group_is_down(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;

	if (supervisor->phase == PHASE_DISMISS) {
		if (!children_are_down(supervisor))
			return;
		children_of(supervisor)->op = OP_NONE;
		if (node_is_ending(supervisor))
			failure_give_up(turn, supervisor);
		else
			down_step(turn, supervisor);
		return;
	}
	children_of(supervisor)->op = OP_DELAY;
	if (children_of(supervisor)->group_delay_ms == DURATION_INFINITE) {
		children_group_due(turn, supervisor);
		if (children_of(supervisor)->group_index != NONE)
			significant_group_stopped(turn, supervisor);
		return;
	}
	deadline_arm(core, supervisor, TIMER_GROUP, turn->now_ms,
	             children_of(supervisor)->group_delay_ms);
	/* The child that began the group may be removed from the configuration. */
	const struct node *leader = node_at(core, children_of(supervisor)->group_leader);
	if (children_of(supervisor)->group_delay_ms > 0 && leader != NULL)
		turn_report(turn, REPORT_BACKOFF, leader)->delay_ms =
		    children_of(supervisor)->group_delay_ms;
}

static void
advance_stop(struct turn *turn, struct node *supervisor)
{
	bool parallel =
	    spec_of(supervisor)->policy.stop_parallel || stop_kills_children(supervisor);

	while (children_of(supervisor)->cursor != NONE) {
		struct node *child = node_at(turn->core, children_of(supervisor)->cursor);

		if (child->part.grouped && node_is_live(child)) {
			if (!turn_has_room(turn)) {
				queue_node(turn->core, supervisor);
				return;
			}
			down_bring(turn, child);
			if (!parallel && node_is_live(child))
				return;
		}
		children_of(supervisor)->cursor = child->links.prev;
	}
	if (children_of(supervisor)->n_grouped == 0)
		group_is_down(turn, supervisor);
}

/* True if the child is to be restarted in the sequence of its supervisor, and still has
 * to go down for that. */
static bool
is_to_go_down(const struct node *child)
{
	return node_is_in_sequence(child) && child->goal != GOAL_RESTART &&
	       node_is_live(child) && child->state != STATE_STOPPING;
}

static void
advance_start(struct turn *turn, struct node *supervisor)
{
	while (children_of(supervisor)->cursor != NONE) {
		struct node *child = node_at(turn->core, children_of(supervisor)->cursor);

		/* One that is to stop only waits to be looked at. */
		if (child->state == STATE_WAITING && child->goal == GOAL_DOWN)
			part_pass(turn->core, child);
		if (child->part.sequenced &&
		    (child->state == STATE_WAITING || is_to_go_down(child))) {
			if (!node_takes_starts(turn->core, child))
				return;
			if (!turn_has_room(turn)) {
				queue_node(turn->core, supervisor);
				return;
			}
			if (child->state != STATE_WAITING) {
				goal_take_turn(child);
				down_bring(turn, child);
				/* Gone at once, or later. */
				continue;
			}
			up_start(turn, child);
		}
		if (child->part.sequenced && !spec_of(supervisor)->policy.start_parallel)
			return;
		children_of(supervisor)->cursor = child->links.next;
	}
	if (children_of(supervisor)->n_sequenced > 0)
		return;
	/* Below a process that is not there yet the end of the sequence is no news. */
	if (children_of(supervisor)->are != CHILDREN_OPEN)
		return;
	children_of(supervisor)->op = OP_NONE;
	if (supervisor->phase == PHASE_CHILDREN)
		up_step(turn, supervisor);
}

/* Go on with the sequence of stops or starts that is under way, as far as it goes. */
void
children_advance(struct turn *turn, struct node *supervisor)
{
	switch (children_of(supervisor)->op) {
	case OP_STOP:
		advance_stop(turn, supervisor);
		break;
	case OP_START:
		advance_start(turn, supervisor);
		break;
	case OP_NONE:
	case OP_DELAY:
		break;
	}
}
