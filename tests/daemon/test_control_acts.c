/* SPDX-License-Identifier: ISC */
/* test_control_acts.c - calls that change the tree, and calls that wait for the change.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/assert.h"
#include "daemon/state/post.h"
#include "tests/lib/family.h"

START_TEST(stop_and_start_answer_when_done_with_the_actors_as_they_are)
{
	json_t *reply =
	    check_reply(client_call(&client, "Stop", "{\"names\":[\"a\",\"b\"]}", ""));

	ck_assert_str_eq(text_at(actor_of(reply, 0), "path"), "/user/a");
	ck_assert_str_eq(text_at(actor_of(reply, 0), "state"), "stopped");
	ck_assert_str_eq(text_at(actor_of(reply, 1), "state"), "stopped");
	json_decref(reply);
	reply = check_reply(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""));
	ck_assert_str_eq(text_at(actor_of(reply, 0), "state"), "running");
	json_decref(reply);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"stop\""), 2);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"start\""), 1);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
}
END_TEST

START_TEST(a_client_that_goes_away_stops_waiting_and_undoes_nothing)
{
	struct client other;

	fake->keeps_alive = true;
	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Stop\","
	                    "\"parameters\":{\"names\":[\"a\"]}}");
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_STOPPING);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 1);
	client_close(&other);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->n_unwaited, 1);
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
	fake_dies(fake, "/user/a", -1, 15);
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_STOPPED);
}
END_TEST

START_TEST(a_client_that_only_closes_its_sending_side_gets_its_reply)
{
	struct client other;

	fake->keeps_alive = true;
	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Stop\","
	                    "\"parameters\":{\"names\":[\"a\"]}}");
	ck_assert_int_eq(shutdown(other.fd, SHUT_WR), 0);
	fake_run(fake);
	ck_assert_uint_eq(fake->supd.control->n_conns, 2);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 1);
	fake_dies(fake, "/user/a", -1, 15);
	check_done(client_reply(&other));
	ck_assert(client_is_closed(&other));
	client_close(&other);

	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Stop\","
	                    "\"parameters\":{\"names\":[\"b\"]}}");
	ck_assert_int_eq(shutdown(other.fd, SHUT_WR), 0);
	fake_run(fake);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 1);
	client_close(&other);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
}
END_TEST

START_TEST(many_calls_behind_one_that_waits_do_not_hide_that_the_client_went_away)
{
	static const char ping[] = "{\"method\":\"io.supd.Control.Ping\"}";
	struct client other;

	/* A child with the memory of its parent closes what is unread: not below
	 * valgrind. */
	if (getenv("CK_EXCLUDE_TAGS") != NULL)
		return;
	fake->keeps_alive = true;
	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Stop\","
	                    "\"parameters\":{\"names\":[\"a\"]}}");
	for (int i = 0; i < 3 * CONTROL_CALLS_MAX; i++) {
		client_send(&other, ping);
		fake_run(fake);
	}
	ck_assert_uint_eq(fake->supd.control->n_waiters, 1);
	client_close(&other);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
}
END_TEST

