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
	    {"\t\n\x1b", 3, "\"\\u0009\\n\\u001b\""},
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

/* The same as JSON, byte by byte. */
static void
add_slowly(struct strbuf *sb, const char *text, size_t len)
{
	const char *const end = text + len;

	strbuf_addc(sb, '"');
	for (const char *p = text; p < end;) {
		const unsigned char c = (unsigned char)*p;
		const size_t n = strbuf_utf8_length(p, end);

		if (c == '"' || c == '\\' || c == '\n')
			strbuf_addf(sb, "\\%c", c == '\n' ? 'n' : c);
		else if (c > 0 && c < 0x20)
			strbuf_addf(sb, "\\u%04x", c);
		else if (c == 0 || n == 0)
			strbuf_adds(sb, "\xef\xbf\xbd");
		else
			strbuf_add(sb, p, n);
		p += n > 0 ? n : 1;
	}
	strbuf_addc(sb, '"');
}

START_TEST(each_byte_in_each_place_is_the_same_json)
{
	static const char *const pieces[] = {"\xc3\xa9", "\xf0\x9f\x98\x80", "\xe2\x82",
	                                     "\"\"", "a\\"};
	char text[300];

	for (int c = 0; c < 256 + (int)ARRAY_SIZE(pieces); c++) {
		for (size_t at = 0; at < 140; at++) {
			struct strbuf fast, slow;
			const char byte = (char)c;

			memset(text, 'x', sizeof(text));
			if (c < 256)
				text[at] = byte;
			else
				memcpy(text + at, pieces[c - 256],
				       strlen(pieces[c - 256]));
			strbuf_init(&fast, 4096);
			strbuf_init(&slow, 4096);
			for (size_t len = at + 1; len < at + 12; len += 5) {
				strbuf_clear(&fast);
				strbuf_clear(&slow);
				strbuf_add_json_bytes(&fast, text, len);
				add_slowly(&slow, text, len);
				ck_assert_str_eq(strbuf_str(&fast), strbuf_str(&slow));
			}
			strbuf_done(&fast);
			strbuf_done(&slow);
		}
	}
}
END_TEST

CHECK_MAIN("strbuf", any_bytes_become_a_string_of_valid_json,
           each_byte_in_each_place_is_the_same_json,
           what_cannot_be_formatted_fails_and_leaves_the_text)
