/* SPDX-License-Identifier: ISC */
/* witness_dynamic.c - actors that come and go at run time, and leave no trace (I31). */
#include "config.h"

#include "tests/sim/sim.h"

/* ACTION_ADDED: all that the command brings along, in its order. */
void
witness_joined(struct witness *witness, const struct action *action)
{
	const struct op *op = witness->op;
	const uint32_t i = action->addition_index;
	struct witnessed *node;
	struct ref parent;

	if (op == NULL || op->kind != OP_POST || op->event.kind != EVENT_ADD ||
	    action->addition_id != op->event.addition_id || i >= op->n_added ||
	    i != witness->n_joined) {
		witness_blame(witness, "I31 slot %u is added, nobody asked for that",
		              action->ref.slot);
		return;
	}
	parent = i == 0 ? op->event.ref : witness->joined[op->added[i].parent];
	witness_added(witness, action->ref, parent,
	              &witness->tape->specs[op->added[i].spec].spec, op->added[i].name);
	witness->joined[witness->n_joined++] = action->ref;
	node = witness_find(witness, action->ref);
	if (node == NULL || i > 0)
		return;
	node->joined = witness->seq;
	node->is_fresh = node->spec->enabled;
}

/* The command was given: all of them were added, or none. */
void
witness_check_joined(struct witness *witness)
{
	if (witness->n_joined != 0 && witness->n_joined != witness->op->n_added)
		witness_blame(witness, "I31 %u were added, not %u", witness->n_joined,
		              witness->op->n_added);
	witness->n_joined = 0;
}

/* The actors go for good, once they are down. */
void
witness_leave(struct witness *witness, struct witnessed *top)
{
	witness_mark(witness, top, &top->stop);
	witness_mark(witness, top, &top->down);
	witness_mark(witness, top, &top->told_down);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (node->used && witness_below(witness, node, top))
			node->removing = true;
	}
}

/*
 * EVENT_DELETE, after the core had it: refused if it runs, or is to, unless it is to be
 * stopped first, and when too many wait already.
 */
void
witness_delete(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);
	bool is_down;

	if (!witness->op_deletes || witness->op_refused || node == NULL || node->removing)
		return;
	is_down = node->before == STATE_STOPPED || node->before == STATE_DONE ||
	          node->before == STATE_FAILED;
	if (!event->stop && !is_down)
		return;
	witness_mark(witness, node, &node->deleted);
	witness_doubt(witness, node);
	node->may_be_stopped = true;
	if (node->joined != 0) {
		witness_leave(witness, node);
		return;
	}
	witness_mark(witness, node, &node->stop);
	if (witness_restart_is_due(witness, node))
		return;
	witness_mark(witness, node, &node->down);
	witness_mark(witness, node, &node->told_down);
}

/* A reload has a deleted actor again: it comes up as a new actor does. */
void
witness_restored(struct witness *witness, struct witnessed *top)
{
	witness_mark(witness, top, &top->up);
	witness->hurry = witness->seq;
	witness_renew(witness, top);
	top->may_be_stopped = witness_group_is_doomed(witness, top);
	witness_doubt(witness, top);
}

/* REPORT_FAILURE: one that was just added does not start, and is not added after all. */
void
witness_not_added(struct witness *witness, struct witnessed *node,
                  const struct action *report)
{
	if (!node->is_fresh || report->ruling.directive != DIRECTIVE_STOP ||
	    report->group)
		witness_blame(witness, "I31 slot %u was added already, or not at all",
		              node->ref.slot);
	node->must_go = true;
}

/* A child added to a supervisor is forgotten when the supervisor starts anew. */
void
witness_check_lost(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (node->joined == 0 || parent == NULL ||
	    parent->spec->kind != NODE_SUPERVISOR ||
	    parent->spec->policy.keep_children != KEEP_NO || parent->spec_changed)
		return;
	if (parent->started > node->joined)
		witness_blame(witness, "I31 slot %u outlived its supervisor",
		              node->ref.slot);
}
