/* SPDX-License-Identifier: ISC */
/* test_spawn.c - real programs, started with a clean world from a dirty one. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/self/signals.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"
#include "tests/os/spawned.h"

START_TEST(a_program_sees_its_descriptors_and_no_others)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];

	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2");
	HAS(text, "fd0 /dev/null");
	HAS(text, "fd2 /dev/null");
	/* Once more: the first spawn has left everything as it was. */
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2");
}
END_TEST

START_TEST(descriptors_that_strangers_left_open_do_not_leak)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];

	/* Without close-on-exec, in the window and above, before and after the start. */
	os_spawn_done(&spawner);
	ck_assert_int_eq(dup2(2, 7), 7);
	ck_assert_int_eq(dup2(2, 150), 150);
	begin_spawner();
	ck_assert_int_ge(dup(2), 0);
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2");
	(void)close(7);
	(void)close(150);
}
END_TEST

START_TEST(descriptors_arrive_in_the_order_that_was_asked_for)
{
	char *argv[] = {probe, NULL};
	char name[128], expected[160], text[8192];
	int fds[7] = {-1, -1, 1, 0, -1, -1, -1};
	struct spawn spawn = plain(argv, fds, 7);

	for (int i = 4; i < 7; i++) {
		(void)snprintf(name, sizeof(name), "%s/file%d", directory, i);
		fds[i] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		ck_assert_int_ge(fds[i], 0);
	}
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2 3 4 5 6");
	for (int i = 4; i < 7; i++) {
		(void)snprintf(expected, sizeof(expected), "fd%d %s/file%d\n", i,
		               directory, i);
		ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
		(void)close(fds[i]);
	}
}
END_TEST

START_TEST(our_own_standard_descriptors_can_be_crossed_and_stay_as_they_are)
{
	char *argv[] = {probe, NULL};
	struct stat before[3], after[3];
	int fds[] = {2, -1, 0};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(fstat(i, &before[i]), 0);
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(fstat(i, &after[i]), 0);
		ck_assert_uint_eq(before[i].st_ino, after[i].st_ino);
	}
}
END_TEST

START_TEST(as_many_descriptors_as_there_may_be_all_arrive)
{
	char *argv[] = {probe, NULL};
	int fds[SPAWN_FDS_MAX] = {-1};
	struct spawn spawn = plain(argv, fds, SPAWN_FDS_MAX);
	char text[16384];
	int end = 0;

	for (int i = 0; i < SPAWN_FDS_MAX; i++)
		fds[i] = i < 3 ? -1 : open("/dev/zero", O_RDONLY | O_CLOEXEC);
	run_probe(&spawn, fds, text, sizeof(text));
	ck_assert_int_eq(sscanf(text, "fds 0 1 2 3 4 5 6 7 8 9 10 %d", &end), 1);
	HAS(text, " 253 254 255");
	HAS(text, "fd9 /dev/zero");
	for (int i = 3; i < SPAWN_FDS_MAX; i++)
		(void)close(fds[i]);
}
END_TEST

START_TEST(more_descriptors_than_the_window_has_leave_ours_as_they_are)
{
	const size_t counts[] = {FD_WINDOW - 1, FD_WINDOW, FD_WINDOW + 1, 192,
	                         SPAWN_FDS_MAX};
	char *argv[] = {probe, NULL};
	int fds[SPAWN_FDS_MAX];
	char text[16384], last[16];
	struct stat zero, now;

	ck_assert_int_eq(stat("/dev/zero", &zero), 0);
	for (int i = 0; i < SPAWN_FDS_MAX; i++)
		fds[i] = i < 3 ? -1 : open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (size_t at = 0; at < sizeof(counts) / sizeof(counts[0]); at++) {
		struct spawn spawn = plain(argv, fds, counts[at]);

		run_probe(&spawn, fds, text, sizeof(text));
		(void)snprintf(last, sizeof(last), " %zu\n", counts[at] - 1);
		ck_assert_msg(strstr(text, last) != NULL, "%s", text);
		for (int i = 3; i < SPAWN_FDS_MAX; i++) {
			ck_assert_int_eq(fstat(fds[i], &now), 0);
			ck_assert_uint_eq(now.st_rdev, zero.st_rdev);
		}
	}
	for (int i = 3; i < SPAWN_FDS_MAX; i++)
		(void)close(fds[i]);
}
END_TEST

