/* SPDX-License-Identifier: ISC */
/* node_state.c - a node enters a state: the one place where that happens. */
#include "config.h"

#include "core/wait/wait.h"

#include "core/pure.h"

/* The node has failed (1), or has not any more (-1): that counts at all above it, unless
 * the node is hidden. */
void
state_count_failed(struct core *core, const struct node *node, int change)
{
	if (change == 0 || node_is_hidden(node))
		return;
	for (struct node *at = node_parent(core, node); at != NULL;
	     at = node_parent(core, at))
		children_of(at)->n_failed += (uint32_t)change;
}

/*
 * Enter a state: clear the deadlines of the old state, count the supervisor's children,
 * look at waiting calls.
 */
void
state_set(struct core *core, struct node *node, enum node_state state)
{
	struct node *parent = node_parent(core, node);
	bool was_live = node_is_live(node);

	gate_leave(core, node);
	deadline_clear(core, node, TIMER_STATE);
	deadline_clear(core, node, TIMER_READY);
	if (node->state != STATE_RUNNING || state != STATE_RUNNING) {
		deadline_clear(core, node, TIMER_RESET);
		deadline_clear(core, node, TIMER_WATCHDOG);
		deadline_clear(core, node, TIMER_HEALTH);
	}
	if (parent != NULL) {
		children_of(parent)->n_live -= was_live;
		children_of(parent)->n_pending -= node_is_pending(node);
		children_of(parent)->n_grouped -= was_live && node->part.grouped;
	}
	if (state != node->state)
		node->since_ms = core->now_ms;
	state_count_failed(core, node,
	                   (state == STATE_FAILED) - (node->state == STATE_FAILED));
	node->state = state;
	gate_end_standby(node);
	if (parent != NULL) {
		children_of(parent)->n_live += node_is_live(node);
		children_of(parent)->n_pending += node_is_pending(node);
		children_of(parent)->n_grouped +=
		    node_is_live(node) && node->part.grouped;
	}
	wait_state_changed(core, node);
	watch_state_changed(core, node);
	gate_state_changed(core, node);
}
