/* SPDX-License-Identifier: ISC */
/* failure.c - a failure, or a normal end: which level handles it, and how.
 *
 * cause → own on_failure, supervisor's decider → limit, intensity → backoff → strategy.
 * What no level can handle climbs: the supervisor fails with the same cause.
 */
#include "config.h"

#include "core/decide/limits.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* Decide for a level: ask its rules, and apply the overruling reasons. */
static void
decide(struct turn *turn, struct node *node, struct node *origin,
       const struct cause *cause, struct decision *ret)
{
	decider_decide(turn->core, node, cause, ret);
	if (node->growth.added == ADDED_FRESH) {
		/* The caller of Add is told; no other actor is concerned (SEMANTICS 2.6).
		 */
		decision_set(ret, DIRECTIVE_STOP, DECIDED_NOT_ADDED);
		return;
	}
	if (spec_runs_once(spec_of(node)) &&
	    (ret->directive == DIRECTIVE_RESTART || ret->directive == DIRECTIVE_RESUME ||
	     ret->directive == DIRECTIVE_STOP)) {
		decision_set(ret, DIRECTIVE_STOP,
		             spec_of(node)->restart == RESTART_NEVER ? DECIDED_NEVER
		                                                     : DECIDED_TEMPORARY);
		return;
	}
	if (node->plan.start_reason == START_BY_COMMAND && cause_is_init(cause)) {
		decision_set(ret, DIRECTIVE_STOP, DECIDED_MANUAL_START);
		return;
	}
	if (ret->directive == DIRECTIVE_RESUME && node_is_supervisor(node) &&
	    node_is_ending(node))
		ret->directive = DIRECTIVE_RESTART;
	bool is_down = (node_has_process(origin) && !process_is_main_there(origin)) ||
	               failure_was_start(origin);
	if (ret->directive == DIRECTIVE_RESUME && is_down &&
	    !limits_admit_resume(origin, turn->now_ms))
		decision_set(ret, DIRECTIVE_RESTART, DECIDED_RESUME_GUARD);
	if (ret->directive == DIRECTIVE_RESTART)
		limits_admit_restart(turn, node, ret);
}

/* True if the start of the supervisor fails with children started already. */
static bool
has_started_others(const struct node *supervisor, const struct node *child,
                   const struct cause *cause)
{
	return cause_is_init(cause) && supervisor->state == STATE_STARTING &&
	       supervisor->phase == PHASE_CHILDREN && child->part.sequenced &&
	       children_of(supervisor)->n_live > node_is_live(child);
}

/* The supervisor fails with this cause of a node below: the level above decides. */
void
failure_escalate(struct turn *turn, struct node *supervisor, const struct cause *cause,
                 struct node *origin, const struct decision *decision)
{
	failure_report_escalated(turn, supervisor, origin, cause, decision);
	failure_handle(turn, supervisor, cause, origin);
}

/*
 * A node failed: find the level that handles it, and mark what follows.
 *
 * `origin` is where it began; on each escalation the supervisor fails with the same
 * cause, unwrapped (Akka A-06), and nothing is stopped before the deciding level has
 * spoken.
 */
void
failure_handle(struct turn *turn, struct node *node, const struct cause *cause,
               struct node *origin)
{
	struct decision decision;

	for (;;) {
		struct node *supervisor = node_supervisor(turn->core, node);

		if (failure_is_moot(turn, node)) {
			carry_out_in_stop(turn, node, origin, cause);
			return;
		}
		decide(turn, node, origin, cause, &decision);
		if (supervisor->links.parent == NONE &&
		    decision.directive == DIRECTIVE_ESCALATE) {
			/* The root has no supervisor. */
			decision_set(&decision, DIRECTIVE_STOP, DECIDED_ROOT);
		}
		if (decision.directive != DIRECTIVE_ESCALATE)
			break;
		if (decision.reason == DECIDED_INTENSITY) {
			if (!failure_is_moot(turn, supervisor))
				break;
			carry_out_in_stop(turn, supervisor, origin, cause);
			return;
		}
		/* This level is passed: the supervisor fails, and its own decides. */
		if (!failure_is_moot(turn, supervisor))
			failure_report_escalated(turn, supervisor, origin, cause,
			                         &decision);
		failure_remember(turn, node, origin, cause, &decision);
		if (!failure_is_moot(turn, supervisor) &&
		    has_started_others(supervisor, node, cause)) {
			carry_out_fail_start(turn, supervisor, node, origin, cause);
			return;
		}
		node = supervisor;
	}
	carry_out(turn, node, origin, cause, &decision);
}

