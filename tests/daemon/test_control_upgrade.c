/* SPDX-License-Identifier: ISC */
/* test_control_upgrade.c - Upgrade: a call that one supd gets and the next one answers.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/handlers.h"
#include "daemon/report/shut_down.h"
#include "tests/lib/fake_rooms.h"

#define CALL_UPGRADE_TEXT "{\"method\":\"io.supd.Control.Upgrade\"}"
#define CALL_PING_TEXT    "{\"method\":\"io.supd.Control.Ping\"}"

static const struct upgrade_story upgraded = {
    .is_upgrade = true, .from = "0.0.9", .outage_ms = 7};

static struct fake *fake;
static struct client client;

static void
set_up(void)
{
	fake = fake_new();
	(void)fake_add(fake, "/user/a", NODE_WORKER);
	fake_boot(fake);
	client_open(&client, fake);
}

static void
tear_down(void)
{
	client_close(&client);
	fake_free(fake);
}

/* Send bytes as they are. */
static void
send_bytes(const char *bytes, size_t len)
{
	ck_assert_int_eq(send(client.fd, bytes, len, MSG_NOSIGNAL), len);
	fake_run(fake);
}

static void
expect_upgraded(json_t *take_reply)
{
	json_t *reply = check_reply(take_reply);

	ck_assert_str_eq(text_at(parameters_of(reply), "from"), "0.0.9");
	ck_assert_str_eq(text_at(parameters_of(reply), "to"), PACKAGE_VERSION);
	ck_assert_int_eq(
	    json_integer_value(json_object_get(parameters_of(reply), "outage_ms")), 7);
	json_decref(reply);
}

START_TEST(the_next_supd_answers_and_goes_on_serving_the_connection)
{
	client_send(&client, CALL_UPGRADE_TEXT);
	ck_assert_ptr_null(client_reply(&client));
	ck_assert_ptr_nonnull(fake->upgrade);
	fake_checked(fake, UPGRADE_FIT);
	ck_assert(fake->gone);
	ck_assert_ptr_null(client_reply(&client));
	fake_successor(fake, &upgraded);
	expect_upgraded(client_reply(&client));
	ck_assert_ptr_null(client_reply(&client));
	check_done(client_call(&client, "Ping", "{}", ""));
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"upgrade\""), 1);
	ck_assert_uint_eq(fake->vault.n, 0);
}
END_TEST

START_TEST(calls_that_wait_behind_it_are_answered_by_the_next_supd_in_order)
{
	static const char before[] =
	    CALL_PING_TEXT "\0" CALL_UPGRADE_TEXT "\0" CALL_PING_TEXT "\0"
	                   "{\"method\":\"io.supd.Con";
	static const char after[] = "trol.Nope\"}";

	send_bytes(before, sizeof(before) - 1);
	check_done(client_reply(&client));
	fake_checked(fake, UPGRADE_FIT);
	fake_successor(fake, &upgraded);
	expect_upgraded(client_reply(&client));
	check_done(client_reply(&client));
	ck_assert_ptr_null(client_reply(&client));
	send_bytes(after, sizeof(after));
	check_error(client_reply(&client), "org.varlink.service.MethodNotFound", "method",
	            "io.supd.Control.Nope");
}
END_TEST

/* Replies that the client has not read yet, more than its socket takes. */
START_TEST(what_was_not_sent_yet_is_sent_by_the_next_supd)
{
	static const char status[] = "{\"method\":\"io.supd.Control.Status\"}";
	char bytes[64 * 1024];
	size_t len = 0, n = 0;

	for (; n < 2; n++) {
		memcpy(bytes + len, status, sizeof(status));
		len += sizeof(status);
	}
	memcpy(bytes + len, CALL_UPGRADE_TEXT, sizeof(CALL_UPGRADE_TEXT));
	len += sizeof(CALL_UPGRADE_TEXT);
	for (int i = 0; i < 300; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/user/more%d", i);
		(void)fake_add(fake, path, NODE_WORKER);
	}
	send_bytes(bytes, len);
	ck_assert_ptr_nonnull(fake->upgrade);
	fake_checked(fake, UPGRADE_FIT);
	fake_successor(fake, &upgraded);
	for (size_t i = 0; i < n; i++) {
		json_t *reply = check_reply(client_reply(&client));

		ck_assert_uint_eq(
		    json_array_size(json_object_get(parameters_of(reply), "actors")),
		    302);
		json_decref(reply);
	}
	expect_upgraded(client_reply(&client));
}
END_TEST

