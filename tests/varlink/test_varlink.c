/* SPDX-License-Identifier: ISC */
/* test_varlink.c - messages of any size and cut, good ones and bad ones. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"
#include "tests/lib/check_main.h"
#include "varlink/varlink.h"

/* Feed everything in pieces of `step` bytes and take out what is there after each. */
static int
feed_all(struct varlink_reader *reader, const char *data, size_t len, size_t step,
         size_t *ret_messages)
{
	struct err err;

	for (size_t i = 0; i < len; i += step) {
		int r = varlink_reader_feed(reader, data + i,
		                            step < len - i ? step : len - i);

		if (r < 0)
			return r;
		for (;;) {
			json_t *message = NULL;

			r = varlink_reader_next(reader, &message, &err);
			if (r <= 0)
				break;
			json_decref(message);
			(*ret_messages)++;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int
feed_once(const char *data, size_t len)
{
	struct varlink_reader reader;
	size_t n = 0;
	int r;

	varlink_reader_init(&reader, 1000);
	r = feed_all(&reader, data, len, len, &n);
	varlink_reader_done(&reader);
	return r;
}

START_TEST(a_message_split_at_any_byte_is_whole_again)
{
	static const char text[] =
	    "{\"method\":\"a.B\",\"parameters\":{\"x\":\"\xc3\xa9\"}}\0{}";

	for (size_t step = 1; step <= sizeof(text); step++) {
		struct varlink_reader reader;
		size_t n = 0;

		varlink_reader_init(&reader, 100);
		ck_assert_int_eq(feed_all(&reader, text, sizeof(text), step, &n), 0);
		ck_assert_uint_eq(n, 2);
		ck_assert_uint_eq(varlink_reader_waiting(&reader), 0);
		varlink_reader_done(&reader);
	}
}
END_TEST

START_TEST(several_messages_in_one_piece_wait_their_turn)
{
	static const char text[] = "{\"n\":1}\0{\"n\":2}\0{\"n\":3}\0{\"n\"";
	struct varlink_reader reader;
	json_t *message;

	varlink_reader_init(&reader, 100);
	ck_assert_int_eq(varlink_reader_feed(&reader, text, sizeof(text) - 1), 0);
	ck_assert_uint_eq(reader.messages, 3);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(varlink_reader_next(&reader, &message, NULL), 1);
		ck_assert_int_eq(json_integer_value(json_object_get(message, "n")), i);
		json_decref(message);
	}
	ck_assert_int_eq(varlink_reader_next(&reader, &message, NULL), 0);
	ck_assert_uint_eq(varlink_reader_waiting(&reader), 4);
	varlink_reader_done(&reader);
}
END_TEST

START_TEST(messages_can_be_had_as_text)
{
	static const char text[] = "{\"n\":1}\0nonsense\0{\"n\"";
	struct varlink_reader reader;
	const char *message;
	size_t len;

	varlink_reader_init(&reader, 100);
	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(varlink_reader_feed(&reader, text, sizeof(text)), 0);
		ck_assert_int_eq(varlink_reader_next_text(&reader, &message, &len), 1);
		ck_assert_uint_eq(len, 7);
		ck_assert_str_eq(message, "{\"n\":1}");
		ck_assert_int_eq(varlink_reader_next_text(&reader, &message, &len), 1);
		ck_assert_str_eq(message, "nonsense");
		ck_assert_int_eq(varlink_reader_next_text(&reader, &message, &len), 1);
		ck_assert_str_eq(message, "{\"n\"");
		ck_assert_int_eq(varlink_reader_next_text(&reader, &message, &len), 0);
	}
	varlink_reader_done(&reader);
}
END_TEST

START_TEST(a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not)
{
	for (size_t extra = 0; extra < 2; extra++) {
		struct varlink_reader reader;
		char text[102];
		size_t n = 0;

		memset(text, ' ', sizeof(text));
		memcpy(text, "{}", 2);
		text[100 + extra] = '\0';
		varlink_reader_init(&reader, 100);
		ck_assert_int_eq(feed_all(&reader, text, 101 + extra, 7, &n),
		                 extra == 0 ? 0 : -EMSGSIZE);
		varlink_reader_done(&reader);
	}
}
END_TEST

START_TEST(bytes_without_an_end_are_refused_before_they_fill_memory)
{
	struct varlink_reader reader;
	char piece[1000];
	int r = 0;
	int n = 0;

	memset(piece, '[', sizeof(piece));
	varlink_reader_init(&reader, VARLINK_IN_MAX);
	while (r == 0 && n < 2000) {
		r = varlink_reader_feed(&reader, piece, sizeof(piece));
		n++;
	}
	ck_assert_int_eq(r, -EMSGSIZE);
	ck_assert_int_eq(n, VARLINK_IN_MAX / 1000 + 1);
	varlink_reader_done(&reader);
}
END_TEST

START_TEST(unread_messages_are_bounded_too)
{
	struct varlink_reader reader;
	char piece[300] = "{}";
	int r = 0;

	memset(piece + 2, ' ', sizeof(piece) - 3);
	varlink_reader_init(&reader, 1000);
	for (int i = 0; r == 0 && i < 10000; i++)
		r = varlink_reader_feed(&reader, piece, sizeof(piece));
	ck_assert_int_eq(r, -EMSGSIZE);
	varlink_reader_done(&reader);
}
END_TEST

#define FEED(text) feed_once(text, sizeof(text))

START_TEST(what_is_not_an_object_in_json_is_refused)
{
	ck_assert_int_eq(FEED("{}"), 0);
	ck_assert_int_eq(FEED(""), -EBADMSG);
	ck_assert_int_eq(FEED("[]"), -EBADMSG);
	ck_assert_int_eq(FEED("1"), -EBADMSG);
	ck_assert_int_eq(FEED("null"), -EBADMSG);
	ck_assert_int_eq(FEED("{"), -EBADMSG);
	ck_assert_int_eq(FEED("{}{}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":nan}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":1e999}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":99999999999999999999}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":\"\xff\"}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":\"\\u0000\"}"), -EBADMSG);
	ck_assert_int_eq(FEED("{\"a\":\"\\ud800\"}"), -EBADMSG);
}
END_TEST

