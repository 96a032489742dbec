/* SPDX-License-Identifier: ISC */
/* suppose.c - a failure that did not happen, for forecasts on a copy of the core. */
#include "config.h"

#include "core/decide/marks.h"

#include "core/pure.h"

/* Is the process dead by such a cause? */
static bool
cause_is_end(const struct cause *cause)
{
	switch (cause->kind) {
	case CAUSE_NORMAL:
	case CAUSE_EXIT:
	case CAUSE_SIGNAL:
	case CAUSE_CORE:
	case CAUSE_OOM:
	case CAUSE_EXEC:
	case CAUSE_EARLY_EXIT:
	case CAUSE_UNKNOWN:
		return true;
	case CAUSE_KILLED:
	case CAUSE_START_TIMEOUT:
	case CAUSE_WATCHDOG:
	case CAUSE_HEALTH:
	case CAUSE_SELF_REPORT:
	case CAUSE_STOPPED:
	case CAUSE_DEATH_PACT:
	case CAUSE_INTENSITY:
	case CAUSE_UNKILLABLE:
	case CAUSE_KIND_MAX:
		break;
	}
	return false;
}

/*
 * Suppose that the process of this actor fails so, now; of one that ends nothing is left.
 * False, and nothing changes: it has no process, or is on its way down.
 *
 * Only for a copy of the core that nothing real is behind.
 */
bool
core_suppose(struct core *core, uint64_t now_ms, struct ref ref,
             const struct cause *cause, struct action_list *actions)
{
	struct turn turn = {core, now_ms, actions};
	struct node *node = node_lookup(core, ref);

	core->now_ms = now_ms;
	if (node == NULL || !node->process.main_alive || node_is_leaving(node) ||
	    node->state == STATE_STOPPING)
		return false;
	if (!cause_is_end(cause)) {
		failure_handle(&turn, node, cause, node);
		return true;
	}
	node->process.main_alive = false;
	node->process.alive = false;
	node->process.end = *cause;
	if (cause->kind != CAUSE_EXEC)
		turn_report(&turn, REPORT_EXITED, node)->cause = *cause;
	if (cause->kind == CAUSE_NORMAL)
		failure_normal_end(&turn, node);
	else
		failure_handle(&turn, node, cause, node);
	return true;
}
