/* SPDX-License-Identifier: ISC */
/* failure.c - from the end of a process to marks on the tree.
 *
 * cause → own on_failure, supervisor's decider → limit, intensity → backoff → strategy.
 * What no level can handle climbs: the supervisor fails with the same cause.
 */
#include "config.h"

#include "core/decide/limits.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/*
 * True if every member in the scope of this restart may be restarted again.  As in Akka's
 * AllForOneStrategy: each member's own counter, and the first refusal ends the question.
 */
static bool
limits_admit(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	struct node *supervisor = node_supervisor(core, node);
	const struct limit_spec *limit = &supervisor->spec.limit;

	if (!limit->on)
		return true;
	if (supervisor->spec.strategy == STRATEGY_ONE_FOR_ONE)
		return limits_admit_child(core, node, limit, turn->now_ms);
	CHILDREN_FOREACH (core, supervisor, child) {
		if (!strategy_in_scope(core, node, child) ||
		    child->plan.stay == STAY_HELD)
			continue;
		if (!limits_admit_child(core, child, limit, turn->now_ms))
			return false;
	}
	return true;
}

/* The supervisor is to fail once its children are stopped, in reverse. */
static void
stop_before_failing(struct turn *turn, struct node *supervisor, struct node *offender)
{
	supervisor->ending.gave_up = true;
	supervisor->ending.retired = false;
	goal_down_as(offender, STATE_FAILED);
	down_bring(turn, supervisor);
}

/*
 * The supervisor gives up: its children are stopped in reverse, then it fails with cause
 * `intensity`.  The failing child counts as not running (OTP O-29).
 */
static void
give_up(struct turn *turn, struct node *supervisor, struct node *offender)
{
	struct action *action = turn_report(turn, REPORT_GAVE_UP, supervisor);

	action->origin = node_ref(turn->core, offender);
	action->window = supervisor->spec.intensity.restarts + 1;
	action->limit = supervisor->spec.intensity.restarts;
	action->delay_ms = supervisor->spec.intensity.within_ms;
	supervisor->ending.start_failed = false;
	stop_before_failing(turn, supervisor, offender);
}

/* The failed process is not coming back by itself: it is down, or going down. */
static void
stop_origin(struct turn *turn, struct node *origin)
{
	if (!node_is_live(origin) || !node_is_finished(origin))
		return;
	goal_down_as(origin, STATE_FAILED);
	down_bring(turn, origin);
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
		            !spec_runs_once(&at->spec) &&
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
	uint64_t delay_ms;

	if (!node_is_finished(origin)) {
		living_resume(turn, origin, cause);
		return 0;
	}
	if (spec_runs_once(&origin->spec))
		return 0;
	delay_ms = pace_delay(turn, origin, decision);
	goal_resume(origin, origin->run.ready && !origin->ending.gave_up, delay_ms);
	/* A first attempt that failed counts as passed (DECISIONS 18). */
	if (node_supervisor(turn->core, origin)->spec.strategy == STRATEGY_ONE_FOR_ONE)
		queue_pass(turn->core, origin);
	return delay_ms;
}

static void
carry_out_stop(struct turn *turn, struct node *node, const struct decision *decision)
{
	goal_down_as(node, STATE_FAILED);
	node->process.exited_by_itself =
	    decision->reason == DECIDED_TEMPORARY || decision->reason == DECIDED_NEVER;
	/* Nodes below that were coming do not come now. */
	turn->core->look_early = true;
	if (failure_concerns_one(decision))
		down_bring(turn, node);
	else
		strategy_stop(turn, node);
}

/* What restart becomes for this node: limits and intensity may turn it into another. */
static void
admit_restart(struct turn *turn, struct node *node, struct decision *decision)
{
	struct node *supervisor = node_supervisor(turn->core, node);

	if (!limits_admit(turn, node)) {
		decision->directive =
		    supervisor->spec.limit.escalate ? DIRECTIVE_ESCALATE : DIRECTIVE_STOP;
		decision->reason = DECIDED_LIMIT;
	} else if (!limits_admit_intensity(turn, supervisor)) {
		decision->directive = DIRECTIVE_ESCALATE;
		decision->reason = DECIDED_INTENSITY;
	}
}

