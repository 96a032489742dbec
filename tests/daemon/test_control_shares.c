/* SPDX-License-Identifier: ISC */
/* test_control_shares.c - what an observer may take of what all clients share. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/lib/fake_rooms.h"

#define OBSERVERS 777
#define CLIENTS   40

static struct fake *fake;
static struct client client;
static struct client clients[CLIENTS];
static size_t n_clients;

static void
set_up(void)
{
	fake = fake_new();
	fake->conf.has_observers = true;
	fake->conf.observers_gid = OBSERVERS;
	(void)fake_add(fake, "/user/a", NODE_WORKER);
	fake_boot(fake);
	client_open(&client, fake);
	n_clients = 0;
}

static void
tear_down(void)
{
	for (size_t i = 0; i < n_clients; i++)
		client_close(&clients[i]);
	client_close(&client);
	fake_free(fake);
}

/* One more connection of the i-th observer, a stranger to the user that runs the test. */
static struct client *
open_observer(unsigned int i)
{
	ck_assert_uint_lt(n_clients, CLIENTS);
	client_open_as(&clients[n_clients], fake, getuid() + 1000 + i, OBSERVERS);
	return &clients[n_clients++];
}

static void
send_watch(struct client *observer, size_t n_names)
{
	char call[4096] = "{\"method\":\"io.supd.Control.Watch\",\"more\":true,"
	                  "\"parameters\":{\"names\":[\"/user/a\"";

	for (size_t i = 1; i < n_names; i++)
		strcat(call, ",\"/user/a\"");
	strcat(call, "]}}");
	client_send(observer, call);
}

static void
check_limit(struct client *observer, const char *name)
{
	check_error(client_reply(observer), "io.supd.Control.LimitReached", "name", name);
}

/* The reply names the bound of one observer, not that of all clients. */
static void
check_watch_limit(struct client *observer)
{
	json_t *reply = client_reply(observer);

	ck_assert_int_eq(
	    json_integer_value(json_object_get(parameters_of(reply), "limit")),
	    CONTROL_WAITERS_UID);
	check_error(reply, "io.supd.Control.LimitReached", "name", "Watch");
}

START_TEST(observers_wait_for_their_shares_and_controllers_for_the_rest)
{
	const size_t each = CONTROL_WAITERS_UID / CONTROL_NAMES_MAX;

	fake->rig.size.waiters = WAITERS_MAX;
	fake->rig.unchecked = true;
	rig_move(&fake->rig);
	fake->supd.engine.core = fake->rig.core;
	for (unsigned int i = 0; i < CONTROL_WAITERS_OBSERVED / CONTROL_WAITERS_UID;
	     i++) {
		for (size_t n = 0; n < each; n++) {
			send_watch(open_observer(i), CONTROL_NAMES_MAX);
			ck_assert_ptr_null(client_reply(&clients[n_clients - 1]));
		}
		send_watch(open_observer(i), 1);
		check_watch_limit(&clients[n_clients - 1]);
	}
	send_watch(open_observer(9), 1);
	check_watch_limit(&clients[n_clients - 1]);
	check_done(client_call(&client, "Restart", "{\"names\":[\"a\"]}", ""));
	/* A share comes back with its connection. */
	client_close(&clients[0]);
	client_open_as(&clients[0], fake, getuid() + 1000, OBSERVERS);
	send_watch(&clients[0], CONTROL_NAMES_MAX);
	ck_assert_ptr_null(client_reply(&clients[0]));
	check_done(client_call(&client, "Stop", "{\"names\":[\"a\"]}", ""));
}
END_TEST

/* The first event of a stream has come. */
static void
check_followed(struct client *follower)
{
	json_t *reply = client_reply(follower);

	ck_assert_ptr_nonnull(json_object_get(parameters_of(reply), "event"));
	json_decref(reply);
}

START_TEST(an_observer_has_a_bound_of_event_streams_and_a_controller_has_not)
{
	static const char follow[] =
	    "{\"method\":\"io.supd.Control.Events\",\"more\":true,"
	    "\"parameters\":{\"follow\":true,\"since\":10000}}";

	for (size_t i = 0; i < CONTROL_FOLLOWERS_UID; i++) {
		client_send(open_observer(0), follow);
		check_followed(&clients[i]);
	}
	client_send(open_observer(0), follow);
	check_limit(&clients[n_clients - 1], "Events");
	client_send(open_observer(1), follow);
	check_followed(&clients[n_clients - 1]);
	client_send(&client, follow);
	check_followed(&client);
}
END_TEST