START_TEST(no_reply_at_all_to_oneway)
{
	client_send(&client, "{\"method\":\"io.supd.Control.Upgrade\",\"oneway\":true}");
	fake_run(fake);
	fake_checked(fake, UPGRADE_FIT);
	fake_successor(fake, &upgraded);
	ck_assert_ptr_null(client_reply(&client));
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(when_the_old_supd_comes_back_it_says_so)
{
	const struct upgrade_story fell_back = {.fell_back = true, .from = "0.0.9"};
	const struct upgrade_story crashed = {.from = "0.0.9"};
	json_t *reply;

	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	fake_checked(fake, UPGRADE_FIT);
	fake_successor(fake, &fell_back);
	reply = client_reply(&client);
	ck_assert_ptr_nonnull(strstr(text_at(parameters_of(reply), "message"), "failed"));
	check_error(reply, "io.supd.Control.InvalidState", "name", "/fake");
	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	fake_checked(fake, UPGRADE_FIT);
	fake_successor(fake, &crashed);
	reply = client_reply(&client);
	ck_assert_ptr_nonnull(strstr(text_at(parameters_of(reply), "message"), "died"));
	check_error(reply, "io.supd.Control.InvalidState", "name", "/fake");
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(a_refusal_changes_nothing_and_the_next_upgrade_may_be_tried)
{
	for (int i = 0; i < 2; i++) {
		client_send(&client, CALL_UPGRADE_TEXT);
		fake_run(fake);
		fake_checked(fake, UPGRADE_REFUSED);
		check_error(client_reply(&client), "io.supd.Control.InvalidState",
		            "message", "it is a fake");
		ck_assert_ptr_null(fake->upgrade);
	}
	ck_assert_uint_eq(count_events(fake, "\"verb\":\"upgrade\""), 0);
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(one_upgrade_at_a_time)
{
	struct client second;

	client_open(&second, fake);
	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	check_error(client_call(&second, "Upgrade", "{}", ""),
	            "io.supd.Control.InvalidState", "message",
	            "another upgrade is under way");
	fake_checked(fake, UPGRADE_FIT);
	ck_assert(fake->gone);
	client_close(&second);
}
END_TEST

START_TEST(a_caller_that_goes_away_takes_its_upgrade_along)
{
	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	ck_assert_ptr_nonnull(fake->upgrade);
	client_close(&client);
	fake_run(fake);
	ck_assert_ptr_null(fake->upgrade);
	ck_assert_ptr_null(fake->supd.control->upgrader);
	client_open(&client, fake);
}
END_TEST

START_TEST(a_shutdown_that_begins_meanwhile_wins)
{
	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	shut_down(fake->supd.reporter, EVENT_SHUTDOWN);
	fake_checked(fake, UPGRADE_FIT);
	ck_assert(!fake->gone);
	check_error(client_reply(&client), "io.supd.Control.InvalidState", "message",
	            "supd is shutting down");
	check_error(client_call(&client, "Upgrade", "{}", ""),
	            "io.supd.Control.InvalidState", "message", "supd is shutting down");
}
END_TEST

START_TEST(without_a_walker_to_tell_nothing_happens)
{
	fake->go_result = -EPIPE;
	client_send(&client, CALL_UPGRADE_TEXT);
	fake_run(fake);
	fake_checked(fake, UPGRADE_FIT);
	check_error(client_reply(&client), "io.supd.Control.InvalidState", "message",
	            "Broken pipe");
	ck_assert_uint_eq(fake->vault.n, 0);
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

static void
add_tests(TCase *tcase)
{
	tcase_add_test(tcase, the_next_supd_answers_and_goes_on_serving_the_connection);
	tcase_add_test(tcase,
	               calls_that_wait_behind_it_are_answered_by_the_next_supd_in_order);
	tcase_add_test(tcase, what_was_not_sent_yet_is_sent_by_the_next_supd);
	tcase_add_test(tcase, no_reply_at_all_to_oneway);
	tcase_add_test(tcase, when_the_old_supd_comes_back_it_says_so);
	tcase_add_test(tcase,
	               a_refusal_changes_nothing_and_the_next_upgrade_may_be_tried);
	tcase_add_test(tcase, one_upgrade_at_a_time);
	tcase_add_test(tcase, a_caller_that_goes_away_takes_its_upgrade_along);
	tcase_add_test(tcase, a_shutdown_that_begins_meanwhile_wins);
	tcase_add_test(tcase, without_a_walker_to_tell_nothing_happens);
}

int
main(void)
{
	return fake_main("control upgrade", set_up, tear_down, add_tests);
}
