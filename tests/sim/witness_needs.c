/* SPDX-License-Identifier: ISC */
/* witness_needs.c - actors that start only when their needs are met. */
#include "config.h"

#include "tests/sim/sim.h"

/*
 * An input is over: note which needs this actor meets by now. A gone actor stays as it
 * was, until it is added again.
 */
void
witness_reached(struct witness *witness, struct witnessed *node)
{
	struct node_view view;
	bool is_done, runs;

	if (!node->used)
		return;
	if (!core_valid(witness->rig->core, node->ref)) {
		for (uint32_t need = 0; need < NEED_MAX; need++)
			if (node->reached[need] != 0)
				node->reached[need] = witness->seq;
		return;
	}
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	is_done = view.state == STATE_DONE;
	runs = view.state == STATE_STARTING || witness_runs(view.state);
	if (is_done || view.on_standby ||
	    (runs && (view.process.spawned || view.kind == NODE_SUPERVISOR)))
		node->reached[NEED_STARTED] = witness->seq;
	if (view.ready)
		node->reached[NEED_READY] = witness->seq;
	if (is_done)
		node->reached[NEED_COMPLETED] = witness->seq;
}

/* A report tells of it within an input. */
void
witness_reports_reached(struct witness *witness, const struct action *report)
{
	struct witnessed *node = witness_find(witness, report->ref);
	const bool is_done =
	    report->report == REPORT_TERMINATED && report->cause.kind == CAUSE_NORMAL;

	if (node == NULL || report->death.watch != 0)
		return;
	if (report->report == REPORT_STARTED || is_done)
		node->reached[NEED_STARTED] = witness->seq;
	if (report->report == REPORT_READY)
		node->reached[NEED_READY] = witness->seq;
	if (is_done)
		node->reached[NEED_COMPLETED] = witness->seq;
}

/* Since when is the need met? A gone actor stays as it was. */
static uint64_t
reached(const struct witness *witness, const struct witnessed *node, enum need need)
{
	const uint64_t seq = node->reached[need];

	if (seq == 0 || !node->used)
		return 0;
	return core_valid(witness->rig->core, node->ref) ? seq : witness->seq;
}

/* Were all its needs met, in this turn at least? */
void
witness_check_needs(struct witness *witness, const struct witnessed *node)
{
	/* Its needs may have been others when it passed. */
	if (node->spec_changed)
		return;
	for (uint32_t i = 0; i < node->spec->n_needs; i++) {
		const struct need_spec *need = &node->spec->needs[i];
		uint64_t since = 0;

		for (uint32_t k = 0; k < SIM_NODES_MAX; k++) {
			const struct witnessed *other = &witness->nodes[k];

			if (other->name == need->target &&
			    reached(witness, other, need->level) > since)
				since = reached(witness, other, need->level);
		}
		if (since == 0 || since < witness->turn_began)
			witness_blame(witness,
			              "(needs) slot %u starts, what it needs is not %s",
			              node->ref.slot, need_names[need->level]);
	}
}

/* Does an actor of that name meet the need? A forgotten actor may have met it. */
static bool
is_met(struct witness *witness, const struct need_spec *need)
{
	for (uint32_t k = 0; k < SIM_NODES_MAX; k++) {
		const struct witnessed *other = &witness->nodes[k];
		struct node_view view;

		if (!other->used || other->name != need->target ||
		    !core_valid(witness->rig->core, other->ref))
			continue;
		core_view(witness->rig->core, other->ref, witness->rig->now_ms, &view);
		if (need->level == NEED_COMPLETED ? view.state == STATE_DONE
		    : need->level == NEED_READY
		        ? view.ready
		        : view.state == STATE_DONE || view.on_standby ||
		              witness_runs(view.state))
			return true;
	}
	return false;
}

/* Does the actor rightly wait for an unmet need? */
bool
witness_unmet(struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	for (uint32_t i = 0; i < node->spec->n_needs; i++)
		if ((view.unmet >> i & 1) != 0 && !is_met(witness, &node->spec->needs[i]))
			return true;
	return false;
}

/* Does an actor wait for a need? Siblings may have to wait with it. */
bool
witness_holds_up(struct witness *witness)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used &&
		    core_valid(witness->rig->core, witness->nodes[i].ref) &&
		    witness_unmet(witness, &witness->nodes[i]))
			return true;
	return false;
}
