/* SPDX-License-Identifier: ISC */
/* blocker.c - nodes that are held up by what may not come: others do not wait for them.
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/*
 * The node that keeps this node from coming up: a needed node, its elder sibling, its
 * supervisor, its child.  NULL: itself, or none. ret_late: the blocker has failed
 * already, or will not start.
 */
static const struct node *
find_blocker(const struct core *core, const struct node *node, bool *ret_late)
{
	const struct node *parent = node_parent(core, node);

	*ret_late = node->growth.removing || node->state == STATE_BACKOFF ||
	            (node_is_down(node) && !watch_is_coming(core, node));
	if (*ret_late)
		return NULL;
	if (node_is_blocked(node))
		return gate_needed(core, node, ret_late);
	if (node->state == STATE_STARTING && node->phase == PHASE_CHILDREN &&
	    children_of(node)->op == OP_START)
		return node_at(core, children_of(node)->cursor);
	if (node->state == STATE_STARTING || node_is_live(node) || parent == NULL)
		return NULL;
	if (children_of(parent)->are != CHILDREN_OPEN)
		return parent;
	const struct node *blocker = children_of(parent)->op == OP_START
	                                 ? node_at(core, children_of(parent)->cursor)
	                                 : NULL;
	return blocker == node ? NULL : blocker;
}

/*
 * True if the need cannot be met without a command: the actor needed has failed, is
 * stopped or absent, or is itself blocked on such an actor or on this one (a cycle).
 */
static bool
is_hopeless(const struct core *core, const struct node *node)
{
	const struct node *at = node;
	bool is_late = false;

	for (uint32_t n = 0; at != NULL && n <= core->n_nodes; n++)
		at = find_blocker(core, at, &is_late);
	return is_late || at != NULL;
}

/*
 * The node if it has ended for good, else the next supervisor above it that has.  NULL:
 * none has, or one comes back, or is on its way down: that end is not decided yet.
 */
static struct node *
find_ended(const struct core *core, struct node *node)
{
	struct node *ended = NULL;

	for (; node != NULL; node = node_parent(core, node)) {
		if (node->state == STATE_STOPPING || node_comes_back(node))
			return NULL;
		if (ended == NULL && node_is_final(node))
			ended = node;
	}
	return ended;
}

/*
 * The node with a final end that keeps this node waiting, by its own needs or by the
 * needs of a node that it waits for. NULL: there is none, or it may still start by
 * itself.
 */
struct node *
blocker_ended(const struct core *core, const struct node *node)
{
	const struct node *at = node, *next = node;
	bool is_late = false;

	for (uint32_t n = 0; next != NULL && n <= core->n_nodes; n++) {
		at = next;
		next = find_blocker(core, at, &is_late);
		/* Its turn is about to come: that child holds up no others any more. */
		if (next != NULL && !node_is_blocked(at) &&
		    next != node_parent(core, at) && !next->part.sequenced)
			return NULL;
	}
	return next != NULL || !is_late
	           ? NULL
	           : find_ended(core, node_in(core, node_slot(core, at)));
}

/* True if it keeps younger siblings waiting that would not wait for a failed start. */
static bool
holds_up_others(const struct core *core, const struct node *node)
{
	const struct node *parent = node_parent(core, node);

	return node_is_blocked(node) && node->part.sequenced && parent != NULL &&
	       spec_of(parent)->policy.strategy == STRATEGY_ONE_FOR_ONE;
}

/* True if this node or a node below is held up. */
static bool
has_blocked(const struct core *core, const struct node *top)
{
	for (const struct node *node = top; node != NULL;
	     node = node_next(core, top, node))
		if (node_is_blocked(node))
			return true;
	return false;
}

/*
 * Failure handling that suspends siblings would deadlock when a suspended sibling is what
 * another node needs: resume the siblings of `node` if anything under the topmost waiting
 * ancestor is blocked on a need.
 */
static void
let_others_go_on(struct core *core, struct node *node)
{
	const struct node *top = node;

	if (!node->suspend.decided && !node->suspend.own_failure)
		return;
	for (const struct node *at = node; at->links.parent != NONE;
	     at = node_supervisor(core, at))
		if (at->state == STATE_WAITING)
			top = node_supervisor(core, at);
	if (has_blocked(core, top))
		suspend_decided(core, node);
}

/*
 * A node has failed, ended or begun to wait: under one_for_one the siblings behind a
 * child with hopeless needs do not wait for that child, as they do not for a failed start
 * (DECISIONS 18); nodes suspended for a waiting node go on; and supd may be done.  Linear
 * in the number of nodes for each suspending node, but only while a node waits.
 */
void
blocker_look(struct turn *turn)
{
	struct core *core = turn->core;

	core->recheck_needs = false;
	for (uint32_t slot = 0; slot < core->top && core->n_blocked > 0; slot++) {
		struct node *node = node_in(core, slot);

		if (!node->used)
			continue;
		let_others_go_on(core, node);
		if (holds_up_others(core, node) && is_hopeless(core, node))
			part_pass(core, node);
	}
	if (core->n_blocked > 0)
		significant_look(turn);
}
