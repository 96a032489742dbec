/* SPDX-License-Identifier: ISC */
/* test_probe.c - probes over real sockets, of servers that answer well, badly or never.
 */
#include "config.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "probe/probe.h"
#include "tests/lib/check_main.h"

/* Longer than anything takes here; only a failure waits for it. */
#define PATIENCE_MS 10000
/* Long enough to see that nothing comes. */
#define QUIET_MS 50

static struct probe probe;
static struct probe_result result;
static int listener;
static int client;
static uint16_t port;

static void
set_up(void)
{
	probe_init(&probe);
	listener = client = -1;
}

static void
tear_down(void)
{
	probe_done(&probe);
	if (client >= 0)
		(void)close(client);
	if (listener >= 0)
		(void)close(listener);
}

/* ---- the other end ---- */

static void
listen_tcp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, len), 0);
	ck_assert_int_eq(listen(listener, 16), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	port = ntohs(address.sin_port);
}

static void
say(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(client, text, len, MSG_NOSIGNAL);

		ck_assert_int_gt(n, 0);
		text += n;
		len -= (size_t)n;
	}
}

static void
says(const char *text)
{
	say(text, strlen(text));
}

/* ---- this end ---- */

/* Let it go on once what it waits for has come; false: it did not within `ms`. */
static bool
go_on(int ms)
{
	struct pollfd waits = {.fd = probe.fd};

	ck_assert_int_eq(result.answer, PROBE_GOES_ON);
	waits.events = probe.wants == PROBE_WANTS_READ ? POLLIN : POLLOUT;
	if (poll(&waits, 1, ms) == 0)
		return false;
	probe_continue(&probe, &result);
	return true;
}

static void
finish(void)
{
	while (result.answer == PROBE_GOES_ON)
		ck_assert(go_on(PATIENCE_MS));
}

static void
expect(enum probe_answer answer, int error, int status)
{
	finish();
	ck_assert_int_eq(result.answer, answer);
	ck_assert_int_eq(result.error, error);
	ck_assert_int_eq(result.status, status);
}

static void
ask(const char *resource)
{
	const struct probe_question question = {
	    .host = "127.0.0.1",
	    .port = port,
	    .resource = resource,
	    .name = "127.0.0.1:1",
	};

	probe_begin(&probe, &question, &result);
}

/* Ask, and be heard: there is a client, and its question was read. */
static void
ask_http(char request[2048])
{
	size_t n = 0;

	listen_tcp();
	ask("/health?x=1");
	client = accept(listener, NULL, NULL);
	ck_assert_int_ge(client, 0);
	request[0] = '\0';
	while (strstr(request, "\r\n\r\n") == NULL) {
		ssize_t got;

		if (result.answer == PROBE_GOES_ON && probe.sent == 0)
			ck_assert(go_on(PATIENCE_MS));
		got = recv(client, request + n, 2047 - n, 0);
		ck_assert_int_gt(got, 0);
		n += (size_t)got;
		request[n] = '\0';
	}
	ck_assert_int_eq(result.answer, PROBE_GOES_ON);
}

static void
answer_is(const char *text, enum probe_answer answer, int error, int status)
{
	char request[2048];

	ask_http(request);
	says(text);
	(void)shutdown(client, SHUT_WR);
	expect(answer, error, status);
}

/* ---- connections ---- */

START_TEST(a_port_that_listens_is_well)
{
	listen_tcp();
	ask(NULL);
	expect(PROBE_IS_GOOD, 0, 0);
}
END_TEST

START_TEST(a_port_without_a_listener_is_refused)
{
	listen_tcp();
	(void)close(listener);
	listener = -1;
	ask(NULL);
	expect(PROBE_IS_BAD, ECONNREFUSED, 0);
}
END_TEST

START_TEST(an_ipv6_address_is_asked)
{
	struct sockaddr_in6 address = {.sin6_family = AF_INET6,
	                               .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = sizeof(address);

	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) < 0)
		return;
	ck_assert_int_eq(listen(listener, 4), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	probe_begin(
	    &probe,
	    &(struct probe_question){.host = "::1", .port = ntohs(address.sin6_port)},
	    &result);
	expect(PROBE_IS_GOOD, 0, 0);
}
END_TEST

