/* SPDX-License-Identifier: ISC */
/* test_containment.c - programs that hide, and nothing of them left, in both ways. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/process/leftover.h"
#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"
#include "tests/os/contained.h"

static const char *const modes[] = {"plain",    "child", "session", "daemon",  "runner",
                                    "sprinter", "tree",  "shed",    "headless"};

START_TEST(in_a_session_nothing_survives_a_kill)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", a_mark(1)), 0);
	ck_assert(containment_needs_sweep(&c));
	start(&c, modes[_i], &child);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	ck_assert(!c.is_main_alive);
	turn(&c);
	ck_assert(containment_is_empty(&c, &root, sweep));
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}
END_TEST

START_TEST(a_process_without_its_main_thread_is_found_as_a_leftover)
{
	struct leftover_hunt hunt = {0};
	struct leftovers found;
	struct spawn_result child;
	struct containment c;
	const struct proc_mark mark = a_mark((uint32_t)getpid());
	char variable[80];

	(void)snprintf(variable, sizeof(variable), "SUPD_ID=%s",
	               proc_mark_text(&mark).text);
	hunt.variable = variable;
	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", mark), 0);
	start(&c, "headless", &child);
	ck_assert_int_eq(leftover_kill(&hunt, &found), 0);
	ck_assert_uint_eq(found.n_killed, 1);
	leftovers_done(&found);
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(in_a_cgroup_nothing_survives_a_kill)
{
	struct containment c;
	struct spawn_result child;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	ck_assert_int_eq(containment_open(&c, &root, "/user/app/a", a_mark(1)), 0);
	ck_assert(!containment_needs_sweep(&c));
	ck_assert_str_eq(leaf_of(&c).text, "user:app:a");
	start(&c, modes[_i], &child);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	ck_assert_int_eq(containment_close(&c, &root), -EBUSY);
	kill_all(&c);
	wait_for_main(&c);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}
END_TEST

START_TEST(what_is_never_long_the_same_process_is_never_taken_for_gone)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", a_mark(1)), 0);
	start(&c, "sprinter", &child);
	wait_for_main(&c);
	for (int i = 0; i < 300; i++) {
		turn(&c);
		ck_assert(!containment_is_empty(&c, &root, sweep));
	}
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(what_the_main_process_left_is_seen_after_its_own_end)
{
	struct containment c, other;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", a_mark(1)), 0);
	ck_assert_int_eq(containment_open(&other, NULL, "/user/b", a_mark(2)), 0);
	containment_born(&other, getpid());
	containment_reaped(&other);
	start(&c, "daemon", &child);
	wait_for_main(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	/* It is nobody else's. */
	ck_assert(containment_is_empty(&other, &root, sweep));
	ck_assert_int_eq(containment_kill(&other, &root, sweep), 0);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(a_main_process_that_has_named_another_is_of_the_rest)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", a_mark(1)), 0);
	start(&c, "plain", &child);
	/* The main process is another now, and has ended. */
	containment_told(&c, getpid());
	map_remove(&known, (uint64_t)child.pid);
	containment_reaped(&c);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	while (containment_stop(&c, sweep) > 0)
		turn(&c);
	ck_assert(proc_is_stopped(child.pid));
	containment_continue(&c, sweep);
	ck_assert(!proc_is_stopped(child.pid));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(an_orphan_of_the_session_is_known_without_its_mark)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", a_mark(1)), 0);
	start(&c, "child", &child);
	wait_for_main(&c);
	c.mark.secret = NULL;
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(a_watched_cgroup_tells_when_its_last_process_is_gone)
{
	struct containment c;
	struct spawn_result child;
	uint64_t token = 0;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", a_mark(1)), 0);
	start(&c, "daemon", &child);
	wait_for_main(&c);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 0);
	ck_assert_int_eq(containment_kill(&c, &root, NULL), 0);
	while (!containment_is_empty(&c, &root, NULL)) {
		struct pollfd poll_watch = {.fd = root.watch_fd, .events = POLLIN};

		ck_assert_int_eq(poll(&poll_watch, 1, PATIENCE_MS), 1);
		ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 1);
		ck_assert_uint_eq(token, 4711);
	}
	containment_unwatch(&c, &root);
	ck_assert_int_eq(c.events_fd, -1);
	ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 0);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
	turn(&c);
}
END_TEST

/* `where`: NULL for a session. */
static void
signal_one_of_two(const struct cgroup_root *where)
{
	struct containment c, other;
	struct spawn_result child, bystander;

	ck_assert_int_eq(containment_open(&c, where, "/user/a", a_mark(1)), 0);
	ck_assert_int_eq(containment_open(&other, where, "/user/b", a_mark(2)), 0);
	start(&c, "tree", &child);
	start(&other, "plain", &bystander);
	turn(&c);
	ck_assert_int_eq(containment_signal(&c, &root, sweep, SIGKILL), 0);
	for (const uint64_t start_ms = clock_mono_ms();
	     !containment_is_empty(&c, &root, sweep); turn(&c))
		ck_assert_uint_lt(clock_mono_ms() - start_ms, PATIENCE_MS);
	ck_assert_int_eq(kill(bystander.pid, 0), 0);
	ck_assert(!containment_is_empty(&other, &root, sweep));
	kill_all(&other);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	ck_assert_int_eq(containment_close(&other, &root), 0);
	close_result(&child);
	close_result(&bystander);
}