START_TEST(signals_are_at_their_defaults_whatever_ours_are)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];
	sigset_t some, now;

	os_spawn_done(&spawner);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGRTMIN + 3, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	begin_spawner();
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigaddset(&some, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &some, NULL);
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "SigBlk:\t0000000000000000");
	HAS(text, "SigIgn:\t0000000000000000");
	/* Ours are as before. */
	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	ck_assert(sigismember(&now, SIGTERM));
	ck_assert(!sigismember(&now, SIGINT));
	ck_assert_ptr_eq(signal(SIGPIPE, SIG_DFL), SIG_IGN);
	(void)sigprocmask(SIG_UNBLOCK, &some, NULL);
	signals_reset();
}
END_TEST

START_TEST(a_program_leads_a_session_and_a_group_of_its_own)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];

	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "leader 1");
	HAS(text, "group 1");
	spawn.foreground = true;
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "leader 0");
}
END_TEST

START_TEST(directory_umask_limits_and_listen_pid_are_the_programs)
{
	char *argv[] = {probe, strdup("one two"), NULL};
	char listen[] = "LISTEN_PID=##########";
	char *env[] = {listen, NULL};
	struct spawn_limit limit = {RLIMIT_MSGQUEUE,
	                            {.rlim_cur = 4096, .rlim_max = 8192}};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192], expected[96];
	struct rlimit ours;

	spawn.envp = env;
	spawn.listen_pid = listen + strlen("LISTEN_PID=");
	spawn.directory = directory;
	spawn.umask = 027;
	spawn.limits = &limit;
	spawn.n_limits = 1;
	run_probe(&spawn, fds, text, sizeof(text));
	(void)snprintf(expected, sizeof(expected), "directory %s\n", directory);
	ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
	HAS(text, "umask 027");
	HAS(text, "queues 4096 8192");
	HAS(text, "listen_pid 1");
	HAS(text, "arg one two");
	ck_assert_int_eq(getrlimit(RLIMIT_MSGQUEUE, &ours), 0);
	ck_assert_uint_ne(ours.rlim_max, 8192);
	free(argv[1]);
}
END_TEST

START_TEST(user_group_and_supplementary_groups_are_set)
{
	char *argv[] = {probe, NULL};
	const gid_t groups[] = {12345, 23456};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];

	CHECK_NEEDS(geteuid() == 0, "root");
	/* The probe must be within reach of a stranger. */
	(void)snprintf(text, sizeof(text), "cp %s %s/probe && chmod 755 %s %s/probe",
	               probe, directory, directory, directory);
	ck_assert_int_eq(system(text), 0);
	(void)snprintf(probe, sizeof(probe), "%s/probe", directory);
	spawn.has_ids = true;
	spawn.uid = 54321;
	spawn.gid = 43210;
	spawn.groups = groups;
	spawn.n_groups = 2;
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "ids 54321 54321 43210 43210");
	HAS(text, "groups 12345 23456");
	ck_assert_int_eq((int)geteuid(), 0);
}
END_TEST

START_TEST(a_trace_has_the_pid_and_what_failed)
{
	char *argv[] = {probe, NULL};
	char missing[] = "/nonexistent/program";
	char *nothing[] = {missing, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	struct spawn_trace *trace;
	struct spawn_result child;
	struct reap end;

	trace = mmap(NULL, sizeof(*trace), PROT_READ | PROT_WRITE,
	             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(trace, MAP_FAILED);
	spawn.trace = trace;
	ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), 0);
	ck_assert_int_eq(trace->pid, child.pid);
	ck_assert_int_eq(trace->step, SPAWN_STEP_NONE);
	wait_for_end(&child, &end);
	spawn = plain(nothing, fds, 3);
	spawn.trace = trace;
	*trace = (struct spawn_trace){0};
	ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), -ENOENT);
	ck_assert_int_gt(trace->pid, 0);
	ck_assert_int_eq(trace->step, SPAWN_STEP_EXEC);
	ck_assert_int_eq(trace->code, ENOENT);
	(void)munmap(trace, sizeof(*trace));
}
END_TEST

START_TEST(where_clone3_is_refused_the_same_child_comes_out)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1, 0};
	struct spawn spawn = plain(argv, fds, 4);
	char text[8192];

	spawner.has_clone3 = false;
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2 3");
	HAS(text, "SigIgn:\t0000000000000000");
	HAS(text, "leader 1");
	spawn.file = "/nowhere";
	assert_fails(&spawn, ENOENT, "exec");
}
END_TEST

