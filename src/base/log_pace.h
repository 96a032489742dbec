/* SPDX-License-Identifier: ISC */
/* log_pace.h - a line of log that others can cause as often as they like comes at a pace.
 *
 * The first ones of a period are told at once, the others not; the next line that is told
 * says how many they were.  Plain data, zero at first; times are milliseconds of one
 * clock, passed in.  Nothing here fails.
 */
#ifndef BASE_LOG_PACE_H
#define BASE_LOG_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* For a line of log about one actor or one kind of client. */
#define LOG_PACE_MS  10000
#define LOG_PACE_MAX 8

struct log_pace {
	uint64_t end_ms; /* of the period */
	uint32_t n_told; /* in it */
	uint32_t n_held; /* so many were not told since the last that was */
};

bool log_pace_admit(struct log_pace *pace, uint64_t period_ms, uint32_t max,
                    uint64_t now_ms, uint64_t *ret_held);

#endif
