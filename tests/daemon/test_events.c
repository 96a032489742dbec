/* SPDX-License-Identifier: ISC */
/* test_events.c - the ring of events. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"
#include "conf/text/log_words.h"
#include "daemon/state/events.h"
#include "daemon/state/glob.h"
#include "tests/lib/check_main.h"

static void
write_event(struct events *events, const char *path, size_t filler)
{
	const struct event_head head = {REPORT_STARTED, path, 1, 2};
	char *text = calloc(1, filler + 1);

	memset(text, 'x', filler);
	events_begin(events, &head);
	events_number(events, FIELD_PID, 77);
	events_text(events, FIELD_TEXT, text);
	events_end(events);
	free(text);
}

static json_t *
read_event(const struct events *events, uint64_t seq)
{
	struct event_view view;
	struct strbuf json;
	json_t *event;

	ck_assert(events_view(events, seq, &view));
	strbuf_init(&json, 10 * EVENT_BYTES_MAX);
	event_json(&json, &view);
	event = json_loadb(strbuf_str(&json), json.len, 0, NULL);
	ck_assert_msg(event != NULL, "%s", strbuf_str(&json));
	strbuf_done(&json);
	return event;
}

static const char *
path_of(const struct events *events, uint64_t seq)
{
	struct event_view view;

	return events_view(events, seq, &view) ? view.path : NULL;
}

static void
open_events(struct events *events)
{
	ck_assert_int_eq(events_init(events), 0);
	events_attach(events, calloc(1, sizeof(struct events_ring)));
}

static void
close_events(struct events *events)
{
	free(events->ring);
	events_done(events);
}

START_TEST(an_event_has_its_number_times_path_and_fields)
{
	struct events events;
	json_t *event;

	open_events(&events);
	write_event(&events, "/user/a", 0);
	ck_assert_uint_eq(events.next_seq, 2);
	event = read_event(&events, 1);
	ck_assert_int_eq(json_integer_value(json_object_get(event, "seq")), 1);
	ck_assert_str_eq(json_string_value(json_object_get(event, "event")), "started");
	ck_assert_str_eq(json_string_value(json_object_get(event, "path")), "/user/a");
	ck_assert_int_eq(json_integer_value(json_object_get(event, "incarnation")), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(event, "generation")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(event, "pid")), 77);
	ck_assert_int_gt(json_integer_value(json_object_get(event, "mono")), 1000000000);
	ck_assert_uint_eq(strlen(json_string_value(json_object_get(event, "time"))),
	                  strlen("2026-11-21T09:12:33.123456Z"));
	ck_assert_ptr_null(json_object_get(event, "truncated"));
	json_decref(event);
	close_events(&events);
}
END_TEST

/* Events of supd's own actors are in its log, not in the stream. */
START_TEST(an_event_that_is_not_put_into_the_ring_has_its_fields)
{
	const struct event_head head = {REPORT_STARTED, "/system/log", 1, 2};
	struct event_view view;
	struct strbuf json;
	struct events events;

	open_events(&events);
	events_begin(&events, &head);
	events_number(&events, FIELD_PID, 77);
	events_view_newest(&events, &view);
	strbuf_init(&json, 10 * EVENT_BYTES_MAX);
	event_json(&json, &view);
	ck_assert_ptr_nonnull(strstr(strbuf_str(&json), "\"pid\":77"));
	ck_assert_uint_eq(events.next_seq, 1);
	strbuf_done(&json);
	close_events(&events);
}
END_TEST

START_TEST(the_ring_goes_on_where_another_process_left_it)
{
	struct events events, successor;

	open_events(&events);
	events.by = 7;
	write_event(&events, "/user/a", 0);
	ck_assert_uint_eq(events_by(&events, 1), 7);
	/* An event that was begun and not ended is not in the ring. */
	events_begin(&events,
	             &(struct event_head){.kind = NOTICE_SUPD, .path = "/user/a"});
	ck_assert_int_eq(events_init(&successor), 0);
	events_attach(&successor, events.ring);
	ck_assert_uint_eq(events_by(&successor, 1), 7);
	write_event(&successor, "/user/b", 0);
	ck_assert_uint_eq(events_by(&successor, 2), 0);
	ck_assert_uint_eq(events_by(&successor, 3), 0);
	ck_assert_str_eq(path_of(&successor, 1), "/user/a");
	ck_assert_str_eq(path_of(&successor, 2), "/user/b");
	ck_assert_ptr_null(path_of(&successor, 3));
	events_done(&successor);
	close_events(&events);
}
END_TEST

