/* SPDX-License-Identifier: ISC */
/* test_connect.c - unix sockets that are served, or not, and children that do not answer.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/connect.h"
#include "tests/lib/check_main.h"

#define N 3
/* An answer that has not come. */
#define NONE -1

static char directory[64];
static char path[100];
static struct ev_loop *loop;
static struct connector connector;
static struct connecting connecting[N];
static int answers[N];
static int listener;

static void
take(void *arg, int error)
{
	int *answer = arg;

	ck_assert_int_eq(*answer, NONE);
	*answer = error;
}

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_connect.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_ptr_nonnull(loop);
	connector_init(&connector, loop);
	for (int i = 0; i < N; i++) {
		connecting_init(&connecting[i], &connector, take, &answers[i]);
		answers[i] = NONE;
	}
	listener = -1;
}

/* No child is left behind. */
static void
tear_down(void)
{
	for (int i = 0; i < N; i++)
		(void)connecting_stop(&connecting[i]);
	bounded_done(&connector.children);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	ev_loop_destroy(loop);
	if (listener >= 0)
		(void)close(listener);
	(void)unlink(path);
	ck_assert_int_eq(rmdir(directory), 0);
}

static void
serve(int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, backlog), 0);
}

static int
answer_of(int i)
{
	int answer;

	while (answers[i] == NONE)
		(void)ev_run(loop, EVRUN_ONCE);
	answer = answers[i];
	answers[i] = NONE;
	return answer;
}

static int
ask(const char *at)
{
	connecting_start(&connecting[0], at);
	return answer_of(0);
}

static int
count_children(void)
{
	int n = 0;

	for (int id = 0; id < BOUNDED_MAX; id++)
		n += bounded_works(&connector.children, id);
	return n;
}

START_TEST(a_socket_that_is_served_is_told_from_others_by_one_child)
{
	char text[200];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(ask(path), ENOENT);
	ck_assert_int_eq(ask(text), ENAMETOOLONG);
	serve(0);
	ck_assert_int_eq(ask(path), 0);
	ck_assert_int_eq(ask(path), EAGAIN);
	(void)close(accept(listener, NULL, NULL));
	ck_assert_int_eq(ask(path), 0);
	(void)close(listener);
	listener = -1;
	ck_assert_int_eq(ask(path), ECONNREFUSED);
	ck_assert_int_eq(count_children(), 1);
}
END_TEST

START_TEST(others_wait_a_moment_for_a_child_that_does_not_answer_and_no_longer)
{
	serve(8);
	ck_assert_int_eq(ask(path), 0);
	ck_assert_int_eq(kill(connector.children.pids[connector.id], SIGSTOP), 0);
	for (int i = 0; i < N; i++)
		connecting_start(&connecting[i], path);
	ck_assert_int_eq(answer_of(1), 0);
	ck_assert_int_eq(answer_of(2), 0);
	ck_assert_int_eq(answers[0], NONE);
	ck_assert_int_eq(count_children(), 2);
	/* It answers after all, and is one too many. */
	ck_assert_int_eq(kill(connector.children.pids[connecting[0].id], SIGCONT), 0);
	ck_assert_int_eq(answer_of(0), 0);
	ck_assert_int_eq(count_children(), 1);
	ck_assert_uint_eq(connector.n_left, 0);
}
END_TEST

START_TEST(what_is_stopped_ends_its_child_and_what_waited_has_its_turn)
{
	serve(8);
	ck_assert_int_eq(ask(path), 0);
	ck_assert_int_eq(kill(connector.children.pids[connector.id], SIGSTOP), 0);
	for (int i = 0; i < N; i++)
		connecting_start(&connecting[i], path);
	ck_assert(connecting_stop(&connecting[1]));
	ck_assert(!connecting_stop(&connecting[1]));
	ck_assert(!connecting_stop(&connecting[0]));
	/* Its child may be about to die for a moment more: then the path is said to hang.
	 */
	ck_assert(answer_of(2) == 0 || bounded_count_late(&connector.children) > 0);
	ck_assert_int_eq(answers[0], NONE);
	ck_assert_int_eq(answers[1], NONE);
}
END_TEST

START_TEST(a_child_that_died_could_not_try_and_the_next_one_does)
{
	serve(8);
	ck_assert_int_eq(ask(path), 0);
	ck_assert_int_eq(kill(connector.children.pids[connector.id], SIGKILL), 0);
	ck_assert_int_eq(ask(path), ENOBUFS);
	ck_assert_int_eq(ask(path), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("helper/connect");
	TCase *tcase = tcase_create("connect");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_socket_that_is_served_is_told_from_others_by_one_child);
	tcase_add_test(
	    tcase, others_wait_a_moment_for_a_child_that_does_not_answer_and_no_longer);
	tcase_add_test(tcase,
	               what_is_stopped_ends_its_child_and_what_waited_has_its_turn);
	tcase_add_test(tcase, a_child_that_died_could_not_try_and_the_next_one_does);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
