/* SPDX-License-Identifier: ISC */
/* test_scan.c - reading JSON in place: what it finds, and that it never leaves the text.
 */
#include "config.h"

#include <check.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ctl/wire/scan.h"
#include "tests/lib/check_main.h"

/* An exact copy on the heap, so that a read past its end is seen by the sanitizers. */
static struct span
copy(const char *text, size_t len)
{
	char *at = malloc(len + (len == 0));

	ck_assert_ptr_nonnull(at);
	memcpy(at, text, len);
	return (struct span){at, len};
}

static struct span
of(const char *text)
{
	return (struct span){text, strlen(text)};
}

START_TEST(members_of_an_object_come_in_order)
{
	struct scan scan;
	struct span name;
	int64_t n = 0;
	bool yes = false;

	scan_init(&scan, of(" { \"a\" : -12 , \"b\":true,\"c\":\"x\\\"y\" } "));
	scan_object(&scan);
	ck_assert(scan_member(&scan, &name) && span_is(name, "a"));
	scan_int(&scan, &n);
	ck_assert_int_eq(n, -12);
	ck_assert(scan_member(&scan, &name) && span_is(name, "b"));
	scan_bool(&scan, &yes);
	ck_assert(yes);
	ck_assert(scan_member(&scan, &name) && span_is(name, "c"));
	ck_assert(span_is(scan_string(&scan), "x\\\"y"));
	ck_assert(!scan_member(&scan, &name));
	ck_assert(!scan.bad);
}
END_TEST

START_TEST(null_is_nothing_of_any_type)
{
	struct scan scan;
	int64_t n = 7;
	bool yes = true;

	scan_init(&scan, of("[null,null,null]"));
	scan_array(&scan);
	ck_assert(scan_element(&scan));
	scan_int(&scan, &n);
	ck_assert(scan_element(&scan));
	scan_bool(&scan, &yes);
	ck_assert(scan_element(&scan));
	ck_assert_ptr_null(scan_string(&scan).at);
	ck_assert(!scan_element(&scan));
	ck_assert(!scan.bad);
	ck_assert_int_eq(n, 7);
	ck_assert(yes);
}
END_TEST

struct inner {
	bool is_there;
	int64_t a;
};

static const struct scan_field inner_fields[] = {
    SCAN_OTHER("x"),
    SCAN_FIELD(SCAN_INT, struct inner, a),
};

struct thing {
	struct inner inner;
	struct span name;
	int64_t count;
	struct span rest;
};

static const struct scan_field thing_fields[] = {
    SCAN_FIELD(SCAN_STRING, struct thing, name),
    SCAN_FIELD(SCAN_INT, struct thing, count),
    SCAN_FIELD(SCAN_RAW, struct thing, rest),
    SCAN_INNER("inner", offsetof(struct thing, inner), inner_fields),
};

START_TEST(fields_are_found_in_any_order_among_strangers)
{
	struct thing thing = {.count = -1};
	struct scan scan;

	scan_init(&scan, of("{\"x\":[1,{\"count\":5}],\"rest\":{\"a\":[\"]}\"]},"
	                    "\"name\":\"n\",\"y\":\"\\\\\"}"));
	scan_fields(&scan, thing_fields, ARRAY_SIZE(thing_fields), &thing);
	ck_assert(!scan.bad);
	ck_assert(span_is(thing.name, "n"));
	ck_assert_int_eq(thing.count, -1);
	ck_assert(span_is(thing.rest, "{\"a\":[\"]}\"]}"));

	/* A name that is expected next is told from longer and shorter ones. */
	scan_init(&scan, of("{\"name\":\"m\",\"count1:2\":7,\"coun\":8,\"count\":5,"
	                    "\"rest\" : 6 , \"count\" :9}"));
	scan_fields(&scan, thing_fields, ARRAY_SIZE(thing_fields), &thing);
	ck_assert(!scan.bad);
	ck_assert(span_is(thing.name, "m"));
	ck_assert_int_eq(thing.count, 9);
	ck_assert(span_is(thing.rest, "6"));
}
END_TEST

struct outer {
	struct inner first;
	struct inner second;
	int64_t last;
};

static const struct scan_field outer_fields[] = {
    SCAN_INNER("first", offsetof(struct outer, first), inner_fields),
    SCAN_OTHER("other"),
    SCAN_INNER("second", offsetof(struct outer, second), inner_fields),
    SCAN_FIELD(SCAN_INT, struct outer, last),
};

START_TEST(an_object_in_an_object_is_read_where_it_is_one)
{
	static const char *const none[] = {"null", "7", "\"{\"", "[{\"a\":5}]", "true"};
	struct outer outer = {.first.a = -1, .second.a = -1};
	struct scan scan;

	scan_init(
	    &scan,
	    of("{\"first\":{\"x\":[1,{\"a\":2}],\"a\":3,\"b\":{}},\"other\":{\"last\":"
	       "4},\"second\": { \"a\" : 5 , \"x\":null},\"last\":6}"));
	scan_fields(&scan, outer_fields, ARRAY_SIZE(outer_fields), &outer);
	ck_assert(!scan.bad);
	ck_assert(outer.first.is_there && outer.second.is_there);
	ck_assert_int_eq(outer.first.a, 3);
	ck_assert_int_eq(outer.second.a, 5);
	ck_assert_int_eq(outer.last, 6);

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		char text[64];

		outer = (struct outer){.first.a = -1};
		(void)snprintf(text, sizeof(text), "{\"first\":%s,\"last\":8}", none[i]);
		scan_init(&scan, of(text));
		scan_fields(&scan, outer_fields, ARRAY_SIZE(outer_fields), &outer);
		ck_assert_msg(!scan.bad, "%s", text);
		ck_assert(!outer.first.is_there);
		ck_assert_int_eq(outer.first.a, -1);
		ck_assert_int_eq(outer.last, 8);
	}

	/* An object with a malformed one is malformed. */
	scan_init(&scan, of("{\"first\":{\"a\":1.5},\"last\":8}"));
	scan_fields(&scan, outer_fields, ARRAY_SIZE(outer_fields), &outer);
	ck_assert(scan.bad);
}
END_TEST

