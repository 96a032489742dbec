/* SPDX-License-Identifier: ISC */
/* test_cgroup.c - limits and accounts of a cgroup, in plain directories and in real ones.
 *
 * What is written and read are files: a directory with files of those names shows what
 * supd writes where the kernel of the test has no such controller.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/process/usage.h"
#include "tests/lib/check_main.h"

static char directory[64];
static struct cgroup_root root;
static char got[256]; /* what get() gave last */
static const struct proc_mark no_mark = {0};

static void
set_up(void)
{
	char path[128];

	(void)snprintf(directory, sizeof(directory), "/tmp/test_cgroup.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/actors", directory);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	cgroup_root_init(&root);
	root.fd = open(path, O_RDONLY | O_DIRECTORY);
	(void)snprintf(root.path, sizeof(root.path), "%s", directory);
	(void)snprintf(root.name, sizeof(root.name), "/test");
}

static void
tear_down(void)
{
	char command[128];

	(void)close(root.fd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void
put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	(void)fclose(file);
}

static const char *
get(const char *name)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	(void)fclose(file);
	return got;
}

/* The leaf of /user/a among those with limits. */
static void
make_leaf(struct containment *c)
{
	put("cgroup.subtree_control", "");
	ck_assert_int_eq(mkdirat(root.fd, "../limited", 0755), 0);
	put("limited/cgroup.subtree_control", "memory pids\n");
	containment_init(c);
	ck_assert_int_eq(containment_open_limited(c, &root, "/user/a", no_mark), 0);
	ck_assert(c->is_limited);
	ck_assert_str_eq(leaf_of(c).text, "../limited/user:a");
}

static int
sum_pids(pid_t pid, void *arg)
{
	int *sum = arg;

	*sum += pid;
	return *sum >= 100 ? 7 : 0;
}

/* Directories do for a walk; what is in them the kernel would have made. */
START_TEST(a_tree_is_walked_to_its_end_and_goes_with_all_below_it)
{
	const char *const below[] = {"", "/a", "/a/b", "/a/b/c", "/d", "/e"};
	char top[] = "/tmp/test_cgroup_tree.XXXXXX", path[256];
	int sum = 0;

	ck_assert_ptr_nonnull(mkdtemp(top));
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		FILE *procs;

		(void)snprintf(path, sizeof(path), "%s%s", top, below[i]);
		ck_assert(i == 0 || mkdir(path, 0755) == 0);
		(void)snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, below[i]);
		procs = fopen(path, "w");
		ck_assert_ptr_nonnull(procs);
		(void)fprintf(procs, "%zu\n10\n", i);
		(void)fclose(procs);
	}
	ck_assert_int_eq(cgroup_tree_each(AT_FDCWD, top, sum_pids, &sum), 0);
	ck_assert_int_eq(sum, 1 + 2 + 3 + 4 + 5 + 60);
	/* What a visit returns ends the walk. */
	sum = 80;
	ck_assert_int_eq(cgroup_tree_each(AT_FDCWD, top, sum_pids, &sum), 7);
	ck_assert_int_eq(cgroup_tree_remove(top), -ENOTEMPTY);
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, below[i]);
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(cgroup_tree_remove(top), 0);
	ck_assert_int_lt(access(top, F_OK), 0);
	ck_assert_int_eq(cgroup_tree_remove(top), 0);
	ck_assert_int_eq(cgroup_tree_each(AT_FDCWD, top, sum_pids, &sum), 0);
}
END_TEST

START_TEST(a_tree_that_is_too_deep_is_an_error_and_stays)
{
	char top[] = "/tmp/test_cgroup_deep.XXXXXX", path[256];
	int depth = 0, len;

	ck_assert_ptr_nonnull(mkdtemp(top));
	len = snprintf(path, sizeof(path), "%s", top);
	for (; depth < 40; depth++) {
		len += snprintf(path + len, sizeof(path) - (size_t)len, "/d");
		ck_assert_int_eq(mkdir(path, 0755), 0);
	}
	ck_assert_int_eq(cgroup_tree_remove(top), -ELOOP);
	ck_assert_int_eq(access(path, F_OK), 0);
	for (; depth > 0; depth--) {
		ck_assert_int_eq(rmdir(path), 0);
		*strrchr(path, '/') = '\0';
	}
	ck_assert_int_eq(rmdir(top), 0);
}
END_TEST