START_TEST(a_ring_that_was_written_over_is_begun_anew_with_the_next_number)
{
	struct events events;

	for (int damage = 0; damage < 7; damage++) {
		open_events(&events);
		for (int i = 0; i < 10; i++)
			write_event(&events, "/user/a", 0);
		if (damage == 0)
			events.ring->records[5].offset = UINT32_MAX;
		if (damage == 1)
			events.ring->records[5].len = UINT32_MAX;
		if (damage == 2)
			events.ring->records[5].seq = 7;
		if (damage == 3)
			events.ring->first_seq = 12;
		if (damage == 4)
			events.ring->records[5].kind = NOTICE_MAX;
		if (damage == 5)
			events.ring->records[5].len = 3;
		if (damage == 6)
			events.ring->data[events.ring->records[5].offset + 8] = 1;
		events_attach(&events, events.ring);
		ck_assert_uint_eq(events.first_seq, 11);
		ck_assert_uint_eq(events.next_seq, 11);
		write_event(&events, "/user/b", 0);
		ck_assert_str_eq(path_of(&events, 11), "/user/b");
		close_events(&events);
	}
}
END_TEST

START_TEST(the_oldest_go_first_and_whatever_is_left_is_whole)
{
	struct events events;
	struct rng rng;
	uint64_t oldest = 1;

	rng_seed(&rng, 3);
	open_events(&events);
	for (int i = 0; i < 3000; i++) {
		char path[40];
		json_t *event;

		(void)snprintf(path, sizeof(path), "/user/a%d", i);
		write_event(&events, path, (size_t)rng_below(&rng, 8000));
		ck_assert_uint_eq(events.next_seq, (uint64_t)i + 2);
		ck_assert_uint_ge(events.first_seq, oldest);
		oldest = events.first_seq;
		event = read_event(&events, oldest);
		ck_assert_uint_eq(
		    (uint64_t)json_integer_value(json_object_get(event, "seq")), oldest);
		ck_assert_str_eq(json_string_value(json_object_get(event, "path")),
		                 path_of(&events, oldest));
		json_decref(event);
	}
	for (uint64_t seq = oldest; seq < events.next_seq; seq++) {
		json_t *event = read_event(&events, seq);

		ck_assert_uint_eq(
		    (uint64_t)json_integer_value(json_object_get(event, "seq")), seq);
		json_decref(event);
	}
	ck_assert_uint_gt(oldest, 1);
	/* About 4 KB each: what fits, and not much less. */
	ck_assert_uint_gt(events.next_seq - oldest, 400);
	ck_assert_uint_lt(events.next_seq - oldest, 600);
	close_events(&events);
}
END_TEST

START_TEST(the_number_of_records_is_bounded_too)
{
	struct events events;

	open_events(&events);
	for (int i = 0; i < 3 * EVENTS_MAX; i++) {
		const struct event_head head = {NOTICE_SUPD, "/", 0, 0};

		events_begin(&events, &head);
		events_end(&events);
	}
	ck_assert_uint_le(events.next_seq - events.first_seq, EVENTS_MAX);
	ck_assert_uint_gt(events.next_seq - events.first_seq, EVENTS_MAX / 2);
	ck_assert_ptr_null(path_of(&events, events.first_seq - 1));
	ck_assert_ptr_null(path_of(&events, events.next_seq));
	ck_assert_str_eq(path_of(&events, events.next_seq - 1), "/");
	ck_assert_ptr_null(path_of(&events, 0));
	close_events(&events);
}
END_TEST

static void
add_texts(struct events *events, enum field field, const char *a, const char *b)
{
	events_open(events, field);
	events_add(events, a, strlen(a));
	events_add(events, b, strlen(b));
	events_close(events);
}

