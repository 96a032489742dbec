/* SPDX-License-Identifier: ISC */
/* test_pattern.c - expressions that lines are matched with, and their bounds. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/pattern.h"
#include "tests/lib/check_main.h"

static bool
matches(const char *text, const char *line, size_t len)
{
	struct pattern pattern;
	struct err why;
	bool found;

	ck_assert_int_eq(pattern_compile(&pattern, text, &why), 0);
	found = pattern_matches(&pattern, line, len);
	pattern_done(&pattern);
	return found;
}

START_TEST(a_line_matches_anywhere_unless_the_expression_is_anchored)
{
	ck_assert(matches("up", "it is up now", 12));
	ck_assert(!matches("^up", "it is up now", 12));
	ck_assert(matches("^listening on [0-9]+$", "listening on 80", 15));
	ck_assert(!matches("^listening on [0-9]+$", "listening on 80", 13));
	ck_assert(matches("a|b", "xb", 2));
	ck_assert(matches("\\{1\\}", "{1}", 3));
	ck_assert(matches("^$", "", 0));
	ck_assert(matches("x|^a", "ab", 2));
	ck_assert(!matches("x|^b", "ab", 2));
	ck_assert(matches("a[)]|\\)$", "b)", 2));
	ck_assert(matches("b",
	                  "\xff\x80"
	                  "b",
	                  3));
	ck_assert(matches("", "a", 1));
}
END_TEST

START_TEST(what_is_behind_a_nul_or_too_far_behind_does_not_count)
{
	char *line = malloc(PATTERN_LINE_MAX + 2);

	ck_assert(!matches("up", "a\0up", 4));
	ck_assert_ptr_nonnull(line);
	memset(line, 'x', PATTERN_LINE_MAX + 2);
	line[PATTERN_LINE_MAX - 1] = 'u';
	ck_assert(matches("u", line, PATTERN_LINE_MAX + 2));
	line[PATTERN_LINE_MAX - 1] = 'x';
	line[PATTERN_LINE_MAX] = 'u';
	ck_assert(!matches("u", line, PATTERN_LINE_MAX + 2));
	free(line);
}
END_TEST

START_TEST(what_is_none_or_has_no_bound_is_refused_with_a_sentence)
{
	static const struct {
		const char *text;
		const char *said;
	} cases[] = {
	    {"(", "`(` is no regular expression"},
	    {"[a", "is no regular expression"},
	    {"a)|b", "`)` without its `(`"},
	    {"(a))(b", "`)` without its `(`"},
	    {"(a)\\1", "back-reference (\\1)"},
	    {"a{2,1001}", "too many repetitions"},
	    {"((a{10}){10}){11}", "too many repetitions"},
	    {"a{99999999999999999999}", "too many repetitions"},
	    {"#++++++++++++++++", "too many repetitions"},
	    {"(((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "too many repetitions"},
	    {"([^]+]{1,20}x+){50}+++++", "too many repetitions"},
	    {"a{,1000}{,30}", "too many repetitions"},
	    {"a{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}",
	     "too many repetitions: "},
	    {"[[:alpha:][]a++++++++++++++]", "too many repetitions: "},
	    {"(a?b?c?d?e?f?){0,999}", "too many repetitions: "},
	    {"a?+++++*A>A", "of what may match nothing"},
	    {"b?{,5}{,127}", "of what may match nothing"},
	    {"(^){1,}{31}", "of what may match nothing"},
	    {"((a*)*|b)+", "of what may match nothing"},
	    {"(a?*?)?{,35}", "of what may match nothing"},
	    {"(){,37}+{1,}", "of what may match nothing"},
	    {"(a*)?{,22}b?+a*", "of what may match nothing"},
	    {"[ab]$b??{,140}a?", "of what may match nothing"},
	};
	char longest[PATTERN_MAX + 2];
	struct pattern pattern;
	struct err why;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(pattern_compile(&pattern, cases[i].text, &why), -EINVAL);
		ck_assert_ptr_nonnull(strstr(why.text, cases[i].said));
		pattern_done(&pattern);
	}
	memset(longest, 'x', PATTERN_MAX + 1);
	longest[PATTERN_MAX + 1] = '\0';
	ck_assert_int_eq(pattern_compile(&pattern, longest, &why), -EINVAL);
	longest[PATTERN_MAX] = '\0';
	ck_assert_int_eq(pattern_compile(&pattern, longest, &why), 0);
	pattern_done(&pattern);
}
END_TEST

START_TEST(what_people_write_is_taken)
{
	static const char *const cases[] = {
	    "([+]+\\++)+[]+++++]+",
	    "([a-z]*, ?)+((ab?)+|(c|d)*){2,}$",
	    "((a{10}){10}){10}",
	    "^(GET|POST) /[^ ]* [0-9]{3}",
	    "ready.*listening on [0-9.]+:[0-9]+",
	    "([a-z]+ ){1,20}",
	    "\\[(INFO|WARN)\\] +.*",
	    "(foo)*(bar)?",
	    "^(.*)?listening( on .*)?( in [0-9.]+(ms|s)?)?$",
	    "(^| )+up( |$)+",
	    "([a-z]*)*[[:space:]]*([0-9]*)*",
	    "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
	    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z \\[[A-Z]{4}\\]",
	    ".{0,200}ready.{0,200}done",
	};
	struct pattern pattern;
	struct err why;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_msg(pattern_compile(&pattern, cases[i], &why) == 0, "%s: %s",
		              cases[i], why.text);
		pattern_done(&pattern);
	}
}
END_TEST

START_TEST(what_the_library_keeps_of_lines_is_bounded)
{
	struct pattern pattern;
	struct err why;
	char line[PATTERN_LINE_MAX];
	struct mallinfo2 before, after;
	uint32_t any = 1;

	ck_assert_int_eq(pattern_compile(&pattern, ".{0,200}ready.{0,200}done", &why), 0);
	before = mallinfo2();
	for (int i = 0; i < 60; i++) {
		for (size_t at = 0; at < sizeof(line); at++) {
			any = any * 1103515245 + 12345;
			line[at] = "ready done"[any >> 16 & 7];
		}
		(void)pattern_matches(&pattern, line, sizeof(line));
	}
	after = mallinfo2();
	pattern_done(&pattern);
	ck_assert_uint_lt(after.uordblks, before.uordblks + 32 * 1024 * 1024);
}
END_TEST

CHECK_MAIN("pattern", a_line_matches_anywhere_unless_the_expression_is_anchored,
           what_is_behind_a_nul_or_too_far_behind_does_not_count,
           what_is_none_or_has_no_bound_is_refused_with_a_sentence,
           what_people_write_is_taken, what_the_library_keeps_of_lines_is_bounded)
