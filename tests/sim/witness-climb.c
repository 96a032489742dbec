/* SPDX-License-Identifier: ISC */
/* witness-climb.c - failures on their way up: each level once, each is decided, and what
 * a resume may not do (I17, I18).
 */
#include "config.h"

#include "tests/sim/sim.h"

#define RESUMES_MAX 5     /* of a dead process … */
#define RESUMES_MS  60000 /* … within so long */

/* REPORT_ESCALATED: always to the next level, so that no chain is without an end. */
void
witness_climbs(struct witness *witness, const struct action *report)
{
	const struct core *core = witness->rig->core;
	struct witnessed *origin = witness_find(witness, report->origin);
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
	if (origin != NULL)
		origin->gave_up = 0;
}

/* REPORT_FAILURE: its way up ends here. */
void
witness_decided(struct witness *witness, struct witnessed *node, struct witnessed *origin,
                const struct action *report)
{
	witness->climber = UINT32_MAX;
	origin->gave_up = 0;
	node->gave_up = 0;
	witness->user_failed = node->ref.slot == CORE_USER &&
	                       report->directive == DIRECTIVE_STOP && !witness->shutdown;
}

/* It starts: if it gave up that was decided before. */
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

/* ACTION_EXIT: what nobody could handle ends supd, and says so. */
void
witness_check_exit(struct witness *witness)
{
	const struct witnessed *user = &witness->nodes[CORE_USER];

	if (witness->user_failed && !witness->shutdown && user->told_down < user->down &&
	    witness->exit_status != CORE_EXIT_GAVE_UP)
		witness_blame(witness, "I17 /user failed, and supd ends with %d",
		              witness->exit_status);
}
