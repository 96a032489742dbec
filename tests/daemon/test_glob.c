/* SPDX-License-Identifier: ISC */
/* test_glob.c - patterns of paths, and sets of characters in them. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/glob.h"
#include "tests/lib/check_main.h"

START_TEST(as_a_name_a_star_stays_within_its_level)
{
	ck_assert(glob_selects("app/*", "/user/app/api"));
	ck_assert(glob_selects("/user/*/api", "/user/app/api"));
	ck_assert(glob_selects("*", "/user/app"));
	ck_assert(!glob_selects("*", "/user/app/api"));
	ck_assert(!glob_selects("app/*", "/user/app/a/b"));
	ck_assert(!glob_selects("app?api", "/user/app/api"));
	ck_assert(!glob_selects("app[/]api", "/user/app/api"));
	ck_assert(glob_selects("*/*/*", "/user/a/b/c"));
	ck_assert(glob_selects("app/**", "/user/app/a/b"));
	ck_assert(glob_selects("app/**", "/user/app/a"));
	ck_assert(!glob_selects("app/**", "/user/app"));
	ck_assert(!glob_selects("app/**", "/user/apps/a"));
	ck_assert(glob_selects("**/web", "/user/web"));
	ck_assert(glob_selects("**/web", "/user/a/b/web"));
	ck_assert(!glob_selects("**/web", "/user/a/b/web2"));
	ck_assert(glob_selects("**/a*c/b*", "/user/x/abd/abc/bad"));
	ck_assert(glob_selects("**a*b**c", "/user/a/b/ab/d/c"));
	ck_assert(!glob_selects("**a*b", "/user/a/b"));
	ck_assert(glob_selects("**", "/user"));
	ck_assert(glob_selects("**", "/user/a/b/c"));
	ck_assert(glob_selects_last_name("a*", "/user/app/api"));
	ck_assert(!glob_selects_last_name("app/a*", "/user/app/api"));
}
END_TEST

START_TEST(sets_have_ranges_and_negation_and_may_be_broken)
{
	ck_assert(glob_filters("x@[0-4]", "/user/x@3"));
	ck_assert(!glob_filters("x@[0-4]", "/user/x@5"));
	ck_assert(glob_filters("x@[!0-4]", "/user/x@5"));
	ck_assert(glob_filters("x@[^0-4]", "/user/x@5"));
	ck_assert(glob_filters("[]x]", "/user/x"));
	ck_assert(glob_filters("[a-]", "/user/-"));
	ck_assert(!glob_filters("[", "/user/x"));
	ck_assert(!glob_filters("[a", "/user/a"));
	ck_assert(!glob_filters("[]", "/user/x"));
	ck_assert(!glob_filters("[!", "/user/x"));
	ck_assert(!glob_filters("", "/user/x"));
	ck_assert(glob_is_pattern("x[") && glob_is_pattern("*") && glob_is_pattern("a?"));
	ck_assert(!glob_is_pattern("/user/x@1"));
}
END_TEST

START_TEST(a_pattern_full_of_stars_costs_no_more_than_any_other)
{
	char glob[2000];
	char path[2000] = "/user/";

	/* With backtracking over all stars this would outlive all of us. */
	for (size_t i = 0; i + 2 < sizeof(glob); i += 2)
		memcpy(glob + i, "*a", 3);
	glob[sizeof(glob) - 2] = 'b';
	glob[sizeof(glob) - 1] = '\0';
	memset(path + 6, 'a', sizeof(path) - 7);
	path[sizeof(path) - 1] = '\0';
	ck_assert(!glob_filters(glob, path));
}
END_TEST

CHECK_MAIN("glob", as_a_name_a_star_stays_within_its_level,
           sets_have_ranges_and_negation_and_may_be_broken,
           a_pattern_full_of_stars_costs_no_more_than_any_other)
