/* SPDX-License-Identifier: ISC */
/* limits.c - may a child be restarted, or resumed, once more? */
#include "config.h"

#include "core/decide/limits.h"

#include "core/pure.h"

/* May this child be restarted once more, as far as its own `limit` goes?  Counts it. */
bool
limits_admit_child(const struct core *core, struct node *child,
                   const struct limit_spec *limit, uint64_t now_ms)
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

/* May this supervisor restart something once more?  Counts it; OTP's add_restart. */
bool
limits_admit_intensity(struct turn *turn, struct node *supervisor)
{
	const struct intensity_spec *spec = &supervisor->spec.intensity;
	uint64_t *stamps = pool_stamps(turn->core, &supervisor->limits.intensity);

	if (spec->unlimited)
		return true;
	if (!window_admits(&supervisor->limits.intensity, stamps, spec->within_ms,
	                   turn->now_ms))
		return false;
	window_count(&supervisor->limits.intensity, stamps, turn->now_ms);
	return true;
}

/* So many restarts count in the intensity of this supervisor; 0: it has no limit. */
uint32_t
limits_in_use(struct turn *turn, const struct node *supervisor)
{
	if (supervisor->spec.intensity.unlimited)
		return 0;
	return window_in_use(&supervisor->limits.intensity,
	                     pool_stamps(turn->core, &supervisor->limits.intensity),
	                     supervisor->spec.intensity.within_ms, turn->now_ms);
}

/*
 * May a dead process be resumed once more?  Counts it.  The sixth resume within a minute
 * is a restart (SEMANTICS 1).
 */
bool
limits_admit_resume(struct node *node, uint64_t now_ms)
{
	uint32_t at = node->limits.guard_n % RESUME_GUARD;

	if (node->limits.guard_n >= RESUME_GUARD &&
	    now_ms - node->limits.guard_ms[at] <= RESUME_MS)
		return false;
	node->limits.guard_ms[at] = now_ms;
	/* Wraps after RESUME_GUARD times a lot, to a value that still says "full". */
	node->limits.guard_n = node->limits.guard_n == 2 * RESUME_GUARD - 1
	                           ? RESUME_GUARD
	                           : node->limits.guard_n + 1;
	return true;
}
