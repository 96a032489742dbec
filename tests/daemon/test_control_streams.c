/* SPDX-License-Identifier: ISC */
/* test_control_streams.c - calls with many replies: nothing missing, nothing twice, no
 * reader can hurt.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "daemon/report/report.h"
#include "daemon/state/post.h"
#include "tests/lib/fake_rooms.h"

static struct fake *fake;
static struct client client;

static void
set_up(void)
{
	fake = fake_new();
	(void)fake_add(fake, "/user/a", NODE_WORKER);
	(void)fake_add(fake, "/user/app", NODE_SUPERVISOR);
	(void)fake_add(fake, "/user/app/b", NODE_WORKER);
	fake_boot(fake);
	client_open(&client, fake);
}

static void
tear_down(void)
{
	client_close(&client);
	fake_free(fake);
}

static const json_t *
parameter(const json_t *reply, const char *key)
{
	return json_object_get(json_object_get(reply, "parameters"), key);
}

static bool
continues(const json_t *reply)
{
	return json_is_true(json_object_get(reply, "continues"));
}

static const char *
text_of(const json_t *reply, const char *key)
{
	const char *text = json_string_value(parameter(reply, key));

	return text != NULL ? text : "(none)";
}

static json_int_t
seq_of(const json_t *reply)
{
	return json_integer_value(json_object_get(parameter(reply, "event"), "seq"));
}

static void
write_events(size_t n, const char *path, size_t filler)
{
	const struct event_head head = {.kind = NOTICE_SUPD, .path = path};
	char *text = calloc(1, filler + 1);

	memset(text, 'x', filler);
	for (size_t i = 0; i < n; i++) {
		events_begin(&fake->supd.events, &head);
		events_text(&fake->supd.events, FIELD_WHAT, text);
		events_end(&fake->supd.events);
	}
	free(text);
}

/* ---- Status ------------------------------------------------------------------------ */