/* A port that is free may be given to the very socket that asks for it. */
START_TEST(a_connection_of_the_probe_to_itself_is_no_good_answer)
{
	struct sockaddr_in own = {.sin_family = AF_INET,
	                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(own);

	probe.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(probe.fd, (struct sockaddr *)&own, len), 0);
	ck_assert_int_eq(getsockname(probe.fd, (struct sockaddr *)&own, &len), 0);
	ck_assert_int_eq(connect(probe.fd, (struct sockaddr *)&own, len), 0);
	memcpy(&probe.address, &own, sizeof(own));
	probe.wants = PROBE_WANTS_WRITE;
	probe_continue(&probe, &result);
	expect(PROBE_IS_BAD, ECONNREFUSED, 0);
}
END_TEST

START_TEST(what_supd_lacks_is_nobodys_fault)
{
	struct rlimit usual;
	struct rlimit none;

	listen_tcp();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = (struct rlimit){0, usual.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ask(NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	expect(PROBE_IS_NONE, EMFILE, 0);
}
END_TEST

/* ---- http ---- */

START_TEST(the_question_is_a_get)
{
	char request[2048];

	ask_http(request);
	ck_assert_str_eq(request,
	                 "GET /health?x=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n"
	                 "User-Agent: supd\r\nAccept: */*\r\nConnection: close\r\n\r\n");
	says("HTTP/1.1 200 OK\r\n\r\n");
	expect(PROBE_IS_GOOD, 0, 0);
}
END_TEST

static const struct {
	const char *text;
	enum probe_answer answer;
	int error;
	int status;
} answers[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", PROBE_IS_GOOD, 0, 0},
    {"HTTP/1.0 204 No Content\n\n", PROBE_IS_GOOD, 0, 0},
    {"HTTP/1.1 399\r\n\r\n", PROBE_IS_GOOD, 0, 0},
    {"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", PROBE_IS_GOOD, 0, 0},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
     "HTTP/1.1 201 Created\r\n\r\n",
     PROBE_IS_GOOD, 0, 0},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 Oh\r\n\r\n", PROBE_IS_BAD, 0, 500},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", PROBE_IS_BAD, 0, 400},
    {"HTTP/1.1 503 Service Unavailable\r\nX: y\r\n\r\n", PROBE_IS_BAD, 0, 503},
    {"", PROBE_IS_BAD, ECONNRESET, 0},
    {"HTTP/1.1 200 OK\r\n", PROBE_IS_BAD, ECONNRESET, 0},
    {"HTTP/1.1 200 OK\r\nX: y\r\n", PROBE_IS_BAD, ECONNRESET, 0},
    {"HTTP/1.1 100 Continue\r\n\r\n", PROBE_IS_BAD, ECONNRESET, 0},
    {"SSH-2.0-OpenSSH_9.2\r\n", PROBE_IS_BAD, EPROTO, 0},
    {"HTTP/2 200 OK\r\n\r\n", PROBE_IS_BAD, EPROTO, 0},
    {"HTTP/1.1 2000 OK\r\n\r\n", PROBE_IS_BAD, EPROTO, 0},
    {"HTTP/1.1 20\r\n\r\n", PROBE_IS_BAD, EPROTO, 0},
    {"HTTP/1.1 2x0 OK\r\n\r\n", PROBE_IS_BAD, EPROTO, 0},
    {"\r\n\r\n", PROBE_IS_BAD, EPROTO, 0},
};

START_TEST(an_answer_is_good_or_bad_by_its_head)
{
	answer_is(answers[_i].text, answers[_i].answer, answers[_i].error,
	          answers[_i].status);
}
END_TEST

