/* SPDX-License-Identifier: ISC */
/* test_cgroup_root.c - supd's own place in the cgroup tree, and the leaves below it. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/self/fd.h"
#include "tests/lib/check_main.h"
#include "tests/os/contained.h"

START_TEST(two_supds_beside_each_other_have_different_directories)
{
	struct cgroup_root second;
	struct err err;

	CHECK_NEEDS(root.fd >= 0 && root.is_created, "a cgroup to make others in");
	ck_assert_int_eq(cgroup_root_open(&second, &err), 0);
	ck_assert_str_ne(second.path, root.path);
	/* The one that looked for leftovers let the living alone. */
	ck_assert_int_eq(access(root.path, F_OK), 0);
	cgroup_root_close(&second);
}
END_TEST

START_TEST(no_other_user_can_open_and_lock_the_directory_of_actors)
{
	struct cgroup_root again;
	struct stat actors;
	struct err err;

	CHECK_NEEDS(root.fd >= 0 && root.is_created, "a cgroup to make others in");
	ck_assert_int_eq(fchmod(root.fd, 0755), 0);
	ck_assert_int_eq(cgroup_root_open(&again, &err), 0);
	ck_assert_int_eq(fstat(again.fd, &actors), 0);
	ck_assert_int_eq(actors.st_mode & 0777, 0711);
	cgroup_root_close(&again);
}
END_TEST

/* In a child: its exit status says where it failed. */
static int
find_from_inside(const char *wanted)
{
	struct cgroup_root own;

	if (cgroup_root_open(&own, NULL) < 0)
		return 11;
	if (strcmp(own.path, wanted) != 0 || own.is_created || own.is_moved)
		return 12;
	if (cgroup_leaf_make(&own, "user:a") < 0)
		return 13;
	cgroup_root_close(&own);
	return access(wanted, F_OK) == 0 ? 0 : 14;
}

static int
live_in_a_delegated_cgroup(const char *path, int procs)
{
	char entered[CGROUP_PATH_MAX], leaf[CGROUP_PATH_MAX + 64];
	int status = 1;

	if (write(procs, "0", 1) != 1)
		return 1;
	if (cgroup_enter(entered) < 0 || strcmp(entered, path) != 0)
		return 2;
	(void)snprintf(leaf, sizeof(leaf), "%s/supd", path);
	if (access(leaf, F_OK) < 0)
		return 3;
	/* Two lives of a guardian, one after the other. */
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(find_from_inside(path));
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 4;
		if (WEXITSTATUS(status) != 0)
			return WEXITSTATUS(status);
	}
	cgroup_leave(entered);
	return access(leaf, F_OK) < 0 ? 0 : 5;
}

START_TEST(from_inside_the_leaf_of_supd_the_directory_that_was_delegated_is_found)
{
	char path[CGROUP_PATH_MAX + 32], file[CGROUP_PATH_MAX + 64];
	int procs, status;
	pid_t pid;

	CHECK_NEEDS(root.fd >= 0 && root.is_created, "a cgroup to make others in");
	(void)snprintf(path, sizeof(path), "%s/delegated", root.path);
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	procs = open(file, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(procs, 0);
	pid = fork();
	if (pid == 0)
		_exit(live_in_a_delegated_cgroup(path, procs));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	(void)close(procs);
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

START_TEST(what_a_dead_supd_left_empty_is_removed_by_the_next)
{
	char stale[CGROUP_PATH_MAX + 64], actors[CGROUP_PATH_MAX + 128];
	struct cgroup_root second;
	struct err err;
	pid_t dead;

	CHECK_NEEDS(root.fd >= 0 && root.is_created, "a cgroup to make others in");
	(void)snprintf(stale, sizeof(stale), "%s", root.path);
	dead = fork();
	if (dead == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(dead, NULL, 0), dead);
	(void)snprintf(strrchr(stale, '/'), 64, "/supd-%d", (int)dead);
	(void)snprintf(actors, sizeof(actors), "%s/actors", stale);
	ck_assert_int_eq(mkdir(stale, 0755), 0);
	ck_assert_int_eq(mkdir(actors, 0755), 0);
	(void)snprintf(actors, sizeof(actors), "%s/actors/user:a", stale);
	ck_assert_int_eq(mkdir(actors, 0755), 0);
	ck_assert_int_eq(cgroup_root_open(&second, &err), 0);
	ck_assert_int_lt(access(stale, F_OK), 0);
	cgroup_root_close(&second);
}
END_TEST

START_TEST(a_path_too_long_for_a_file_gets_a_name_of_its_own)
{
	char path[600], first[CGROUP_LEAF_MAX], second[CGROUP_LEAF_MAX];
	int fd;

	CHECK_NEEDS(root.fd >= 0, "a cgroup to make others in");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memcpy(path, "/user/", 6);
	cgroup_leaf_name(path, first);
	ck_assert_int_eq(cgroup_leaf_make(&root, first), 1);
	fd = cgroup_leaf_open(&root, first);
	ck_assert_int_ge(fd, FD_WINDOW);
	(void)close(fd);
	path[sizeof(path) - 2] = 'y';
	cgroup_leaf_name(path, second);
	ck_assert_int_eq(cgroup_leaf_make(&root, second), 1);
	ck_assert_str_ne(first, second);
	ck_assert_uint_eq(strlen(first), NAME_MAX);
	ck_assert_int_eq(cgroup_leaf_remove(&root, first), 0);
	ck_assert_int_eq(cgroup_leaf_remove(&root, second), 0);
	ck_assert_int_eq(cgroup_leaf_remove(&root, second), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("place of supd among the cgroups");
	TCase *tcase = tcase_create("place of supd among the cgroups");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, two_supds_beside_each_other_have_different_directories);
	tcase_add_test(tcase, no_other_user_can_open_and_lock_the_directory_of_actors);
	tcase_add_test(
	    tcase,
	    from_inside_the_leaf_of_supd_the_directory_that_was_delegated_is_found);
	tcase_add_test(tcase, what_a_dead_supd_left_empty_is_removed_by_the_next);
	tcase_add_test(tcase, a_path_too_long_for_a_file_gets_a_name_of_its_own);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