START_TEST(status_with_more_is_one_actor_a_reply_and_the_last_ends_it)
{
	static const char *const paths[] = {"/user", "/user/a", "/user/app",
	                                    "/user/app/b"};

	json_t *reply = client_call(&client, "Status", "{}", ",\"more\":true");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const json_t *actors = parameter(reply, "actors");
		const json_t *actor = json_array_get(actors, 0);

		ck_assert_uint_eq(json_array_size(actors), 1);
		ck_assert_str_eq(json_string_value(json_object_get(actor, "path")),
		                 paths[i]);
		ck_assert_int_eq(continues(reply), i + 1 < ARRAY_SIZE(paths));
		json_decref(reply);
		reply = client_reply(&client);
	}
	ck_assert_ptr_null(reply);
	json_decref(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(ten_thousand_actors_are_streamed_to_a_reader_however_slow)
{
	size_t n = 1;
	json_t *reply;

	fake->rig.unchecked = true;
	for (int i = 0; i < 10000; i++) {
		char path[40];

		(void)snprintf(path, sizeof(path), "/user/w%d", i);
		(void)fake_add(fake, path, NODE_WORKER);
	}
	reply = client_call(&client, "Status", "{}", ",\"more\":true");
	while (continues(reply)) {
		json_decref(reply);
		reply = client_reply(&client);
		ck_assert_uint_le(
		    fake->supd.control->attention.tqh_first == NULL
		        ? conn_unsent(TAILQ_FIRST(&fake->supd.control->conns))
		        : 0,
		    CONTROL_OUT_PIECE + 4096);
		n++;
	}
	json_decref(reply);
	ck_assert_uint_eq(n, 10004);
	reply = client_call(&client, "Status", "{}", "");
	ck_assert_uint_eq(json_array_size(parameter(reply, "actors")), 10004);
	json_decref(reply);
}
END_TEST

/* ---- Events ------------------------------------------------------------------------ */

START_TEST(without_follow_the_ring_is_replayed_and_the_stream_ends)
{
	const uint64_t last = fake->supd.events.next_seq - 1;

	json_t *reply = client_call(&client, "Events", "{}", ",\"more\":true");
	for (uint64_t seq = 1; seq <= last; seq++) {
		ck_assert_uint_eq((uint64_t)seq_of(reply), seq);
		ck_assert_int_eq(continues(reply), seq < last);
		json_decref(reply);
		reply = client_reply(&client);
	}
	ck_assert_ptr_null(reply);
}
END_TEST

START_TEST(where_nothing_matches_the_one_reply_is_an_empty_event)
{
	json_t *reply =
	    client_call(&client, "Events", "{\"pattern\":\"nobody\"}", ",\"more\":true");

	ck_assert(json_is_object(parameter(reply, "event")));
	ck_assert_uint_eq(json_object_size(parameter(reply, "event")), 0);
	ck_assert(!continues(reply));
	json_decref(reply);
	json_decref(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(a_pattern_picks_the_paths)
{
	json_t *reply;
	size_t n = 0;

	write_events(3, "/user/app/b", 10);
	write_events(3, "/user/a", 10);
	write_events(2, "/user/app/b", 10);
	reply = client_call(&client, "Events", "{\"pattern\":\"app/*\",\"since\":2}",
	                    ",\"more\":true");
	for (;;) {
		const json_t *path = json_object_get(parameter(reply, "event"), "path");
		bool more = continues(reply);

		ck_assert_str_eq(json_string_value(path), "/user/app/b");
		n++;
		json_decref(reply);
		if (!more)
			break;
		reply = client_reply(&client);
	}
	ck_assert_uint_ge(n, 5);
	ck_assert_ptr_null(client_reply(&client));
}
END_TEST

START_TEST(a_follower_gets_old_and_new_without_a_seam)
{
	json_t *reply = client_call(&client, "Events", "{\"since\":2,\"follow\":true}",
	                            ",\"more\":true");
	json_int_t seq = 3;

	while (reply != NULL) {
		ck_assert_int_eq(seq_of(reply), seq++);
		ck_assert(continues(reply));
		json_decref(reply);
		reply = client_reply(&client);
	}
	ck_assert_int_eq(seq, (json_int_t)fake->supd.events.next_seq);
	for (int i = 0; i < 5; i++) {
		write_events(1, "/user/a", 10);
		reply = client_reply(&client);
		ck_assert_int_eq(seq_of(reply), seq++);
		json_decref(reply);
		ck_assert_ptr_null(client_reply(&client));
	}
	ck_assert_uint_eq(fake->supd.control->n_followers, 1);
}
END_TEST

START_TEST(a_number_that_was_never_given_out_means_another_supd_and_gets_all)
{
	json_t *reply =
	    client_call(&client, "Events", "{\"since\":999999}", ",\"more\":true");

	ck_assert_int_eq(seq_of(reply), 1);
	while (reply != NULL) {
		json_decref(reply);
		reply = client_reply(&client);
	}
	write_events(1, "/user/a", 10);
	client_send(&client, "{\"method\":\"io.supd.Control.Events\",\"more\":true,"
	                     "\"parameters\":{\"since\":0}}");
	reply = client_reply(&client);
	ck_assert_int_eq(seq_of(reply), 1);
	json_decref(reply);
}
END_TEST

START_TEST(a_reader_that_does_not_read_costs_little_and_ends_with_slow_consumer)
{
	const struct conn *conn = TAILQ_FIRST(&fake->supd.control->conns);
	json_t *reply;
	const char *error = NULL;
	json_int_t dropped = 0;

	client_send(&client, "{\"method\":\"io.supd.Control.Events\",\"more\":true,"
	                     "\"parameters\":{\"follow\":true}}");
	for (int i = 0; i < 200; i++) {
		write_events(50, "/user/a", 1000);
		fake_run(fake);
		ck_assert_uint_lt(conn_unsent(conn), CONTROL_OUT_STREAM + 4096);
	}
	while (error == NULL) {
		reply = client_reply(&client);
		ck_assert_ptr_nonnull(reply);
		error = json_string_value(json_object_get(reply, "error"));
		if (error == NULL) {
			json_decref(reply);
			continue;
		}
		ck_assert_str_eq(error, "io.supd.Control.SlowConsumer");
		dropped = json_integer_value(parameter(reply, "dropped"));
	}
	ck_assert_int_gt(dropped, 1000);
	json_decref(reply);
	/* Only the stream is over. */
	ck_assert_uint_eq(fake->supd.control->n_followers, 0);
	json_decref(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(a_follower_that_goes_away_is_forgotten)
{
	struct client other;

	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Events\",\"more\":true,"
	                    "\"parameters\":{\"follow\":true}}");
	fake_run(fake);
	ck_assert_uint_eq(fake->supd.control->n_followers, 1);
	client_close(&other);
	ck_assert_uint_eq(fake->supd.control->n_followers, 0);
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
}
END_TEST

/* ---- Watch ------------------------------------------------------------------------- */

START_TEST(a_watch_tells_of_the_final_end_once_and_never_of_a_restart)
{
	json_t *reply;

	client_send(&client, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	fake_run(fake);
	for (int i = 0; i < 3; i++) {
		fake_dies(fake, "/user/a", 3, 0);
		ck_assert_ptr_null(client_reply(&client));
	}
	post_event(fake->supd.post,
	           &(struct event){.kind = EVENT_STOP, .ref = fake_ref(fake, "/user/a")});
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/a");
	ck_assert_str_eq(text_of(reply, "state"), "stopped");
	ck_assert(json_is_true(parameter(reply, "existence_confirmed")));
	ck_assert_str_eq(
	    json_string_value(json_object_get(parameter(reply, "cause"), "kind")),
	    "stopped");
	ck_assert_uint_eq(json_object_size(json_object_get(reply, "parameters")), 5);
	ck_assert(!continues(reply));
	json_decref(reply);
	ck_assert_ptr_null(client_reply(&client));
}
END_TEST

START_TEST(an_actor_that_fails_for_good_ends_with_its_cause)
{
	json_t *reply;

	client_send(&client, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	fake_run(fake);
	post_event(fake->supd.post,
	           &(struct event){.kind = EVENT_KILL, .ref = fake_ref(fake, "/user/a")});
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "state"), "failed");
	ck_assert_str_eq(
	    json_string_value(json_object_get(parameter(reply, "cause"), "kind")),
	    "killed");
	json_decref(reply);
}
END_TEST

START_TEST(the_dead_the_unknown_and_the_successor_are_told_at_once_and_not_confirmed)
{
	json_t *reply;

	post_event(fake->supd.post,
	           &(struct event){.kind = EVENT_STOP, .ref = fake_ref(fake, "/user/a")});
	fake_run(fake);
	reply = client_call(&client, "Watch",
	                    "{\"names\":[\"/user/a\",\"/user/nobody\",\"app\"],"
	                    "\"since\":[1,0,77]}",
	                    ",\"more\":true");
	ck_assert_str_eq(text_of(reply, "path"), "/user/a");
	ck_assert_str_eq(text_of(reply, "state"), "stopped");
	ck_assert(json_is_false(parameter(reply, "existence_confirmed")));
	ck_assert(json_is_null(parameter(reply, "cause")));
	ck_assert(continues(reply));
	json_decref(reply);
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/nobody");
	ck_assert_str_eq(text_of(reply, "state"), "unknown");
	ck_assert(continues(reply));
	json_decref(reply);
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/app");
	ck_assert_str_eq(text_of(reply, "state"), "running");
	ck_assert(!continues(reply));
	json_decref(reply);
}
END_TEST

START_TEST(several_watches_answer_in_the_order_of_the_ends)
{
	json_t *reply;

	client_send(&client, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"a\",\"b\"]}}");
	ck_assert_ptr_null(client_reply(&client));
	post_event(
	    fake->supd.post,
	    &(struct event){.kind = EVENT_STOP, .ref = fake_ref(fake, "/user/app/b")});
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/app/b");
	ck_assert(continues(reply));
	json_decref(reply);
	ck_assert_ptr_null(client_reply(&client));
	post_event(fake->supd.post,
	           &(struct event){.kind = EVENT_STOP, .ref = fake_ref(fake, "/user/a")});
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/a");
	ck_assert(!continues(reply));
	json_decref(reply);
}
END_TEST

START_TEST(of_ends_in_one_turn_children_come_before_their_supervisor)
{
	static const char *const paths[] = {"/user/app/b", "/user/app"};

	client_send(&client, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"app\",\"b\"]}}");
	fake_run(fake);
	post_event(fake->supd.post, &(struct event){.kind = EVENT_STOP,
	                                            .ref = fake_ref(fake, "/user/app")});
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		json_t *reply = client_reply(&client);

		ck_assert_str_eq(text_of(reply, "path"), paths[i]);
		json_decref(reply);
	}
}
END_TEST

START_TEST(a_temporary_actor_is_gone_with_its_end_and_its_watcher_hears_why)
{
	struct spec spec;
	json_t *reply;

	spec_default(&spec, NODE_WORKER);
	spec.restart = RESTART_TEMPORARY;
	(void)fake_add_spec(fake, "/user/t", &spec);
	fake_run(fake);
	client_send(&client, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                     "\"parameters\":{\"names\":[\"t\"]}}");
	fake_run(fake);
	fake_dies(fake, "/user/t", 8, 0);
	reply = client_reply(&client);
	ck_assert_str_eq(text_of(reply, "path"), "/user/t");
	ck_assert_str_eq(text_of(reply, "state"), "failed");
	ck_assert_int_eq(
	    json_integer_value(json_object_get(parameter(reply, "cause"), "code")), 8);
	json_decref(reply);
	reply = client_call(&client, "Status", "{\"names\":[\"t\"]}", "");
	ck_assert_str_eq(json_string_value(json_object_get(reply, "error")),
	                 "io.supd.Control.NoSuchActor");
	json_decref(reply);
}
END_TEST

START_TEST(a_watcher_that_goes_away_watches_no_more)
{
	struct client other;

	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                    "\"parameters\":{\"names\":[\"a\",\"b\"]}}");
	fake_run(fake);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 2);
	client_close(&other);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->n_unwaited, 2);
}
END_TEST