START_TEST(a_timeout_ends_the_waiting_and_names_the_state)
{
	json_t *reply = NULL;

	fake->keeps_alive = true;
	client_send(&client, "{\"method\":\"io.supd.Control.Stop\",\"parameters\":"
	                     "{\"names\":[\"a\"],\"timeout_ms\":20}}");
	while (reply == NULL)
		reply = client_reply(&client);
	ck_assert_str_eq(text_at(parameters_of(reply), "name"), "/user/a");
	check_error(reply, "io.supd.Control.Timeout", "state", "stopping");
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	ck_assert_uint_eq(fake->n_unwaited, 1);
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

/* The wall clock, by which nothing may be decided: a step ahead in one test. */
static double clock_step_s;

ev_tstamp
ev_time(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 + clock_step_s;
}

START_TEST(a_step_of_the_clock_does_not_change_a_timeout)
{
	json_t *reply = NULL;

	fake->keeps_alive = true;
	clock_step_s = 1e6;
	client_send(&client, "{\"method\":\"io.supd.Control.Stop\",\"parameters\":"
	                     "{\"names\":[\"a\"],\"timeout_ms\":20}}");
	while (reply == NULL)
		reply = client_reply(&client);
	check_error(reply, "io.supd.Control.Timeout", "state", "stopping");
}
END_TEST

START_TEST(without_wait_the_answer_comes_after_the_turn_of_the_core)
{
	json_t *reply;

	fake->keeps_alive = true;
	reply = check_reply(
	    client_call(&client, "Stop", "{\"names\":[\"a\"],\"wait\":false}", ""));
	ck_assert_str_eq(text_at(actor_of(reply, 0), "state"), "stopping");
	json_decref(reply);
	ck_assert_uint_eq(fake->supd.control->n_waiters, 0);
	check_done(client_call(&client, "Stop",
	                       "{\"names\":[\"b\"],\"hold\":true,\"wait\":false}", ""));
	fake_dies(fake, "/user/b", -1, 15);
	fake_run(fake);
	check_error(
	    client_call(&client, "Restart", "{\"names\":[\"b\"],\"wait\":false}", ""),
	    "io.supd.Control.InvalidState", "name", "/user/b");
}
END_TEST

START_TEST(a_start_that_fails_tells_the_cause)
{
	const json_t *cause;
	json_t *reply;

	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	fake->exec_error = ENOENT;
	reply = client_call(&client, "Start", "{\"names\":[\"a\"]}", "");
	cause = json_object_get(parameters_of(reply), "cause");
	ck_assert_str_eq(text_at(cause, "kind"), "exec");
	ck_assert_str_eq(text_at(cause, "errno"), "ENOENT");
	check_error(reply, "io.supd.Control.StartFailed", "name", "/user/a");
}
END_TEST

START_TEST(a_held_actor_is_not_restarted_and_shows_that_it_is_held)
{
	json_t *reply = check_reply(
	    client_call(&client, "Stop", "{\"names\":[\"a\"],\"hold\":true}", ""));

	ck_assert(json_is_true(json_object_get(actor_of(reply, 0), "held")));
	json_decref(reply);
	check_error(client_call(&client, "Restart", "{\"names\":[\"a\"]}", ""),
	            "io.supd.Control.InvalidState", "state", "stopped");
	check_done(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""));
}
END_TEST

START_TEST(a_later_command_that_wants_something_else_ends_the_waiting)
{
	struct client other;

	fake->keeps_alive = true;
	client_open(&other, fake);
	client_send(&other, "{\"method\":\"io.supd.Control.Stop\","
	                    "\"parameters\":{\"names\":[\"a\"]}}");
	fake_run(fake);
	client_send(&client, "{\"method\":\"io.supd.Control.Start\","
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	fake_run(fake);
	check_error(client_reply(&other), "io.supd.Control.InvalidState", "name",
	            "/user/a");
	fake_dies(fake, "/user/a", -1, 15);
	check_done(client_reply(&client));
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_RUNNING);
	client_close(&other);
}
END_TEST

START_TEST(kill_makes_the_actor_fail_and_reset_forgets_it)
{
	json_t *reply;

	check_done(client_call(&client, "Fail", "{\"name\":\"a\"}", ""));
	fake_run(fake);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_FAILED);
	check_error(client_call(&client, "Fail", "{\"name\":\"a\"}", ""),
	            "io.supd.Control.InvalidState", "state", "failed");
	reply = check_reply(client_call(&client, "Reset", "{\"names\":[\"a\"]}", ""));
	ck_assert_str_eq(text_at(actor_of(reply, 0), "state"), "stopped");
	json_decref(reply);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"reset\""), 1);
}
END_TEST

START_TEST(a_signal_reaches_the_process_or_says_that_there_is_none)
{
	check_done(
	    client_call(&client, "Signal", "{\"name\":\"a\",\"signal\":\"USR1\"}", ""));
	ck_assert_int_eq(fake->last_signal, SIGUSR1);
	ck_assert_uint_eq(count_events(fake, "\"signal\":\"SIGUSR1\""), 1);
	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	check_error(
	    client_call(&client, "Signal", "{\"name\":\"a\",\"signal\":\"SIGHUP\"}", ""),
	    "io.supd.Control.InvalidState", "state", "stopped");
}
END_TEST

