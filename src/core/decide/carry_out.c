/* SPDX-License-Identifier: ISC */
/* carry_out.c - carry out the decision of a level about a failure: goals and marks. */
#include "config.h"

#include "core/decide/limits.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* The failed process is not coming back by itself: it is down, or going down. */
static void
stop_origin(struct turn *turn, struct node *origin)
{
	if (!node_is_live(origin) || !node_is_finished(origin))
		return;
	goal_down_as(origin, STATE_FAILED);
	down_bring(turn, origin);
}

/* The supervisor is to fail once its children are stopped, in reverse. */
static void
stop_before_failing(struct turn *turn, struct node *supervisor, enum ending ending,
                    struct node *offender)
{
	goal_end(supervisor, ending);
	goal_down_as(offender, STATE_FAILED);
	down_bring(turn, supervisor);
}

/*
 * The supervisor gives up: its children are stopped in reverse, then it fails with cause
 * `intensity`.  The failing child counts as not running (OTP O-29).  `origin`, where the
 * failure began, is not coming back, either.
 */
void
carry_out_give_up(struct turn *turn, struct node *supervisor, struct node *offender,
                  struct node *origin)
{
	stop_origin(turn, origin);
	struct action *action = turn_report(turn, REPORT_GAVE_UP, supervisor);
	action->origin = node_ref(turn->core, offender);
	action->window = spec_of(supervisor)->policy.intensity.restarts + 1;
	action->limit = spec_of(supervisor)->policy.intensity.restarts;
	action->delay_ms = spec_of(supervisor)->policy.intensity.within_ms;
	stop_before_failing(turn, supervisor, ENDING_GIVES_UP, offender);
}

/*
 * `top` is restarted, or about to be, for a failure of `origin` below.  Nodes on the way
 * up that outlive that restart are restarted, too, in their turn.
 */
static void
restart_survivors(struct turn *turn, struct node *origin, const struct node *top)
{
	struct core *core = turn->core;

	for (struct node *at = origin; at != top; at = node_supervisor(core, at))
		goal_mark_for_sequence(
		    at, at->goal != GOAL_DOWN && !at->part.grouped &&
		            !spec_runs_once(spec_of(at)) &&
		            node_keeps_children(node_supervisor(core, at)));
	if (!node_is_in_sequence(origin))
		stop_origin(turn, origin);
	else if (node_is_finished(origin))
		down_bring(turn, origin);
}

/* Resume: a live process is left as it is, a dead one gets a successor after a while. */
static uint64_t
carry_out_resume(struct turn *turn, struct node *origin, const struct cause *cause,
                 const struct decision *decision)
{
	if (!node_is_finished(origin)) {
		living_resume(turn, origin, cause);
		return 0;
	}
	if (spec_runs_once(spec_of(origin)))
		return 0;
	uint64_t delay_ms = pace_delay(turn, origin, decision);
	goal_resume(origin, node_is_ready(origin) && !node_is_ending(origin), delay_ms);
	/* The sequence of starts goes on behind a child that failed at its first start
	 * (DECISIONS 18). */
	if (spec_of(node_supervisor(turn->core, origin))->policy.strategy ==
	    STRATEGY_ONE_FOR_ONE)
		part_pass(turn->core, origin);
	return delay_ms;
}

/* Stop: the node goes down as failed, and the siblings that its strategy takes along. */
void
carry_out_stop(struct turn *turn, struct node *node, const struct decision *decision)
{
	goal_down_as(node, STATE_FAILED);
	node->run.exited_by_itself =
	    decision->reason == DECIDED_TEMPORARY || decision->reason == DECIDED_NEVER;
	/* Nodes below that were coming do not come now. */
	turn->core->look_early = true;
	if (failure_concerns_one(decision))
		down_bring(turn, node);
	else
		strategy_stop(turn, node);
}

/*
 * All nodes in the scope of the directive are on their way down, or up again: freeze the
 * other nodes below the same supervisor meanwhile, if its policy says so.
 */