/* A guardian that wrote at random may have spoiled a record of the ring. */
START_TEST(an_event_without_a_sentence_that_is_to_have_a_line_ends_no_guardian)
{
	const struct event_head head = {NOTICE_SUPD, "/", 0, 0};
	struct events *events = &fake->supd.events;

	report_lines(&fake->reporter);
	events_begin(events, &head);
	events->record.log_level = LOG_LEVEL_ERROR + 1;
	events_end(events);
	ck_assert_uint_eq(events_behind(events), 1);
	report_lines(&fake->reporter);
	ck_assert_uint_eq(events_behind(events), 0);
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    status_with_more_is_one_actor_a_reply_and_the_last_ends_it,
	    ten_thousand_actors_are_streamed_to_a_reader_however_slow,
	    without_follow_the_ring_is_replayed_and_the_stream_ends,
	    where_nothing_matches_the_one_reply_is_an_empty_event,
	    a_pattern_picks_the_paths,
	    a_follower_gets_old_and_new_without_a_seam,
	    a_number_that_was_never_given_out_means_another_supd_and_gets_all,
	    a_reader_that_does_not_read_costs_little_and_ends_with_slow_consumer,
	    a_follower_that_goes_away_is_forgotten,
	    a_watch_tells_of_the_final_end_once_and_never_of_a_restart,
	    an_actor_that_fails_for_good_ends_with_its_cause,
	    the_dead_the_unknown_and_the_successor_are_told_at_once_and_not_confirmed,
	    several_watches_answer_in_the_order_of_the_ends,
	    of_ends_in_one_turn_children_come_before_their_supervisor,
	    a_temporary_actor_is_gone_with_its_end_and_its_watcher_hears_why,
	    a_watcher_that_goes_away_watches_no_more,
	    an_event_without_a_sentence_that_is_to_have_a_line_ends_no_guardian,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control streams", set_up, tear_down, add_tests);
}