START_TEST(where_the_window_is_full_the_table_is_copied)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, 2, 0, -1};
	struct spawn spawn = plain(argv, fds, 5);
	char text[8192];

	fds[4] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (int fd = 6; fd < FD_WINDOW; fd++)
		spawner.is_slot[fd] = false;
	run_probe(&spawn, fds, text, sizeof(text));
	HAS(text, "fds 0 1 2 3 4");
	HAS(text, "fd4 /dev/zero");
	(void)close(fds[4]);
}
END_TEST

START_TEST(a_spawn_works_with_the_standard_descriptors_closed)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char text[8192];
	int kept[3];

	os_spawn_done(&spawner);
	for (int i = 0; i < 3; i++) {
		kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 200);
		(void)close(i);
	}
	int r = fd_open_standard();
	begin_spawner();
	run_probe(&spawn, fds, text, sizeof(text));
	for (int i = 0; i < 3; i++) {
		(void)dup2(kept[i], i);
		(void)close(kept[i]);
	}
	ck_assert_int_eq(r, 0);
	HAS(text, "fds 0 1 2");
}
END_TEST

START_TEST(new_descriptors_of_ours_are_born_outside_the_window)
{
	char *argv[] = {probe, strdup("pause"), NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	struct spawn_result child;
	struct reap end;

	ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), 0);
	ck_assert_int_gt(child.pid, 0);
	if (spawner.has_clone3)
		ck_assert_int_ge(child.pidfd, FD_WINDOW);
	if (child.pidfd >= 0)
		ck_assert(fcntl(child.pidfd, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_eq(kill(child.pid, SIGKILL), 0);
	wait_for_end(&child, &end);
	ck_assert_int_eq(end.kind, REAP_SIGNALED);
	ck_assert_int_eq(end.status, SIGKILL);
	free(argv[1]);
}
END_TEST

START_TEST(a_thousand_failing_and_good_spawns_leave_nothing_behind)
{
	char *good[] = {strdup("/bin/true"), NULL};
	char *bad[] = {strdup("/nowhere"), NULL};
	int fds[] = {-1, 2, 2};
	struct spawn spawn = plain(good, fds, 3);
	struct spawn wrong = plain(bad, fds, 3);
	struct spawn_result child;
	struct reap end;
	int before = dup(2);

	(void)close(before);
	for (int i = 0; i < 250; i++) {
		ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), 0);
		wait_for_end(&child, &end);
		ck_assert_int_eq(os_spawn(&spawner, &wrong, &child), -ENOENT);
	}
	int after = dup(2);
	ck_assert_int_eq(before, after);
	(void)close(after);
	free(good[0]);
	free(bad[0]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("spawn");
	TCase *tcase = tcase_create("spawn");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_program_sees_its_descriptors_and_no_others);
	tcase_add_test(tcase, descriptors_that_strangers_left_open_do_not_leak);
	tcase_add_test(tcase, descriptors_arrive_in_the_order_that_was_asked_for);
	tcase_add_test(tcase,
	               our_own_standard_descriptors_can_be_crossed_and_stay_as_they_are);
	tcase_add_test(tcase, as_many_descriptors_as_there_may_be_all_arrive);
	tcase_add_test(tcase,
	               more_descriptors_than_the_window_has_leave_ours_as_they_are);
	tcase_add_test(tcase, signals_are_at_their_defaults_whatever_ours_are);
	tcase_add_test(tcase, a_program_leads_a_session_and_a_group_of_its_own);
	tcase_add_test(tcase, directory_umask_limits_and_listen_pid_are_the_programs);
	tcase_add_test(tcase, user_group_and_supplementary_groups_are_set);
	tcase_add_test(tcase, a_trace_has_the_pid_and_what_failed);
	tcase_add_test(tcase, where_clone3_is_refused_the_same_child_comes_out);
	tcase_add_test(tcase, where_the_window_is_full_the_table_is_copied);
	tcase_add_test(tcase, a_spawn_works_with_the_standard_descriptors_closed);
	tcase_add_test(tcase, new_descriptors_of_ours_are_born_outside_the_window);
	tcase_add_test(tcase, a_thousand_failing_and_good_spawns_leave_nothing_behind);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
