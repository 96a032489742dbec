/* SPDX-License-Identifier: ISC */
/* test_remove.c - a directory goes with what is in it, but for what is mounted there. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/self/remove.h"
#include "tests/lib/check_main.h"

#define TURN    4
#define SKIPPED 77

static char top[32];
static char path[PATH_MAX];

static void
set_up(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/supd-remove.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
}

static void
tear_down(void)
{
	ck_assert_int_eq(rmdir(top), 0);
}

static const char *
path_of(const char *name)
{
	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void
make_file(const char *name)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

/* In as many turns as it takes: 0 or -errno. */
static int
remove_all(const char *name)
{
	int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = 1;

	ck_assert_int_ge(fd, 0);
	while (r > 0)
		r = os_remove_some(fd, name, TURN);
	(void)close(fd);
	return r;
}

START_TEST(a_directory_goes_with_all_that_is_in_it)
{
	ck_assert_int_eq(mkdir(path_of("d"), 0700), 0);
	ck_assert_int_eq(mkdir(path_of("d/e"), 0700), 0);
	ck_assert_int_eq(mkdir(path_of("d/e/f"), 0700), 0);
	make_file("d/e/f/g");
	ck_assert_int_eq(symlink("/", path_of("d/e/link")), 0);
	ck_assert_int_eq(remove_all("d"), 0);
	ck_assert_int_ne(access(path_of("d"), F_OK), 0);
	ck_assert_int_eq(access("/tmp", F_OK), 0);
}
END_TEST

/* In mounts of its own: an exit status. */
static int
meet_a_mount(void)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", path_of("d/e"), "tmpfs", 0, NULL) < 0)
		return SKIPPED;
	make_file("d/e/theirs");
	if (remove_all("d") == 0)
		return 1;
	return access(path_of("d/e/theirs"), F_OK) == 0 ? 0 : 2;
}

START_TEST(a_mount_below_the_directory_is_not_entered)
{
	int status;
	pid_t pid;

	ck_assert_int_eq(mkdir(path_of("d"), 0700), 0);
	ck_assert_int_eq(mkdir(path_of("d/e"), 0700), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(meet_a_mount());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(remove_all("d"), 0);
	CHECK_NEEDS(WEXITSTATUS(status) != SKIPPED, "mounts of its own");
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("os/remove");
	TCase *tcase = tcase_create("remove");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_directory_goes_with_all_that_is_in_it);
	tcase_add_test(tcase, a_mount_below_the_directory_is_not_entered);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
