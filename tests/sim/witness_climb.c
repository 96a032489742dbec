/* SPDX-License-Identifier: ISC */
/* witness_climb.c - failures on their way up: each level once, each is decided, and what
 * a resume may not do (I17, I18).
 */
#include "config.h"

#include "tests/sim/witness_climb.h"

#include <string.h>

#include "base/units.h"

#define RESUMES_MAX 5     /* of a dead process … */
#define RESUMES_MS  60000 /* … within so long */

/*
 * REPORT_FAILURE, or REPORT_ESCALATED, of a supervisor that could not start: the failure
 * is that of its child, and what it had started is gone.
 */
static void
check_start_failed(struct witness *witness, const struct witnessed *node,
                   const struct action *report)
{
	const bool is_there = witness_find(witness, node->failed_child) != NULL;

	if (!ref_equal(report->origin, is_there ? node->failed_child : node->ref))
		witness_blame(witness,
		              "I33 slot %u could not start, but not because of #%u",
		              node->ref.slot, report->origin.slot);
	if (memcmp(&report->cause, &node->start_cause, sizeof(report->cause)) != 0)
		witness_blame(witness, "I33 slot %u could not start for another cause",
		              node->ref.slot);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used &&
		    witness->nodes[i].parent == node->ref.slot &&
		    witness_anyone_there(witness, &witness->nodes[i]))
			witness_blame(witness, "I7 slot %u fails before #%u is gone",
			              node->ref.slot, i);
}

/* Was there such a failure?  The turn's end compares how many were told. */
void
witness_check_told(struct witness *witness, struct witnessed *origin,
                   const struct action *action)
{
	const struct process *process = &origin->process;
	const struct witnessed *parent = witness_parent(witness, origin);

	if (origin->start_failed) {
		check_start_failed(witness, origin, action);
		return;
	}
	if (origin->may_go_on && !ref_equal(action->ref, origin->ref) && parent != NULL &&
	    parent->spec->policy.when_empty == WHEN_EMPTY_ESCALATE) {
		/* Its group was stopped, and no child is left. */
		origin->may_go_on = false;
		return;
	}
	if (action->cause.kind == CAUSE_DEATH_PACT) {
		if (origin->pacts == 0)
			witness_blame(witness, "I26 slot %u fails of no end",
			              origin->ref.slot);
		else
			origin->pacts--;
	}
	if (action->cause.kind == CAUSE_START_TIMEOUT) {
		if (!process->spawned || process->ready ||
		    origin->spec->start.timeout_ms == DURATION_INFINITE ||
		    (!origin->spec_changed &&
		     witness->rig->now_ms <
		         process->spawned_ms + origin->spec->start.timeout_ms))
			witness_blame(witness, "I33 slot %u: no such timeout",
			              origin->ref.slot);
		if (process->barrier != 0)
			witness_blame(witness, "I13 slot %u: a timeout while it stops",
			              origin->ref.slot);
	} else if (action->cause.kind == CAUSE_UNKILLABLE) {
		if (!process->unkillable)
			witness_blame(witness, "I36 slot %u fails, and can be killed",
			              origin->ref.slot);
	} else if (witness_living_failed(witness, origin, &action->cause)) {
		return;
	} else if (action->cause.kind == CAUSE_INTENSITY ||
	           action->cause.kind == CAUSE_KILLED) {
		if (!origin->maybe && origin->spec->kind == NODE_WORKER)
			witness_blame(witness, "I33 slot %u fails for no reason",
			              origin->ref.slot);
	} else if (action->cause.kind == CAUSE_NORMAL &&
	           origin->spec->kind != NODE_WORKER && origin->may_be_retired != 0) {
		/* A limit refuses to start it anew, though its work was done. */
		return;
	} else {
		origin->told++;
		/* What a limit refuses after a normal end can only climb. */
		if (process->barrier != 0 && action->cause.kind != CAUSE_NORMAL)
			witness_blame(witness, "I13 slot %u fails again in a group",
			              origin->ref.slot);
	}
}