/* Decide for a level: ask its rules, and apply the overruling reasons. */
static void
decide(struct turn *turn, struct node *node, struct node *origin,
       const struct cause *cause, struct decision *ret)
{
	bool is_down;

	decider_decide(turn->core, node, cause, ret);
	if (node->growth.is_fresh) {
		/* The caller of Add is told; no other actor is concerned (SEMANTICS 2.6).
		 */
		ret->directive = DIRECTIVE_STOP;
		ret->reason = DECIDED_NOT_ADDED;
		return;
	}
	if (spec_runs_once(&node->spec) &&
	    (ret->directive == DIRECTIVE_RESTART || ret->directive == DIRECTIVE_RESUME ||
	     ret->directive == DIRECTIVE_STOP)) {
		ret->directive = DIRECTIVE_STOP;
		ret->reason = node->spec.restart == RESTART_NEVER ? DECIDED_NEVER
		                                                  : DECIDED_TEMPORARY;
		return;
	}
	if (node->plan.start_reason == START_BY_COMMAND && cause_is_init(cause)) {
		ret->directive = DIRECTIVE_STOP;
		ret->reason = DECIDED_MANUAL_START;
		return;
	}
	if (ret->directive == DIRECTIVE_RESUME && node_is_supervisor(node) &&
	    node->ending.gave_up)
		ret->directive = DIRECTIVE_RESTART;
	is_down = (node_has_process(origin) && !origin->process.main_alive) ||
	          failure_was_start(origin);
	if (ret->directive == DIRECTIVE_RESUME && is_down &&
	    !limits_admit_resume(origin, turn->now_ms)) {
		ret->directive = DIRECTIVE_RESTART;
		ret->reason = DECIDED_RESUME_GUARD;
	}
	if (ret->directive == DIRECTIVE_RESTART)
		admit_restart(turn, node, ret);
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
	    !node_supervisor(core, node)->spec.freeze_while_deciding)
		return;
	CHILDREN_FOREACH (core, node_supervisor(core, node), member)
		if (strategy_in_scope(core, node, member) && !node_is_down(member) &&
		    node_is_leaving(member))
			suspend_others(core, member);
}

/* Do what the deciding level said. */
static void
carry_out(struct turn *turn, struct node *node, struct node *origin,
          const struct cause *cause, const struct decision *decision)
{
	struct node *supervisor = node_supervisor(turn->core, node);
	uint64_t delay_ms = 0;

	if (decision->directive == DIRECTIVE_RESUME)
		delay_ms = carry_out_resume(turn, origin, cause, decision);
	else if (decision->directive == DIRECTIVE_RESTART)
		delay_ms = pace_delay(turn, node, decision);
	failure_report(turn, node, origin, cause, decision, delay_ms);
	failure_remember(turn, node, origin, cause, decision);
	node->failed.brings_down = true;
	failure_remember(turn, origin, origin, cause, decision);
	failure_remember(turn, failure_began_at(turn->core, origin), origin, cause,
	                 decision);
	origin->failed.brings_down = true;
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
			origin->failed.brings_down = false;
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
		stop_origin(turn, origin);
		give_up(turn, supervisor, node);
		break;
	case DIRECTIVE_MAX:
		break;
	}
	freeze_others(turn->core, node, origin, decision->directive);
}

/*
 * True if nothing is to be decided: the node goes down anyway, alone or with a supervisor
 * above, or is down and about to start.
 */
bool
failure_is_moot(const struct turn *turn, const struct node *node)
{
	return node_is_leaving(node) || node_is_pending(node) ||
	       node_is_doomed(turn->core, node);
}

/*
 * The failure climbed to a node on the way down already: that stop serves the failure,
 * too.  A restart of the node now would keep its own supervisor from ever being down.
 */
static void
merge_into_stop(struct turn *turn, struct node *node, struct node *origin,
                const struct cause *cause)
{
	wait_failed(turn->core, origin, cause);
	if (node_is_doomed(turn->core, node) || node->goal == GOAL_DOWN)
		stop_origin(turn, origin);
	else if (node != origin)
		restart_survivors(turn, origin, node);
}

/* Does the start of the supervisor fail, with children that it has started already? */
static bool
has_started_others(const struct node *supervisor, const struct node *child,
                   const struct cause *cause)
{
	return cause_is_init(cause) && supervisor->state == STATE_STARTING &&
	       supervisor->phase == PHASE_CHILDREN && child->part.sequenced &&
	       supervisor->children.n_live > node_is_live(child);
}

/*
 * The supervisor cannot start, because of this child: before it fails in turn, and the
 * one above counts or stops anything, it stops what it has started, in reverse (OTP's
 * init_children and terminate_children; DECISIONS 64).
 */
static void
fail_start(struct turn *turn, struct node *supervisor, struct node *child,
           struct node *origin, const struct cause *cause)
{
	const struct decision none = {.directive = DIRECTIVE_ESCALATE};

