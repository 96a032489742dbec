/* SPDX-License-Identifier: ISC */
/* significant.c - supervisors that end with the work of their children: auto_shutdown,
 * and when_empty.
 */
#include "config.h"

#include "core/marks.h"
#include "core/motion.h"

#include "core/pure.h"

/* True if another significant child is running, or about to run (OTP O-43: a restart
 * counts). */
static bool
is_one_active(const struct core *core, const struct node *supervisor)
{
	CHILDREN_FOREACH (core, supervisor, child)
		if (child->spec.significant && !child->absent &&
		    (node_is_live(child) || node_is_pending(child) ||
		     child->goal != GOAL_DOWN))
			return true;
	return false;
}

static bool
is_time_to_end(const struct core *core, const struct node *supervisor)
{
	switch (supervisor->spec.auto_shutdown) {
	case AUTO_SHUTDOWN_ANY:
		return true;
	case AUTO_SHUTDOWN_ALL:
		return !is_one_active(core, supervisor);
	case AUTO_SHUTDOWN_NEVER:
	case AUTO_SHUTDOWN_MAX:
		break;
	}
	return false;
}

/*
 * A child is down for good.  If it ended by itself, and counts, its supervisor may be
 * done too: it stops the others in reverse, and has then ended normally (OTP O-41 to
 * O-45).
 */
void
significant_ended(struct turn *turn, struct node *child)
{
	struct node *supervisor = node_parent(turn->core, child);
	const bool by_itself = child->exited_by_itself;

	child->exited_by_itself = false;
	if (!by_itself || !child->spec.significant || supervisor == NULL ||
	    failure_is_moot(turn, supervisor) || supervisor->gave_up ||
	    !is_time_to_end(turn->core, supervisor))
		return;
	supervisor->gave_up = true;
	supervisor->retired = true;
	supervisor->start_failed = false;
	down_bring(turn, supervisor);
}

/*
 * A group stop is over.  If no child is left, `when_empty` decides about the supervisor;
 * the leader of the group is the failed child.
 */
void
significant_group_stopped(struct turn *turn, struct node *supervisor)
{
	const struct node *leader = node_at(turn->core, supervisor->group_leader);

	if (leader == NULL || !leader->has_failure || !children_are_down(supervisor) ||
	    failure_is_moot(turn, supervisor))
		return;
	if (supervisor->spec.when_empty == WHEN_EMPTY_ESCALATE) {
		failure_escalate(turn, supervisor, &leader->failure.cause,
		                 node_at(turn->core, supervisor->group_leader));
	} else if (supervisor->spec.when_empty == WHEN_EMPTY_STOP) {
		supervisor->has_failure = true;
		supervisor->failure = leader->failure;
		goal_down_as(supervisor, STATE_FAILED);
		down_bring(turn, supervisor);
	}
}