START_TEST(every_field_is_told_in_the_order_in_which_it_was_written)
{
	const struct event_head head = {REPORT_FAILURE, "/user/a", 1, 2};
	const struct cause cause = {.kind = CAUSE_DEATH_PACT, .code = -1, .watch = 1};
	static const char fields[] =
	    "\"event\":\"failure\",\"path\":\"/user/a\",\"incarnation\":1,"
	    "\"generation\":2,\"delay_ms\":-5,\"pid\":null,\"timed_out\":true,"
	    "\"existence_confirmed\":false,\"cause\":{\"kind\":\"death_pact\","
	    "\"code\":null,\"signal\":null,\"core\":null,\"errno\":null,"
	    "\"key\":\"/user/w\",\"text\":\"watches /user/w, which ended for good\"},"
	    "\"origin\":\"a\\\"b\",\"scope\":[\"/user/b\",\"/user/c\"],"
	    "\"last_words\":[],\"plan\":[{\"path\":\"/user/p\",\"change\":\"added\"}]}";
	struct events events;
	struct event_view view;
	struct strbuf json;

	open_events(&events);
	events_begin(&events, &head);
	events_number(&events, FIELD_DELAY, -5);
	events_null(&events, FIELD_PID);
	events_flag(&events, FIELD_TIMED_OUT, true);
	events_flag(&events, FIELD_CONFIRMED, false);
	events_cause(&events, &cause, "/user/w");
	events_text(&events, FIELD_ORIGIN, "a\"b");
	add_texts(&events, FIELD_SCOPE, "/user/b", "/user/c");
	events_open(&events, FIELD_LAST_WORDS);
	events_close(&events);
	add_texts(&events, FIELD_PLAN, "/user/p", "added");
	events_end(&events);
	ck_assert(events_view(&events, 1, &view));
	strbuf_init(&json, EVENT_BYTES_MAX);
	event_json(&json, &view);
	ck_assert_str_eq(strstr(strbuf_str(&json), "\"event\""), fields);
	strbuf_done(&json);
	close_events(&events);
}
END_TEST