static void
check_too_long(size_t len, char c, const char *error, const char *key)
{
	char text[CONTROL_NAME_MAX + 2];
	char parameters[sizeof(text) + 32];

	memset(text, c, len);
	text[0] = '*';
	if (c != '[')
		text[0] = 'x';
	text[len] = '\0';
	(void)snprintf(parameters, sizeof(parameters), "{\"name\":\"%s\"}", text);
	check_error(client_call(&client, "Explain", parameters, ""), error, key,
	            strcmp(key, "name") == 0 ? text : "name");
	(void)snprintf(parameters, sizeof(parameters), "{\"names\":[\"%s\"]}", text);
	check_error(client_call(&client, "Status", parameters, ""), error, key,
	            strcmp(key, "name") == 0 ? text : "names");
}

START_TEST(names_and_patterns_are_bounded_at_the_door)
{
	static const char invalid[] = "org.varlink.service.InvalidParameter";
	static const char nobody[] = "io.supd.Control.NoSuchActor";

	check_too_long(CONTROL_PATTERN_MAX, '[', nobody, "name");
	check_too_long(CONTROL_PATTERN_MAX + 1, '[', invalid, "parameter");
	check_too_long(CONTROL_NAME_MAX, 'b', nobody, "name");
	check_too_long(CONTROL_NAME_MAX + 1, 'b', invalid, "parameter");
}
END_TEST

START_TEST(an_observer_looks_for_few_names_among_many_actors)
{
	char parameters[CONTROL_NAMES_MAX * 5 + 32] = "{\"names\":[\"*\"";

	for (size_t i = 1; i < CONTROL_NAMES_MAX; i++)
		strcat(parameters, ",\"*\"");
	strcat(parameters, "]}");
	ck_assert_uint_gt(CONTROL_NAMES_MAX * FAKE_ACTORS_MAX, CONTROL_SEARCH_MAX);
	check_error(client_call(open_observer(0), "Status", parameters, ""),
	            "io.supd.Control.LimitReached", "name", "names");
	check_done(client_call(&client, "Status", parameters, ""));
	check_done(client_call(&clients[0], "Status", "{\"names\":[\"*\"]}", ""));
}
END_TEST

static size_t
unsent_bytes(void)
{
	const struct conn *conn;
	size_t n = 0;

	TAILQ_FOREACH (conn, &fake->supd.control->conns, link)
		n += conn_unsent(conn);
	return n;
}

START_TEST(what_is_not_read_is_bounded_and_all_of_it_comes_when_it_is)
{
	static const char status[] = "{\"method\":\"io.supd.Control.Status\"}";
	const size_t n_calls = 3;
	size_t reply_bytes = 600 * 1000;

	for (int i = 0; i < 700; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/user/more%d", i);
		(void)fake_add(fake, path, NODE_WORKER);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		(void)open_observer(0);
		for (size_t n = 0; n < n_calls; n++)
			ck_assert_int_eq(send(clients[i].fd, status, sizeof(status), 0),
			                 sizeof(status));
		fake_run(fake);
		ck_assert_uint_le(unsent_bytes(), CONTROL_OUT_UID + reply_bytes);
	}
	ck_assert_uint_gt(fake->supd.control->n_held_back, 0);
	/* Neither root nor another observer is kept waiting. */
	check_done(client_call(&client, "Status", "{}", ""));
	for (size_t left = n_calls * CLIENTS, before = 0; left > 0;) {
		ck_assert_uint_ne(left, before);
		before = left;
		for (size_t i = 0; i < CLIENTS; i++) {
			json_t *reply = client_reply(&clients[i]);

			left -= reply != NULL;
			if (reply != NULL)
				check_done(reply);
		}
	}
	ck_assert_uint_eq(unsent_bytes(), 0);
	ck_assert_uint_eq(fake->supd.control->n_held_back, 0);
}
END_TEST

