/* SPDX-License-Identifier: ISC */
/* witness_demand.c - actors that start on demand: only for a client. */
#include "config.h"

#include "tests/sim/sim.h"

/*
 * EVENT_DEMAND, EVENT_IDLE; false: it cannot have any effect (I34), as it is in no state
 * for it.
 */
bool
witness_demand(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);
	struct node_view view;

	if (node == NULL || !core_valid(witness->rig->core, node->ref))
		return false;
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	if (event->kind == EVENT_DEMAND) {
		if (!view.on_standby)
			return false;
		node->is_needed = true;
		witness_mark(witness, node, &node->up);
		return true;
	}
	if (!view.demanded)
		return false;
	node->is_needed = false;
	if (witness_runs(view.state))
		witness_mark(witness, node, &node->stop);
	return true;
}

/* The work of an actor on demand is done, unless its hook fails. */
void
witness_is_done(struct witness *witness, struct witnessed *node)
{
	witness_mark(witness, node, &node->stop);
}

/* ACTION_LISTEN */
void
witness_listen(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL || (!node->spec->on_demand && !node->spec_changed)) {
		witness_blame(witness, "(demand) slot %u is to be listened for",
		              action->ref.slot);
		return;
	}
	if (node->process.there || node->hook.serial != 0)
		witness_blame(witness, "(demand) slot %u runs and waits", node->ref.slot);
	if (node->up < node->down && !witness_is_kept(witness, node))
		witness_blame(witness, "I4 slot %u waits, nobody wants it up",
		              node->ref.slot);
	node->is_needed = false;
	node->is_fresh = false;
	node->passed = witness->seq;
	node->reached[NEED_STARTED] = node->reached[NEED_READY] = witness->seq;
}

/*
 * Does the actor, or a supervisor above it, wait for a client? It has not ended, or is
 * hidden and begins anew with its supervisor.
 */
bool
witness_is_awaited(struct witness *witness, const struct witnessed *node)
{
	const struct rig *rig = witness->rig;

	for (; node != NULL; node = witness_parent(witness, node)) {
		if (core_valid(rig->core, node->ref)) {
			if (rig_view(rig, node->ref).on_standby)
				return true;
		} else if (core_incarnation(rig->core, node->ref) == 0) {
			return false;
		}
		if (node->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/* From now on it runs in any case: it may be that it only waited to be needed. */
void
witness_demand_changed(struct witness *witness, struct witnessed *node,
                       const struct spec *spec)
{
	if (node->spec->on_demand && !spec->on_demand && node->up > node->down)
		witness_mark(witness, node, &node->up);
}

/* Its process is asked for. */
void
witness_demanded(struct witness *witness, struct witnessed *node)
{
	if (node->spec->on_demand && !node->is_needed && !node->spec_changed)
		witness_blame(witness, "(demand) slot %u starts, and nobody needs it",
		              node->ref.slot);
	node->is_needed = true;
}
