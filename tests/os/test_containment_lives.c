/* SPDX-License-Identifier: ISC */
/* test_containment_lives.c - what stays of a containment from one life of its actor, or
 * of supd, to the next. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"
#include "tests/os/contained.h"

START_TEST(a_second_life_finds_its_cgroup_empty_and_in_place)
{
	char leaf[CGROUP_LEAF_MAX];
	struct containment c;
	struct spawn_result child;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	/* A former process that was killed does no harm either. */
	cgroup_leaf_name("/user/a", leaf);
	ck_assert_int_eq(cgroup_leaf_make(&root, leaf), 1);
	ck_assert_int_eq(cgroup_leaf_make(&root, leaf), 0);
	ck_assert_int_eq(cgroup_leaf_kill(&root, leaf), 0);
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", a_mark(1)), 0);
	for (int i = 0; i < 3; i++) {
		start(&c, "child", &child);
		wait_for_main(&c);
		ck_assert(!containment_is_empty(&c, &root, NULL));
		kill_all(&c);
		close_result(&child);
	}
	ck_assert_int_eq(containment_close(&c, &root), 0);
}
END_TEST

START_TEST(a_mark_tells_the_life_or_the_task)
{
	struct containment c;

	containment_init(&c);
	ck_assert_str_eq(proc_mark_text(&c.mark).text, "");
	containment_adopt(&c, NULL, "/user/a", a_mark(12));
	ck_assert_str_eq(proc_mark_text(&c.mark).text,
	                 "0123456789abcdef0fedcba987654321-7-12");
	c.mark.slot = PROC_MARK_TASK;
	ck_assert_str_eq(proc_mark_text(&c.mark).text,
	                 "0123456789abcdef0fedcba987654321-task-12");
}
END_TEST

START_TEST(with_descriptors_in_plenty_one_tells_the_end_of_each_life)
{
	struct containment c, other;
	struct spawn_result child;
	int fd;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	root.kept_max = 1;
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", a_mark(1)), 0);
	start(&c, "plain", &child);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	fd = c.events_fd;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	containment_unwatch(&c, &root);
	ck_assert_int_eq(c.events_fd, fd);
	/* The descriptor of a replaced leaf is not kept. */
	kill_all(&c);
	close_result(&child);
	ck_assert_int_eq(containment_prepare(&c, &root, &fd), 0);
	ck_assert_int_eq(c.events_fd, -1);
	containment_begun(&c, &root);
	ck_assert_int_eq(root.n_kept, 1);
	ck_assert_int_eq(c.leaf_fd, fd);
	/* No other one has room, until this is closed. */
	ck_assert_int_eq(containment_open(&other, &root, "/user/b", a_mark(2)), 0);
	ck_assert_int_eq(containment_prepare(&other, &root, &fd), 0);
	containment_begun(&other, &root);
	ck_assert_int_eq(other.leaf_fd, -1);
	containment_shut(&c, &root);
	ck_assert_int_eq(c.leaf_fd, -1);
	ck_assert_int_eq(containment_prepare(&other, &root, &fd), 0);
	containment_begun(&other, &root);
	ck_assert_int_eq(other.leaf_fd, fd);
	ck_assert_int_eq(containment_close(&other, &root), 0);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	ck_assert_int_eq(root.n_kept, 0);
	root.kept_max = 0;
}
END_TEST

START_TEST(a_stranger_in_the_cgroup_does_not_keep_the_next_life_from_its_start)
{
	struct containment c, other;
	struct spawn_result child, stranger;
	char file[CGROUP_LEAF_MAX + 16], pid[16];
	int fd, r;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", a_mark(1)), 0);
	ck_assert_int_eq(containment_open(&other, &root, "/user/b", a_mark(2)), 0);
	start(&c, "plain", &child);
	kill_all(&c);
	close_result(&child);
	start(&other, "plain", &stranger);
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", leaf_of(&c).text);
	(void)snprintf(pid, sizeof(pid), "%d", stranger.pid);
	ck_assert_int_eq(cgroup_write(root.fd, file, pid), 0);
	ck_assert_int_eq(containment_prepare(&c, &root, &fd), -EBUSY);
	while ((r = containment_prepare(&c, &root, &fd)) == -EBUSY)
		turn(&other);
	ck_assert_int_eq(r, 0);
	containment_begun(&c, &root);
	kill_all(&other);
	close_result(&stranger);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	ck_assert_int_eq(containment_close(&other, &root), 0);
}
END_TEST

START_TEST(what_another_supd_had_is_taken_over_with_all_that_lives_in_it)
{
	struct cgroup_root successor;
	struct containment c;
	struct spawn_result child;
	struct err err;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", a_mark(1)), 0);
	start(&c, "child", &child);
	ck_assert_int_eq(cgroup_root_adopt(&successor,
	                                   fcntl(root.fd, F_DUPFD_CLOEXEC, FD_WINDOW),
	                                   &err),
	                 0);
	ck_assert_str_eq(successor.path, root.path);
	ck_assert_str_eq(successor.name, root.name);
	ck_assert(successor.is_created == root.is_created);
	containment_adopt(&c, &successor, "/user/a", a_mark(1));
	c.session = child.pid;
	ck_assert(containment_has(&c, &successor, child.pid, getuid()));
	ck_assert(!containment_is_empty(&c, &successor, NULL));
	/* The guardian before may have killed the process as its last act. */
	ck_assert_int_eq(containment_kill(&c, &root, NULL), 0);
	wait_for_main(&c);
	close_result(&child);
	while (!containment_is_empty(&c, &successor, NULL))
		usleep(500);
	containment_adopt(&c, &successor, "/user/a", a_mark(2));
	start(&c, "child", &child);
	wait_for_main(&c);
	ck_assert(!containment_is_empty(&c, &successor, NULL));
	kill_all(&c);
	close_result(&child);
	ck_assert_int_eq(containment_close(&c, &successor), 0);
	fd_close(&successor.fd);
	fd_close(&successor.watch_fd);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("containments from life to life");
	TCase *tcase = tcase_create("containments from life to life");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_second_life_finds_its_cgroup_empty_and_in_place);
	tcase_add_test(tcase, a_mark_tells_the_life_or_the_task);
	tcase_add_test(tcase, with_descriptors_in_plenty_one_tells_the_end_of_each_life);
	tcase_add_test(
	    tcase, a_stranger_in_the_cgroup_does_not_keep_the_next_life_from_its_start);
	tcase_add_test(tcase,
	               what_another_supd_had_is_taken_over_with_all_that_lives_in_it);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
