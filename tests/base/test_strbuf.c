/* SPDX-License-Identifier: ISC */
/* test_strbuf.c - any bytes as a string of JSON. */
#include "config.h"

#include <check.h>
#include <wchar.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "tests/lib/check_main.h"

START_TEST(any_bytes_become_a_string_of_valid_json)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *json;
	} cases[] = {
	    {"", 0, "\"\""},
	    {"plain", 5, "\"plain\""},
	    {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
	    {"\t\n\x1b", 3, "\"\\u0009\\u000a\\u001b\""},
	    {"a\0b", 3,
	     "\"a\xef\xbf\xbd"
	     "b\""},
	    {"gr\xc3\xbc\xc3\x9f", 6, "\"gr\xc3\xbc\xc3\x9f\""},
	    {"\xe2\x82\xac \xf0\x9f\x98\x80", 8, "\"\xe2\x82\xac \xf0\x9f\x98\x80\""},
	    {"\xff\xfe", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    /* The length ends the text; bytes behind it are not read. */
	    {"\xe2\x82\xac", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"ab\xc3\xbc", 3, "\"ab\xef\xbf\xbd\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf sb;

		strbuf_init(&sb, 4096);
		strbuf_add_json_bytes(&sb, cases[i].bytes, cases[i].len);
		ck_assert_str_eq(strbuf_str(&sb), cases[i].json);
		strbuf_done(&sb);
	}
}
END_TEST

START_TEST(what_cannot_be_formatted_fails_and_leaves_the_text)
{
	/* A surrogate, which is no character. */
	static const wchar_t wrong[] = {0xd800, 0};
	struct strbuf sb;

	strbuf_init(&sb, 4096);
	strbuf_adds(&sb, "text");
	strbuf_addf(&sb, "%ls", wrong);
	ck_assert(sb.failed);
	ck_assert_str_eq(strbuf_str(&sb), "text");
	strbuf_done(&sb);
}
END_TEST

CHECK_MAIN("strbuf", any_bytes_become_a_string_of_valid_json,
           what_cannot_be_formatted_fails_and_leaves_the_text)
