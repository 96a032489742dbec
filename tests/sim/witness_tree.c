/* SPDX-License-Identifier: ISC */
/* witness_tree.c - the witness's own model of the tree, and of the actors that an input
 * concerns.
 */
#include "config.h"

#include <stddef.h>

#include "tests/sim/sim.h"

struct witnessed *
witness_find(struct witness *witness, struct ref ref)
{
	struct witnessed *node;

	if (ref.slot >= SIM_NODES_MAX)
		return NULL;
	node = &witness->nodes[ref.slot];
	return node->used && ref_equal(node->ref, ref) ? node : NULL;
}

/* Its supervisor; NULL for /user, which is below the root. */
struct witnessed *
witness_parent(struct witness *witness, const struct witnessed *node)
{
	struct witnessed *parent = &witness->nodes[node->parent];

	return parent->used ? parent : NULL;
}

/* Is the actor `top`, or below `top`? */
bool
witness_below(const struct witness *witness, const struct witnessed *node,
              const struct witnessed *top)
{
	for (uint32_t n = 0; n < SIM_NODES_MAX && node->used; n++) {
		if (node == top)
			return true;
		if (node->ref.slot == CORE_USER)
			return false;
		node = &witness->nodes[node->parent];
	}
	return false;
}

/* Is the sibling taken along when the child is restarted? */
bool
witness_in_group(const struct witness *witness, const struct witnessed *child,
                 const struct witnessed *sibling)
{
	const struct witnessed *parent = &witness->nodes[child->parent];

	if (child == sibling)
		return true;
	if (!parent->used || !sibling->used || sibling->removing ||
	    sibling->parent != child->parent || sibling->ref.slot == CORE_USER ||
	    child->ref.slot == CORE_USER)
		return false;
	if (parent->spec->policy.strategy == STRATEGY_ONE_FOR_ALL)
		return true;
	return parent->spec->policy.strategy == STRATEGY_REST_FOR_ONE &&
	       core_compare_order(witness->rig->core, child->ref, sibling->ref) <= 0;
}

/*
 * Set one of the sequence numbers (given as the field of `top`) of `top` and of all
 * below it to now.
 */
void
witness_mark(struct witness *witness, const struct witnessed *top, const uint64_t *field)
{
	size_t offset = (size_t)((const char *)field - (const char *)top);

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (node->used && witness_below(witness, node, top))
			*(uint64_t *)((char *)node + offset) = witness->seq;
	}
}

/* Has the actor, or an actor below it, a process? */
bool
witness_anyone_there(const struct witness *witness, const struct witnessed *top)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		if (node->used && node->process.there && !node->process.unkillable &&
		    witness_below(witness, node, top))
			return true;
	}
	return false;
}

/*
 * Is a supervisor beside it, or beside one above it, about to end as OTP's do, or
 * because its work is done?  That is a normal end, which restarts the group without a
 * word.
 */
bool
witness_group_is_doomed(struct witness *witness, const struct witnessed *node)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *other = &witness->nodes[i];
		const struct witnessed *parent = &witness->nodes[other->parent];

		if (other->used && other->stopping != 0 &&
		    (other->spec->policy.decider.preset == PRESET_OTP ||
		     other->retired > other->started) &&
		    parent->used && witness_below(witness, node, parent))
			return true;
	}
	return false;
}

/*
 * Is the actor below a supervisor that keeps its children in a restart? Then acts may
 * come later than their decision, or without a report.
 */
bool
witness_is_kept(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = witness_parent(witness, node);

	for (; at != NULL; at = witness_parent(witness, at)) {
		if (at->spec->policy.keep_children != KEEP_NO ||
		    at->spec->kind == NODE_BOTH || at->spec_changed)
			return true;
		if (at->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/* With another strategy those that wait for each other may be others. */
void
witness_forget_barriers(struct witness *witness, const struct witnessed *top)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used &&
		    witness_below(witness, &witness->nodes[i], top))
			witness->nodes[i].process.barrier = 0;
}

/* One that is down is concerned by a group only from its new place on (OTP O-19). */
void
witness_leave_barriers(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (parent == NULL || parent->spec->policy.strategy != STRATEGY_REST_FOR_ONE ||
	    (node->before != STATE_STOPPED && node->before != STATE_DONE &&
	     node->before != STATE_FAILED))
		return;
	for (uint32_t i = 0; i < SIM_BARRIERS; i++)
		witness->barrier_tops[i] &= ~(UINT64_C(1) << node->ref.slot);
}
