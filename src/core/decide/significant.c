/* SPDX-License-Identifier: ISC */
/* significant.c - what ends with the work of an actor: supervisors by auto_shutdown and
 * when_empty, supd by exit_code_from, and with which exit status (DECISIONS 52).
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* True if another significant child is running, or about to run (OTP O-43: a restart
 * counts). */
static bool
is_one_active(const struct core *core, const struct node *supervisor)
{
	CHILDREN_FOREACH (core, supervisor, child)
		if (spec_of(child)->significant && !node_is_hidden(child) &&
		    (node_is_live(child) || node_is_pending(child) ||
		     child->goal != GOAL_DOWN))
			return true;
	return false;
}

static bool
is_time_to_end(const struct core *core, const struct node *supervisor)
{
	switch (spec_of(supervisor)->policy.auto_shutdown) {
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

/* A start: no significant child has failed since. */
void
significant_begins(struct node *node)
{
	node->ending.work_failed = false;
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
	const bool by_itself = child->run.exited_by_itself;

	run_exits(child, false);
	if (supervisor != NULL && spec_of(child)->significant &&
	    (child->state == STATE_FAILED || child->ending.work_failed))
		supervisor->ending.work_failed = true;
	if (!by_itself || !spec_of(child)->significant || supervisor == NULL ||
	    failure_is_moot(turn, supervisor) || node_is_ending(supervisor) ||
	    !is_time_to_end(turn->core, supervisor))
		return;
	goal_end(supervisor, ENDING_RETIRES);
	down_bring(turn, supervisor);
}

/*
 * A group stop is over.  If no child is left, `when_empty` decides about the supervisor;
 * the leader of the group is the failed child.
 */
void
significant_group_stopped(struct turn *turn, struct node *supervisor)
{
	const struct node *leader =
	    node_at(turn->core, children_of(supervisor)->group_leader);

	if (leader == NULL || leader->failed == FAILED_NOT ||
	    !children_are_down(supervisor) || failure_is_moot(turn, supervisor))
		return;
	if (spec_of(supervisor)->policy.when_empty == WHEN_EMPTY_ESCALATE) {
		failure_escalate(
		    turn, supervisor, &leader->failure.cause,
		    node_at(turn->core, children_of(supervisor)->group_leader),
		    &(const struct decision){.directive = DIRECTIVE_ESCALATE,
		                             .preset = PRESET_LIST,
		                             .reason = DECIDED_EMPTY});
	} else if (spec_of(supervisor)->policy.when_empty == WHEN_EMPTY_STOP) {
		failure_inherit(supervisor, leader);
		goal_down_as(supervisor, STATE_FAILED);
		down_bring(turn, supervisor);
	}
}

/* ---- supd ---- */

/* What the newest end of the node comes to, as a shell has it. */
static int32_t
status_of(const struct node *node)
{
	if (node->process.end.signal > 0)
		return 128 + node->process.end.signal;
	if (node->process.end.code >= 0)
		return node->process.end.code;
	/* A supervisor has no exit code; a process without one never ran. */
	return node->run.begun != BEGUN_NEVER && node->process.end.kind == CAUSE_NORMAL &&
	               !node_has_process(node)
	           ? 0
	           : CORE_EXIT_GAVE_UP;
}

/* The next node below `top` that is named by exit_code_from, in start order. */
static struct node *
next_named(const struct core *core, struct node *top, struct node *prev)
{
	struct node *node = node_next(core, top, prev);

	while (node != NULL && (!spec_of(node)->gives_exit || node->growth.removing))
		node = node_next(core, top, node);
	return node;
}

/* All nodes that are named. */
#define NAMED_FOREACH(core, node)                                \
	for (struct node *user = node_at(core, CORE_USER),       \
	                 *(node) = next_named(core, user, user); \
	     (node) != NULL; (node) = next_named(core, user, node))

/* The status of the named node; of replicas the first that is not 0. */
static int32_t
named_status(const struct core *core)
{
	int32_t status = 0;

	NAMED_FOREACH (core, node)
		if (status == 0)
			status = status_of(node);
	return status;
}

/* True if the node starts with its supervisor. */
static bool
is_to_start(const struct node *node)
{
	return spec_of(node)->enabled && node->plan.stay == STAY_NOT;
}

/* True if a supervisor above the node starts again, and the node with it. */
static bool
is_to_come_back(const struct core *core, const struct node *node)
{
	if (!is_to_start(node))
		return false;
	for (node = node_parent(core, node); node != NULL; node = node_parent(core, node))
		if (node_comes_back(node))
			return true;
	return false;
}

/* True if a named node runs, or is to. */
static bool
is_named_active(const struct core *core)
{
	NAMED_FOREACH (core, node)
		if (!node_is_down(node) || node->goal != GOAL_DOWN ||
		    is_to_come_back(core, node))
			return true;
	return false;
}

/* The topmost supervisor of the node that is not up; NULL: all are. */
static struct node *
supervisor_down(const struct core *core, const struct node *node)
{
	struct node *found = NULL;

	for (struct node *at = node_parent(core, node); at != NULL;
	     at = node_parent(core, at))
		if (!node_is_live(at))
			found = at;
	return found;
}

/* True if the node is down for good, or was to start with a supervisor that is. */
static bool
is_lost(const struct core *core, const struct node *node)
{
	const struct node *above = supervisor_down(core, node);

	return node_is_final(node) ||
	       (is_to_start(node) && above != NULL && node_is_final(above));
}

/* True if a named node was started at some time, or can never be started. */
static bool
has_named_begun(const struct core *core)
{
	NAMED_FOREACH (core, node)
		if (node->run.begun != BEGUN_NEVER || is_lost(core, node))
			return true;
	return false;
}

/* True if the node goes down for good with /user, which fails because of another actor.
 */
static bool
is_for_another(const struct core *core, const struct node *node)
{
	const struct node *user = node_at(core, CORE_USER);
	const struct node *origin = node_find(core, node->failure.origin);
	const bool fails = node_is_ending(user)
	                       ? user->ending.as != ENDING_RETIRES
	                       : user->failed == FAILED_BRINGS_DOWN &&
	                             user->failure.ruling.directive == DIRECTIVE_STOP;

	return fails && node->state == STATE_FAILED &&
	       (origin == NULL || !spec_of(origin)->gives_exit);
}

/* supd stops in order. */
static void
end_supd(struct turn *turn, int32_t status)
{
	turn->core->exit_status = status;
	turn->core->shutting_down = true;
	command_want_down(turn, node_at(turn->core, CORE_USER));
}

/*
 * The node is down for good.  If it has ended by itself, or its group was stopped for
 * good, and it is named by exit_code_from, or one below is, supd stops in order.
 */
void
significant_settled(struct turn *turn, struct node *top)
{
	struct core *core = turn->core;
	struct node *named = top;

	if (core->shutting_down || top->links.depth <= 1 || top->growth.removing)
		return;
	/* A node that ends with its supervisor counts by the end of the supervisor. */
	if (top->state == STATE_STOPPED &&
	    (!top->plan.by_policy || node_supervisor(core, top)->state == STATE_STOPPING))
		return;
	if (is_for_another(core, top))
		return;
	if (!spec_of(top)->gives_exit)
		named = next_named(core, top, top);
	/* One of several named actors may be stopped with its group before it began. */
	if (named == NULL || !has_named_begun(core) || is_named_active(core))
		return;
	end_supd(turn, named_status(core));
}

/*
 * True if the named node, which waits or has ended, has no start to come.  ret_ended:
 * for what it waits in vain; NULL: it has ended itself.
 */
static bool
is_in_vain(const struct core *core, const struct node *named, struct node **ret_ended)
{
	const struct node *at;

	*ret_ended = NULL;
	for (at = node_parent(core, named); at != NULL; at = node_parent(core, at))
		if (at->state == STATE_STOPPING || node_comes_back(at))
			return false;
	if (node_is_live(named))
		return false;
	at = named;
	if (node_is_down(named) && named->goal == GOAL_DOWN) {
		if (node_is_final(named))
			return true;
		at = is_to_start(named) ? supervisor_down(core, named) : NULL;
	}
	*ret_ended = at == NULL ? NULL : blocker_ended(core, at);
	return *ret_ended != NULL;
}

/* Report the failure of a named node that can never start: the node that it needs has
 * ended. */
static void
tell_in_vain(struct turn *turn, struct node *named, struct node *ended)
{
	(void)failure_report(turn, named, ended, node_final_cause(ended),
	                     &(const struct decision){.directive = DIRECTIVE_STOP,
	                                              .preset = PRESET_LIST,
	                                              .reason = DECIDED_NEED});
}

/*
 * No node moves any more, and some wait for what they need: where all that are named have
 * ended for good, or wait for what has, supd stops in order.
 */
void
significant_look(struct turn *turn)
{
	struct core *core = turn->core;
	struct node *user = node_at(core, CORE_USER);
	struct node *ended;
	bool waits = false;
	int32_t status = 0;

	if (core->shutting_down)
		return;
	for (struct node *named = next_named(core, user, user); named != NULL;
	     named = next_named(core, user, named)) {
		if (!is_in_vain(core, named, &ended))
			return;
		waits = waits || ended != NULL;
		/* An earlier end of a node that waits in vain does not count. */
		if (status == 0)
			status = ended != NULL ? CORE_EXIT_GAVE_UP : status_of(named);
	}
	if (!waits)
		return;
	/* Of very many replicas only some get their event. */
	for (struct node *named = next_named(core, user, user);
	     named != NULL && turn_has_room(turn); named = next_named(core, user, named))
		if (is_in_vain(core, named, &ended) && ended != NULL)
			tell_in_vain(turn, named, ended);
	end_supd(turn, status);
}

/* The exit status of supd, as /user has ended by itself. */
int32_t
significant_status(const struct core *core)
{
	struct node *user = node_at(core, CORE_USER);

	if (user->state == STATE_FAILED)
		return CORE_EXIT_GAVE_UP;
	if (user->state == STATE_DONE && next_named(core, user, user) != NULL)
		return named_status(core);
	return user->ending.work_failed ? CORE_EXIT_GAVE_UP : 0;
}
