/* SPDX-License-Identifier: ISC */
/* hooks.c - the actor's own commands around its starts and stops.
 *
 * up.c and down.c say when; here a hook is asked for, and killed when its time is over;
 * what becomes of its node is in hook_events.c.  A node has at most one under way, and
 * goes on only when nothing of it is left.
 */
#include "config.h"

#include "base/assert.h"
#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

static enum hook_reason
reason_for(const struct node *node, enum hook hook)
{
	switch (hook) {
	case HOOK_PRE_START:
	case HOOK_POST_START:
	case HOOK_POST_RESTART:
		return node->run.readied != READIED_NOT ? HOOK_REASON_RESTART
		                                        : HOOK_REASON_START;
	case HOOK_PRE_RESTART:
	case HOOK_PRE_STOP:
	case HOOK_POST_STOP:
	case HOOK_MAX:
		break;
	}
	return node_comes_back(node) ? HOOK_REASON_RESTART : HOOK_REASON_STOP;
}

/* The cause that a hook is told: the failure, or the end of the process. */
static struct cause
cause_for(const struct node *node)
{
	struct cause cause = {.kind = CAUSE_NORMAL, .code = -1};

	if (node->failed == FAILED_BRINGS_DOWN)
		cause = node->failure.cause;
	if (node_has_process(node) && node->run.created && !process_is_main_there(node)) {
		cause.code = node->process.end.code;
		cause.signal = node->process.end.signal;
		cause.core = node->process.end.core;
	}
	return cause;
}

/* The failed child that makes the group stop or start; NULL: no failure does. */
static const struct node *
leader_of(const struct core *core, const struct node *node)
{
	const struct node *leader =
	    node_at(core, children_of(node_supervisor(core, node))->group_leader);

	return leader != NULL && leader->failed == FAILED_BRINGS_DOWN &&
	               (node->part.grouped || node->part.sequenced)
	           ? leader
	           : NULL;
}

/*
 * The node with the failure that this node is stopped or started for: itself, a member of
 * its group, or a node above.  NULL: no failure.
 */
static const struct node *
failed_for(const struct core *core, const struct node *node)
{
	const struct node *at = node;

	while (at->links.parent != NONE && at->failed != FAILED_BRINGS_DOWN &&
	       leader_of(core, at) == NULL && (at == node || at->state != STATE_RUNNING))
		at = node_supervisor(core, at);
	if (at->links.parent == NONE)
		return NULL;
	return at->failed == FAILED_BRINGS_DOWN ? at : leader_of(core, at);
}

/* What is asked for: the same whenever it is asked. */
static void
describe(const struct core *core, const struct node *node, struct action *action)
{
	const struct node *failed = failed_for(core, node);
	const enum hook hook = node->hooks.hook;

	action->origin = REF_NONE;
	if (failed != NULL) {
		action->origin = failed->failure.origin;
		action->call.origin_cause = failed->failure.cause;
	}

	action->serial = node->hooks.serial;
	action->call.hook = hook;
	action->call.reason = node->hooks.reason;
	action->cause = cause_for(node);
	action->incarnation = node->run.incarnation;
	/* The process that pre_start is about is still to come. */
	action->life =
	    node->process.life + (hook == HOOK_PRE_START && node_has_process(node));
	action->generation = node->run.generation + (hook == HOOK_PRE_START);
}

/*
 * The hook that this actor waits for, as the action that asked for it, or, when the hook
 * is to end now, HOOK_KILL.  For a new guardian, which cannot know how much of it was
 * done.  False: no hook is under way.
 */
bool
core_hook(const struct core *core, struct ref ref, struct action *ret)
{
	const struct node *node = node_lookup(core, ref);

	if (node == NULL || node->hooks.serial == 0)
		return false;
	*ret = (struct action){
	    .kind = node->hooks.end != HOOK_ENDS_ITSELF ? ACTION_HOOK_KILL : ACTION_HOOK,
	    .ref = ref,
	};
	describe(core, node, ret);
	return true;
}

/*
 * Ask for a hook of the node; its end comes back as hooks_done().  False: there is
 * nothing to wait for, it has no such hook, or no time for one.
 */
bool
hooks_run(struct turn *turn, struct node *node, enum hook hook)
{
	struct core *core = turn->core;

	ASSERT(node->hooks.serial == 0);
	if ((spec_of(node)->hooks >> hook & 1) == 0 || stop_kills(node))
		return false;
	core->hook_serial += core->hook_serial == UINT32_MAX ? 2 : 1;
	node->hooks.serial = core->hook_serial;
	node->hooks.hook = hook;
	node->hooks.reason = reason_for(node, hook);
	node->hooks.end = HOOK_ENDS_ITSELF;
	describe(core, node, turn_act(turn, ACTION_HOOK, node));
	deadline_arm(core, node, TIMER_HOOK, turn->now_ms,
	             spec_of(node)->hook_timeout_ms);
	return true;
}

/* Kill the hook under way, if there is one that was not killed: its end is awaited still.
 */
static void
kill_as(struct turn *turn, struct node *node, enum hook_end end)
{
	if (node->hooks.serial == 0 || node->hooks.end != HOOK_ENDS_ITSELF)
		return;
	node->hooks.end = end;
	deadline_clear(turn->core, node, TIMER_HOOK);
	turn_act(turn, ACTION_HOOK_KILL, node)->serial = node->hooks.serial;
}

/* The hook under way is of no use any more. */
void
hooks_kill(struct turn *turn, struct node *node)
{
	kill_as(turn, node, HOOK_IS_KILLED);
}

/* Its time is over. */
void
hooks_due(struct turn *turn, struct node *node)
{
	kill_as(turn, node, HOOK_IS_LATE);
}

/* Nothing of the hook under way is left. */
void
hooks_ended(struct turn *turn, struct node *node)
{
	node->hooks.serial = 0;
	deadline_clear(turn->core, node, TIMER_HOOK);
}
