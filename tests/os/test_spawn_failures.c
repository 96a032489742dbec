/* SPDX-License-Identifier: ISC */
/* test_spawn_failures.c - starts that fail: the step and its errno are told, and nothing
 * is left behind; names that are looked up. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"
#include "tests/os/spawned.h"

START_TEST(the_step_that_failed_is_named_with_its_errno)
{
	char *argv[] = {strdup("/nowhere/at/all"), NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	struct spawn_limit limit = {RLIMIT_NOFILE, {.rlim_cur = 2, .rlim_max = 1}};
	int bad[] = {-1, -1, -1, 9999};

	assert_fails(&spawn, ENOENT, "exec");
	spawn.file = "";
	assert_fails(&spawn, ENOENT, "exec");
	spawn.file = directory;
	assert_fails(&spawn, EACCES, "exec");
	spawn.directory = "/nowhere";
	assert_fails(&spawn, ENOENT, "chdir");
	spawn.limits = &limit;
	spawn.n_limits = 1;
	assert_fails(&spawn, EINVAL, "setrlimit");
	spawn.fds = bad;
	spawn.n_fds = 4;
	assert_fails(&spawn, EBADF, "descriptors");
	free(argv[0]);
}
END_TEST

START_TEST(a_change_of_user_without_the_right_to_is_a_failure)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
		ck_abort_msg("setresuid: %s", strerror(errno));
	spawn.has_ids = true;
	assert_fails(&spawn, EPERM, "setgroups");
}
END_TEST

START_TEST(a_process_too_many_is_a_failed_fork)
{
	char *argv[] = {probe, NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	struct rlimit old, none;

	if (geteuid() == 0 && setresuid(45678, 45678, 45678) < 0)
		ck_abort_msg("setresuid: %s", strerror(errno));
	ck_assert_int_eq(getrlimit(RLIMIT_NPROC, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &none), 0);
	assert_fails(&spawn, EAGAIN, "fork");
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &old), 0);
}
END_TEST

static void
write_file(const char *name, const char *content, mode_t mode)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, content, strlen(content)), 0);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	(void)close(fd);
}

START_TEST(a_name_without_slash_is_looked_up_as_in_execvp_but_without_a_shell)
{
	char *argv[] = {strdup("surroundings"), NULL};
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds, 3);
	char path[5000], text[8192];

	*strrchr(probe, '/') = '\0';
	(void)snprintf(path, sizeof(path), "/nowhere:%s:%s", directory, probe);
	spawn.path = path;
	run_probe(&spawn, fds, text, sizeof(text));

	/* Forbidden in one place, but found in a later one. */
	write_file("surroundings", "", 0600);
	run_probe(&spawn, fds, text, sizeof(text));

	/* Forbidden and found nowhere. */
	spawn.path = directory;
	assert_fails(&spawn, EACCES, "exec");
	spawn.path = "/nowhere:/dev/null";
	assert_fails(&spawn, ENOENT, "exec");

	/* A text without an interpreter line is the end of the search. */
	write_file("surroundings", "echo hello\n", 0700);
	spawn.path = path;
	assert_fails(&spawn, ENOEXEC, "exec");

	/* An empty entry is the directory of the child. */
	write_file("surroundings", "#!/bin/sh\necho; echo end\n", 0700);
	spawn.directory = directory;
	spawn.path = ":/nowhere";
	run_probe(&spawn, fds, text, sizeof(text));

	/* Without a PATH there is still a usual one. */
	spawn.path = NULL;
	spawn.file = "true";
	struct spawn_result child;
	struct reap end;
	ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), 0);
	wait_for_end(&child, &end);
	ck_assert_int_eq(end.status, 0);
	free(argv[0]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("spawn failures");
	TCase *tcase = tcase_create("spawn failures");
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_step_that_failed_is_named_with_its_errno);
	tcase_add_test(
	    tcase, a_name_without_slash_is_looked_up_as_in_execvp_but_without_a_shell);
	suite_add_tcase(suite, tcase);
	/* These give up what the process is; without forks they would spoil the rest. */
	if (srunner_fork_status(runner) == CK_FORK) {
		tcase = tcase_create("privileges");
		tcase_add_unchecked_fixture(tcase, set_up, tear_down);
		tcase_add_test(tcase, a_change_of_user_without_the_right_to_is_a_failure);
		tcase_add_test(tcase, a_process_too_many_is_a_failed_fork);
		suite_add_tcase(suite, tcase);
	}
	return check_run(runner);
}