START_TEST(controllers_are_enabled_all_the_way_down_and_those_that_are_there_are_known)
{
	struct containment c;

	make_leaf(&c);
	/* The last word of the attempts, in sequence. */
	ck_assert_ptr_nonnull(strstr(get("cgroup.subtree_control"), "+io"));
	ck_assert_ptr_nonnull(strstr(get("limited/cgroup.subtree_control"), "+io"));
	ck_assert(root.has_limited);
	ck_assert_ptr_nonnull(strstr(root.controllers, "pids"));
}
END_TEST

START_TEST(a_limit_is_written_into_its_file_and_a_missing_file_is_told)
{
	struct containment c;

	make_leaf(&c);
	put("limited/user:a/memory.max", "");
	ck_assert_int_eq(cgroup_leaf_set(&root, leaf_of(&c).text, "memory.max", "65536"),
	                 0);
	ck_assert_str_eq(get("limited/user:a/memory.max"), "65536");
	ck_assert_int_eq(
	    cgroup_leaf_set(&root, leaf_of(&c).text, "cpu.max", "max 100000"), -ENOENT);
}
END_TEST

START_TEST(want_of_memory_is_known_by_the_account_of_this_life)
{
	struct containment c;

	make_leaf(&c);
	ck_assert(!containment_ran_out_of_memory(&c, &root));
	put("limited/user:a/memory.events", "low 0\nhigh 7\nmax 9\noom 2\noom_kill 0\n"
	                                    "oom_group_kill 3\n");
	ck_assert(!containment_ran_out_of_memory(&c, &root));
	put("limited/user:a/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n"
	                                    "oom_group_kill 0\n");
	ck_assert(containment_ran_out_of_memory(&c, &root));
	/* A process outside of the group with limits has no such account. */
	c.is_limited = false;
	ck_assert(!containment_ran_out_of_memory(&c, &root));
}
END_TEST

START_TEST(numbers_are_found_behind_their_key_and_added_up)
{
	struct containment c;
	uint64_t n = 0;

	make_leaf(&c);
	put("limited/user:a/io.stat", "8:0 rbytes=100 wbytes=20 rios=1 wios=2\n"
	                              "8:16 rbytes=11 wbytes=3 rios=4 wios=5\n");
	ck_assert_int_eq(
	    cgroup_leaf_number(&root, leaf_of(&c).text, "io.stat", "rbytes", &n), 0);
	ck_assert_uint_eq(n, 111);
	ck_assert_int_eq(
	    cgroup_leaf_number(&root, leaf_of(&c).text, "io.stat", "wbytes", &n), 0);
	ck_assert_uint_eq(n, 23);
	put("limited/user:a/memory.current", "4096\n");
	ck_assert_int_eq(
	    cgroup_leaf_number(&root, leaf_of(&c).text, "memory.current", NULL, &n), 0);
	ck_assert_uint_eq(n, 4096);
	put("limited/user:a/pids.max", "max\n");
	ck_assert_int_eq(
	    cgroup_leaf_number(&root, leaf_of(&c).text, "pids.max", NULL, &n), -ENODATA);
	ck_assert_int_eq(cgroup_leaf_number(&root, leaf_of(&c).text, "io.stat", "r", &n),
	                 -ENODATA);
	ck_assert_int_eq(cgroup_leaf_number(&root, leaf_of(&c).text, "nothing", NULL, &n),
	                 -ENOENT);
}
END_TEST

