/* SPDX-License-Identifier: ISC */
/* suspend.c - suspension: a count in each node, for itself and all nodes below.
 *
 * A node stands still while a count on the way from it up to the root is above zero (Akka
 * Counts are changed at once; processes are frozen and thawed when the queue gets
 * to them.
 *
 * With `freeze_while_deciding` a supervisor counts its children with a failure that is
 * not made good yet: until each of them is ready, or has ended for good, the other
 * children and all that runs below stand still.  A starting node goes on, as its
 * start must not wait for what waits for it.  A supervisor with a process does so for its
 * own failure, too: everything that outlives the failure stands still until the process
 * is ready again and its hooks are over (DECISIONS 47).
 */
#include "config.h"

#include "base/assert.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* How often this node is suspended, by itself and by all above it. */
uint32_t
suspend_count(const struct core *core, const struct node *node)
{
	uint32_t count = 0;

	if (core->n_suspends == 0)
		return 0;
	for (const struct node *at = node; at != NULL; at = node_parent(core, at)) {
		count += at->suspend.n;
		if (at != node && node->state == STATE_RUNNING)
			count += at->suspend.deciding + at->suspend.own_failure;
	}
	return count;
}

/* The count of a node changed: look at all below it. */
static void
look_below(struct core *core, struct node *top)
{
	for (struct node *node = top; node != NULL; node = node_next(core, top, node))
		queue_node(core, node);
}

/* Add a suspension; false: there are too many. */
bool
suspend_add(struct core *core, struct node *node)
{
	if (node->suspend.n == SUSPENDS_MAX)
		return false;
	node->suspend.n++;
	core->n_suspends++;
	look_below(core, node);
	return true;
}

/* One suspension less. */
void
suspend_take(struct core *core, struct node *node)
{
	ASSERT(node->suspend.n > 0);
	node->suspend.n--;
	core->n_suspends--;
	look_below(core, node);
}

/* Its own suspensions are forgotten: it ended for good, or was started by hand. */
void
suspend_clear(struct core *core, struct node *node)
{
	if (node->suspend.n == 0)
		return;
	core->n_suspends -= node->suspend.n;
	node->suspend.n = 0;
	look_below(core, node);
}

/*
 * A child failed, and the directive for it begins: with freeze_while_deciding its
 * siblings are frozen until the child is ready again, or has ended for good.
 */
void
suspend_others(struct core *core, struct node *node)
{
	struct node *supervisor = node_supervisor(core, node);

	if (!spec_of(supervisor)->policy.freeze_while_deciding || node->suspend.decided)
		return;
	node->suspend.decided = true;
	supervisor->suspend.deciding++;
	core->n_suspends++;
	core->recheck_needs = true;
	look_below(core, supervisor);
}

/* The process of a supervisor failed, and the supervisor comes up again: the actors below
 * are frozen until its process is ready. */
void
suspend_below(struct core *core, struct node *node)
{
	if (spec_of(node)->kind != NODE_BOTH ||
	    !spec_of(node)->policy.freeze_while_deciding || node->suspend.own_failure)
		return;
	node->suspend.own_failure = true;
	core->n_suspends++;
	core->recheck_needs = true;
	look_below(core, node);
}

/* The process is ready, and its hooks are over: thaw the nodes below before the children
 * come up again, which may need nodes that are there. */
void
suspend_below_end(struct core *core, struct node *node)
{
	if (!node->suspend.own_failure)
		return;
	node->suspend.own_failure = false;
	core->n_suspends--;
	look_below(core, node);
}

/* The child is ready, or has ended for good: its siblings need not stand still for it. */
void
suspend_decided(struct core *core, struct node *node)
{
	suspend_below_end(core, node);
	if (!node->suspend.decided)
		return;
	struct node *supervisor = node_supervisor(core, node);
	node->suspend.decided = false;
	supervisor->suspend.deciding--;
	core->n_suspends--;
	look_below(core, supervisor);
}

/* Take in that the supervisor has another policy, perhaps without freezing. */
void
suspend_updated(struct core *core, struct node *supervisor)
{
	if (spec_of(supervisor)->policy.freeze_while_deciding)
		return;
	suspend_below_end(core, supervisor);
	if (supervisor->suspend.deciding == 0)
		return;
	CHILDREN_FOREACH (core, supervisor, child)
		suspend_decided(core, child);
}

/* True if the node has a process that could stand still.  A stopping node has to move. */
static bool
can_stand_still(const struct node *node)
{
	return (node->state == STATE_STARTING || node->state == STATE_RUNNING) &&
	       (!node_has_process(node) || node->process.state == PROCESS_RUNS);
}

/* Freeze or thaw the node according to the counts, and its clocks with it. */
void
suspend_apply(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	bool freeze = can_stand_still(node) && suspend_count(core, node) > 0;

	if (freeze == node->suspend.frozen)
		return;
	node->suspend.frozen = freeze;
	node->since_ms = turn->now_ms;
	deadline_look(core, node, turn->now_ms);
	if (freeze)
		living_frozen(core, node);
	if (node_has_process(node))
		turn_act(turn, freeze ? ACTION_FREEZE : ACTION_THAW, node)->life =
		    node->process.life;
	(void)turn_report(turn, freeze ? REPORT_SUSPENDED : REPORT_RESUMED, node);
}

/*
 * It goes down, or its process has ended: whatever is left must be able to hear of it
 * (I28).  That it is no longer suspended is not told: what becomes of it is.
 */
void
suspend_end(struct turn *turn, struct node *node)
{
	if (!node->suspend.frozen)
		return;
	node->suspend.frozen = false;
	deadline_look(turn->core, node, turn->now_ms);
	if (process_is_there(node))
		turn_act(turn, ACTION_THAW, node)->life = node->process.life;
}
