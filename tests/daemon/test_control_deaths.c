/* SPDX-License-Identifier: ISC */
/* test_control_deaths.c - calls that change the tree while the guardian dies: what was
 * asked for happens once. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ledger/ledger.h"
#include "tests/lib/family.h"

/* Make this call; the guardian dies before the core has it, or before it is answered. */
static void
call_and_die(const char *method, const char *parameters, bool core_has_it)
{
	struct client caller;
	char call[200];

	(void)snprintf(call, sizeof(call),
	               "{\"method\":\"io.supd.Control.%s\",\"parameters\":%s}", method,
	               parameters);
	client_open(&caller, fake);
	client_send(&caller, call);
	fake->cut = true;
	if (core_has_it)
		fake_run(fake);
	else
		ev_run(fake->supd.loop, EVRUN_NOWAIT);
	fake_guardian_dies(fake);
	client_close(&caller);
	client_close(&client);
	client_open(&client, fake);
}

START_TEST(what_counts_is_done_once_whenever_the_guardian_dies)
{
	static const char first[] = "{\"names\":[\"a\"],\"token\":\"s1\"}";
	static const char second[] = "{\"names\":[\"a\"],\"token\":\"s2\"}";
	struct ref a = fake_ref(fake, "/user/a");

	call_and_die("Suspend", first, false);
	ck_assert_uint_eq(rig_view(&fake->rig, a).suspends, 0);
	check_done(client_call(&client, "Suspend", first, ""));
	ck_assert_uint_eq(rig_view(&fake->rig, a).suspends, 1);
	call_and_die("Suspend", second, true);
	check_done(client_call(&client, "Suspend", second, ""));
	check_done(client_call(&client, "Suspend", second, ""));
	check_done(client_call(&client, "Suspend", first, ""));
	ck_assert_uint_eq(rig_view(&fake->rig, a).suspends, 2);
}
END_TEST

START_TEST(a_start_is_made_once_whatever_was_done_with_the_actor_since)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"b1\"}";
	struct ref a = fake_ref(fake, "/user/a");

	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	call_and_die("Start", call, true);
	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	check_done(client_call(&client, "Start", call, ""));
	ck_assert_int_eq(rig_view(&fake->rig, a).state, STATE_STOPPED);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"start\""), 1);
}
END_TEST

START_TEST(a_stop_and_a_restart_are_made_once_whenever_the_guardian_dies)
{
	static const char stop[] = "{\"names\":[\"a\"],\"token\":\"p1\"}";
	static const char restart[] = "{\"names\":[\"a\"],\"token\":\"r1\"}";
	struct ref a = fake_ref(fake, "/user/a");

	call_and_die("Stop", stop, true);
	check_done(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""));
	check_done(client_call(&client, "Stop", stop, ""));
	ck_assert_int_eq(rig_view(&fake->rig, a).state, STATE_RUNNING);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"stop\""), 1);
	call_and_die("Restart", restart, true);
	ck_assert_int_eq(rig_view(&fake->rig, a).state, STATE_RUNNING);
	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	check_done(client_call(&client, "Restart", restart, ""));
	ck_assert_int_eq(rig_view(&fake->rig, a).state, STATE_STOPPED);
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"restart\""), 1);
}
END_TEST

START_TEST(a_stop_goes_on_being_waited_for_under_the_next_guardian)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"w1\"}";
	static const char hasty[] = "{\"names\":[\"a\"],\"token\":\"w2\",\"wait\":false}";
	static const char whole[] =
	    "{\"method\":\"io.supd.Control.Stop\","
	    "\"parameters\":{\"names\":[\"a\"],\"token\":\"w1\"}}";

	fake->keeps_alive = true;
	call_and_die("Stop", call, true);
	call_and_die("Stop", hasty, true);
	check_done(client_call(&client, "Stop", hasty, ""));
	client_send(&client, whole);
	ck_assert_ptr_null(client_reply(&client));
	fake_dies(fake, "/user/a", -1, 15);
	check_done(client_reply(&client));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"stop\""), 2);
}
END_TEST

START_TEST(a_call_that_does_not_wait_is_not_told_what_became_of_it)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"n1\",\"wait\":false}";

	fake->keeps_alive = true;
	call_and_die("Stop", call, true);
	check_done(
	    client_call(&client, "Start", "{\"names\":[\"a\"],\"wait\":false}", ""));
	check_done(client_call(&client, "Stop", call, ""));
}
END_TEST

