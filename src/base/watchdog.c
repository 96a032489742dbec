/* SPDX-License-Identifier: ISC */
/* watchdog.c - is it silent for too long, and who speaks for it meanwhile? */
#include "config.h"

#include "base/watchdog.h"

#include <stdbool.h>

/* Nobody is watched yet; the superior, if period_ms is not 0, has just been satisfied. */
void
watchdog_init(struct watchdog *watchdog, uint64_t period_ms, uint64_t prove_ms,
              uint64_t now_ms)
{
	*watchdog = (struct watchdog){
	    .period_ms = period_ms,
	    .prove_ms = prove_ms,
	    .state = WATCHDOG_NONE,
	    .since_ms = now_ms,
	    .pinged_ms = now_ms,
	    .lost_ms = now_ms,
	};
}

/* The caller has seen this: one begins, it has proved itself, or it is gone. */
void
watchdog_enter(struct watchdog *watchdog, enum watchdog_state state, uint64_t now_ms)
{
	if (watchdog->state == WATCHDOG_PROVED)
		watchdog->lost_ms = now_ms;
	watchdog->state = state;
	watchdog->since_ms = now_ms;
}

/*
 * A sign of life, which the superior hears, too.  It does not prolong the time to prove
 * oneself, and saves nobody who has been aborted.
 */
void
watchdog_hear(struct watchdog *watchdog, uint64_t now_ms)
{
	watchdog->pinged_ms = now_ms;
	if (watchdog->state == WATCHDOG_PROVED)
		watchdog->since_ms = now_ms;
}

/* When silence becomes too long.  Three quarters of the period: the rest is for the next
 * one (DECISIONS 10). */
static uint64_t
hang_ms(const struct watchdog *watchdog)
{
	switch (watchdog->state) {
	case WATCHDOG_PROVING:
		return watchdog->since_ms + watchdog->prove_ms;
	case WATCHDOG_PROVED:
		if (watchdog->period_ms == 0)
			return UINT64_MAX;
		return watchdog->since_ms + watchdog->period_ms * 3 / 4;
	case WATCHDOG_ABORTED:
		return watchdog->since_ms + WATCHDOG_ABORT_MS;
	case WATCHDOG_NONE:
	case WATCHDOG_KILLED:
		break;
	}
	return UINT64_MAX;
}

/* When the superior is to be told in the place of one who does not. */
static uint64_t
ping_ms(const struct watchdog *watchdog)
{
	uint64_t next_ms = watchdog->pinged_ms + watchdog->period_ms / 2;

	if (watchdog->period_ms == 0 || watchdog->state == WATCHDOG_PROVED ||
	    next_ms > watchdog->lost_ms + WATCHDOG_GRACE_MS)
		return UINT64_MAX;
	return next_ms;
}

/* When watchdog_next() is due; UINT64_MAX: not before something else happens. */
uint64_t
watchdog_deadline_ms(const struct watchdog *watchdog)
{
	uint64_t hang = hang_ms(watchdog), ping = ping_ms(watchdog);

	return hang < ping ? hang : ping;
}

/* What the caller is to do now, one thing at a time; it is noted as done. */
enum watchdog_act
watchdog_next(struct watchdog *watchdog, uint64_t now_ms)
{
	if (hang_ms(watchdog) <= now_ms) {
		bool is_aborted = watchdog->state == WATCHDOG_ABORTED;

		watchdog_enter(watchdog, is_aborted ? WATCHDOG_KILLED : WATCHDOG_ABORTED,
		               now_ms);
		return is_aborted ? WATCHDOG_KILL : WATCHDOG_ABORT;
	}
	if (ping_ms(watchdog) <= now_ms) {
		watchdog->pinged_ms = now_ms;
		return WATCHDOG_PING;
	}
	return WATCHDOG_WAIT;
}
