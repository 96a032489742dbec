/* SPDX-License-Identifier: ISC */
/* test_control.c - the protocol of the control server: permissions, errors, limits. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/lib/family.h"

START_TEST(info_and_interfaces_need_no_permission)
{
	struct client nobody;
	json_t *reply;

	client_open_as(&nobody, fake, 54321, 54321);
	reply =
	    check_reply(client_call(&nobody, "org.varlink.service.GetInfo", "{}", ""));
	ck_assert_str_eq(text_at(parameters_of(reply), "version"), PACKAGE_VERSION);
	ck_assert_uint_eq(
	    json_array_size(json_object_get(parameters_of(reply), "interfaces")), 2);
	ck_assert_uint_eq(json_object_size(parameters_of(reply)), 5);
	json_decref(reply);
	reply = check_reply(client_call(&nobody,
	                                "org.varlink.service.GetInterfaceDescription",
	                                "{\"interface\":\"io.supd.Control\"}", ""));
	ck_assert_str_eq(text_at(parameters_of(reply), "description"),
	                 varlink_control_description);
	json_decref(reply);
	check_error(client_call(&nobody, "Ping", "{}", ""),
	            "org.varlink.service.PermissionDenied", NULL, NULL);
	client_close(&nobody);
}
END_TEST

START_TEST(observers_may_look_and_the_control_group_may_act)
{
	struct client observer;
	struct client operator;

	fake->conf.has_observers = true;
	fake->conf.observers_gid = 777;
	fake->conf.has_control_group = true;
	fake->conf.control_gid = 778;
	client_open_as(&observer, fake, 54321, 777);
	client_open_as(&operator, fake, 54321, 778);
	check_done(client_call(&observer, "Ping", "{}", ""));
	check_done(client_call(&observer, "Status", "{}", ""));
	check_done(client_call(&observer, "Explain", "{\"name\":\"a\"}", ""));
	check_done(client_call(&observer, "Metrics", "{}", ""));
	/* Permission comes before parameters. */
	check_error(client_call(&observer, "Stop", "{}", ""),
	            "org.varlink.service.PermissionDenied", NULL, NULL);
	check_error(client_call(&observer, "Describe", "{\"name\":\"a\"}", ""),
	            "org.varlink.service.PermissionDenied", NULL, NULL);
	check_error(
	    client_call(&observer, "Wait", "{\"name\":\"a\",\"for\":\"done\"}", ""),
	    "org.varlink.service.PermissionDenied", NULL, NULL);
	check_done(client_call(&operator, "Stop", "{\"names\":[\"a\"]}", ""));
	/* A reload may change the groups: the next call is judged by the new ones. */
	fake->conf.has_control_group = false;
	check_error(client_call(&operator, "Stop", "{\"names\":[\"a\"]}", ""),
	            "org.varlink.service.PermissionDenied", NULL, NULL);
	client_close(&operator);
	client_close(&observer);
}
END_TEST

START_TEST(unknown_methods_and_interfaces_have_their_standard_errors)
{
	check_error(client_call(&client, "Fly", "{}", ""),
	            "org.varlink.service.MethodNotFound", "method",
	            "io.supd.Control.Fly");
	check_error(client_call(&client, "io.other.Fly", "{}", ""),
	            "org.varlink.service.InterfaceNotFound", "interface", "io.other");
	check_error(client_call(&client, "org.varlink.service.GetInterfaceDescription",
	                        "{\"interface\":\"x.y\"}", ""),
	            "org.varlink.service.InterfaceNotFound", "interface", "x.y");
	check_error(client_call(&client, "Ping", "{}", ",\"upgrade\":true"),
	            "org.varlink.service.MethodNotImplemented", "method",
	            "io.supd.Control.Ping");
	check_error(client_call(&client, "Watch", "{\"names\":[\"a\"]}", ""),
	            "org.varlink.service.ExpectedMore", NULL, NULL);
	check_error(client_call(&client, "Logs", "{\"names\":[\"a\"]}", ""),
	            "org.varlink.service.ExpectedMore", NULL, NULL);
}
END_TEST

