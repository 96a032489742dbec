/* SPDX-License-Identifier: ISC */
/* part.c - the part of a child in the operation of its supervisor: member of a group, in
 * the sequence of starts, or both; changed only here, with the counts of the supervisor.
 */
#include "config.h"

#include "base/assert.h"
#include "core/tree/turn.h"

#include "core/pure.h"

/* It is stopped, and perhaps started again, with others. */
void
part_join(struct core *core, struct node *child)
{
	if (!child->part.grouped && node_is_live(child))
		children_of(node_supervisor(core, child))->n_grouped++;
	child->part.grouped = true;
}

/* It is no member of a group any more. */
void
part_leave(struct core *core, struct node *child)
{
	if (child->part.grouped && node_is_live(child))
		children_of(node_supervisor(core, child))->n_grouped--;
	child->part.grouped = false;
}

/* It is to be started in the sequence of its supervisor, or is not. */
void
part_line_up(struct core *core, struct node *child, bool is_sequenced)
{
	children_of(node_supervisor(core, child))->n_sequenced +=
	    (uint32_t)is_sequenced - (uint32_t)child->part.sequenced;
	child->part.sequenced = is_sequenced;
}

/* It no longer holds up the sequence of its supervisor, which is looked at. */
void
part_pass(struct core *core, struct node *child)
{
	struct node *supervisor = node_supervisor(core, child);

	if (!child->part.sequenced)
		return;
	ASSERT(children_of(supervisor)->n_sequenced > 0);
	part_line_up(core, child, false);
	queue_node(core, supervisor);
}