START_TEST(of_a_key_that_occurs_twice_the_last_one_counts)
{
	static const char text[] = "{\"method\":\"a.B\",\"method\":\"a.C\"}";
	struct varlink_reader reader;
	struct varlink_call call;
	json_t *message;

	varlink_reader_init(&reader, 100);
	ck_assert_int_eq(varlink_reader_feed(&reader, text, sizeof(text)), 0);
	ck_assert_int_eq(varlink_reader_next(&reader, &message, NULL), 1);
	ck_assert_int_eq(varlink_call_parse(message, &call, NULL), 0);
	ck_assert_str_eq(call.method, "a.C");
	varlink_call_done(&call);
	varlink_reader_done(&reader);
}
END_TEST

/* An object that holds arrays, `depth` levels in all. */
static int
feed_nested(int depth)
{
	char text[600] = "{\"[[\\\"[\":";
	size_t len = strlen(text);

	for (int i = 1; i < depth; i++)
		text[len++] = '[';
	for (int i = 1; i < depth; i++)
		text[len++] = ']';
	text[len++] = '}';
	text[len++] = '\0';
	return feed_once(text, len);
}

START_TEST(nesting_is_bounded_and_brackets_in_strings_do_not_count)
{
	ck_assert_int_eq(feed_nested(2), 0);
	ck_assert_int_eq(feed_nested(VARLINK_DEPTH_MAX), 0);
	ck_assert_int_eq(feed_nested(VARLINK_DEPTH_MAX + 1), -EBADMSG);
	ck_assert_int_eq(feed_nested(250), -EBADMSG);
}
END_TEST

static int
parse(const char *text, struct varlink_call *ret)
{
	struct err err = {0};
	int r = varlink_call_parse(json_loads(text, 0, NULL), ret, &err);

	if (r < 0)
		ck_assert_str_ne(err.text, "");
	return r;
}

START_TEST(a_call_is_taken_apart)
{
	struct varlink_call call;

	ck_assert_int_eq(parse("{\"method\":\"a.B\",\"parameters\":{\"x\":1},"
	                       "\"more\":true,\"com.example\":{}}",
	                       &call),
	                 0);
	ck_assert_str_eq(call.method, "a.B");
	ck_assert(call.more);
	ck_assert(!call.oneway);
	ck_assert(!call.upgrade);
	ck_assert_int_eq(json_integer_value(json_object_get(call.parameters, "x")), 1);
	varlink_call_done(&call);
}
END_TEST

START_TEST(parameters_and_flags_that_are_absent_or_null_are_empty_and_false)
{
	static const char *const texts[] = {
	    "{\"method\":\"a.B\"}",
	    "{\"method\":\"a.B\",\"parameters\":null,\"more\":null,\"oneway\":null}",
	    "{\"method\":\"a.B\",\"parameters\":{},\"more\":false}",
	};

	for (size_t i = 0; i < 3; i++) {
		struct varlink_call call;

		ck_assert_int_eq(parse(texts[i], &call), 0);
		ck_assert(json_is_object(call.parameters));
		ck_assert_uint_eq(json_object_size(call.parameters), 0);
		ck_assert(!call.more);
		ck_assert(!call.oneway);
		varlink_call_done(&call);
	}
}
END_TEST