START_TEST(what_the_kernel_counts_of_a_cgroup_counts_more_than_the_sum)
{
	struct containment c;
	struct usage usage;
	char pid[16];

	make_leaf(&c);
	(void)snprintf(pid, sizeof(pid), "%d\n", getpid());
	put("limited/user:a/cgroup.procs", pid);
	put("limited/user:a/cpu.stat", "usage_usec 1234567\nuser_usec 1\n");
	ck_assert_int_eq(usage_read(&c, &root, getpid(), &usage), 0);
	ck_assert_uint_eq(usage.processes, 1);
	ck_assert_uint_eq(usage.cpu_usec, 1234567);
	ck_assert_uint_gt(usage.memory_bytes, 100000);
	ck_assert_uint_ge(usage.descriptors, 3);
	ck_assert(!usage.has_io);
	put("limited/user:a/memory.current", "4096\n");
	put("limited/user:a/io.stat", "8:0 rbytes=100 wbytes=20\n");
	ck_assert_int_eq(usage_read(&c, &root, getpid(), &usage), 0);
	ck_assert_uint_eq(usage.memory_bytes, 4096);
	ck_assert(usage.has_io);
	ck_assert_uint_eq(usage.read_bytes, 100);
	ck_assert_uint_eq(usage.write_bytes, 20);
	containment_init(&c);
	ck_assert_int_eq(usage_read(&c, &root, getpid(), &usage), 0);
	ck_assert_uint_gt(usage.memory_bytes, 100000);
}
END_TEST

START_TEST(the_top_of_the_hierarchy_is_found_wherever_it_is_mounted)
{
	char mounts[] = "30 1 0:29 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
	                "31 30 0:30 /x /sys/fs/cgroup/uni\\040fied rw - cgroup2 c rw\n";
	char path[CGROUP_PATH_MAX];
	FILE *file = fmemopen(mounts, strlen(mounts), "r");

	ck_assert_int_eq(cgroup_locate_top(file, path), 0);
	ck_assert_str_eq(path, "/sys/fs/cgroup/uni fied");
	(void)fclose(file);
}
END_TEST

/* ---- with a real one --------------------------------------------------------------- */

static struct cgroup_root real;

static void
open_real(void)
{
	struct err err;

	if (cgroup_root_open(&real, &err) < 0)
		fprintf(stderr, "# without a cgroup: %s\n", err.text);
}

static void
close_real(void)
{
	char path[sizeof(real.path) + 16];
	const bool is_open = real.fd >= 0;

	(void)snprintf(path, sizeof(path), "%s/limited", real.path);
	cgroup_root_close(&real);
	if (is_open)
		ck_assert_int_lt(access(path, F_OK), 0);
}

/* A process in the cgroup, that waits to be killed. */
static pid_t
be_born_into(int cgroup_fd)
{
	pid_t pid = fork();
	char self[16];
	int fd;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		fd = openat(cgroup_fd, "cgroup.procs", O_WRONLY);
		(void)snprintf(self, sizeof(self), "%d", getpid());
		if (fd < 0 || write(fd, self, strlen(self)) < 0)
			_exit(1);
		(void)close(fd);
		for (;;)
			(void)pause();
	}
	while (!containment_has(&(struct containment){.is_cgroup = true,
	                                              .is_limited = true,
	                                              .path = "/user/a"},
	                        &real, pid, 0))
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	return pid;
}

