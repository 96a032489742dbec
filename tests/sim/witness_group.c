/* SPDX-License-Identifier: ISC */
/* witness_group.c - what is stopped and started together, and after which delay. */
#include "config.h"

#include "tests/sim/sim.h"

/* All children are started anew: counts may be forgotten. */
void
witness_renew(struct witness *witness, const struct witnessed *top)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (!node->used || !witness_below(witness, node, top))
			continue;
		node->first_grant = node->n_grants;
		node->n_resumed = 0;
		if (node != top)
			node->renewed = true;
	}
}

/* Present processes below must be gone before a member of the group starts. */
void
witness_raise_barrier(struct witness *witness, const struct witnessed *top)
{
	witness->barrier_tops[witness->barriers % SIM_BARRIERS] |= UINT64_C(1)
	                                                           << top->ref.slot;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (node->used && node->process.there &&
		    (node == top || !witness_is_kept(witness, node)) &&
		    witness_below(witness, node, top))
			node->process.barrier = witness->barriers;
	}
}

void
witness_new_barrier(struct witness *witness)
{
	witness->barriers++;
	witness->barrier_tops[witness->barriers % SIM_BARRIERS] = 0;
}

/* The node, or its whole group, is stopped and started again. */
void
witness_restarted(struct witness *witness, struct witnessed *node, bool group)
{
	witness_new_barrier(witness);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *member = &witness->nodes[i];

		if (!member->used || (member != node && !group) ||
		    !witness_in_group(witness, node, member))
			continue;
		witness_mark(witness, member, &member->stop);
		witness_raise_barrier(witness, member);
		if (spec_runs_once(member->spec)) {
			witness_mark(witness, member, &member->down);
			member->taken = witness->seq;
			continue;
		}
		witness_mark(witness, member, &member->up);
		witness_renew(witness, member);
	}
}

/* The same, but only later, and only if limits admit it: nothing is sure. */
void
witness_may_restart(struct witness *witness, struct witnessed *node)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *member = &witness->nodes[i];

		if (!member->used || !witness_in_group(witness, node, member))
			continue;
		witness_mark(witness, member, &member->stop);
		witness_mark(witness, member, &member->up);
		witness_renew(witness, member);
	}
}

void
witness_stopped(struct witness *witness, struct witnessed *node, bool group)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *member = &witness->nodes[i];

		if (!member->used || (member != node && !group) ||
		    !witness_in_group(witness, node, member))
			continue;
		witness_mark(witness, member, &member->stop);
		witness_mark(witness, member, &member->down);
		member->taken = witness->seq;
		/* A completed actor does not come back for its former work. */
		member->retired = 0;
	}
}

/* Whatever comes up for the same reason as this node, comes after this delay. */
void
witness_delayed(struct witness *witness, const struct witnessed *node, uint64_t delay_ms)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *other = &witness->nodes[i];

		if (!other->used || other->up != witness->seq ||
		    (other != node && witness_is_kept(witness, other)))
			continue;
		other->due_up = other->up;
		other->delay_ms = delay_ms;
		other->due_ms = witness->rig->now_ms + delay_ms;
	}
}

/* Its process is gone: the delay of what it was stopped for begins (anew). */
void
witness_gone(struct witness *witness, const struct witnessed *node)
{
	if (node->due_up != node->up || node->process.asked > node->due_up ||
	    node->deleted > node->process.asked || witness_is_kept(witness, node) ||
	    node->process.unkillable)
		return;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *other = &witness->nodes[i];

		if (other->used && other->due_up == node->due_up &&
		    other->process.asked < other->due_up)
			other->due_ms = witness->rig->now_ms + other->delay_ms;
	}
}
