/* SPDX-License-Identifier: ISC */
/* test_suggest.c - "did you mean". */
#include "config.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/suggest.h"
#include "tests/lib/check_main.h"

START_TEST(a_distance_counts_insertions_deletions_changes_and_swaps)
{
	static const struct {
		const char *a;
		const char *b;
		size_t distance;
	} cases[] = {
	    {"", "", 0},          {"status", "status", 0},  {"", "abc", 3},
	    {"abc", "", 3},       {"statsu", "status", 1},  {"comand", "command", 1},
	    {"wach", "watch", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_uint_eq(suggest_distance(cases[i].a, cases[i].b),
		                  cases[i].distance);
}
END_TEST

START_TEST(a_name_that_is_too_long_is_infinitely_far)
{
	ck_assert_uint_eq(suggest_distance("0123456789012345678901234567890123456789"
	                                   "012345678901234567890123",
	                                   "x"),
	                  SIZE_MAX);
	ck_assert_uint_eq(suggest_distance("012345678901234567890123456789012345678901234"
	                                   "567890123456789012",
	                                   "x"),
	                  63);
}
END_TEST

static const char *
nearest(const char *word)
{
	static const char *const names[] = {"status", "start", "stop", "watch", "wait"};
	struct suggest suggest = {.word = word};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		suggest_try(&suggest, names[i]);
	return suggest.best;
}

START_TEST(the_nearest_name_is_suggested_and_nothing_if_all_are_far)
{
	ck_assert_str_eq(nearest("statsu"), "status");
	ck_assert_str_eq(nearest("stp"), "stop");
	ck_assert_str_eq(nearest("wtach"), "watch");
	ck_assert_ptr_null(nearest("xyzzy"));
	ck_assert_ptr_null(nearest("a"));
	/* Half of "wait" or "stop" would be wrong. */
	ck_assert_ptr_null(nearest("wxit2"));
	ck_assert_ptr_null(nearest("foop"));
}
END_TEST

CHECK_MAIN("suggest", a_distance_counts_insertions_deletions_changes_and_swaps,
           a_name_that_is_too_long_is_infinitely_far,
           the_nearest_name_is_suggested_and_nothing_if_all_are_far)
