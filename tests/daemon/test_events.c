/* SPDX-License-Identifier: ISC */
/* test_events.c - the ring of events, patterns, and causes in words. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "daemon/state/cause.h"
#include "daemon/state/events.h"
#include "daemon/state/glob.h"
#include "tests/lib/check_main.h"

static void
write_event(struct events *events, const char *path, size_t filler)
{
	const struct event_head head = {"started", path, 1, 2};
	char *text = calloc(1, filler + 1);

	memset(text, 'x', filler);
	events_begin(events, &head);
	events_number(events, "pid", 77);
	events_string(events, "filler", text);
	events_end(events);
	free(text);
}

static json_t *
read_event(const struct events *events, uint64_t seq)
{
	const char *json;
	size_t len;
	json_t *event;

	ck_assert(events_get(events, seq, &json, &len));
	ck_assert_uint_eq(strlen(json), len);
	event = json_loadb(json, len, 0, NULL);
	ck_assert_msg(event != NULL, "%s", json);
	return event;
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

START_TEST(the_ring_goes_on_where_another_process_left_it)
{
	struct events events, successor;
	const char *json;
	size_t len;

	open_events(&events);
	events.by = 7;
	write_event(&events, "/user/a", 0);
	ck_assert_uint_eq(events_by(&events, 1), 7);
	/* An event that was begun and not ended is not in the ring. */
	events_begin(&events, &(struct event_head){.event = "lost", .path = "/user/a"});
	ck_assert_int_eq(events_init(&successor), 0);
	events_attach(&successor, events.ring);
	ck_assert_uint_eq(events_by(&successor, 1), 7);
	write_event(&successor, "/user/b", 0);
	ck_assert_uint_eq(events_by(&successor, 2), 0);
	ck_assert_uint_eq(events_by(&successor, 3), 0);
	ck_assert_str_eq(events_path(&successor, 1), "/user/a");
	ck_assert_str_eq(events_path(&successor, 2), "/user/b");
	ck_assert(!events_get(&successor, 3, &json, &len));
	events_done(&successor);
	close_events(&events);
}
END_TEST

START_TEST(a_ring_that_was_written_over_is_begun_anew_with_the_next_number)
{
	struct events events;

	for (int damage = 0; damage < 4; damage++) {
		open_events(&events);
		for (int i = 0; i < 10; i++)
			write_event(&events, "/user/a", 0);
		if (damage == 0)
			events.ring->records[5].offset = SIZE_MAX;
		if (damage == 1)
			events.ring->records[5].len = UINT32_MAX;
		if (damage == 2)
			events.ring->records[5].seq = 7;
		if (damage == 3)
			events.ring->first_seq = 12;
		events_attach(&events, events.ring);
		ck_assert_uint_eq(events.first_seq, 11);
		ck_assert_uint_eq(events.next_seq, 11);
		write_event(&events, "/user/b", 0);
		ck_assert_str_eq(events_path(&events, 11), "/user/b");
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
		                 events_path(&events, oldest));
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
	const char *json;
	size_t len;

	open_events(&events);
	for (int i = 0; i < 3 * EVENTS_MAX; i++) {
		const struct event_head head = {"e", "/", 0, 0};

		events_begin(&events, &head);
		events_end(&events);
	}
	ck_assert_uint_le(events.next_seq - events.first_seq, EVENTS_MAX);
	ck_assert_uint_gt(events.next_seq - events.first_seq, EVENTS_MAX / 2);
	ck_assert(!events_get(&events, events.first_seq - 1, &json, &len));
	ck_assert(!events_get(&events, events.next_seq, &json, &len));
	ck_assert(events_get(&events, events.next_seq - 1, &json, &len));
	ck_assert_ptr_null(events_path(&events, 0));
	close_events(&events);
}
END_TEST

START_TEST(a_field_that_there_was_no_memory_for_is_null)
{
	const struct event_head head = {"failure", "/user/a", 1, 1};
	struct strbuf small;
	struct events events;
	json_t *event;

	strbuf_init(&small, 4);
	strbuf_adds(&small, "[\"does not fit\"]");
	ck_assert(small.failed);
	open_events(&events);
	events_begin(&events, &head);
	events_buffer(&events, "cause", &small);
	events_end(&events);
	event = read_event(&events, 1);
	ck_assert(json_is_null(json_object_get(event, "cause")));
	json_decref(event);
	close_events(&events);
	strbuf_done(&small);
}
END_TEST

