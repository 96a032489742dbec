/* SPDX-License-Identifier: ISC */
/* test_rights.c - descriptors that the other end of a stream sends are not taken. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/self/pass.h"
#include "os/socket/rights.h"
#include "tests/lib/check_main.h"

static int ends[2];

static void
set_up(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

static void
tear_down(void)
{
	(void)close(ends[0]);
	(void)close(ends[1]);
}

START_TEST(data_is_read_and_descriptors_stay)
{
	char data[16];
	int pipe_fds[2];

	ck_assert_int_eq(pipe(pipe_fds), 0);
	ck_assert(rights_may_come(ends[0]));
	ck_assert_int_lt(rights_receive(ends[0], data, sizeof(data)), 0);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(send(ends[1], "ab", 2, 0), 2);
	ck_assert_int_eq(rights_receive(ends[0], data, sizeof(data)), 2);
	ck_assert_int_eq(memcmp(data, "ab", 2), 0);
	ck_assert_int_eq(send(ends[1], "ab", 2, 0), 2);
	ck_assert_int_eq(
	    pass_send(ends[1], "cd", 2, &(struct pass_fds){&pipe_fds[1], 1}, 0), 0);
	(void)close(pipe_fds[1]);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_lt(rights_receive(ends[0], data, sizeof(data)), 0);
		ck_assert_int_eq(errno, EPERM);
	}
	ck_assert(rights_may_wait(ends[0]));
	ck_assert_int_lt(send(ends[1], "x", 1, MSG_NOSIGNAL), 0);
	ck_assert_int_eq(errno, EPIPE);
	/* The queue has the last writer of the pipe. */
	(void)close(ends[0]);
	ck_assert_int_eq(read(pipe_fds[0], data, 1), 0);
	(void)close(pipe_fds[0]);
}
END_TEST

START_TEST(descriptors_with_urgent_data_are_seen)
{
	char data[16];

	ck_assert(rights_may_come(ends[0]));
	if (pass_send(ends[1], "c", 1, &(struct pass_fds){&ends[1], 1}, MSG_OOB) < 0)
		return; /* an older kernel has no urgent data here */
	ck_assert_int_lt(rights_receive(ends[0], data, sizeof(data)), 0);
	ck_assert_int_eq(errno, EPERM);
}
END_TEST

START_TEST(the_end_is_seen_and_an_empty_queue_holds_nothing)
{
	char data[16];

	ck_assert(rights_may_come(ends[0]));
	ck_assert_int_eq(send(ends[1], "ab", 2, 0), 2);
	ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
	ck_assert_int_eq(rights_receive(ends[0], data, 1), 1);
	ck_assert(rights_may_wait(ends[0]));
	ck_assert_int_eq(rights_receive(ends[0], data, sizeof(data)), 1);
	ck_assert_int_eq(rights_receive(ends[0], data, sizeof(data)), 0);
	ck_assert(!rights_may_wait(ends[0]));
}
END_TEST

START_TEST(a_socket_that_refuses_descriptors_needs_no_second_look)
{
	rights_refuse(ends[0]);
	if (rights_may_come(ends[0]))
		return; /* an older kernel */
	ck_assert_int_eq(pass_send(ends[1], "c", 1, &(struct pass_fds){&ends[1], 1}, 0),
	                 -EPERM);
	ck_assert_int_eq(
	    pass_send(ends[1], "c", 1, &(struct pass_fds){&ends[1], 1}, MSG_OOB), -EPERM);
	ck_assert_int_eq(pass_send(ends[1], "c", 1, NULL, 0), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("os/rights");
	TCase *tcase = tcase_create("rights");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, data_is_read_and_descriptors_stay);
	tcase_add_test(tcase, descriptors_with_urgent_data_are_seen);
	tcase_add_test(tcase, the_end_is_seen_and_an_empty_queue_holds_nothing);
	tcase_add_test(tcase, a_socket_that_refuses_descriptors_needs_no_second_look);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
