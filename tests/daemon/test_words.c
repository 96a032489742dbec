/* SPDX-License-Identifier: ISC */
/* test_words.c - the last lines that a process wrote, within their bounds. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "daemon/messages/words.h"
#include "tests/lib/check_main.h"

/* The lines as an array of JSON. */
static void
join(struct strbuf *sb, const struct words *words)
{
	strbuf_addc(sb, '[');
	for (size_t i = 0; i < words->n; i++) {
		if (i > 0)
			strbuf_addc(sb, ',');
		strbuf_add_json_bytes(sb, words->lines[i].text, words->lines[i].len);
	}
	strbuf_addc(sb, ']');
}

/* The last words of one stream as JSON. */
static const char *
words_of(struct strbuf *sb, const char *data, size_t len, bool is_cut)
{
	struct words words = {.n = 0};

	strbuf_init(sb, 64 * 1024);
	words_add(&words, data, len, is_cut);
	join(sb, &words);
	return strbuf_str(sb);
}

START_TEST(lines_are_split_wherever_they_end)
{
	static const struct {
		const char *data;
		bool is_cut;
		const char *json;
	} cases[] = {
	    {"", false, "[]"},
	    {"one", false, "[\"one\"]"},
	    {"one\n", false, "[\"one\"]"},
	    {"one\ntwo", false, "[\"one\",\"two\"]"},
	    {"one\r\ntwo\n", false, "[\"one\",\"two\"]"},
	    {"\n", false, "[\"\"]"},
	    {"\none\n\ntwo\n\n", false, "[\"\",\"one\",\"\",\"two\",\"\"]"},
	    {"a rest\none\n", true, "[\"one\"]"},
	    {"\none\n", true, "[\"one\"]"},
	    {"only a rest", true, "[\"only a rest\"]"},
	    {"a\x1b[31m\xff\"\n", false, "[\"a\\u001b[31m\xef\xbf\xbd\\\"\"]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf sb;

		ck_assert_str_eq(
		    words_of(&sb, cases[i].data, strlen(cases[i].data), cases[i].is_cut),
		    cases[i].json);
		strbuf_done(&sb);
	}
}
END_TEST

START_TEST(only_the_last_ten_lines_are_kept)
{
	struct words words = {.n = 0};
	char data[1000];
	size_t len = 0;

	for (int i = 1; i <= 30; i++)
		len += (size_t)snprintf(data + len, sizeof(data) - len, "line %d\n", i);
	words_add(&words, data, len, false);
	ck_assert_uint_eq(words.n, 10);
	ck_assert_uint_eq(words.lines[0].len, 7);
	ck_assert_mem_eq(words.lines[0].text, "line 21", 7);
	ck_assert_mem_eq(words.lines[9].text, "line 30", 7);
}
END_TEST

START_TEST(all_together_are_bounded_and_a_line_that_is_too_long_keeps_its_end)
{
	struct words words = {.n = 0};
	struct words one = {.n = 0};
	char data[3 * 5000];

	memset(data, 'x', sizeof(data));
	data[1999] = data[3999] = data[5999] = '\n';
	words_add(&words, data, 6000, false);
	ck_assert_uint_eq(words.n, 2);
	ck_assert_uint_eq(words.bytes, 1999 + 1999);
	/* Three bytes a character: the bound falls inside of one. */
	for (size_t i = 0; i < sizeof(data); i += 3)
		memcpy(data + i, "\xe2\x82\xac", 3);
	words_add(&one, data, sizeof(data), false);
	ck_assert_uint_eq(one.n, 1);
	ck_assert_uint_eq(one.lines[0].len, WORDS_BYTES_MAX / 3 * 3);
	ck_assert_mem_eq(one.lines[0].text, "\xe2\x82\xac", 3);
	ck_assert_ptr_eq(one.lines[0].text + one.lines[0].len, data + sizeof(data));
}
END_TEST

START_TEST(what_is_added_later_goes_in_front_while_there_is_room)
{
	struct words words = {.n = 0};
	struct strbuf sb;

	words_add(&words, "e1\ne2", 5, false);
	words_add(&words, "cut\no1\n", 7, true);
	strbuf_init(&sb, 1024);
	join(&sb, &words);
	ck_assert_str_eq(strbuf_str(&sb), "[\"o1\",\"e1\",\"e2\"]");
	strbuf_done(&sb);
	words_add(&words, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 18, false);
	ck_assert_uint_eq(words.n, 10);
	ck_assert_mem_eq(words.lines[0].text, "3", 1);
}
END_TEST

CHECK_MAIN("words", lines_are_split_wherever_they_end, only_the_last_ten_lines_are_kept,
           all_together_are_bounded_and_a_line_that_is_too_long_keeps_its_end,
           what_is_added_later_goes_in_front_while_there_is_room)