START_TEST(a_call_that_breaks_the_protocol_is_refused)
{
	struct varlink_call call;

	ck_assert_int_eq(parse("{}", &call), -EBADMSG);
	ck_assert_int_eq(parse("{\"method\":1}", &call), -EBADMSG);
	ck_assert_int_eq(parse("{\"method\":null}", &call), -EBADMSG);
	ck_assert_int_eq(parse("{\"method\":\"a.B\",\"parameters\":[]}", &call),
	                 -EBADMSG);
	ck_assert_int_eq(parse("{\"method\":\"a.B\",\"more\":1}", &call), -EBADMSG);
	ck_assert_int_eq(parse("{\"method\":\"a.B\",\"oneway\":\"\"}", &call), -EBADMSG);
	ck_assert_int_eq(
	    parse("{\"method\":\"a.B\",\"more\":true,\"oneway\":true}", &call), -EBADMSG);
}
END_TEST

static void
check_written(json_t *message, const char *expected)
{
	struct strbuf out;

	strbuf_init(&out, 1000);
	ck_assert_int_eq(varlink_write(&out, message, 500), 0);
	ck_assert_uint_eq(out.len, strlen(expected) + 1);
	ck_assert_str_eq(out.data, expected);
	strbuf_done(&out);
	json_decref(message);
}

START_TEST(messages_have_parameters_always_and_never_a_key_too_many)
{
	check_written(varlink_make_call("a.B", NULL, false, false),
	              "{\"method\":\"a.B\",\"parameters\":{}}");
	check_written(varlink_make_call("a.B", json_pack("{s:i}", "x", 1), true, false),
	              "{\"method\":\"a.B\",\"more\":true,\"parameters\":{\"x\":1}}");
	check_written(varlink_make_call("a.B", NULL, false, true),
	              "{\"method\":\"a.B\",\"oneway\":true,\"parameters\":{}}");
	check_written(varlink_make_reply(NULL, false), "{\"parameters\":{}}");
	check_written(varlink_make_reply(json_pack("{s:i}", "x", 1), true),
	              "{\"parameters\":{\"x\":1},\"continues\":true}");
	check_written(varlink_make_error("a.E", NULL),
	              "{\"error\":\"a.E\",\"parameters\":{}}");
}
END_TEST

START_TEST(a_fraction_is_written_as_it_was_read)
{
	static const char *const fractions[] = {
	    "0.2", "0.1", "0.3", "1.5", "0.0001", "12.345678", "0.123456789012345"};

	for (size_t i = 0; i < ARRAY_SIZE(fractions); i++) {
		char expected[100];

		(void)snprintf(expected, sizeof(expected),
		               "{\"method\":\"a.B\",\"parameters\":{\"x\":%s}}",
		               fractions[i]);
		check_written(
		    varlink_make_call(
		        "a.B",
		        json_pack("{s:o}", "x",
		                  json_loads(fractions[i], JSON_DECODE_ANY, NULL)),
		        false, false),
		    expected);
	}
}
END_TEST

START_TEST(a_message_that_is_too_long_is_not_written_at_all)
{
	json_t *message =
	    varlink_make_reply(json_pack("{s:s}", "x", "0123456789"), false);
	char *text = json_dumps(message, JSON_COMPACT);
	size_t len = strlen(text);
	struct strbuf out;

	free(text);
	strbuf_init(&out, 1000);
	strbuf_adds(&out, "before");
	ck_assert_int_eq(varlink_write(&out, message, len - 1), -EMSGSIZE);
	ck_assert_str_eq(strbuf_str(&out), "before");
	ck_assert_int_eq(varlink_write(&out, message, len), 0);
	ck_assert_uint_eq(out.len, 6 + len + 1);
	strbuf_done(&out);

	strbuf_init(&out, 20);
	strbuf_adds(&out, "before");
	ck_assert_int_eq(varlink_write(&out, message, 500), -EMSGSIZE);
	ck_assert_str_eq(strbuf_str(&out), "before");
	ck_assert_int_eq(varlink_write(&out, NULL, 500), -ENOMEM);
	strbuf_done(&out);
	json_decref(message);
}
END_TEST

START_TEST(the_interface_is_in_the_program_exactly_as_it_is_in_the_file)
{
	const char *top = getenv("top_srcdir");
	char path[1000];
	char text[65536] = "";
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/src/varlink/io.supd.Control.varlink",
	               top != NULL ? top : ".");
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, file), 1000);
	fclose(file);
	ck_assert_str_eq(varlink_control_description, text);
	ck_assert_ptr_nonnull(
	    strstr(varlink_service_description, "interface org.varlink.service\n"));
}
END_TEST

