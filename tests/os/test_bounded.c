/* SPDX-License-Identifier: ISC */
/* test_bounded.c - children that may never answer, and the files of sockets that they
 * make. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/self/bounded.h"
#include "os/self/clock.h"
#include "os/self/pass.h"
#include "os/socket/sockwork.h"
#include "tests/lib/check_main.h"

#define PATIENCE_MS 60000

static struct bounded bounded;
static char directory[64];

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_bounded.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	bounded = (struct bounded){0};
}

/* No child is left behind that does not end; what ends late is for the reaper of all
 * children. */
static void
tear_down(void)
{
	bounded_done(&bounded);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	(void)rmdir(directory);
}

static void
say_all(int fd, void *data)
{
	/* It has no other descriptor. */
	ck_assert_int_eq(fcntl(fd + 1, F_GETFD), -1);
	for (const char *at = data; *at != '\0'; at++)
		ck_assert_int_eq(write(fd, at, 1), 1);
}

static void
say_nothing(int fd, void *data)
{
	(void)fd;
	(void)data;
	for (;;)
		(void)pause();
}

START_TEST(what_a_child_writes_is_taken_until_it_ends_or_the_buffer_is_full)
{
	char text[] = "nothing more";
	char buf[20];

	ck_assert_int_eq(bounded_run(&bounded, &(struct bounded_task){1, say_all, text},
	                             PATIENCE_MS, buf, sizeof(buf)),
	                 12);
	ck_assert_mem_eq(buf, text, 12);
	ck_assert_int_eq(bounded_run(&bounded, &(struct bounded_task){1, say_all, text},
	                             PATIENCE_MS, buf, 7),
	                 7);
	ck_assert(!bounded_hangs(&bounded, 1));
}
END_TEST

START_TEST(one_that_is_late_is_ended_and_its_owner_rests_and_no_other)
{
	char buf[4], text[] = "x";

	ck_assert_int_eq(bounded_run(&bounded,
	                             &(struct bounded_task){1, say_nothing, NULL}, 1, buf,
	                             4),
	                 -ETIMEDOUT);
	ck_assert(bounded_hangs(&bounded, 1));
	ck_assert(!bounded_hangs(&bounded, 2));
	ck_assert_uint_eq(bounded_count_late(&bounded), 1);
	ck_assert_int_eq(bounded_run(&bounded, &(struct bounded_task){2, say_all, text},
	                             PATIENCE_MS, buf, 4),
	                 1);
	ck_assert(bounded_hangs(&bounded, 1));
}
END_TEST

START_TEST(each_owner_has_few_children_and_all_together_have_a_bound)
{
	int fds[BOUNDED_MAX];
	int n = 0, fd;

	for (uint64_t owner = 0; n < BOUNDED_MAX; owner++) {
		for (int i = 0; i < BOUNDED_OWN_MAX; i++, n++)
			(void)bounded_open(
			    &bounded, &(struct bounded_task){owner, say_nothing, NULL},
			    &fds[n]);
		ck_assert_int_eq(
		    bounded_open(&bounded,
		                 &(struct bounded_task){owner, say_nothing, NULL}, &fd),
		    -EAGAIN);
		ck_assert_int_eq(fd, -1);
		ck_assert(!bounded_has_room(&bounded, owner));
	}
	ck_assert(!bounded_has_room(&bounded, 1000));
	ck_assert_int_ge(fds[BOUNDED_MAX - 1], 0);
	bounded_end(&bounded, 5, &fds[0]);
	ck_assert(bounded_has_room(&bounded, 1000));
	for (int i = 1; i < BOUNDED_MAX; i++)
		(void)close(fds[i]);
}
END_TEST

START_TEST(a_child_that_others_have_reaped_is_forgotten)
{
	int fd;
	const int id =
	    bounded_open(&bounded, &(struct bounded_task){1, say_nothing, NULL}, &fd);

	ck_assert_int_ge(id, 0);
	ck_assert(bounded_works(&bounded, id));
	/* A number that now is another process's must never be killed: this one's own. */
	(void)kill(bounded.pids[id], SIGKILL);
	(void)waitpid(bounded.pids[id], NULL, 0);
	bounded_reaped(&bounded, bounded.pids[id]);
	ck_assert_int_eq(bounded.pids[id], 0);
	(void)close(fd);
}
END_TEST

