/* SPDX-License-Identifier: ISC */
/* pace.c - a line of log that others can cause as often as they like comes at a pace. */
#include "config.h"

#include "base/pace.h"

/*
 * May it be told now?  Then ret_held says how many were not told since the last time;
 * else it is counted among them.
 */
bool
pace_admit(struct pace *pace, uint64_t period_ms, uint64_t now_ms, uint64_t *ret_held)
{
	if (now_ms < pace->next_ms) {
		pace->n_held++;
		return false;
	}
	*ret_held = pace->n_held;
	*pace = (struct pace){.next_ms = now_ms + period_ms};
	return true;
}
