/* SPDX-License-Identifier: ISC */
/* pace.h - a line of log that others can cause as often as they like comes at a pace.
 *
 * The first ones of a period are told at once, the others not; the next line that is told
 * says how many they were.  Plain data, zero at first; times are milliseconds of one
 * clock, passed in.  Nothing here fails.
 */
#ifndef BASE_PACE_H
#define BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* For a line of log about one actor or one kind of client. */
#define PACE_LOG_MS  10000
#define PACE_LOG_MAX 8

struct pace {
	uint64_t end_ms; /* of the period */
	uint64_t n_told; /* in it */
	uint64_t n_held; /* so many were not told since the last that was */
};

bool pace_admit(struct pace *pace, uint64_t period_ms, uint64_t max, uint64_t now_ms,
                uint64_t *ret_held);

#endif
