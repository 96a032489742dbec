/* SPDX-License-Identifier: ISC */
/* reconcile.c - move states towards goals, node by node from a queue.
 *
 * Never by recursion: a change of a goal or a state queues the node and, where it matters
 * there, its supervisor.  The moves are in up.c, down.c and children.c.
 */
#include "config.h"

#include "base/assert.h"
#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

static void
queue_children(struct core *core, const struct node *supervisor)
{
	CHILDREN_FOREACH (core, supervisor, child)
		queue_node(core, child);
}

static void
advance_down(struct turn *turn, struct node *node)
{
	if (node->growth.removing) {
		if (node->links.n_children == 0 && !process_is_unkillable(node))
			node_free(turn, node);
		else
			queue_children(turn->core, node);
		return;
	}
	if (node->goal != GOAL_DOWN && !node->part.grouped && !node_is_hidden(node) &&
	    node_takes_starts(turn->core, node))
		up_start(turn, node);
}

/* True if a pending start may skip its delay: demand for a sleeping actor, or an explicit
 * start during backoff. */
static bool
may_start_now(const struct node *node)
{
	return node_is_on_standby(node)
	           ? node->plan.is_demanded
	           : node->plan.start_now && node->state == STATE_BACKOFF;
}

static void
advance_pending(struct turn *turn, struct node *node)
{
	if (node->goal == GOAL_DOWN || node->growth.removing) {
		if (children_of(node)->are == CHILDREN_DOWN) {
			down_settle(turn, node);
			return;
		}
		down_wait_turn(turn->core, node);
		down_bring(turn, node);
	} else if ((may_start_now(node) && !node->part.grouped &&
	            node_takes_starts(turn->core, node)) ||
	           gate_is_next(turn->core, node)) {
		up_start(turn, node);
	}
}

static void
advance_live(struct turn *turn, struct node *node)
{
	bool wants_down = node->goal != GOAL_UP;

	if (node->state == STATE_STOPPING) {
		if (stop_kills(node))
			down_kill(turn, node);
		if (process_is_unkillable(node) && !node_comes_back(node))
			unkillable_leave(turn, node);
		return;
	}
	if (wants_down && !node->part.grouped)
		down_bring(turn, node);
	else if (node->phase == PHASE_PRE_START && node->hooks.serial == 0)
		up_step(turn, node);
}

static void
advance(struct turn *turn, struct node *node)
{
	if (node_is_live(node))
		advance_live(turn, node);
	else if (node_is_pending(node))
		advance_pending(turn, node);
	else
		advance_down(turn, node);
	if (node->used && node_is_supervisor(node))
		children_advance(turn, node);
	if (node->used && node->watch.is_new)
		react_advance(turn, node);
	if (node->used)
		suspend_apply(turn, node);
}

/* Decisions that wait until no node moves any more: which nodes do not come after all? */
static void
look_around(struct turn *turn)
{
	struct core *core = turn->core;

	if (core->look_early)
		watch_look_early(core);
	if (core->recheck_needs)
		blocker_look(turn);
}

/* Work the queue until it is empty (false) or the actions are many (true). */
bool
reconcile_run(struct turn *turn)
{
	struct core *core = turn->core;

	for (;;) {
		if (!turn_has_room(turn))
			return true;
		if (core->queue_n == 0)
			look_around(turn);
		if (core->queue_n == 0)
			return false;
		struct node *node = queue_take(core);
		if (node->used)
			advance(turn, node);
	}
}