START_TEST(wait_answers_when_the_state_has_come_or_never_can)
{
	json_t *reply = check_reply(
	    client_call(&client, "Wait", "{\"name\":\"a\",\"for\":\"ready\"}", ""));

	ck_assert_str_eq(text_at(json_object_get(parameters_of(reply), "actor"), "path"),
	                 "/user/a");
	json_decref(reply);
	client_send(&client, "{\"method\":\"io.supd.Control.Wait\",\"parameters\":"
	                     "{\"name\":\"a\",\"for\":\"done\"}}");
	ck_assert_ptr_null(client_reply(&client));
	post_event(fake->supd.post,
	           &(struct event){.kind = EVENT_KILL, .ref = fake_ref(fake, "/user/a")});
	check_error(client_reply(&client), "io.supd.Control.StartFailed", "name",
	            "/user/a");
	check_done(
	    client_call(&client, "Wait", "{\"name\":\"a\",\"for\":\"failed\"}", ""));
	check_done(client_call(&client, "Wait",
	                       "{\"name\":\"b\",\"for\":\"stopped\",\"incarnation\":0}",
	                       ""));
	check_error(client_call(&client, "Wait",
	                        "{\"name\":\"b\",\"for\":\"done\",\"incarnation\":0}",
	                        ""),
	            "io.supd.Control.InvalidState", "name", "/user/b");
}
END_TEST

START_TEST(a_repeated_token_gets_the_same_answer_and_does_nothing)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"t1\"}";
	json_t *first = check_reply(client_call(&client, "Restart", call, ""));
	json_t *again = check_reply(client_call(&client, "Restart", call, ""));

	ck_assert(json_equal(first, again));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"restart\""), 1);
	json_decref(first);
	json_decref(again);
	check_error(client_call(&client, "Stop", call, ""),
	            "org.varlink.service.InvalidParameter", "parameter", "token");
	for (int i = 0; i < CONTROL_TOKENS_MAX; i++) {
		char other[60];

		(void)snprintf(other, sizeof(other),
		               "{\"names\":[\"b\"],\"token\":\"x%d\"}", i);
		check_done(client_call(&client, "Start", other, ""));
	}
	check_done(client_call(&client, "Restart", call, ""));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"restart\""), 2);
}
END_TEST

START_TEST(a_token_belongs_to_its_user)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"t1\"}";
	struct client other;

	fake->conf.has_control_group = true;
	fake->conf.control_gid = 778;
	client_open_as(&other, fake, 54321, 778);
	check_done(client_call(&client, "Stop", call, ""));
	check_done(client_call(&other, "Restart", call, ""));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"restart\""), 1);
	client_close(&other);
}
END_TEST

START_TEST(a_token_waits_for_the_goal_after_its_client_has_gone)
{
	static const char call[] = "{\"method\":\"io.supd.Control.Stop\",\"parameters\":"
	                           "{\"names\":[\"a\"],\"token\":\"t2\"}}";
	struct client other;

	fake->keeps_alive = true;
	client_open(&other, fake);
	client_send(&other, call);
	fake_run(fake);
	client_close(&other);
	client_send(&client, call);
	ck_assert_ptr_null(client_reply(&client));
	fake_dies(fake, "/user/a", -1, 15);
	check_done(client_reply(&client));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"stop\""), 1);
}
END_TEST

START_TEST(shutdown_is_answered_first_and_nothing_is_started_afterwards)
{
	check_done(client_call(&client, "Shutdown", "{}", ""));
	ck_assert(fake->supd.recording.facts.shutting_down);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"shutdown\""), 1);
	check_error(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""),
	            "io.supd.Control.InvalidState", "message", "supd is shutting down");
	check_error(client_call(&client, "Apply", "{}", ""),
	            "io.supd.Control.InvalidState", "message", "supd is shutting down");
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    stop_and_start_answer_when_done_with_the_actors_as_they_are,
	    a_client_that_goes_away_stops_waiting_and_undoes_nothing,
	    a_client_that_only_closes_its_sending_side_gets_its_reply,
	    many_calls_behind_one_that_waits_do_not_hide_that_the_client_went_away,
	    a_timeout_ends_the_waiting_and_names_the_state,
	    a_step_of_the_clock_does_not_change_a_timeout,
	    without_wait_the_answer_comes_after_the_turn_of_the_core,
	    a_start_that_fails_tells_the_cause,
	    a_held_actor_is_not_restarted_and_shows_that_it_is_held,
	    a_later_command_that_wants_something_else_ends_the_waiting,
	    kill_makes_the_actor_fail_and_reset_forgets_it,
	    a_signal_reaches_the_process_or_says_that_there_is_none,
	    wait_answers_when_the_state_has_come_or_never_can,
	    a_repeated_token_gets_the_same_answer_and_does_nothing,
	    a_token_belongs_to_its_user,
	    a_token_waits_for_the_goal_after_its_client_has_gone,
	    shutdown_is_answered_first_and_nothing_is_started_afterwards,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control acts", set_up, tear_down, add_tests);
}
