/* SPDX-License-Identifier: ISC */
/* pace.h - a line of log that others can cause as often as they like comes at a pace.
 *
 * The first is told at once, then at most one in each period, with how many were not
 * told. Plain data, zero at first; times are milliseconds of one clock, passed in.
 * Nothing here fails.
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* For a line of log about one actor or one kind of client. */
#define PACE_LOG_MS 10000

struct pace {
	uint64_t next_ms; /* not again before */
	uint64_t n_held;  /* so many were not told */
};

bool pace_admit(struct pace *pace, uint64_t period_ms, uint64_t now_ms,
                uint64_t *ret_held);

#endif
