/* SPDX-License-Identifier: ISC */
/* unkillable.c - processes that SIGKILL does not end: traced ones, and those that wait
 * in the kernel for what does not come.
 *
 * What is left `kill_timeout` after SIGKILL is unkillable.  An actor that is to be
 * restarted waits for its end, unless its supervisor decides otherwise: it is asked, as
 * about any failure.  One that is to stay down is left behind: whatever stops goes on
 * without it.  In both cases there is no second process of the actor before the first is
 * gone (I1), and that the actor has terminated is told only then (I24).
 *
 * What a supd that died has left, and cannot be killed, is there before its actor has
 * begun anything: the actor has an unkillable process from the beginning, and waits for
 * its end.
 */
#include "config.h"

#include "base/assert.h"
#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* The time is over that SIGKILL had. */
void
unkillable_found(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (process_is_unkillable(node) || !process_is_there(node))
		return;
	process_survives(node);
	run_not_ready(node);
	core->n_unkillable++;
	turn_report(turn, REPORT_UNKILLABLE, node)->cause = unkillable_cause;
	/* Neither a caller that asked for a restart nor its siblings wait for the end. */
	wait_state_changed(core, node);
	suspend_decided(core, node);
	if (node_comes_back(node) && !node_is_doomed(core, node))
		failure_unkillable(turn, node, &unkillable_cause);
	queue_node(core, node);
}

/*
 * Before the boot: a process of this actor is left of a supd that died, and SIGKILL has
 * not ended it.  From now on it is as one of its own; EVENT_EXITED tells of its end.
 */
void
unkillable_left(struct turn *turn, struct node *node, const struct event *event)
{
	if (!node_has_process(node) || process_is_there(node) || !node_is_down(node) ||
	    event->life != node->process.life + 1)
		return;
	process_found(node, event->life);
	turn->core->n_unkillable++;
	turn_report(turn, REPORT_UNKILLABLE, node)->cause = unkillable_cause;
	wait_state_changed(turn->core, node);
}

/*
 * An unkillable process of an actor that is stopping and is not to come back: the stop
 * goes on as if it were gone, but without a post_stop, which is for what is gone.
 */
void
unkillable_leave(struct turn *turn, struct node *node)
{
	if (node->phase != PHASE_END)
		return;
	deadline_clear(turn->core, node, TIMER_STATE);
	run_cleaned(node);
	node->phase = PHASE_POST_STOP;
	down_step(turn, node);
}

/*
 * The actor is to start, but a former process still exists: it waits in its backoff, and
 * the caller of the start is told.  Under one_for_one its siblings go on.
 */
void
unkillable_hold(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (node->state != STATE_BACKOFF)
		state_set(core, node, STATE_BACKOFF);
	goal_start_now(node, false);
	if (spec_of(node_supervisor(core, node))->policy.strategy == STRATEGY_ONE_FOR_ONE)
		part_pass(core, node);
	queue_parent(core, node);
}

/* Of an actor that has not begun nothing terminates. */
static void
terminate(struct turn *turn, struct node *node)
{
	if (node_has_begun(node))
		down_terminated(turn, node);
	else if (node->goal == GOAL_DOWN)
		dynamic_settled(turn, node);
}

/*
 * Nothing of the process is left any more.  An actor that was left behind has terminated
 * now; where it waits for that, it starts.
 */
void
unkillable_gone(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	ASSERT(process_is_unkillable(node) && !process_is_there(node));
	process_survives_no_more(node);
	core->n_unkillable--;
	if (node_is_live(node))
		return;
	/* An actor that is to be down, and is not yet, terminates then: down_settle(). */
	if (!node_is_pending(node) || node->goal != GOAL_DOWN)
		terminate(turn, node);
	gate_state_changed(core, node);
	goal_start_now(node, node_is_pending(node));
	queue_node(core, node);
	queue_parent(core, node);
	/* Nodes above may have waited for this process to disappear. */
	for (struct node *at = node; at->links.parent != NONE;
	     at = node_supervisor(core, at)) {
		if (at != node && node_is_down(at) && at->goal == GOAL_DOWN &&
		    !node_is_hidden(at))
			dynamic_settled(turn, at);
		wait_state_changed(core, at);
	}
}