START_TEST(a_timeout_counts_also_for_what_the_guardian_before_had_begun)
{
	static const char call[] =
	    "{\"names\":[\"a\"],\"token\":\"w1\",\"timeout_ms\":20}";
	static const char whole[] =
	    "{\"method\":\"io.supd.Control.Stop\",\"parameters\":"
	    "{\"names\":[\"a\"],\"token\":\"w1\",\"timeout_ms\":20}}";
	json_t *reply = NULL;

	fake->keeps_alive = true;
	call_and_die("Stop", call, true);
	client_send(&client, whole);
	while (reply == NULL)
		reply = client_reply(&client);
	ck_assert_str_eq(text_at(parameters_of(reply), "name"), "/user/a");
	check_error(reply, "io.supd.Control.Timeout", "state", "stopping");
}
END_TEST

START_TEST(a_failure_by_hand_is_one_whenever_the_guardian_dies)
{
	static const char first[] = "{\"name\":\"a\",\"token\":\"k1\"}";
	static const char second[] = "{\"name\":\"a\",\"token\":\"k2\"}";

	call_and_die("Fail", first, false);
	check_done(client_call(&client, "Fail", first, ""));
	ck_assert_uint_eq(count_events(fake, "\"event\":\"failure\""), 1);
	check_done(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""));
	call_and_die("Fail", second, true);
	check_done(client_call(&client, "Fail", second, ""));
	ck_assert_uint_eq(count_events(fake, "\"event\":\"failure\""), 2);
}
END_TEST

START_TEST(what_was_refused_is_refused_again_by_the_next_guardian)
{
	static const char call[] = "{\"names\":[\"a\"],\"token\":\"s1\"}";

	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	call_and_die("Suspend", call, true);
	check_done(client_call(&client, "Start", "{\"names\":[\"a\"]}", ""));
	check_error(client_call(&client, "Suspend", call, ""),
	            "io.supd.Control.InvalidState", "name", "/user/a");
	ck_assert_uint_eq(rig_view(&fake->rig, fake_ref(fake, "/user/a")).suspends, 0);
}
END_TEST

START_TEST(a_deletion_is_done_though_its_actor_is_gone_when_the_caller_asks_again)
{
	static const char call[] = "{\"name\":\"a\",\"token\":\"d1\"}";

	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
	call_and_die("Delete", call, true);
	check_done(client_call(&client, "Delete", call, ""));
	check_error(client_call(&client, "Delete", "{\"name\":\"a\"}", ""),
	            "io.supd.Control.NoSuchActor", "name", "a");
}
END_TEST

START_TEST(a_signal_is_sent_once_or_its_outcome_is_said_to_be_unknown)
{
	static const char call[] =
	    "{\"name\":\"crawl@*\",\"signal\":\"USR1\",\"token\":\"g1\"}";
	struct remembered *memory;

	check_done(client_call(&client, "Signal", call, ""));
	check_done(client_call(&client, "Signal", call, ""));
	ck_assert_uint_eq(fake->n_signals, 2);
	/* As a death leaves it: the first was sent, the second was about to be. */
	memory = ledger_tokens(fake->supd.recording.ledger);
	ck_assert_uint_eq(memory->n_tried, 2);
	memory->state = REMEMBERED_DONE;
	memory->n_done = 1;
	fake_guardian_dies(fake);
	client_close(&client);
	client_open(&client, fake);
	check_error(client_call(&client, "Signal", call, ""),
	            "io.supd.Control.OutcomeUnknown", "method", "Signal");
	ck_assert_uint_eq(fake->n_signals, 2);
	/* And here: the first was sent, the second not yet looked at. */
	memory->state = REMEMBERED_DONE;
	memory->n_tried = 1;
	check_done(client_call(&client, "Signal", call, ""));
	ck_assert_uint_eq(fake->n_signals, 3);
}
END_TEST

START_TEST(the_room_for_calls_that_were_never_made_is_not_written_to)
{
	const unsigned char *room = ledger_tokens(fake->supd.recording.ledger);

	fake_guardian_dies(fake);
	ck_assert_uint_eq(room[0], 0);
	ck_assert_int_eq(memcmp(room, room + 1, LEDGER_TOKENS_BYTES - 1), 0);
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    what_counts_is_done_once_whenever_the_guardian_dies,
	    a_start_is_made_once_whatever_was_done_with_the_actor_since,
	    a_stop_and_a_restart_are_made_once_whenever_the_guardian_dies,
	    a_stop_goes_on_being_waited_for_under_the_next_guardian,
	    a_call_that_does_not_wait_is_not_told_what_became_of_it,
	    a_timeout_counts_also_for_what_the_guardian_before_had_begun,
	    a_failure_by_hand_is_one_whenever_the_guardian_dies,
	    what_was_refused_is_refused_again_by_the_next_guardian,
	    a_deletion_is_done_though_its_actor_is_gone_when_the_caller_asks_again,
	    a_signal_is_sent_once_or_its_outcome_is_said_to_be_unknown,
	    the_room_for_calls_that_were_never_made_is_not_written_to,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control deaths", set_up, tear_down, add_tests);
}
