/* SPDX-License-Identifier: ISC */
/* failure_report.c - what is asked and told of a failure, and remembered. */
#include "config.h"

#include "core/decide/limits.h"
#include "core/decide/marks.h"

#include "core/pure.h"

/* True if the supervisor fails because its children could not be started. */
bool
failure_was_start(const struct node *supervisor)
{
	return supervisor->ending.as == ENDING_START_FAILED;
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
 * The actor that is named as the origin of a failure: where a supervisor could not start,
 * the child because of which, unless that is configured no longer.
 */
struct node *
failure_began_at(const struct core *core, struct node *origin)
{
	struct node *child = NULL;

	if (failure_was_start(origin))
		child = node_find(core, origin->failure.origin);
	return child == NULL ? origin : child;
}

/* True if the decision is about this actor alone, whatever the strategy is. */
bool
failure_concerns_one(const struct decision *decision)
{
	return decision->reason == DECIDED_TEMPORARY ||
	       decision->reason == DECIDED_NEVER ||
	       decision->reason == DECIDED_MANUAL_START ||
	       decision->reason == DECIDED_NOT_ADDED || decision->reason == DECIDED_NEED;
}

static struct ruling
ruling_of(const struct decision *decision)
{
	return (struct ruling){
	    .directive = decision->directive,
	    .preset = decision->preset,
	    .place = decision->place,
	    .reason = decision->reason,
	};
}

/* Tell of a failure, once, at the level that handles it; of its delay the caller does. */
struct action *
failure_report(struct turn *turn, struct node *node, struct node *origin,
               const struct cause *cause, const struct decision *decision)
{
	const struct node *supervisor = node_supervisor(turn->core, node);
	struct action *action = turn_report(turn, REPORT_FAILURE, node);

	action->cause = *cause;
	action->origin = node_ref(turn->core, failure_began_at(turn->core, origin));
	action->ruling = ruling_of(decision);
	action->log = decision->log;
	if (action->log == RULE_LOG_AS_DIRECTIVE &&
	    !spec_of(supervisor)->policy.log_failures)
		action->log = RULE_LOG_OFF;
	action->group = spec_of(supervisor)->policy.strategy != STRATEGY_ONE_FOR_ONE &&
	                (decision->directive == DIRECTIVE_RESTART ||
	                 decision->directive == DIRECTIVE_STOP) &&
	                !failure_concerns_one(decision);
	action->window = limits_in_use(turn->core, supervisor, turn->now_ms);
	action->limit = spec_of(supervisor)->policy.intensity.unlimited
	                    ? 0
	                    : spec_of(supervisor)->policy.intensity.restarts;
	return action;
}

/* Keep the failure and the decision for `explain` and `status`. */
void
failure_remember(struct turn *turn, struct node *node, struct node *origin,
                 const struct cause *cause, const struct decision *decision)
{
	if (node->failed == FAILED_NOT)
		node->failed = FAILED_BEFORE;
	node->failure = (struct failure){
	    .cause = *cause,
	    .origin = node_ref(turn->core, failure_began_at(turn->core, origin)),
	    .ruling = ruling_of(decision),
	    .at_ms = turn->now_ms,
	};
}

/* The failure of a child is the supervisor's own. */
void
failure_inherit(struct node *supervisor, const struct node *child)
{
	if (supervisor->failed == FAILED_NOT)
		supervisor->failed = FAILED_BEFORE;
	supervisor->failure = child->failure;
}

/* The failure that is remembered brings the node down. */
void
failure_brings_down(struct node *node)
{
	node->failed = FAILED_BRINGS_DOWN;
}

/* What followed the failure is over: the node is down for good, on standby, or well. */
void
failure_is_over(struct node *node)
{
	if (node->failed == FAILED_BRINGS_DOWN)
		node->failed = FAILED_BEFORE;
}

/* Tell that the failure passes a level: the supervisor fails in turn.  `decision` is what
 * this level decided. */
void
failure_report_escalated(struct turn *turn, const struct node *supervisor,
                         struct node *origin, const struct cause *cause,
                         const struct decision *decision)
{
	struct action *action = turn_report(turn, REPORT_ESCALATED, supervisor);

	action->ruling = ruling_of(decision);
	action->cause = *cause;
	action->origin = node_ref(turn->core, failure_began_at(turn->core, origin));
	action->to = node_ref(turn->core, node_supervisor(turn->core, supervisor));
}
