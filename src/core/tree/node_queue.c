/* SPDX-License-Identifier: ISC */
/* node_queue.c - the nodes that are to be looked at before the turn ends, each once. */
#include "config.h"

#include "base/assert.h"
#include "core/tree/turn.h"

#include "core/pure.h"

static uint32_t *
queue_entries(const struct core *core)
{
	return core_block(core, core->at.queue);
}

/* Look at this node before the turn ends. */
void
queue_node(struct core *core, struct node *node)
{
	if (node->queued)
		return;
	node->queued = true;
	uint32_t at = (core->queue_head + core->queue_n) % core->size.nodes;
	queue_entries(core)[at] = node_slot(core, node);
	core->queue_n++;
	ASSERT(core->queue_n <= core->size.nodes);
}

/* Look at its supervisor before the turn ends; "/" has none. */
void
queue_parent(struct core *core, const struct node *node)
{
	struct node *parent = node_parent(core, node);

	if (parent != NULL)
		queue_node(core, parent);
}

/* The next node to be looked at, in use or not; NULL: there is none. */
struct node *
queue_take(struct core *core)
{
	if (core->queue_n == 0)
		return NULL;
	struct node *node = node_in(core, queue_entries(core)[core->queue_head]);
	core->queue_head = (core->queue_head + 1) % core->size.nodes;
	core->queue_n--;
	node->queued = false;
	return node;
}