static bool
is_there(const char *path, mode_t type)
{
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

START_TEST(a_socket_is_made_adjusted_restored_and_removed)
{
	const bool is_fifo = _i == 1;
	char path[100], other[100];
	struct sock_file file = {.path = path,
	                         .type = is_fifo ? 0 : SOCK_STREAM,
	                         .backlog = 5,
	                         .mode = 0600,
	                         .uid = (uid_t)-1,
	                         .gid = (gid_t)-1};
	struct sockwork work;
	struct stat st;
	struct err err;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/a", directory);
	(void)snprintf(other, sizeof(other), "%s/.a.supd", directory);
	sockwork_begin(&work, &bounded, PATIENCE_MS);
	fd = sockwork_do(&work, 1, SOCKWORK_OPEN, &file, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert(is_there(path, is_fifo ? S_IFIFO : S_IFSOCK));
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert((st.st_mode & S_IFMT) == (is_fifo ? S_IFIFO : S_IFSOCK));
	file.fd = fd;
	file.mode = 0666;
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_ADJUST, &file, &err), 0);
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0666);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_RESTORE, &file, &err), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_RESTORE, &file, &err), 1);
	ck_assert(is_there(path, is_fifo ? S_IFIFO : S_IFSOCK));
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_REMOVE, &file, &err), 0);
	ck_assert(!is_there(path, is_fifo ? S_IFIFO : S_IFSOCK));
	ck_assert_int_eq(access(other, F_OK), -1);
	sockwork_done(&work);
	(void)close(fd);
}
END_TEST

START_TEST(a_look_sees_the_file_of_a_socket_and_a_connection_whether_it_is_live)
{
	struct sock_file file = {.type = SOCK_STREAM,
	                         .backlog = 1,
	                         .mode = 0600,
	                         .uid = (uid_t)-1,
	                         .gid = (gid_t)-1};
	struct sockwork work;
	struct err err;
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/socket", directory);
	file.path = path;
	sockwork_begin(&work, &bounded, PATIENCE_MS);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_CONNECT, &file, &err), 0);
	ck_assert(work.seen.ino == 0 && !work.seen.is_live);
	fd = sockwork_do(&work, 1, SOCKWORK_OPEN, &file, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_CONNECT, &file, &err), 0);
	ck_assert(work.seen.ino != 0 && work.seen.is_live);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_LOOK, &file, &err), 0);
	ck_assert(work.seen.ino != 0 && !work.seen.is_live);
	(void)close(fd);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_CONNECT, &file, &err), 0);
	ck_assert(work.seen.ino != 0 && !work.seen.is_live);
	file.fd = -1;
	ck_assert_int_eq(unlink(path), 0);
	sockwork_done(&work);
}
END_TEST

START_TEST(what_is_in_the_way_is_told_and_without_time_nothing_is_tried)
{
	struct sock_file file = {
	    .path = directory, .type = SOCK_STREAM, .uid = (uid_t)-1, .gid = (gid_t)-1};
	struct sockwork work;
	struct err err;

	sockwork_begin(&work, &bounded, PATIENCE_MS);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_OPEN, &file, &err), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, directory));
	sockwork_done(&work);
	sockwork_begin(&work, &bounded, 0);
	ck_assert_int_eq(sockwork_do(&work, 1, SOCKWORK_REMOVE, &file, &err), -ETIMEDOUT);
	sockwork_done(&work);
}
END_TEST

static void
answer_with_descriptor(int fd, void *data)
{
	ck_assert_int_eq(pass_send(fd, data, 1, &(struct pass_fds){&fd, 1}, 0), 0);
}

START_TEST(an_answer_without_a_number_for_its_descriptor_is_a_shortage)
{
	const struct bounded_task task = {1, answer_with_descriptor, (char[]){'x'}};
	struct rlimit before, now;
	int fd, received;
	char answer;

	int id = bounded_open(&bounded, &task, &fd);
	ck_assert_int_ge(id, 0);
	const int lowest = dup(fd);
	ck_assert_int_eq(close(lowest), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = (struct rlimit){(rlim_t)lowest, before.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
	int r = bounded_answer(fd, clock_mono_ms() + PATIENCE_MS, &answer, 1, &received);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(r, -EMFILE);
	ck_assert_int_eq(received, -1);
	bounded_end(&bounded, id, &fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("bounded");
	TCase *tcase = tcase_create("bounded");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase,
	               what_a_child_writes_is_taken_until_it_ends_or_the_buffer_is_full);
	tcase_add_test(tcase, one_that_is_late_is_ended_and_its_owner_rests_and_no_other);
	tcase_add_test(tcase, each_owner_has_few_children_and_all_together_have_a_bound);
	tcase_add_test(tcase, a_child_that_others_have_reaped_is_forgotten);
	tcase_add_loop_test(tcase, a_socket_is_made_adjusted_restored_and_removed, 0, 2);
	tcase_add_test(
	    tcase, a_look_sees_the_file_of_a_socket_and_a_connection_whether_it_is_live);
	tcase_add_test(tcase,
	               what_is_in_the_way_is_told_and_without_time_nothing_is_tried);
	tcase_add_test(tcase,
	               an_answer_without_a_number_for_its_descriptor_is_a_shortage);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