START_TEST(an_answer_may_come_in_the_smallest_pieces)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nServer: slow\r\n\r\n";
	char request[2048];

	ask_http(request);
	for (size_t i = 0; i + 1 < strlen(text); i++) {
		say(text + i, 1);
		ck_assert(go_on(PATIENCE_MS));
		ck_assert_int_eq(result.answer, PROBE_GOES_ON);
	}
	says("\n");
	expect(PROBE_IS_GOOD, 0, 0);
}
END_TEST

START_TEST(a_silent_server_is_waited_for)
{
	char request[2048];

	ask_http(request);
	ck_assert(!go_on(QUIET_MS));
	says("HTTP/1.1 200 OK\r\nX: ");
	ck_assert(go_on(PATIENCE_MS));
	ck_assert(!go_on(QUIET_MS));
	ck_assert_int_eq(result.answer, PROBE_GOES_ON);
}
END_TEST

static void
say_long_head(size_t bytes)
{
	static const char first[] = "HTTP/1.1 200 OK\r\nX: ";
	char *text = malloc(bytes);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', bytes);
	memcpy(text, first, strlen(first));
	memcpy(text + bytes - 4, "\r\n\r\n", 4);
	say(text, bytes);
	free(text);
}

START_TEST(a_head_has_a_bound)
{
	char request[2048];

	ask_http(request);
	say_long_head(HEAD_BYTES_MAX);
	expect(PROBE_IS_GOOD, 0, 0);
	tear_down();
	set_up();
	ask_http(request);
	say_long_head(HEAD_BYTES_MAX + 1);
	expect(PROBE_IS_BAD, EMSGSIZE, 0);
}
END_TEST

START_TEST(a_head_without_an_end_is_not_waited_for)
{
	char request[2048];
	char line[1024];

	ask_http(request);
	says("HTTP/1.1 200 OK\r\n");
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (int i = 0; i < 17; i++)
		say(line, sizeof(line));
	expect(PROBE_IS_BAD, EMSGSIZE, 0);
}
END_TEST

START_TEST(a_body_is_not_waited_for)
{
	char request[2048];

	ask_http(request);
	says("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nthe beginning");
	expect(PROBE_IS_GOOD, 0, 0);
}
END_TEST

START_TEST(who_went_away_is_bad)
{
	char request[2048];
	const struct linger at_once = {.l_onoff = 1};

	ask_http(request);
	says("HTTP/1.1 200 OK\r\n");
	ck_assert(go_on(PATIENCE_MS));
	ck_assert_int_eq(
	    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	(void)close(client);
	client = -1;
	expect(PROBE_IS_BAD, ECONNRESET, 0);
}
END_TEST

START_TEST(what_was_begun_can_be_dropped_at_any_time)
{
	char request[2048];

	probe_done(&probe);
	listen_tcp();
	ask("/");
	probe_done(&probe);
	(void)close(listener);
	ask_http(request);
	probe_done(&probe);
	ck_assert_int_eq(probe.fd, -1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("probe");
	TCase *tcase = tcase_create("probe");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_port_that_listens_is_well);
	tcase_add_test(tcase, a_port_without_a_listener_is_refused);
	tcase_add_test(tcase, an_ipv6_address_is_asked);
	tcase_add_test(tcase, a_connection_of_the_probe_to_itself_is_no_good_answer);
	tcase_add_test(tcase, what_supd_lacks_is_nobodys_fault);
	tcase_add_test(tcase, the_question_is_a_get);
	tcase_add_loop_test(tcase, an_answer_is_good_or_bad_by_its_head, 0,
	                    ARRAY_SIZE(answers));
	tcase_add_test(tcase, an_answer_may_come_in_the_smallest_pieces);
	tcase_add_test(tcase, a_silent_server_is_waited_for);
	tcase_add_test(tcase, a_head_has_a_bound);
	tcase_add_test(tcase, a_head_without_an_end_is_not_waited_for);
	tcase_add_test(tcase, a_body_is_not_waited_for);
	tcase_add_test(tcase, who_went_away_is_bad);
	tcase_add_test(tcase, what_was_begun_can_be_dropped_at_any_time);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
