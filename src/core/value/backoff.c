/* SPDX-License-Identifier: ISC */
/* backoff.c - when: the delay before the next start. */
#include "config.h"

#include "core/value/backoff.h"

#include "core/pure.h"

/* Fractions of a millisecond are kept in this many bits while the power is taken. */
#define FRACTION_BITS 20

/*
 * min(max, min·factorⁿ) in milliseconds, n the failures since the last reset, rounded
 * down.  Akka's BackoffSupervisor.calculateDelay without its overflow: the power is only
 * taken until it passes max.
 */
uint64_t
backoff_base(const struct backoff_spec *spec, uint32_t failures)
{
	uint64_t max = spec->max_ms << FRACTION_BITS;
	uint64_t base = spec->min_ms << FRACTION_BITS;

	if (spec->factor_milli <= 1000)
		return spec->min_ms < spec->max_ms ? spec->min_ms : spec->max_ms;
	for (uint32_t n = 0; n < failures && base < max; n++) {
		if (base / 1000 >= max / spec->factor_milli)
			return spec->max_ms;
		/* Whole and rest apart, so that the product cannot overflow. */
		uint64_t whole = base / 1000 * spec->factor_milli;
		uint64_t rest = base % 1000 * spec->factor_milli / 1000;

		base = whole + rest;
	}
	return (base < max ? base : max) >> FRACTION_BITS;
}

/*
 * The base plus jitter: a random part of it below `jitter`.  The jitter comes after the
 * cap and is never lost, so that actors that failed together do not start together.
 */
uint64_t
backoff_delay(const struct backoff_spec *spec, uint32_t failures, struct rng *rng)
{
	if (spec->none)
		return 0;
	uint64_t base = backoff_base(spec, failures);
	return base + rng_below(rng, base * spec->jitter_milli / 1000);
}

/* Between which bounds backoff_delay() draws; the upper one is not reached. */
void
backoff_range(const struct backoff_spec *spec, uint32_t failures, uint64_t *ret_min_ms,
              uint64_t *ret_max_ms)
{
	uint64_t base = spec->none ? 0 : backoff_base(spec, failures);

	*ret_min_ms = base;
	*ret_max_ms = base + base * spec->jitter_milli / 1000;
}

/* Put the keys that a decider rule names in place of the actor's own. */
void
backoff_override(struct backoff_spec *spec, const struct backoff_spec *rule,
                 uint32_t keys)
{
	if ((keys & BACKOFF_KEY_NONE) != 0)
		spec->none = rule->none;
	if ((keys & BACKOFF_KEY_MIN) != 0)
		spec->min_ms = rule->min_ms;
	if ((keys & BACKOFF_KEY_MAX) != 0)
		spec->max_ms = rule->max_ms;
	if ((keys & BACKOFF_KEY_FACTOR) != 0)
		spec->factor_milli = rule->factor_milli;
	if ((keys & BACKOFF_KEY_JITTER) != 0)
		spec->jitter_milli = rule->jitter_milli;
	if ((keys & ~(uint32_t)BACKOFF_KEY_NONE) != 0 && (keys & BACKOFF_KEY_NONE) == 0)
		spec->none = false;
	if (spec->max_ms < spec->min_ms)
		spec->max_ms = spec->min_ms;
}
