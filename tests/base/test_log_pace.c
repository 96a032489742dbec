/* SPDX-License-Identifier: ISC */
/* test_log_pace.c - a line that others cause comes at a pace, and none is forgotten. */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/log_pace.h"
#include "tests/lib/check_main.h"

#define PERIOD 1000

static const struct {
	uint64_t at_ms;
	bool is_told;
	uint64_t n_held;
} calls[] = {
    {0, true, 0},                    /* the first ones, at once */
    {0, true, 0},     {0, false, 0}, /* and no other … */
    {999, false, 0},                 /* … in the same period */
    {1000, true, 2}, /* the next line has the count of the dropped lines with it */
    {1001, true, 0},  {1002, false, 0}, {5000, true, 1}, /* after a long rest */
    {6000, true, 0},                                     /* nothing was left out */
    {5999, true, 0},                                     /* a clock that does not go on */
    {5999, false, 0}, {7000, true, 1},
};

START_TEST(the_first_are_told_at_once_and_the_others_with_the_next_that_is)
{
	struct log_pace pace = {0};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		uint64_t n_held = 0;

		ck_assert_msg(log_pace_admit(&pace, PERIOD, 2, calls[i].at_ms, &n_held) ==
		                  calls[i].is_told,
		              "call %zu", i);
		ck_assert_uint_eq(n_held, calls[i].n_held);
	}
}
END_TEST

CHECK_MAIN("pace", the_first_are_told_at_once_and_the_others_with_the_next_that_is)