START_TEST(an_actor_with_limits_lives_beside_the_others_and_each_life_in_a_fresh_cgroup)
{
	struct containment c;
	struct stat first, second;
	int fd;
	pid_t pid;

	CHECK_NEEDS(real.fd >= 0, "a cgroup to make others in");
	ck_assert_int_eq(containment_open_limited(&c, &real, "/user/a", no_mark), 0);
	ck_assert_int_eq(containment_prepare(&c, &real, &fd), 0);
	ck_assert_int_eq(fstat(fd, &first), 0);
	pid = be_born_into(fd);
	(void)close(fd);
	containment_born(&c, pid);
	ck_assert(!containment_is_empty(&c, &real, NULL));
	ck_assert_int_eq(containment_kill(&c, &real, NULL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	containment_reaped(&c);
	/* Not because it was killed: what is counted is to begin anew. */
	c.is_spent = false;
	while (containment_prepare(&c, &real, &fd) == -EBUSY)
		continue;
	ck_assert_int_eq(fstat(fd, &second), 0);
	ck_assert_uint_ne(first.st_ino, second.st_ino);
	(void)close(fd);
	ck_assert_int_eq(containment_close(&c, &real), 0);
}
END_TEST

struct place {
	const char *mountinfo;
	const char *self;
	const char *path; /* NULL: none */
};

#define BEFORE "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
#define AFTER  "41 31 0:40 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"

static const struct place places[] = {
    /* the usual, the hybrid layout, and a root that is not mounted */
    {"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
     "0::/system.slice/supd.service\n", "/sys/fs/cgroup/system.slice/supd.service"},
    {BEFORE "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n" AFTER,
     "8:pids:/a\n0::/b\n", "/sys/fs/cgroup/unified/b"},
    {"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n", "/sys/fs/cgroup"},
    /* only a part is mounted: ours, one above us, one beside us */
    {"30 23 0:26 /a/b /cg rw - cgroup2 cgroup2 rw\n", "0::/a/b\n", "/cg"},
    {"30 23 0:26 /a/b /cg rw - cgroup2 cgroup2 rw\n", "0::/a/b/c\n", "/cg/c"},
    {"30 23 0:26 /a/b /cg rw - cgroup2 cgroup2 rw\n", "0::/a/bc\n", NULL},
    {"30 23 0:26 /x /cx rw - cgroup2 cgroup2 rw\n"
     "31 23 0:26 /a /ca rw - cgroup2 cgroup2 rw\n",
     "0::/a/b\n", "/ca/b"},
    /* blanks in names are escaped in the one file and not in the other */
    {"30 23 0:26 /a\\040b /my\\040cg\\134 rw - cgroup2 cgroup2 rw\n", "0::/a b/c\n",
     "/my cg\\/c"},
    /* outside of our namespace, no v2 at all, no v2 for us */
    {"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../x\n", NULL},
    {BEFORE AFTER, "0::/\n", NULL},
    {"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "8:pids:/a\n", NULL},
};

START_TEST(our_cgroup_is_found_wherever_it_is_mounted)
{
	const struct place *place = &places[_i];
	char mounts[1024], self[256];
	char path[CGROUP_PATH_MAX], name[CGROUP_PATH_MAX];
	FILE *mountinfo, *own;
	int r;

	(void)snprintf(mounts, sizeof(mounts), "%s", place->mountinfo);
	(void)snprintf(self, sizeof(self), "%s", place->self);
	mountinfo = fmemopen(mounts, strlen(mounts), "r");
	own = fmemopen(self, strlen(self), "r");
	r = cgroup_locate(mountinfo, own, path, name);
	(void)fclose(mountinfo);
	(void)fclose(own);
	ck_assert_int_eq(r, place->path == NULL ? -ENOENT : 0);
	if (r == 0)
		ck_assert_str_eq(path, place->path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cgroup");
	TCase *plain = tcase_create("plain");
	TCase *kernel = tcase_create("kernel");
	const int n_places = (int)(sizeof(places) / sizeof(places[0]));

	tcase_set_timeout(plain, 60);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, a_tree_is_walked_to_its_end_and_goes_with_all_below_it);
	tcase_add_test(plain, a_tree_that_is_too_deep_is_an_error_and_stays);
	tcase_add_test(
	    plain,
	    controllers_are_enabled_all_the_way_down_and_those_that_are_there_are_known);
	tcase_add_test(plain,
	               a_limit_is_written_into_its_file_and_a_missing_file_is_told);
	tcase_add_test(plain, want_of_memory_is_known_by_the_account_of_this_life);
	tcase_add_test(plain, numbers_are_found_behind_their_key_and_added_up);
	tcase_add_test(plain,
	               what_the_kernel_counts_of_a_cgroup_counts_more_than_the_sum);
	tcase_add_test(plain, the_top_of_the_hierarchy_is_found_wherever_it_is_mounted);
	tcase_add_loop_test(plain, our_cgroup_is_found_wherever_it_is_mounted, 0,
	                    n_places);
	suite_add_tcase(suite, plain);
	tcase_set_timeout(kernel, 60);
	tcase_add_checked_fixture(kernel, open_real, close_real);
	tcase_add_test(
	    kernel,
	    an_actor_with_limits_lives_beside_the_others_and_each_life_in_a_fresh_cgroup);
	suite_add_tcase(suite, kernel);
	return check_run(srunner_create(suite));
}
