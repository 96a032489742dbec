/* SPDX-License-Identifier: ISC */
/* window.c - how often: may this be restarted once more? */
#include "config.h"

#include "core/value/window.h"

#include "base/assert.h"

#include "core/pure.h"

/*
 * True if one more restart would be granted.  Counts nothing.
 *
 * The rule is supervisor:add_restart/1 of Erlang/OTP, in exact milliseconds: refuse when
 * `cap` restarts already happened within [now - period, now], both ends included.  Only
 * the oldest of the last `cap` can decide.  A cap of 0 never grants.
 */
bool
window_admits(const struct window *window, const uint64_t *stamps, uint64_t period_ms,
              uint64_t now_ms)
{
	if (window->cap == 0)
		return false;
	if (window->count < window->cap)
		return true;
	uint64_t oldest_ms = stamps[window->head];
	ASSERT(oldest_ms <= now_ms);
	return now_ms - oldest_ms > period_ms;
}

/* Remember a restart that was granted. */
void
window_count(struct window *window, uint64_t *stamps, uint64_t now_ms)
{
	ASSERT(window->cap > 0);
	stamps[window->head] = now_ms;
	window->head = (window->head + 1) % window->cap;
	if (window->count < window->cap)
		window->count++;
}

/* How many restarts count at this moment. */
uint32_t
window_in_use(const struct window *window, const uint64_t *stamps, uint64_t period_ms,
              uint64_t now_ms)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= window->count; i++) {
		uint32_t at = (window->head + window->cap - i) % window->cap;

		/* From the newest backwards: the first that is too old ends the count. */
		if (now_ms - stamps[at] > period_ms)
			break;
		n++;
	}
	return n;
}

/*
 * Akka's fixed window: true if one more restart is granted, which is counted then.
 *
 * The window opens at the first restart; when it has run out it opens anew at the next
 * restart, which is always granted (ChildRestartStats.retriesInWindowOkay).  A limit of
 * 0 grants none.
 */
bool
window_fixed_admit(struct window *window, uint32_t restarts, uint64_t period_ms,
                   uint64_t now_ms)
{
	if (restarts == 0)
		return false;
	if (window->count == 0 || now_ms - window->opened_ms > period_ms) {
		window->opened_ms = now_ms;
		window->count = 1;
		return true;
	}
	if (window->count <= restarts)
		window->count++;
	return window->count <= restarts;
}

/* Forget everything that was counted: a fixed window opens anew, the next stamp of
 * another goes to the first place. */
void
window_clear(struct window *window)
{
	window->count = 0;
	window->head = 0;
}