START_TEST(a_field_that_does_not_fit_is_left_out_and_the_event_says_so)
{
	const struct event_head head = {"failure", "/user/a", 1, 1};
	char *large = calloc(1, EVENT_BYTES_MAX + 1);
	struct events events;
	json_t *event;

	memset(large, 'y', EVENT_BYTES_MAX);
	open_events(&events);
	events_begin(&events, &head);
	events_string(&events, "large", large);
	events_string(&events, "nothing", NULL);
	events_raw(&events, "raw", "[1,2]");
	events_number(&events, "small", -5);
	events_end(&events);
	event = read_event(&events, 1);
	ck_assert_ptr_null(json_object_get(event, "large"));
	ck_assert(json_is_null(json_object_get(event, "nothing")));
	ck_assert_uint_eq(json_array_size(json_object_get(event, "raw")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(event, "small")), -5);
	ck_assert(json_is_true(json_object_get(event, "truncated")));
	json_decref(event);
	close_events(&events);
	free(large);
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

static void
check_cause(struct cause cause, const char *kind, const char *text)
{
	struct strbuf sb;
	json_t *object;

	strbuf_init(&sb, 1000);
	cause_json(&sb, &cause, NULL);
	object = json_loads(strbuf_str(&sb), 0, NULL);
	ck_assert_msg(object != NULL, "%s", strbuf_str(&sb));
	ck_assert_uint_eq(json_object_size(object), 7);
	ck_assert_str_eq(json_string_value(json_object_get(object, "kind")), kind);
	ck_assert_str_eq(json_string_value(json_object_get(object, "text")), text);
	json_decref(object);
	strbuf_done(&sb);
}

START_TEST(causes_are_told_in_plain_words)
{
	check_cause((struct cause){.kind = CAUSE_EXIT, .code = 3}, "exit",
	            "exited with 3");
	check_cause(
	    (struct cause){.kind = CAUSE_CORE, .code = -1, .signal = 11, .core = true},
	    "core", "killed by SIGSEGV (core dumped)");
	check_cause((struct cause){.kind = CAUSE_SIGNAL, .code = -1, .signal = 9},
	            "signal", "killed by SIGKILL");
	check_cause((struct cause){.kind = CAUSE_SIGNAL, .code = -1, .signal = 36},
	            "signal", "killed by SIGRTMIN+2");
	check_cause((struct cause){.kind = CAUSE_EXEC, .code = -1, .error = ENOENT},
	            "exec", "could not be executed: ENOENT (No such file or directory)");
	check_cause((struct cause){.kind = CAUSE_START_TIMEOUT, .code = -1},
	            "start_timeout", "did not become ready within its start_timeout");
	check_cause((struct cause){.kind = CAUSE_EARLY_EXIT, .code = 0}, "early_exit",
	            "ended before it was ready (exited with 0)");
	check_cause((struct cause){.kind = CAUSE_NORMAL, .code = -1, .signal = 15},
	            "normal", "ended normally (killed by SIGTERM)");
	check_cause(
	    (struct cause){
	        .kind = CAUSE_SELF_REPORT, .code = -1, .error = EIO, .key = "disk"},
	    "self_report", "reported a failure of its own: disk (Input/output error)");
	check_cause((struct cause){.kind = CAUSE_STOPPED, .code = -1, .signal = 19},
	            "stopped", "was stopped by SIGSTOP");
	check_cause((struct cause){.kind = CAUSE_STOPPED, .code = -1}, "stopped",
	            "stopped");
	for (int kind = 0; kind < CAUSE_KIND_MAX; kind++) {
		const struct cause cause = {.kind = (enum cause_kind)kind, .code = -1};
		struct strbuf sb;

		strbuf_init(&sb, 1000);
		cause_json(&sb, &cause, NULL);
		json_t *object = json_loads(strbuf_str(&sb), 0, NULL);
		ck_assert_ptr_nonnull(object);
		json_decref(object);
		strbuf_done(&sb);
	}
}
END_TEST

static void
check_rule(enum preset preset, struct place place, uint8_t reason, const char *expected)
{
	char name[] = "supd.yaml";
	char *files[] = {name};
	const struct conf conf = {.files = files, .n_files = 1};
	struct strbuf sb;

	strbuf_init(&sb, 1000);
	rule_text(&sb, &conf, preset, place, reason);
	ck_assert_str_eq(strbuf_str(&sb), expected);
	strbuf_done(&sb);
}

START_TEST(a_rule_is_a_place_a_preset_or_a_reason)
{
	const struct place nowhere = {0, 0};

	check_rule(PRESET_LIST, (struct place){0, 12}, DECIDED_BY_RULE, "supd.yaml:12");
	check_rule(PRESET_OTP, (struct place){0, 12}, DECIDED_BY_RULE, "supd.yaml:12");
	check_rule(PRESET_DEFAULT, nowhere, DECIDED_BY_RULE, "preset default");
	check_rule(PRESET_LIST, nowhere, DECIDED_NO_RULE_MATCHED, "no rule matched");
	check_rule(PRESET_DEFAULT, nowhere, DECIDED_LIMIT,
	           "preset default (limit exceeded)");
	check_rule(PRESET_LIST, (struct place){0, 12}, DECIDED_INTENSITY,
	           "supd.yaml:12 (intensity exceeded)");
	check_rule(PRESET_DEFAULT, (struct place){9, 12}, DECIDED_BY_RULE,
	           "preset default");
}
END_TEST

CHECK_MAIN("events", an_event_has_its_number_times_path_and_fields,
           the_ring_goes_on_where_another_process_left_it,
           a_ring_that_was_written_over_is_begun_anew_with_the_next_number,
           the_oldest_go_first_and_whatever_is_left_is_whole,
           the_number_of_records_is_bounded_too,
           a_field_that_does_not_fit_is_left_out_and_the_event_says_so,
           a_field_that_there_was_no_memory_for_is_null,
           a_filter_matches_paths_across_levels_and_last_names,
           as_a_name_a_star_stays_within_its_level,
           sets_have_ranges_and_negation_and_may_be_broken,
           a_pattern_full_of_stars_costs_no_more_than_any_other,
           causes_are_told_in_plain_words, a_rule_is_a_place_a_preset_or_a_reason)