START_TEST(an_event_mentions_the_paths_in_all_its_fields)
{
	const struct event_head head = {REPORT_FAILURE, "/user/a", 1, 2};
	const struct cause cause = {.kind = CAUSE_DEATH_PACT, .code = -1, .watch = 1};
	static const char *const mentioned[] = {"/user/a", "/user/o", "/user/w",
	                                        "/user/b", "/user/c", "/user/p"};
	static const char *const others[] = {"/user", "/user/", "/user/a/b", "", "a"};
	struct events events;
	struct event_view view;

	open_events(&events);
	events_begin(&events, &head);
	events_number(&events, FIELD_DELAY, INT64_C(0x612f726573752f));
	events_cause(&events, &cause, "/user/w");
	events_text(&events, FIELD_ORIGIN, "/user/o");
	add_texts(&events, FIELD_SCOPE, "/user/b", "/user/c");
	add_texts(&events, FIELD_PLAN, "/user/p", "added");
	events_end(&events);
	ck_assert(events_view(&events, 1, &view));
	for (size_t i = 0; i < ARRAY_SIZE(mentioned); i++)
		ck_assert_msg(event_mentions(&view, mentioned[i]), "%s", mentioned[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		ck_assert_msg(!event_mentions(&view, others[i]), "%s", others[i]);
	close_events(&events);
}
END_TEST

START_TEST(a_nul_in_a_line_is_told_as_a_character_that_is_none)
{
	const struct event_head head = {REPORT_FAILURE, "/user/a", 1, 2};
	struct events events;
	struct event_view view;
	const char *line;

	open_events(&events);
	events_begin(&events, &head);
	events_open(&events, FIELD_LAST_WORDS);
	events_add(&events, "\0a\0b\0", 5);
	events_add(&events, "", 0);
	events_close(&events);
	events_end(&events);
	ck_assert(events_view(&events, 1, &view));
	line = event_next(&view, FIELD_LAST_WORDS, NULL);
	ck_assert_str_eq(line, "\xef\xbf\xbd"
	                       "a\xef\xbf\xbd"
	                       "b\xef\xbf\xbd");
	line = event_next(&view, FIELD_LAST_WORDS, line);
	ck_assert_str_eq(line, "");
	ck_assert_ptr_null(event_next(&view, FIELD_LAST_WORDS, line));
	close_events(&events);
}
END_TEST

START_TEST(a_field_that_does_not_fit_is_left_out_and_the_event_says_so)
{
	const struct event_head head = {REPORT_FAILURE, "/user/a", 1, 1};
	char *large = calloc(1, EVENT_BYTES_MAX + 1);
	struct events events;
	json_t *event;

	memset(large, 'y', EVENT_BYTES_MAX);
	open_events(&events);
	events_begin(&events, &head);
	events_text(&events, FIELD_TEXT, large);
	events_open(&events, FIELD_SCOPE);
	events_add(&events, large, EVENT_BYTES_MAX);
	events_add(&events, "b", 1);
	events_close(&events);
	events_text(&events, FIELD_ORIGIN, "");
	events_number(&events, FIELD_DELAY, -5);
	events_end(&events);
	event = read_event(&events, 1);
	ck_assert_ptr_null(json_object_get(event, "text"));
	ck_assert_ptr_null(json_object_get(event, "scope"));
	ck_assert_str_eq(json_string_value(json_object_get(event, "origin")), "");
	ck_assert_int_eq(json_integer_value(json_object_get(event, "delay_ms")), -5);
	ck_assert(json_is_true(json_object_get(event, "truncated")));
	json_decref(event);
	close_events(&events);
	free(large);
}
END_TEST

/* The lines that are not in the log yet are those of events with these paths; they are
 * in the log then. */
static void
assert_lines(struct events *events, const char *wanted)
{
	char paths[1000] = "";
	struct event_view view;

	for (; events_find_line(events, &view); events_pass_line(events))
		(void)strcat(paths, view.path);
	ck_assert_str_eq(paths, wanted);
}

static void
write_event_with_line(struct events *events, const char *path)
{
	events_begin(events, &(struct event_head){REPORT_READY, path, 1, 2});
	events->record.log_level = LOG_LEVEL_INFO + 1;
	events_end(events);
}

START_TEST(lines_that_were_put_off_are_written_once_by_this_guardian_or_the_next)
{
	struct events events, next;

	open_events(&events);
	assert_lines(&events, "");
	write_event_with_line(&events, "/a");
	write_event(&events, "/without", 1);
	write_event_with_line(&events, "/b");
	ck_assert_uint_eq(events_behind(&events), 3);
	assert_lines(&events, "/a/b");
	assert_lines(&events, "");
	write_event_with_line(&events, "/c");
	ck_assert_int_eq(events_init(&next), 0);
	events_attach(&next, events.ring);
	events_done(&events);
	assert_lines(&next, "/c");
	/* Of a guardian that wrote at random. */
	atomic_store(&next.ring->next_line, UINT64_MAX);
	assert_lines(&next, "/a/b/c");
	close_events(&next);
}
END_TEST

START_TEST(records_of_random_bytes_are_dropped_or_can_be_read)
{
	struct rng rng;

	rng_seed(&rng, 5);
	for (int i = 0; i < 5000; i++) {
		struct events events;
		const struct event_record *record;
		uint64_t first;

		open_events(&events);
		write_event(&events, "/user/a", 20);
		events_begin(&events,
		             &(struct event_head){REPORT_FAILURE, "/user/b", 1, 2});
		events_cause(&events, &(struct cause){.kind = CAUSE_EXIT, .code = 1},
		             "/x");
		add_texts(&events, FIELD_PLAN, "/user/p", "added");
		events_flag(&events, FIELD_TIMED_OUT, true);
		events_end(&events);
		record = &events.ring->records[2];
		for (uint64_t n = rng_below(&rng, 4); n > 0; n--)
			events.ring->data[record->offset + rng_below(&rng, record->len)] =
			    (char)rng_below(&rng, 256);
		events_attach(&events, events.ring);
		first = events.first_seq;
		ck_assert(first == 1 || first == 3);
		for (uint64_t seq = first; seq < 3; seq++)
			json_decref(read_event(&events, seq));
		close_events(&events);
	}
}
END_TEST

START_TEST(a_filter_matches_paths_across_levels_and_last_names)
{
	struct events events;

	open_events(&events);
	write_event(&events, "/user/app/api", 0);
	ck_assert(events_match(&events, 1, NULL));
	ck_assert(events_match(&events, 1, "/user/app/api"));
	ck_assert(events_match(&events, 1, "app/api"));
	ck_assert(events_match(&events, 1, "api"));
	ck_assert(events_match(&events, 1, "a*"));
	ck_assert(events_match(&events, 1, "/user/*"));
	ck_assert(events_match(&events, 1, "*/a?[a-i]"));
	ck_assert(!events_match(&events, 1, "app"));
	ck_assert(!events_match(&events, 1, "/user/ap"));
	ck_assert(!events_match(&events, 2, NULL));
	close_events(&events);
}
END_TEST

CHECK_MAIN("events",
           lines_that_were_put_off_are_written_once_by_this_guardian_or_the_next,
           an_event_has_its_number_times_path_and_fields,
           an_event_that_is_not_put_into_the_ring_has_its_fields,
           the_ring_goes_on_where_another_process_left_it,
           a_ring_that_was_written_over_is_begun_anew_with_the_next_number,
           the_oldest_go_first_and_whatever_is_left_is_whole,
           the_number_of_records_is_bounded_too,
           a_field_that_does_not_fit_is_left_out_and_the_event_says_so,
           every_field_is_told_in_the_order_in_which_it_was_written,
           an_event_mentions_the_paths_in_all_its_fields,
           a_nul_in_a_line_is_told_as_a_character_that_is_none,
           records_of_random_bytes_are_dropped_or_can_be_read,
           a_filter_matches_paths_across_levels_and_last_names)