START_TEST(a_parameter_that_is_missing_wrong_or_unknown_is_named)
{
	static const struct {
		const char *method;
		const char *parameters;
		const char *wrong;
	} calls[] = {
	    {"Signal", "{}", "name"},
	    {"Signal", "{\"name\":7,\"signal\":\"HUP\"}", "name"},
	    {"Signal", "{\"name\":\"a\",\"signal\":\"NOSUCH\"}", "signal"},
	    {"Start", "{\"names\":\"a\"}", "names"},
	    {"Start", "{\"names\":[1]}", "names"},
	    {"Start", "{\"names\":[]}", "names"},
	    {"Start", "{\"names\":null}", "names"},
	    {"Stop", "{\"names\":[\"a\"],\"hold\":\"yes\"}", "hold"},
	    {"Stop", "{\"names\":[\"a\"],\"timeout_ms\":-1}", "timeout_ms"},
	    {"Stop", "{\"names\":[\"a\"],\"timeout\":1}", "timeout"},
	    {"Wait", "{\"name\":\"a\",\"for\":\"godot\"}", "for"},
	    {"Wait", "{\"name\":\"a\",\"for\":\"terminated\"}", "for"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		check_error(
		    client_call(&client, calls[i].method, calls[i].parameters, ""),
		    "org.varlink.service.InvalidParameter", "parameter", calls[i].wrong);
	check_done(client_call(&client, "Status",
	                       "{\"names\":null,\"allowInteractiveAuthentication\":true}",
	                       ""));
}
END_TEST

START_TEST(oneway_calls_are_done_and_never_answered)
{
	json_t *reply;

	client_send(&client, "{\"method\":\"a.B\",\"oneway\":true}");
	client_send(&client, "{\"method\":\"io.supd.Control.Stop\",\"oneway\":true,"
	                     "\"parameters\":{\"names\":[\"nobody\"]}}");
	client_send(&client, "{\"method\":\"io.supd.Control.Stop\",\"oneway\":true,"
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	reply = check_reply(client_call(&client, "Ping", "{}", ""));
	ck_assert_ptr_nonnull(json_object_get(parameters_of(reply), "version"));
	json_decref(reply);
	ck_assert_int_eq(fake_state(fake, "/user/a"), STATE_STOPPED);
}
END_TEST

START_TEST(pipelined_calls_are_answered_in_order_also_behind_one_that_waits)
{
	fake->keeps_alive = true;
	client_send(&client, "{\"method\":\"io.supd.Control.Stop\","
	                     "\"parameters\":{\"names\":[\"a\"]}}");
	client_send(&client, "{\"method\":\"io.supd.Control.Ping\"}");
	client_send(&client, "{\"method\":\"a.B\"}");
	ck_assert_ptr_null(client_reply(&client));
	fake_dies(fake, "/user/a", -1, 15);
	json_t *reply = check_reply(client_reply(&client));
	ck_assert_str_eq(text_at(actor_of(reply, 0), "state"), "stopped");
	json_decref(reply);
	check_done(client_reply(&client));
	check_error(client_reply(&client), "org.varlink.service.InterfaceNotFound", NULL,
	            NULL);
}
END_TEST

START_TEST(any_number_of_pipelined_calls_is_answered)
{
	static const char ping[] = "{\"method\":\"io.supd.Control.Ping\"}";

	for (int i = 0; i < 500; i++) {
		client_send(&client, ping);
		/* The socket of the test holds less than that. */
		if (i % 90 == 89)
			fake_run(fake);
	}
	for (int i = 0; i < 500; i++)
		check_done(client_reply(&client));
}
END_TEST

START_TEST(a_malformed_message_closes_its_connection_and_no_other)
{
	static const char *const messages[] = {
	    "{",
	    "",
	    "[]",
	    "garbage",
	    "{\"method\":7}",
	    "{\"method\":\"io.supd.Control.Ping\",\"more\":\"yes\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		struct client bad;

		client_open(&bad, fake);
		client_send(&bad, messages[i]);
		ck_assert_msg(client_is_closed(&bad), "%s", messages[i]);
		client_close(&bad);
		check_done(client_call(&client, "Ping", "{}", ""));
	}
}
END_TEST

START_TEST(bytes_without_an_end_close_the_connection_at_the_limit)
{
	struct client bad;
	char data[4096];
	size_t sent = 0;

	memset(data, ' ', sizeof(data));
	client_open(&bad, fake);
	while (sent < 3 * VARLINK_IN_MAX) {
		ssize_t n = send(bad.fd, data, sizeof(data), MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
		fake_run(fake);
	}
	ck_assert_uint_lt(sent, 2 * VARLINK_IN_MAX);
	ck_assert(client_is_closed(&bad));
	client_close(&bad);
	check_done(client_call(&client, "Ping", "{}", ""));
}
END_TEST

START_TEST(connections_are_bounded_per_user_and_some_are_reserved_for_control)
{
	struct client clients[CONTROL_CONNS_MAX];
	struct client one_more;
	/* Strangers, whoever runs the tests. */
	const uid_t first = getuid() + 1000;
	size_t n = 0;

	for (uid_t uid = first; uid < first + 3; uid++) {
		for (int i = 0; i < CONTROL_CONNS_UID_MAX; i++)
			client_open_as(&clients[n++], fake, uid, 1000);
		client_open_as(&one_more, fake, uid, 1000);
		ck_assert(client_is_closed(&one_more));
		client_close(&one_more);
	}
	for (int i = 0; i < CONTROL_CONNS_UID_MAX; i++) {
		client_open_as(&clients[n], fake, first + 3, 1000);
		if (client_is_closed(&clients[n]))
			break;
		n++;
	}
	ck_assert_uint_eq(n + 1, CONTROL_CONNS_MAX - CONTROL_CONNS_KEPT);
	client_open(&one_more, fake);
	check_done(client_call(&one_more, "Ping", "{}", ""));
	client_close(&one_more);
	for (size_t i = 0; i < n; i++)
		client_close(&clients[i]);
	ck_assert_uint_eq(fake->supd.control->n_conns, 1);
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    info_and_interfaces_need_no_permission,
	    observers_may_look_and_the_control_group_may_act,
	    unknown_methods_and_interfaces_have_their_standard_errors,
	    a_parameter_that_is_missing_wrong_or_unknown_is_named,
	    oneway_calls_are_done_and_never_answered,
	    pipelined_calls_are_answered_in_order_also_behind_one_that_waits,
	    any_number_of_pipelined_calls_is_answered,
	    a_malformed_message_closes_its_connection_and_no_other,
	    bytes_without_an_end_close_the_connection_at_the_limit,
	    connections_are_bounded_per_user_and_some_are_reserved_for_control,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control", set_up, tear_down, add_tests);
}