/* That of an operator, too, for which there are no shares. */
START_TEST(a_connection_that_is_not_read_has_a_bound_of_its_own)
{
	static const char status[] = "{\"method\":\"io.supd.Control.Status\"}";
	const size_t n_calls = 30, reply_bytes = 100 * 1000;

	for (int i = 0; i < 100; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/user/more%d", i);
		(void)fake_add(fake, path, NODE_WORKER);
	}
	for (size_t n = 0; n < n_calls; n++)
		ck_assert_int_eq(send(client.fd, status, sizeof(status), 0),
		                 sizeof(status));
	fake_run(fake);
	ck_assert_uint_ge(unsent_bytes(), CONTROL_OUT_STREAM);
	ck_assert_uint_lt(unsent_bytes(), CONTROL_OUT_STREAM + reply_bytes);
	for (size_t n = 0; n < n_calls; n++)
		check_done(client_reply(&client));
	ck_assert_uint_eq(unsent_bytes(), 0);
}
END_TEST

START_TEST(calls_that_came_at_once_take_turns_with_those_of_others)
{
	static const char ping[] = "{\"method\":\"io.supd.Control.Ping\"}";
	struct client *many = open_observer(0);
	struct client *few = open_observer(1);
	const struct conn *conn;
	char data[4096];

	for (size_t n = 0; n < CONTROL_CALLS_MAX; n++)
		ck_assert_int_eq(send(many->fd, ping, sizeof(ping), 0), sizeof(ping));
	ck_assert_int_eq(send(few->fd, ping, sizeof(ping), 0), sizeof(ping));
	ev_run(fake->supd.loop, EVRUN_NOWAIT);
	ck_assert_int_gt(recv(few->fd, data, sizeof(data), MSG_DONTWAIT), 0);
	conn = TAILQ_NEXT(TAILQ_FIRST(&fake->supd.control->conns), link);
	ck_assert_uint_gt(conn->reader.messages, CONTROL_CALLS_MAX - 3);
	ck_assert(control_is_waiting(fake->supd.control));
	for (size_t n = 0; n < CONTROL_CALLS_MAX; n++)
		check_done(client_reply(many));
}
END_TEST

/* The replies that were read, and whether the client reads when there was no room. */
static struct {
	size_t n;
	bool is_quick, had_no_room;
} taken;

static void
take_replies(void)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(client.fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			taken.n += buf[i] == '\0';
}

/* In place of that of the C library: the client has read before data is sent again. */
ssize_t
send(int fd, const void *buf, size_t size, int flags)
{
	if (taken.had_no_room && taken.is_quick)
		take_replies();
	const ssize_t n = syscall(SYS_sendto, fd, buf, size, flags, NULL, 0);
	taken.had_no_room = n < 0 && errno == EAGAIN;
	return n;
}

START_TEST(a_client_that_reads_just_before_the_guardian_sends_again_gets_all)
{
	fake->rig.unchecked = true;
	for (int i = 0; i < 2000; i++) {
		char path[40];

		(void)snprintf(path, sizeof(path), "/user/w%d", i);
		(void)fake_add(fake, path, NODE_WORKER);
	}
	client_send(&client, "{\"method\":\"io.supd.Control.Status\",\"parameters\":{},"
	                     "\"more\":true}");
	taken.is_quick = true;
	for (int i = 0; i < 100; i++) {
		fake_run(fake);
		take_replies();
	}
	taken.is_quick = false;
	ck_assert_uint_eq(taken.n, 2002);
}
END_TEST

static void
add_tests(TCase *tcase)
{
	const TTest *const tests[] = {
	    observers_wait_for_their_shares_and_controllers_for_the_rest,
	    an_observer_has_a_bound_of_event_streams_and_a_controller_has_not,
	    names_and_patterns_are_bounded_at_the_door,
	    an_observer_looks_for_few_names_among_many_actors,
	    what_is_not_read_is_bounded_and_all_of_it_comes_when_it_is,
	    a_connection_that_is_not_read_has_a_bound_of_its_own,
	    calls_that_came_at_once_take_turns_with_those_of_others,
	    a_client_that_reads_just_before_the_guardian_sends_again_gets_all,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		tcase_add_test(tcase, tests[i]);
}

int
main(void)
{
	return fake_main("control shares", set_up, tear_down, add_tests);
}
