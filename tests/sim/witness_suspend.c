/* SPDX-License-Identifier: ISC */
/* witness_suspend.c - suspended actors stand still, and no other actors (I27, I28). */
#include "config.h"

#include "tests/sim/sim.h"

/* Is the actor up, frozen or not? */
bool
witness_runs(enum node_state state)
{
	return state == STATE_STARTING || state == STATE_RUNNING ||
	       state == STATE_SUSPENDED;
}

/* The reply to a suspend or resume: what was granted counts. */
void
witness_suspended(struct witness *witness, const struct action *reply,
                  enum event_kind kind)
{
	struct witnessed *node = witness_find(witness, reply->ref);

	if (node == NULL || reply->result != REPLY_DONE)
		return;
	if (kind == EVENT_SUSPEND)
		node->suspends++;
	else if (kind == EVENT_RESUME && node->suspends > 0)
		node->suspends--;
}

/* The time of a process that stands still is not the time of a healthy one. */
static void
stand_still(struct witness *witness, struct witnessed *node, bool stand)
{
	uint64_t from_ms = node->stands_since_ms;

	node->stands = stand;
	if (stand) {
		node->stands_since_ms = witness->rig->now_ms;
		return;
	}
	if (from_ms < node->process.ready_ms)
		from_ms = node->process.ready_ms;
	node->process.ready_ms += witness->rig->now_ms - from_ms;
}

/* ACTION_FREEZE, ACTION_THAW */
void
witness_freeze(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	bool freeze = action->kind == ACTION_FREEZE;

	if (node == NULL || !node->process.there || !node->process.spawned ||
	    node->process.life != action->life) {
		witness_blame(witness, "I5 a %s of nobody (slot %u life %u)",
		              action_kind_names[action->kind], action->ref.slot,
		              action->life);
		return;
	}
	if (node->process.frozen == freeze)
		witness_blame(witness, "I27 slot %u: a second %s", node->ref.slot,
		              action_kind_names[action->kind]);
	if (freeze && (node->process.stopped || node->process.killed))
		witness_blame(witness, "I28 slot %u is frozen and was told to end",
		              node->ref.slot);
	node->process.frozen = freeze;
	node->wellbeing.stood = true;
	node->wellbeing.probing = node->wellbeing.probing && !freeze;
}

/* REPORT_SUSPENDED, REPORT_RESUMED */
void
witness_stands(struct witness *witness, const struct action *report)
{
	struct witnessed *node = witness_find(witness, report->ref);
	bool stand = report->report == REPORT_SUSPENDED;

	if (node == NULL)
		return;
	if (node->stands == stand)
		witness_blame(witness, "I27 slot %u: %s is told again", node->ref.slot,
		              report_names[report->report]);
	if (node->spec->kind != NODE_SUPERVISOR && node->process.frozen != stand)
		witness_blame(witness, "I27 slot %u: %s is told, but not done",
		              node->ref.slot, report_names[report->report]);
	stand_still(witness, node, stand);
}

/* I27: the count of suspends is right, and the actor stands still if and only if its
 * count, or a supervisor's above it, is positive. */
void
witness_check_suspended(struct witness *witness, struct witnessed *node,
                        const struct node_view *view)
{
	struct process *process = &node->process;
	bool should = witness_runs(view->state) && view->suspended > 0;

	if (view->state == STATE_STOPPED || view->state == STATE_DONE ||
	    view->state == STATE_FAILED || view->state == STATE_UNKILLABLE)
		node->may_forget = true;
	if (view->suspends < node->suspends && node->may_forget)
		node->suspends = view->suspends;
	if (view->suspends != node->suspends)
		witness_blame(witness, "I27 slot %u: suspended %u times, not %u",
		              node->ref.slot, view->suspends, node->suspends);
	if (view->suspended < view->suspends)
		witness_blame(witness, "I27 slot %u: less than its own count",
		              node->ref.slot);
	/* The report of its other fate has come. */
	if (!witness_runs(view->state))
		node->stands = false;
	if (!process->there)
		process->frozen = false;
	node->may_forget = false;
	if (node->spec->kind != NODE_SUPERVISOR &&
	    (!process->spawned || !process->there || process->main_dead))
		should = false;
	if (should != (view->state == STATE_SUSPENDED) || should != node->stands ||
	    (node->spec->kind != NODE_SUPERVISOR && should != process->frozen))
		witness_blame(witness, "I27 slot %u: count %u, state %s, told %d, %d",
		              node->ref.slot, view->suspended,
		              node_state_names[view->state], node->stands,
		              process->frozen);
}