START_TEST(numbers_that_are_no_integers_are_refused)
{
	static const char *const bad[] = {
	    "1.5", "1e3", "-", "", "x", "\"1\"", "99999999999999999999", "nul", "truE"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct scan scan;
		int64_t n = 3;

		scan_init(&scan, of(bad[i]));
		scan_int(&scan, &n);
		ck_assert_msg(scan.bad, "%s", bad[i]);
		ck_assert_int_eq(n, 3);
	}
}
END_TEST

START_TEST(the_largest_integers_are_read)
{
	struct scan scan;
	int64_t n = 0;

	scan_init(&scan, of("922337203685477579"));
	scan_int(&scan, &n);
	ck_assert(!scan.bad);
	ck_assert_int_eq(n, INT64_C(922337203685477579));
}
END_TEST

START_TEST(every_beginning_of_a_message_is_safe)
{
	static const char whole[] =
	    "{\"name\":\"a\\u00e9\\\"\",\"count\":null,\"rest\":[{\"k\":[tru"
	    "e,false,-1.5e3,\"\\\\\"]},\"}\"],\"inner\":{\"x\":{},\"a\":1},"
	    "\"z\":{\"\":{}}}";

	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		struct span text = copy(whole, len);
		struct thing thing = {0};
		struct scan scan;

		scan_init(&scan, text);
		scan_fields(&scan, thing_fields, ARRAY_SIZE(thing_fields), &thing);
		ck_assert_msg(scan.bad, "%zu bytes", len);
		free((char *)(uintptr_t)text.at);
	}
}
END_TEST

START_TEST(every_single_changed_byte_is_safe)
{
	static const char whole[] =
	    "{\"name\":\"a\\u00e9\",\"count\":12,\"rest\":[{},\"]\"],"
	    "\"inner\":{\"x\":0,\"a\":1}}";

	for (size_t at = 0; at < sizeof(whole) - 1; at++) {
		for (int c = 1; c < 256; c++) {
			struct span text = copy(whole, sizeof(whole) - 1);
			struct thing thing = {0};
			struct scan scan;

			((char *)(uintptr_t)text.at)[at] = (char)c;
			scan_init(&scan, text);
			scan_fields(&scan, thing_fields, ARRAY_SIZE(thing_fields),
			            &thing);
			ck_assert(scan.p <= scan.end);
			free((char *)(uintptr_t)text.at);
		}
	}
}
END_TEST

START_TEST(too_many_levels_are_refused)
{
	char text[2 * SCAN_DEPTH_MAX + 3];
	struct scan scan;

	memset(text, '[', SCAN_DEPTH_MAX);
	memset(text + SCAN_DEPTH_MAX, ']', SCAN_DEPTH_MAX);
	scan_init(&scan, (struct span){text, 2 * SCAN_DEPTH_MAX});
	ck_assert_uint_eq(scan_value(&scan).len, 2 * SCAN_DEPTH_MAX);
	ck_assert(!scan.bad);
	memset(text, '[', SCAN_DEPTH_MAX + 1);
	memset(text + SCAN_DEPTH_MAX + 1, ']', SCAN_DEPTH_MAX + 1);
	scan_init(&scan, (struct span){text, 2 * SCAN_DEPTH_MAX + 2});
	ck_assert_ptr_null(scan_value(&scan).at);
	ck_assert(scan.bad);
}
END_TEST

START_TEST(brackets_must_match)
{
	static const char *const bad[] = {"[}", "{]", "[[]", "{\"a\":[}", "]", ",", ":"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct scan scan;

		scan_init(&scan, of(bad[i]));
		(void)scan_value(&scan);
		ck_assert_msg(scan.bad, "%s", bad[i]);
	}
}
END_TEST

START_TEST(escapes_stand_for_their_characters)
{
	static const struct {
		const char *json;
		const char *text;
	} cases[] = {
	    {"plain", "plain"},
	    {"a\\n\\t\\r\\b\\f\\\"\\\\\\/z", "a\n\t\r\b\f\"\\/z"},
	    {"\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac"},
	    {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
	    {"\\ud83d", "\xef\xbf\xbd"},
	    {"\\ude00", "\xef\xbf\xbd"},
	    {"\\ud83d\\u0041", "\xef\xbf\xbd"
	                       "A"},
	    {"\\u12", "\xef\xbf\xbd"
	              "12"},
	    {"\\u0000", "\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct span text = copy(cases[i].json, strlen(cases[i].json));
		struct strbuf out;

		strbuf_init(&out, 256);
		span_decode(text, &out);
		ck_assert_str_eq(strbuf_str(&out), cases[i].text);
		strbuf_done(&out);
		free((char *)(uintptr_t)text.at);
	}
}
END_TEST

CHECK_MAIN("scan", members_of_an_object_come_in_order, null_is_nothing_of_any_type,
           fields_are_found_in_any_order_among_strangers,
           an_object_in_an_object_is_read_where_it_is_one,
           numbers_that_are_no_integers_are_refused, the_largest_integers_are_read,
           every_beginning_of_a_message_is_safe, every_single_changed_byte_is_safe,
           too_many_levels_are_refused, brackets_must_match,
           escapes_stand_for_their_characters)