START_TEST(a_signal_reaches_every_process_of_the_actor_and_no_other)
{
	signal_one_of_two(NULL);
}
END_TEST

START_TEST(in_a_cgroup_a_signal_reaches_every_process_of_the_actor_and_no_other)
{
	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	signal_one_of_two(&root);
}
END_TEST

/* A process of this user, in a session of its own, with this SUPD_ID. */
static pid_t
start_marked(const char *mark, uid_t uid)
{
	char variable[PROC_MARK_MAX + 16];
	char *argv[] = {strdup("sleep"), strdup("1000"), NULL};
	char *envp[] = {variable, NULL};
	pid_t pid;

	(void)snprintf(variable, sizeof(variable), "SUPD_ID=%s", mark);
	pid = fork();
	if (pid == 0) {
		if (setsid() < 0 || setresuid(uid, uid, uid) < 0)
			_exit(1);
		(void)execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	free(argv[0]);
	free(argv[1]);
	while (pid > 0 && !proc_has_mark(pid, mark))
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	return pid;
}

START_TEST(a_mark_that_another_user_has_written_is_not_believed)
{
	const struct proc_mark mark = a_mark(1);
	const struct proc_mark_text text = proc_mark_text(&mark);
	const uid_t other = 65534;
	struct containment c;
	pid_t pid;

	CHECK_NEEDS(getuid() == 0, "root");
	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", mark), 0);
	pid = start_marked(text.text, other);
	ck_assert_int_gt(pid, 0);
	ck_assert(!containment_has(&c, &root, pid, 0));
	ck_assert(!containment_has(&c, &root, pid, 1));
	ck_assert(containment_has(&c, &root, pid, other));
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	pid = start_marked(text.text, 0);
	ck_assert(containment_has(&c, &root, pid, other));
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(containment_close(&c, &root), 0);
}
END_TEST

/* `where`: NULL for a session. */
static void
recognise_a_sender(const struct cgroup_root *where)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, where, "/user/a", a_mark(1)), 0);
	start(&c, "session", &child);
	ck_assert(containment_has(&c, &root, child.pid, getuid()));
	ck_assert(!containment_has(&c, &root, getpid(), getuid()));
	ck_assert(!containment_has(&c, &root, 1, getuid()));
	ck_assert(!containment_has(&c, &root, 0, getuid()));
	kill_all(&c);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}

START_TEST(a_sender_is_recognised_as_one_of_the_actors_processes)
{
	recognise_a_sender(NULL);
}
END_TEST

START_TEST(in_a_cgroup_a_sender_is_recognised_as_one_of_the_actors_processes)
{
	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	recognise_a_sender(&root);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("containment");
	TCase *tcase = tcase_create("containment");
	TCase *unprivileged = tcase_create("unprivileged");
	const int n_modes = (int)(sizeof(modes) / sizeof(modes[0]));

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, in_a_session_nothing_survives_a_kill, 0, n_modes);
	tcase_add_loop_test(tcase, in_a_cgroup_nothing_survives_a_kill, 0, n_modes);
	tcase_add_test(tcase,
	               what_is_never_long_the_same_process_is_never_taken_for_gone);
	tcase_add_test(tcase, what_the_main_process_left_is_seen_after_its_own_end);
	tcase_add_test(tcase, a_main_process_that_has_named_another_is_of_the_rest);
	tcase_add_test(tcase, an_orphan_of_the_session_is_known_without_its_mark);
	tcase_add_test(tcase, a_watched_cgroup_tells_when_its_last_process_is_gone);
	tcase_add_test(tcase, a_signal_reaches_every_process_of_the_actor_and_no_other);
	tcase_add_test(
	    tcase, in_a_cgroup_a_signal_reaches_every_process_of_the_actor_and_no_other);
	tcase_add_test(tcase, a_mark_that_another_user_has_written_is_not_believed);
	tcase_add_test(tcase, a_sender_is_recognised_as_one_of_the_actors_processes);
	tcase_add_test(tcase,
	               in_a_cgroup_a_sender_is_recognised_as_one_of_the_actors_processes);
	tcase_add_test(tcase, a_process_without_its_main_thread_is_found_as_a_leftover);
	suite_add_tcase(suite, tcase);
	tcase_set_timeout(unprivileged, 120);
	tcase_add_checked_fixture(unprivileged, set_up_unprivileged, tear_down);
	tcase_add_loop_test(unprivileged, in_a_session_nothing_survives_a_kill, 0,
	                    n_modes);
	tcase_add_test(unprivileged,
	               a_process_without_its_main_thread_is_found_as_a_leftover);
	suite_add_tcase(suite, unprivileged);
	return check_run(srunner_create(suite));
}
