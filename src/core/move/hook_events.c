/* SPDX-License-Identifier: ISC */
/* hook_events.c - what the end of a hook means for its node. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

static void
report_failed(struct turn *turn, const struct node *node, const struct cause *cause)
{
	struct action *action = turn_report(turn, REPORT_HOOK_FAILED, node);

	action->call.hook = node->hooks.hook;
	action->call.reason = node->hooks.reason;
	action->timed_out = node->hooks.end == HOOK_IS_LATE;
	action->cause = *cause;
}

/*
 * A start that needs this hook failed: without its pre_start a process is never executed,
 * and a restart without its post_restart is none (SEMANTICS 1.1, A-23).
 */
static void
fail_start(struct turn *turn, struct node *node, struct cause cause)
{
	cause.kind = CAUSE_EARLY_EXIT;
	/* The code is the hook's: the actor's process never ran (DECISIONS 52). */
	if (node->hooks.hook == HOOK_PRE_START)
		node->process.end = (struct cause){.kind = CAUSE_EARLY_EXIT, .code = -1};
	if (!node_is_leaving(node))
		failure_handle(turn, node, &cause, node);
	else if (!node->part.grouped || node_is_dead(node))
		down_bring(turn, node);
	/* Otherwise the node goes in its order of the stop. */
}

/*
 * True if the process of pre_start could not be started for lack of room, and the start
 * of the actor is tried again, as if that had been its own process (DECISIONS 46).
 */
static bool
waits_for_room(struct turn *turn, struct node *node, const struct cause *cause)
{
	if (node->hooks.hook != HOOK_PRE_START || node->state == STATE_STOPPING ||
	    node_is_leaving(node) || !cause_is_shortage(cause))
		return false;
	node->process.end = *cause;
	return pace_waits_for_room(turn, node, cause);
}

/*
 * EVENT_HOOK_DONE; with another serial than that of the hook under way it is stale.  A
 * hook killed because it is not needed any more has not failed.
 */
void
hooks_done(struct turn *turn, struct node *node, const struct event *event)
{
	struct cause cause = react_cause(event);
	bool is_vital;

	if (node->hooks.serial == 0 || node->hooks.serial != event->serial)
		return;
	hooks_ended(turn, node);
	bool failed = event->error != 0 || event->signal != 0 || event->code != 0;
	failed = node->hooks.end == HOOK_ENDS_ITSELF ? failed
	                                             : node->hooks.end == HOOK_IS_LATE;
	if (failed && waits_for_room(turn, node, &cause))
		return;
	if (failed)
		report_failed(turn, node, &cause);
	is_vital =
	    node->hooks.hook == HOOK_PRE_START || node->hooks.hook == HOOK_POST_RESTART;
	if (node->state == STATE_STOPPING)
		down_step(turn, node);
	else if (failed && is_vital)
		fail_start(turn, node, cause);
	else
		up_step(turn, node);
}