static void
freeze_others(struct core *core, struct node *node, struct node *origin,
              enum directive directive)
{
	if (directive == DIRECTIVE_RESUME && origin->goal == GOAL_RESTART) {
		suspend_others(core, origin);
		suspend_below(core, origin);
	}
	if (directive == DIRECTIVE_RESTART && !node_is_down(node) &&
	    node_is_leaving(node))
		suspend_below(core, node);
	if ((directive != DIRECTIVE_RESTART && directive != DIRECTIVE_STOP) ||
	    !spec_of(node_supervisor(core, node))->policy.freeze_while_deciding)
		return;
	CHILDREN_FOREACH (core, node_supervisor(core, node), member)
		if (strategy_in_scope(core, node, member) && !node_is_down(member) &&
		    node_is_leaving(member))
			suspend_others(core, member);
}

/* Do what the deciding level said. */
void
carry_out(struct turn *turn, struct node *node, struct node *origin,
          const struct cause *cause, const struct decision *decision)
{
	struct node *supervisor = node_supervisor(turn->core, node);
	uint64_t delay_ms = 0;

	if (decision->directive == DIRECTIVE_RESUME)
		delay_ms = carry_out_resume(turn, origin, cause, decision);
	else if (decision->directive == DIRECTIVE_RESTART)
		delay_ms = pace_delay(turn, node, decision);
	failure_report(turn, node, origin, cause, decision)->delay_ms = delay_ms;
	failure_remember(turn, node, origin, cause, decision);
	failure_brings_down(node);
	failure_remember(turn, origin, origin, cause, decision);
	failure_remember(turn, failure_began_at(turn->core, origin), origin, cause,
	                 decision);
	failure_brings_down(origin);
	wait_failed(turn->core, origin, cause);
	if (origin != node)
		wait_failed(turn->core, node, cause);
	switch (decision->directive) {
	case DIRECTIVE_RESUME:
		if (origin->goal == GOAL_RESTART && node_is_down(origin))
			down_come_back(turn, origin);
		else if (origin->goal == GOAL_RESTART)
			down_bring(turn, origin);
		else if (node_is_finished(origin))
			stop_origin(turn, origin);
		else if (origin->phase == PHASE_POST_START)
			up_step(turn, origin);
		/* The process lives on with a clean slate. */
		if (origin->goal != GOAL_RESTART)
			failure_is_over(origin);
		break;
	case DIRECTIVE_RESTART:
		if (origin != node)
			restart_survivors(turn, origin, node);
		strategy_restart(turn, node, delay_ms);
		break;
	case DIRECTIVE_STOP:
		if (origin != node)
			stop_origin(turn, origin);
		carry_out_stop(turn, node, decision);
		break;
	case DIRECTIVE_ESCALATE:
		/* Only an exceeded intensity is handled by escalating. */
		carry_out_give_up(turn, supervisor, node, origin);
		break;
	case DIRECTIVE_MAX:
		break;
	}
	freeze_others(turn->core, node, origin, decision->directive);
}

/*
 * The failure climbed to a node on the way down already: that stop serves the failure,
 * too.  A restart of the node now would keep its own supervisor from ever being down.
 */
void
carry_out_in_stop(struct turn *turn, struct node *node, struct node *origin,
                  const struct cause *cause)
{
	wait_failed(turn->core, origin, cause);
	if (node_is_doomed(turn->core, node) || node->goal == GOAL_DOWN)
		stop_origin(turn, origin);
	else if (node != origin)
		restart_survivors(turn, origin, node);
}

/*
 * The supervisor cannot start, because of this child: before it fails in turn, and the
 * one above counts or stops anything, it stops what it has started, in reverse (OTP's
 * init_children and terminate_children; DECISIONS 64).
 */
void
carry_out_fail_start(struct turn *turn, struct node *supervisor, struct node *child,
                     struct node *origin, const struct cause *cause)
{
	failure_remember(turn, supervisor, origin, cause,
	                 &(const struct decision){.directive = DIRECTIVE_ESCALATE});
	/* Tell the hooks of all nodes that stop now where the failure began. */
	failure_brings_down(supervisor);
	failure_brings_down(child);
	failure_brings_down(origin);
	wait_failed(turn->core, origin, cause);
	goal_down_as(origin, STATE_FAILED);
	stop_before_failing(turn, supervisor, ENDING_START_FAILED, child);
}