static const char *const seeds[] = {
    ("{\"method\":\"io.supd.Control.Stop\",\"parameters\":{\"names\":[\"a\",\"b\"],"
     "\"hold\":true,\"timeout_ms\":1000,\"token\":\"x\"}}"),
    "{\"method\":\"io.supd.Control.Events\",\"more\":true,\"parameters\":{}}",
    "{\"method\":\"org.varlink.service.GetInfo\",\"parameters\":null}",
    "{\"method\":\"a.B\",\"parameters\":{\"a\":[[[{\"b\":\"\\u00e9\\\"\"}]]]}}",
};

/* Change, insert, drop or double bytes of a message; the result has up to 400 bytes. */
static size_t
mutate(struct rng *rng, char text[400])
{
	size_t len = strlen(strcpy(text, seeds[rng_below(rng, 4)])) + 1;

	for (uint64_t n = rng_below(rng, 6); n > 0; n--) {
		size_t at = (size_t)rng_below(rng, len);

		switch (rng_below(rng, 4)) {
		case 0:
			text[at] = (char)rng_below(rng, 256);
			break;
		case 1:
			text[at] = "{}[]\",:\\\0tn"[rng_below(rng, 11)];
			break;
		case 2:
			memmove(text + at, text + at + 1, len - at - 1);
			len -= len > 2;
			break;
		default:
			memmove(text + at + 1, text + at, len - at);
			len++;
			break;
		}
	}
	return len;
}

START_TEST(mutated_messages_are_read_or_refused_alike_however_they_are_cut)
{
	struct rng rng;

	rng_seed(&rng, 20261121);
	for (int round = 0; round < 4000; round++) {
		char text[400];
		size_t len = mutate(&rng, text);
		struct varlink_reader whole;
		struct varlink_reader cut;
		size_t n[2] = {0};
		int r[2];

		varlink_reader_init(&whole, 300);
		varlink_reader_init(&cut, 300);
		r[0] = feed_all(&whole, text, len, len, &n[0]);
		r[1] = feed_all(&cut, text, len, 1 + (size_t)rng_below(&rng, 9), &n[1]);
		ck_assert_msg(r[0] == r[1], "round %d: %d and %d", round, r[0], r[1]);
		ck_assert_msg(n[0] == n[1], "round %d: %zu and %zu", round, n[0], n[1]);
		varlink_reader_done(&whole);
		varlink_reader_done(&cut);
	}
}
END_TEST

START_TEST(mutated_calls_are_parsed_or_refused_and_never_leak)
{
	struct rng rng;
	int parsed = 0;

	rng_seed(&rng, 7);
	for (int round = 0; round < 4000; round++) {
		char text[400];
		size_t len = mutate(&rng, text);
		struct varlink_reader reader;
		json_t *message;

		varlink_reader_init(&reader, 300);
		ck_assert_int_eq(varlink_reader_feed(&reader, text, len), 0);
		while (varlink_reader_next(&reader, &message, NULL) == 1) {
			struct varlink_call call;

			if (varlink_call_parse(message, &call, NULL) < 0)
				continue;
			ck_assert_ptr_nonnull(call.method);
			ck_assert(json_is_object(call.parameters));
			varlink_call_done(&call);
			parsed++;
		}
		varlink_reader_done(&reader);
	}
	ck_assert_int_gt(parsed, 500);
}
END_TEST

CHECK_MAIN("varlink", a_message_split_at_any_byte_is_whole_again,
           several_messages_in_one_piece_wait_their_turn, messages_can_be_had_as_text,
           a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not,
           bytes_without_an_end_are_refused_before_they_fill_memory,
           unread_messages_are_bounded_too, what_is_not_an_object_in_json_is_refused,
           of_a_key_that_occurs_twice_the_last_one_counts,
           nesting_is_bounded_and_brackets_in_strings_do_not_count, a_call_is_taken_apart,
           parameters_and_flags_that_are_absent_or_null_are_empty_and_false,
           a_call_that_breaks_the_protocol_is_refused,
           messages_have_parameters_always_and_never_a_key_too_many,
           a_fraction_is_written_as_it_was_read,
           a_message_that_is_too_long_is_not_written_at_all,
           the_interface_is_in_the_program_exactly_as_it_is_in_the_file,
           mutated_messages_are_read_or_refused_alike_however_they_are_cut,
           mutated_calls_are_parsed_or_refused_and_never_leak)