/* REPORT_ESCALATED: always to the next level, so that no chain is without an end. */
void
witness_climbs(struct witness *witness, const struct action *report)
{
	const struct core *core = witness->rig->core;
	uint32_t depth;

	if (!core_valid(core, report->ref))
		return;
	depth = rig_view(witness->rig, report->ref).depth;
	if (!ref_equal(report->to, core_parent(core, report->ref)))
		witness_blame(witness, "I17 slot %u does not escalate to its supervisor",
		              report->ref.slot);
	if (witness->climb_began == witness->op_began &&
	    witness->climber == report->origin.slot && depth >= witness->climbed_to)
		witness_blame(witness, "I17 slot %u is passed twice", report->ref.slot);
	witness->climber = report->origin.slot;
	witness->climbed_to = depth;
	witness->climb_began = witness->op_began;
	witness->escalated = *report;
}

/* REPORT_STOPPING: because it cannot start, as its supervisor was just told? */
bool
witness_start_fails(const struct witness *witness, const struct witnessed *node)
{
	const enum cause_kind kind = witness->escalated.cause.kind;

	return ref_equal(witness->escalated.ref, node->ref) &&
	       witness->climb_began == witness->op_began &&
	       (kind == CAUSE_EXEC || kind == CAUSE_START_TIMEOUT ||
	        kind == CAUSE_EARLY_EXIT);
}

/*
 * A supervisor that fails once its children are gone is left alone meanwhile: these come
 * when its failure was decided, or when a command or a group wants it down anyway.
 */
void
witness_acts(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	const enum action_kind kind = action->kind;

	if (node == NULL)
		return;
	if (kind == ACTION_STOP || kind == ACTION_KILL || kind == ACTION_SPAWN ||
	    kind == ACTION_HOOK || kind == ACTION_LISTEN ||
	    (kind == ACTION_REPORT &&
	     (action->report == REPORT_STOPPED || action->report == REPORT_STARTED)))
		node->start_failed = false;
}

/*
 * The actor that fails at this level because of what happened at `origin`, on the way up
 * from there: a supervisor that could not start, or the origin itself.
 */
struct witnessed *
witness_failed(struct witness *witness, const struct witnessed *level,
               struct witnessed *origin)
{
	struct witnessed *failed = origin;

	for (struct witnessed *at = origin; at != NULL;
	     at = witness_parent(witness, at)) {
		if (at->start_failed)
			failed = at;
		if (at == level || at->ref.slot == CORE_USER)
			break;
	}
	return failed;
}

/* REPORT_FAILURE: its way up ends here. */
void
witness_decided(struct witness *witness, struct witnessed *node, struct witnessed *failed,
                const struct action *report)
{
	const struct witnessed *origin = witness_find(witness, report->origin);

	witness->climber = UINT32_MAX;
	witness->escalated.ref = REF_NONE;
	failed->gave_up = 0;
	failed->start_failed = false;
	node->gave_up = 0;
	/* Of an actor named by exit_code_from the status is its own. */
	witness->user_failed = node->ref.slot == CORE_USER &&
	                       (origin == NULL || !origin->spec->gives_exit) &&
	                       report->ruling.directive == DIRECTIVE_STOP &&
	                       !witness->shutdown;
}

/* It starts: a giving up was decided before. */
void
witness_check_decided(struct witness *witness, const struct witnessed *node)
{
	if (node->gave_up != 0)
		witness_blame(witness, "I17 slot %u gave up, and nobody decided",
		              node->ref.slot);
}

/* A dead process is resumed: so often at most in so long a time. */
void
witness_resumed(struct witness *witness, struct witnessed *node)
{
	const uint64_t now_ms = witness->rig->now_ms;
	uint64_t *oldest_ms = &node->resumed_ms[node->n_resumed % RESUMES_MAX];

	if (node->n_resumed >= RESUMES_MAX && now_ms - *oldest_ms <= RESUMES_MS)
		witness_blame(witness, "I18 slot %u is resumed once too often",
		              node->ref.slot);
	*oldest_ms = now_ms;
	node->n_resumed++;
}

/* ACTION_EXIT: a failure that no supervisor handled ends supd, with a report. */
void
witness_check_exit(struct witness *witness)
{
	const struct witnessed *user = &witness->nodes[CORE_USER];

	if (witness->user_failed && !witness->shutdown && user->told_down < user->down &&
	    witness->exit_status != CORE_EXIT_GAVE_UP)
		witness_blame(witness, "I17 /user failed, and supd ends with %d",
		              witness->exit_status);
}
