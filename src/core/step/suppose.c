/* SPDX-License-Identifier: ISC */
/* suppose.c - a failure that did not happen, for forecasts on a copy of the core. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* True if the process is dead by such a cause. */
static bool
cause_is_end(const struct cause *cause)
{
	const unsigned int ends = 1u << CAUSE_NORMAL | 1u << CAUSE_EXIT |
	                          1u << CAUSE_SIGNAL | 1u << CAUSE_CORE |
	                          1u << CAUSE_OOM | 1u << CAUSE_EXEC |
	                          1u << CAUSE_EARLY_EXIT | 1u << CAUSE_UNKNOWN;

	return (ends >> cause->kind & 1) != 0;
}

/*
 * Suppose that the process of this actor fails now with this cause; where the cause is an
 * end, nothing of the process is left.  False if the actor has no process, or is on its
 * way down: then nothing changes.
 *
 * Only for a copy of the core: the process itself has not failed.
 */
bool
core_suppose(struct core *core, uint64_t now_ms, struct ref ref,
             const struct cause *cause, struct action_list *actions)
{
	struct turn turn = {core, now_ms, actions};
	struct node *node = node_lookup(core, ref);

	core->now_ms = now_ms;
	if (node == NULL || !process_is_main_there(node) || node_is_leaving(node) ||
	    node->state == STATE_STOPPING)
		return false;
	if (!cause_is_end(cause)) {
		failure_handle(&turn, node, cause, node);
		return true;
	}
	process_lost(node);
	node->process.end = *cause;
	if (cause->kind != CAUSE_EXEC)
		turn_report(&turn, REPORT_EXITED, node)->cause = *cause;
	if (cause->kind == CAUSE_NORMAL)
		failure_normal_end(&turn, node);
	else
		failure_handle(&turn, node, cause, node);
	return true;
}
