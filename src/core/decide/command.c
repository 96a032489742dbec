/* SPDX-License-Identifier: ISC */
/* command.c - what people ask for: commands change goals, nothing is counted. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* Answer a command; without a token there is no caller to be told. */
void
command_reply(struct turn *turn, const struct event *event, enum reply_result result)
{
	if (event->token == 0)
		return;
	struct action *action =
	    turn_act(turn, ACTION_REPLY, node_at(turn->core, CORE_ROOT));
	action->ref = event->ref;
	action->token = event->token;
	action->result = result;
}

/* A member of a group that waits for its delay: the whole group starts now. */
static void
hurry_group(struct turn *turn, struct node *node)
{
	struct node *supervisor = node_supervisor(turn->core, node);

	if (node->part.grouped && children_of(supervisor)->op == OP_DELAY)
		deadline_arm(turn->core, supervisor, TIMER_GROUP, turn->now_ms, 0);
}

/* Make it come up: from stopped at once, from a backoff now, while stopping when gone. */
static void
want_up(struct turn *turn, struct node *node, const struct event *event)
{
	struct core *core = turn->core;

	goal_forget_stop(node);
	goal_undelete(node);
	goal_demand(node, true);
	if (!node_is_live(node) || node->state == STATE_STOPPING)
		suspend_clear(core, node);
	/* A start after a final end, or after a stop, begins anew (DECISIONS 49). */
	if (node_is_down(node) || node->goal == GOAL_DOWN)
		pace_renew(core, node);
	if (node_is_down(node)) {
		if (strategy_joins(core, node))
			part_join(core, node);
		goal_command(node);
	} else if (node_is_pending(node)) {
		goal_up(node);
		goal_start_now(node, true);
		/* Member of a group restart: its needs are checked when the group starts
		 * it. */
		if (node->part.grouped)
			gate_leave(core, node);
		hurry_group(turn, node);
	} else if (node->goal != GOAL_RESTART &&
	           (node->state == STATE_STOPPING || node->goal == GOAL_DOWN)) {
		/* Its stop has begun, or waits for its turn. */
		goal_restart(node, START_BY_COMMAND, RESTARTED_FOR_COMMAND, 0);
		goal_forget_end(node);
	} else if (node->state == STATE_STOPPING) {
		goal_delay(node, 0);
	}
	queue_node(core, node);
	wait_state_changed(core, node);
	wait_add(turn, node, event->token, WAIT_READY, true);
}

/* Have it come up, unless no start of it is possible now. */
void
command_start(struct turn *turn, struct node *node, const struct event *event)
{
	if (!node_takes_starts(turn->core, node))
		command_reply(turn, event, REPLY_INVALID_STATE);
	else
		want_up(turn, node, event);
}

/*
 * A child with a failed start is stopped: that ends the retries of the whole group, and
 * the siblings behind stay down (OTP's cancelled restart, O-36).
 */
static void
cancel_group(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	struct node *supervisor = node_supervisor(core, node);

	if (!node->part.grouped || children_of(supervisor)->op != OP_DELAY ||
	    children_of(supervisor)->group_leader != node_slot(core, node) ||
	    !cause_is_init(&node->failure.cause))
		return;
	CHILDREN_FOREACH (core, supervisor, member) {
		if (!member->part.grouped)
			continue;
		goal_down_as(member, STATE_STOPPED);
		queue_node(core, member);
		/* A stopped member changes no state, so its waiters are told here. */
		wait_state_changed(core, member);
	}
	children_group_due(turn, supervisor);
}

/* True if the supervisor is coming up, and about to start or to continue its children. */
static bool
is_to_be_opened(const struct core *core, const struct node *node)
{
	const struct node *supervisor = node_supervisor(core, node);

	return supervisor->state == STATE_STARTING &&
	       children_of(supervisor)->are != CHILDREN_OPEN;
}

/* Make it go down and stay there, without anything having failed. */
void
command_want_down(struct turn *turn, struct node *node)
{
	cancel_group(turn, node);
	goal_keep_down(node,
	               is_to_be_opened(turn->core, node) ? STAY_FOR_ONCE : STAY_NOT);
	goal_down(node);
	goal_forget_command(node);
	goal_start_now(node, false);
	goal_forget_end(node);
	/* Nodes that were coming, here or below, do not come now: look at watches. */
	turn->core->look_early = true;
	queue_node(turn->core, node);
	wait_state_changed(turn->core, node);
}

/* Stop the actor; a hold outlives restarts of its supervisor. */
void
command_stop(struct turn *turn, struct node *node, const struct event *event)
{
	if (event->hold)
		goal_keep_down(node, STAY_HELD);
	command_want_down(turn, node);
	wait_add(turn, node, event->token, WAIT_STOPPED, true);
}

/* Have it go down, if it is up, and come up.  A start that fails is final only where a
 * caller is told of it: what supd itself orders is tried again, as after a failure. */
void
command_restart(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->plan.stay == STAY_HELD || !node_takes_starts(turn->core, node)) {
		command_reply(turn, event, REPLY_INVALID_STATE);
		return;
	}
	if (node_is_live(node)) {
		suspend_clear(turn->core, node);
		goal_restart(node, event->token != 0 ? START_BY_COMMAND : START_IN_TURN,
		             RESTARTED_FOR_COMMAND, 0);
		failure_is_over(node);
		goal_forget_end(node);
	}
	want_up(turn, node, event);
}

/* End its process as a failure, about which is decided. */
void
command_kill(struct turn *turn, struct node *node, const struct event *event)
{
	if (!node_is_live(node) || node->state == STATE_STOPPING ||
	    node_is_leaving(node)) {
		command_reply(turn, event, REPLY_INVALID_STATE);
		return;
	}
	failure_handle(turn, node,
	               &(const struct cause){.kind = CAUSE_KILLED, .code = -1}, node);
	command_reply(turn, event, REPLY_DONE);
}

/* Forget failures, of the node and of all below it; a failed one may start again. */
void
command_reset(struct turn *turn, struct node *top, const struct event *event)
{
	struct core *core = turn->core;

	for (struct node *node = top; node != NULL; node = node_next(core, top, node)) {
		pace_renew(core, node);
		window_clear(&children_of(node)->intensity);
		if (node->state == STATE_FAILED && !node_is_hidden(node)) {
			goal_forget_failure(node);
			state_set(core, node, STATE_STOPPED);
		}
	}
	command_reply(turn, event, REPLY_DONE);
}

/* It and all below it stand still, until it was resumed as often. */
void
command_suspend(struct turn *turn, struct node *node, const struct event *event)
{
	if (node_is_down(node) || node->goal == GOAL_DOWN) {
		command_reply(turn, event, REPLY_INVALID_STATE);
	} else if (!suspend_add(turn->core, node)) {
		command_reply(turn, event, REPLY_BUSY);
	} else {
		suspend_apply(turn, node);
		command_reply(turn, event, REPLY_DONE);
	}
}

/* One suspension less; one too many is ignored (Akka A-26). */
void
command_resume(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->suspend.n > 0)
		suspend_take(turn->core, node);
	suspend_apply(turn, node);
	command_reply(turn, event, REPLY_DONE);
}

/* Tell the caller when the actor has reached the goal that the event names. */
void
command_wait(struct turn *turn, struct node *node, const struct event *event)
{
	wait_add(turn, node, event->token, event->wait_for, false);
}