/*
 * Handle a process that cannot be killed, of a node that is on its way down to be
 * restarted: it is a failure.  A restart is under way already, so that restart and resume
 * change and count nothing; stop and escalate end the wait.
 */
void
failure_unkillable(struct turn *turn, struct node *node, const struct cause *cause)
{
	struct node *supervisor = node_supervisor(turn->core, node);
	struct decision decision;

	decider_decide(turn->core, node, cause, &decision);
	if (decision.directive == DIRECTIVE_RESUME)
		decision.directive = DIRECTIVE_RESTART;
	if (decision.directive == DIRECTIVE_ESCALATE && supervisor->links.parent == NONE)
		decision_set(&decision, DIRECTIVE_STOP, DECIDED_ROOT);
	failure_remember(turn, node, node, cause, &decision);
	failure_brings_down(node);
	if (decision.directive == DIRECTIVE_ESCALATE) {
		failure_escalate(turn, supervisor, cause, node, &decision);
		return;
	}
	(void)failure_report(turn, node, node, cause, &decision);
	if (decision.directive == DIRECTIVE_STOP)
		carry_out_stop(turn, node, &decision);
}

/* A restart after a normal end of a permanent node: counted, but without a decision. */
static void
restart_normal(struct turn *turn, struct node *node)
{
	struct node *supervisor = node_supervisor(turn->core, node);
	struct decision decision = {.directive = DIRECTIVE_RESTART};
	uint64_t delay_ms;

	limits_admit_restart(turn, node, &decision);
	if (decision.directive == DIRECTIVE_RESTART) {
		delay_ms = spec_of(node)->backoff.on_stop
		               ? pace_delay(turn, node, &decision)
		               : pace_delay_floor(turn, node);
		strategy_restart(turn, node, delay_ms);
		return;
	}
	if (decision.directive == DIRECTIVE_STOP) {
		(void)failure_report(turn, node, node, &node->process.end, &decision);
		failure_remember(turn, node, node, &node->process.end, &decision);
		carry_out_stop(turn, node, &decision);
		return;
	}
	if (decision.reason == DECIDED_INTENSITY && failure_is_moot(turn, supervisor))
		carry_out_in_stop(turn, supervisor, node, &node->process.end);
	else if (decision.reason == DECIDED_INTENSITY)
		carry_out_give_up(turn, supervisor, node, node);
	else
		failure_handle(turn, supervisor, &node->process.end, node);
}

/*
 * The end of a process (or of a supervisor) was normal: its restart type says what that
 * means (OTP O-13 to O-16).  An end that leads to no restart touches no sibling.
 */
void
failure_normal_end(struct turn *turn, struct node *node)
{
	/* With /user all of supd has ended (DECISIONS 41). */
	if (failure_is_moot(turn, node) || node->links.depth == 1) {
		/* As a normal end that leads to no restart. */
	} else if (decider_names(turn->core, node, 0) && !spec_runs_once(spec_of(node))) {
		failure_handle(turn, node, &node->process.end, node);
		return;
	} else if (spec_of(node)->on_demand && !spec_runs_once(spec_of(node))) {
		demand_done(turn, node);
		return;
	} else if (spec_of(node)->restart == RESTART_PERMANENT) {
		restart_normal(turn, node);
		return;
	}
	run_exits(node, !failure_is_moot(turn, node));
	goal_down_as(node, STATE_DONE);
	down_bring(turn, node);
}

/*
 * A supervisor that gave up has stopped its children: now it fails, or, under preset
 * `otp`, ends as OTP's do: with reason shutdown, which is normal for its parent (O-30).
 * The same holds for a supervisor that has done its work (O-45).
 */
void
failure_give_up(struct turn *turn, struct node *supervisor)
{
	struct cause cause = {.kind = CAUSE_INTENSITY, .code = -1};
	const struct cause finished = {.kind = CAUSE_NORMAL, .code = -1};

	if (failure_was_start(supervisor))
		cause = supervisor->failure.cause;
	supervisor->process.end =
	    supervisor->ending.as == ENDING_RETIRES ? finished : cause;
	if (failure_is_moot(turn, supervisor)) {
		goal_down(supervisor);
		down_bring(turn, supervisor);
	} else if (supervisor->ending.as == ENDING_RETIRES ||
	           (spec_of(supervisor)->policy.decider.preset == PRESET_OTP &&
	            supervisor->links.depth > 1 &&
	            supervisor->ending.as != ENDING_START_FAILED))
		failure_normal_end(turn, supervisor);
	else
		failure_handle(turn, supervisor, &cause, supervisor);
	goal_forget_end(supervisor);
}
