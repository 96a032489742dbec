/* SPDX-License-Identifier: ISC */
/* limits.c - may a child be restarted, or resumed, once more? */
#include "config.h"

#include "core/decide/limits.h"

#include <string.h>

#include "core/pure.h"

/* True if this child may be restarted once more, as far as its own `limit` goes.  Counts
 * it. */
static bool
admit_child(const struct core *core, struct node *child, const struct limit_spec *limit,
            uint64_t now_ms)
{
	uint64_t *stamps = pool_stamps(core, &child->limits.own);

	if (limit->fixed)
		return window_fixed_admit(&child->limits.own, limit->restarts,
		                          limit->within_ms, now_ms);
	if (!window_admits(&child->limits.own, stamps, limit->within_ms, now_ms))
		return false;
	window_count(&child->limits.own, stamps, now_ms);
	return true;
}

/* True if this supervisor may restart something once more.  Counts it; OTP's
 * add_restart. */
static bool
admit_intensity(struct turn *turn, struct node *supervisor)
{
	const struct intensity_spec *spec = &spec_of(supervisor)->policy.intensity;
	uint64_t *stamps = pool_stamps(turn->core, &children_of(supervisor)->intensity);

	if (spec->unlimited)
		return true;
	if (!window_admits(&children_of(supervisor)->intensity, stamps, spec->within_ms,
	                   turn->now_ms))
		return false;
	window_count(&children_of(supervisor)->intensity, stamps, turn->now_ms);
	return true;
}

/* How many restarts count now in the intensity of this supervisor; 0: no limit. */
uint32_t
limits_in_use(const struct core *core, const struct node *supervisor, uint64_t now_ms)
{
	if (spec_of(supervisor)->policy.intensity.unlimited)
		return 0;
	return window_in_use(&children_of(supervisor)->intensity,
	                     pool_stamps(core, &children_of(supervisor)->intensity),
	                     spec_of(supervisor)->policy.intensity.within_ms, now_ms);
}

/*
 * True if a dead process may be resumed once more.  Counts it.  The sixth resume within
 * a minute is a restart (SEMANTICS 1).
 */
bool
limits_admit_resume(struct node *node, uint64_t now_ms)
{
	uint16_t *closer_ms = node->limits.closer_ms;
	const uint64_t since_ms =
	    node->limits.resumed_ms == 0 ? UINT16_MAX : now_ms - node->limits.resumed_ms;
	uint64_t all_ms = since_ms;

	for (int i = 0; i < RESUME_GUARD - 1; i++)
		all_ms += UINT16_MAX - closer_ms[i];
	if (all_ms <= RESUME_MS)
		return false;
	memmove(closer_ms + 1, closer_ms,
	        sizeof(node->limits.closer_ms) - sizeof(*closer_ms));
	closer_ms[0] = since_ms < UINT16_MAX ? (uint16_t)(UINT16_MAX - since_ms) : 0;
	node->limits.resumed_ms = now_ms;
	return true;
}

/*
 * True if every member in the scope of this restart may be restarted again.  As in Akka's
 * AllForOneStrategy: each member's own counter, and the first refusal ends the question.
 */
static bool
scope_is_admitted(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	struct node *supervisor = node_supervisor(core, node);
	const struct limit_spec *limit = &spec_of(supervisor)->policy.limit;

	if (!limit->on)
		return true;
	if (spec_of(supervisor)->policy.strategy == STRATEGY_ONE_FOR_ONE)
		return admit_child(core, node, limit, turn->now_ms);
	CHILDREN_FOREACH (core, supervisor, child) {
		if (!strategy_in_scope(core, node, child) ||
		    child->plan.stay == STAY_HELD)
			continue;
		if (!admit_child(core, child, limit, turn->now_ms))
			return false;
	}
	return true;
}

/* What restart becomes for this node: limits and intensity may turn it into another. */
void
limits_admit_restart(struct turn *turn, struct node *node, struct decision *decision)
{
	struct node *supervisor = node_supervisor(turn->core, node);

	if (!scope_is_admitted(turn, node))
		decision_set(decision,
		             spec_of(supervisor)->policy.limit.escalate
		                 ? DIRECTIVE_ESCALATE
		                 : DIRECTIVE_STOP,
		             DECIDED_LIMIT);
	else if (!admit_intensity(turn, supervisor))
		decision_set(decision, DIRECTIVE_ESCALATE, DECIDED_INTENSITY);
}