	failure_remember(turn, supervisor, origin, cause, &none);
	/* The hooks of all that stops now are told of it. */
	supervisor->failed.brings_down = true;
	child->failed.brings_down = true;
	origin->failed.brings_down = true;
	wait_failed(turn->core, origin, cause);
	goal_down_as(origin, STATE_FAILED);
	supervisor->ending.start_failed = true;
	stop_before_failing(turn, supervisor, child);
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
			merge_into_stop(turn, node, origin, cause);
			return;
		}
		decide(turn, node, origin, cause, &decision);
		if (supervisor->links.parent == NONE &&
		    decision.directive == DIRECTIVE_ESCALATE) {
			/* The root has no supervisor. */
			decision.directive = DIRECTIVE_STOP;
			decision.reason = DECIDED_ROOT;
		}
		if (decision.directive != DIRECTIVE_ESCALATE)
			break;
		if (decision.reason == DECIDED_INTENSITY) {
			if (!failure_is_moot(turn, supervisor))
				break;
			merge_into_stop(turn, supervisor, origin, cause);
			return;
		}
		/* This level is passed: the supervisor fails, and its own decides. */
		if (!failure_is_moot(turn, supervisor))
			failure_report_escalated(turn, supervisor, origin, cause,
			                         &decision);
		failure_remember(turn, node, origin, cause, &decision);
		if (!failure_is_moot(turn, supervisor) &&
		    has_started_others(supervisor, node, cause)) {
			fail_start(turn, supervisor, node, origin, cause);
			return;
		}
		node = supervisor;
	}
	carry_out(turn, node, origin, cause, &decision);
}

/*
 * A node that is on its way down, to be restarted, has a process that cannot be killed: a
 * failure of its own.  Restart and resume mean what is under way already, and nothing is
 * counted for it; stop and escalate end the wait.
 */
void
failure_unkillable(struct turn *turn, struct node *node, const struct cause *cause)
{
	struct node *supervisor = node_supervisor(turn->core, node);
	struct decision decision;

	decider_decide(turn->core, node, cause, &decision);
	if (decision.directive == DIRECTIVE_RESUME)
		decision.directive = DIRECTIVE_RESTART;
	if (decision.directive == DIRECTIVE_ESCALATE &&
	    supervisor->links.parent == NONE) {
		decision.directive = DIRECTIVE_STOP;
		decision.reason = DECIDED_ROOT;
	}
	failure_remember(turn, node, node, cause, &decision);
	node->failed.brings_down = true;
	if (decision.directive == DIRECTIVE_ESCALATE) {
		failure_escalate(turn, supervisor, cause, node, &decision);
		return;
	}
	failure_report(turn, node, node, cause, &decision, 0);
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

	admit_restart(turn, node, &decision);
	if (decision.directive == DIRECTIVE_RESTART) {
		delay_ms = node->spec.backoff.on_stop ? pace_delay(turn, node, &decision)
		                                      : pace_delay_floor(turn, node);
		strategy_restart(turn, node, delay_ms);
		return;
	}
	if (decision.directive == DIRECTIVE_STOP) {
		failure_report(turn, node, node, &node->process.end, &decision, 0);
		failure_remember(turn, node, node, &node->process.end, &decision);
		carry_out_stop(turn, node, &decision);
		return;
	}
	if (decision.reason == DECIDED_INTENSITY && failure_is_moot(turn, supervisor)) {
		merge_into_stop(turn, supervisor, node, &node->process.end);
		return;
	}
	if (decision.reason == DECIDED_INTENSITY) {
		stop_origin(turn, node);
		give_up(turn, supervisor, node);
		return;
	}
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
	} else if (decider_names_normal(turn->core, node) &&
	           !spec_runs_once(&node->spec)) {
		failure_handle(turn, node, &node->process.end, node);
		return;
	} else if (node->spec.on_demand && !spec_runs_once(&node->spec)) {
		demand_done(turn, node);
		return;
	} else if (node->spec.restart == RESTART_PERMANENT) {
		restart_normal(turn, node);
		return;
	}
	node->process.exited_by_itself = !failure_is_moot(turn, node);
	goal_down_as(node, STATE_DONE);
	down_bring(turn, node);
}

/*
 * A supervisor that gave up has stopped its children: now it fails, or, under preset
 * `otp`, ends as OTP's do: with reason shutdown, which is normal for its parent (O-30).
 * So does one that has done its work (O-45).
 */
void
failure_give_up(struct turn *turn, struct node *supervisor)
{
	struct cause cause = {.kind = CAUSE_INTENSITY, .code = -1};
	const struct cause finished = {.kind = CAUSE_NORMAL, .code = -1};

	if (supervisor->ending.start_failed)
		cause = supervisor->failure.cause;
	supervisor->process.end = supervisor->ending.retired ? finished : cause;
	if (failure_is_moot(turn, supervisor))
		down_bring(turn, supervisor);
	else if (supervisor->ending.retired ||
	         (supervisor->spec.decider.preset == PRESET_OTP &&
	          supervisor->links.depth > 1 && !supervisor->ending.start_failed))
		failure_normal_end(turn, supervisor);
	else
		failure_handle(turn, supervisor, &cause, supervisor);
	supervisor->ending.gave_up = false;
}
