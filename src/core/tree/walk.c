/* SPDX-License-Identifier: ISC */
/* walk.c - from actor to actor of the tree, and their order. */
#include "config.h"

#include "core/tree/turn.h"

#include "core/pure.h"

/* The node of a reference, hidden or not; NULL: REF_NONE, or its slot was given to
 * another node or to none. */
struct node *
node_find(const struct core *core, struct ref ref)
{
	if (ref.slot >= core->top)
		return NULL;
	struct node *node = node_in(core, ref.slot);
	return node->used && node->tenant == ref.tenant ? node : NULL;
}

/* As node_find(), but NULL also for a hidden node. */
struct node *
node_lookup(const struct core *core, struct ref ref)
{
	struct node *node = node_find(core, ref);

	return node == NULL || node_is_hidden(node) ? NULL : node;
}

/* Depth first, parents before children, everything below `top` and itself; NULL ends. */
struct node *
node_next(const struct core *core, const struct node *top, const struct node *node)
{
	if (node->links.first != NONE)
		return node_at(core, node->links.first);
	while (node != top) {
		if (node->links.next != NONE)
			return node_at(core, node->links.next);
		node = node_supervisor(core, node);
	}
	return NULL;
}

static struct ref
visible(const struct core *core, const struct node *node)
{
	while (node != NULL && node_is_hidden(node))
		node = node_at(core, node->links.next);
	return node == NULL ? REF_NONE : node_ref(core, node);
}

/* True if there is an actor of that name and tenancy. */
bool
core_valid(const struct core *core, struct ref ref)
{
	return node_lookup(core, ref) != NULL;
}

/* The actor in this slot now, or REF_NONE. */
struct ref
core_ref(const struct core *core, uint32_t slot)
{
	const struct node *node = slot < core->top ? node_at(core, slot) : NULL;

	return node == NULL || !node->used || node_is_hidden(node) ? REF_NONE
	                                                           : node_ref(core, node);
}

/* The supervisor, or REF_NONE for "/". */
struct ref
core_parent(const struct core *core, struct ref ref)
{
	const struct node *node = node_lookup(core, ref);
	const struct node *parent = node == NULL ? NULL : node_parent(core, node);

	return parent == NULL ? REF_NONE : node_ref(core, parent);
}

/* The first in start order, or REF_NONE. */
struct ref
core_first_child(const struct core *core, struct ref ref)
{
	const struct node *node = node_lookup(core, ref);

	return node == NULL ? REF_NONE : visible(core, node_at(core, node->links.first));
}

/* The next in start order, or REF_NONE. */
struct ref
core_next_sibling(const struct core *core, struct ref ref)
{
	const struct node *node = node_lookup(core, ref);

	return node == NULL ? REF_NONE : visible(core, node_at(core, node->links.next));
}

/* The next of `top` and all below it, parents before children; REF_NONE ends. */
struct ref
core_next(const struct core *core, struct ref top, struct ref ref)
{
	const struct node *first = node_lookup(core, top);
	const struct node *node = node_lookup(core, ref);

	if (first == NULL || node == NULL)
		return REF_NONE;
	do {
		node = node_next(core, first, node);
	} while (node != NULL && node_is_hidden(node));
	return node == NULL ? REF_NONE : node_ref(core, node);
}

/* Start order of the whole tree, as qsort wants it: parents before their children. */
int
core_compare_order(const struct core *core, struct ref a, struct ref b)
{
	const struct node *x = node_lookup(core, a), *y = node_lookup(core, b);

	if (x == NULL || y == NULL)
		return (x != NULL) - (y != NULL);
	uint32_t depth_x = x->links.depth, depth_y = y->links.depth;
	while (x->links.depth > y->links.depth)
		x = node_supervisor(core, x);
	while (y->links.depth > x->links.depth)
		y = node_supervisor(core, y);
	if (x == y)
		return (depth_x > depth_y) - (depth_x < depth_y);
	while (x->links.parent != y->links.parent) {
		x = node_supervisor(core, x);
		y = node_supervisor(core, y);
	}
	return x->links.index < y->links.index ? -1 : 1;
}

/* ---- what is above, below and around a node ---------------------------------------- */

/*
 * True if this node may be started.  Not below a supervisor that is down or going down,
 * however far above: no start after the stop of an ancestor was begun.
 */
bool
node_takes_starts(const struct core *core, const struct node *node)
{
	const struct node *above = node_parent(core, node);

	if (core->shutting_down && node_slot(core, node) == CORE_USER)
		return false;
	for (; above != NULL; above = node_parent(core, above))
		if (children_of(above)->are != CHILDREN_OPEN || above->goal != GOAL_UP)
			return false;
	return true;
}

/*
 * True if the node goes down, or stays down, together with a supervisor above.  Not
 * below a supervisor with children that outlive its restart: there a failure is decided
 * as usual.
 */
bool
node_is_doomed(const struct core *core, const struct node *node)
{
	const struct node *above = node_parent(core, node);

	for (; above != NULL; above = node_parent(core, above)) {
		if (children_of(above)->are == CHILDREN_OPEN && above->goal == GOAL_UP)
			continue;
		if (above->goal == GOAL_DOWN || children_of(above)->are == CHILDREN_DOWN)
			return true;
		/* A supervisor that has gone further has kept its children already. */
		if ((children_of(above)->are == CHILDREN_OPEN ||
		     above->phase == PHASE_PRE_STOP) &&
		    !node_keeps_children(above))
			return true;
	}
	return false;
}

/* True if a group restart will start this member again.  Finished and stopped ones too
 * (O-18). */
bool
node_revives(const struct node *member)
{
	if (member->plan.stay == STAY_HELD || spec_runs_once(spec_of(member)) ||
	    node_is_refused(member))
		return false;
	return spec_of(member)->enabled || node_is_live(member) ||
	       node_is_pending(member);
}

/* True if the node is down for good, by itself or by policy, and not by command. */
bool
node_is_final(const struct node *node)
{
	return node->state == STATE_DONE || node->state == STATE_FAILED ||
	       (node_is_down(node) && node->goal == GOAL_DOWN && node->plan.by_policy);
}

/* True if this node, or a node below, has an unkillable process. */
bool
node_has_unkillable(const struct core *core, const struct node *top)
{
	const struct node *at = core->n_unkillable == 0 ? NULL : top;

	while (at != NULL && !process_is_unkillable(at))
		at = node_next(core, top, at);
	return at != NULL;
}
