/* SPDX-License-Identifier: ISC */
/* log_pace.c - a line of log that others can cause as often as they like comes at a pace.
 */
#include "config.h"

#include "base/log_pace.h"

/*
 * True if it may be told now, as one of at most `max` in a period.  Then ret_held says
 * how many were not told since the last one; else it is counted among them.
 */
bool
log_pace_admit(struct log_pace *pace, uint64_t period_ms, uint32_t max, uint64_t now_ms,
               uint64_t *ret_held)
{
	if (now_ms >= pace->end_ms) {
		pace->end_ms = now_ms + period_ms;
		pace->n_told = 0;
	}
	if (pace->n_told == max) {
		pace->n_held += pace->n_held < UINT32_MAX;
		return false;
	}
	pace->n_told++;
	*ret_held = pace->n_held;
	pace->n_held = 0;
	return true;
}
