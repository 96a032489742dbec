/* SPDX-License-Identifier: ISC */
/* test_spawns.c - several starts under way at once. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/self/oom.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"

enum { STARTS = 16, NOBODY = 65534 };

extern char **environ;

/* A start, and what its child reads as long as it is under way. */
struct start {
	struct spawn spawn;
	struct attributes attributes;
	struct spawn_trace *trace;
	struct spawn_place *place;
	struct spawn_result child;
	char script[64];
	char *argv[4];
	int fds[3];
	int out; /* what the program says */
};

static struct spawner spawner;
static struct start starts[STARTS];
static struct spawn_trace *traces;
static char shell[] = "/bin/sh", dash_c[] = "-c";

static void
set_up(void)
{
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	spawner.patience_ms = 60000;
	traces = mmap(NULL, STARTS * sizeof(*traces), PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(traces, MAP_FAILED);
}

static void
tear_down(void)
{
	os_spawn_done(&spawner);
	(void)munmap(traces, STARTS * sizeof(*traces));
}

/* Ready to be begun: the shell, with its output in a pipe. */
static void
prepare(size_t i, const char *script)
{
	struct start *start = &starts[i];
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	(void)snprintf(start->script, sizeof(start->script), "%s", script);
	start->argv[0] = shell;
	start->argv[1] = dash_c;
	start->argv[2] = start->script;
	start->out = ends[0];
	start->fds[0] = start->fds[2] = -1;
	start->fds[1] = ends[1];
	start->attributes = (struct attributes){0};
	start->trace = &traces[i];
	start->spawn = (struct spawn){
	    .file = shell,
	    .argv = start->argv,
	    .envp = environ,
	    .fds = start->fds,
	    .n_fds = 3,
	    .cgroup_fd = -1,
	    .umask = SPAWN_UMASK_INHERIT,
	    .attributes = &start->attributes,
	    .trace = start->trace,
	};
}

static void
begin(struct start *start)
{
	const int r =
	    os_spawn_begin(&spawner, &start->spawn, &start->place, &start->child);

	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[start->child.step],
	              strerror(-r));
	/* The child has a copy. */
	(void)close(start->fds[1]);
}

/* Wait until the start is over; what came of it. */
static int
finish(struct start *start)
{
	while (!os_spawn_await(start->place, 1000))
		continue;
	return os_spawn_end(&spawner, start->place, &start->child);
}

/* Wait for the end of the program; its exit status, and all that it said. */
static int
collect(const struct start *start, char text[64])
{
	struct reap end;
	size_t used = 0;
	ssize_t n;

	while ((n = read(start->out, text + used, 63 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	(void)close(start->out);
	ck_assert_int_eq(os_reap_wait(start->child.pidfd, start->child.pid, 60000, &end),
	                 1);
	ck_assert_int_eq(end.kind, REAP_EXITED);
	(void)close(start->child.pidfd);
	return end.status;
}

START_TEST(each_child_has_its_own_descriptors_and_arguments)
{
	char text[64], expected[64];

	spawner.has_clone3 = spawner.has_clone3 && _i == 0;
	for (size_t i = 0; i < STARTS; i++) {
		(void)snprintf(expected, sizeof(expected), "echo $$ %zu; exit %zu", i, i);
		prepare(i, expected);
	}
	for (size_t i = 0; i < STARTS; i++)
		begin(&starts[i]);
	for (size_t i = STARTS; i-- > 0;)
		ck_assert_int_eq(finish(&starts[i]), 0);
	for (size_t i = 0; i < STARTS; i++) {
		ck_assert_int_eq(collect(&starts[i], text), (int)i);
		(void)snprintf(expected, sizeof(expected), "%d %zu\n",
		               starts[i].child.pid, i);
		ck_assert_str_eq(text, expected);
		ck_assert_int_eq(starts[i].trace->pid, starts[i].child.pid);
	}
}
END_TEST

START_TEST(each_start_tells_its_own_failure_and_our_errno_is_left_alone)
{
	const char *const directories[] = {"/", "/nowhere", "/dev/null", NULL};
	const int codes[] = {0, ENOENT, ENOTDIR, ENOENT};
	const char *const steps[] = {"none", "chdir", "chdir", "exec"};
	char text[64];

	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < STARTS; i++) {
			prepare(i, "exit 0");
			starts[i].spawn.directory = directories[i % 4];
			if (i % 4 == 3)
				starts[i].spawn.file = "/nowhere";
		}
		errno = 12345;
		for (size_t i = 0; i < STARTS; i++)
			begin(&starts[i]);
		for (size_t i = 0; i < STARTS; i++)
			while (!os_spawn_is_over(starts[i].place))
				continue;
		ck_assert_int_eq(errno, 12345);
		for (size_t i = 0; i < STARTS; i++) {
			ck_assert_int_eq(finish(&starts[i]), -codes[i % 4]);
			ck_assert_str_eq(spawn_step_names[starts[i].child.step],
			                 steps[i % 4]);
			ck_assert_int_eq(starts[i].child.pid > 0, i % 4 == 0);
			if (i % 4 == 0)
				ck_assert_int_eq(collect(&starts[i], text), 0);
			else
				(void)close(starts[i].out);
		}
	}
	ck_assert_uint_eq(spawner.n_sharing, 0);
}
END_TEST

START_TEST(each_child_has_its_own_oom_score_adj_and_user)
{
	const int fd = oom_open(), before = oom_read(fd);
	char text[64];

	os_spawn_set_oom(&spawner, before, before + 50);
	for (size_t i = 0; i < STARTS; i++) {
		prepare(i, "cat /proc/$$/oom_score_adj");
		starts[i].spawn.keeps_oom = i % 4 == 1;
		starts[i].attributes.has_oom_score_adj = i % 4 == 2;
		starts[i].attributes.oom_score_adj = before + 100;
		starts[i].spawn.has_ids = geteuid() == 0 && i % 3 == 0;
		starts[i].spawn.uid = starts[i].spawn.gid = NOBODY;
	}
	for (size_t i = 0; i < STARTS; i++)
		begin(&starts[i]);
	for (size_t i = 0; i < STARTS; i++)
		ck_assert_int_eq(finish(&starts[i]), 0);
	ck_assert_int_eq(oom_read(fd), before);
	for (size_t i = 0; i < STARTS; i++) {
		ck_assert_int_eq(collect(&starts[i], text), 0);
		ck_assert_int_eq(atoi(text), before + (i % 4 == 1   ? 0
		                                       : i % 4 == 2 ? 100
		                                                    : 50));
	}
	ck_assert_uint_eq(spawner.n_foreign, 0);
	(void)close(fd);
}
END_TEST

START_TEST(with_more_starts_than_the_window_has_numbers_all_work)
{
	char text[64];

	for (int fd = 12; fd < FD_WINDOW; fd++)
		spawner.is_slot[fd] = false;
	for (size_t i = 0; i < STARTS; i++) {
		prepare(i, "echo; exit 7");
		begin(&starts[i]);
	}
	for (size_t i = 0; i < STARTS; i++)
		ck_assert_int_eq(finish(&starts[i]), 0);
	for (size_t i = 0; i < STARTS; i++) {
		ck_assert_int_eq(collect(&starts[i], text), 7);
		ck_assert_str_eq(text, "\n");
	}
	for (int fd = 0; fd < FD_WINDOW; fd++)
		ck_assert(!spawner.is_taken[fd]);
}
END_TEST

START_TEST(where_descriptors_are_scarce_no_child_copies_all_of_them)
{
	const size_t n = 8;
	size_t n_taken = 0, n_slots = spawner.n_slots, n_staged;
	char text[64];

	os_spawn_give_window(&spawner);
	ck_assert_int_eq(spawner.n_slots < n_slots, spawner.has_clone3);
	/* Numbers that this process was started with are none of the window. */
	n_slots = 0;
	for (int fd = 3; fd < FD_WINDOW; fd++)
		n_slots += spawner.is_slot[fd];
	ck_assert_uint_eq(spawner.n_slots, n_slots);
	n_staged = n_slots / 3 < n ? n_slots / 3 : n;
	for (size_t i = 0; i < n; i++) {
		prepare(i, "exit 7");
		begin(&starts[i]);
	}
	/* All three descriptors of each child are staged, as far as there are numbers. */
	for (int fd = 0; fd < FD_WINDOW; fd++)
		n_taken += spawner.is_taken[fd];
	ck_assert_uint_eq(n_taken / 3, spawner.has_clone3 ? n_staged : 0);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(finish(&starts[i]), 0);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(collect(&starts[i], text), 7);
}
END_TEST

START_TEST(a_start_that_is_too_late_is_killed_and_has_failed)
{
	struct start *start = &starts[0];
	struct reap end;

	prepare(0, "exit 0");
	start->spawn.is_apart = _i != 0;
	spawner.patience_ms = 0;
	begin(start);
	/* It may have come to its program in time. */
	(void)kill(start->child.pid, SIGSTOP);
	while (!os_spawn_await(start->place, 1000))
		ck_assert(!os_spawn_urge(start->place));
	if (finish(start) == 0) {
		(void)kill(start->child.pid, SIGKILL);
		ck_assert_int_eq(
		    os_reap_wait(start->child.pidfd, start->child.pid, 60000, &end), 1);
		(void)close(start->child.pidfd);
	} else {
		ck_assert_int_eq(traces[0].code, ETIMEDOUT);
		ck_assert_int_eq(start->child.pid, -1);
	}
	(void)close(start->out);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("spawns");
	TCase *tcase = tcase_create("spawns");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, each_child_has_its_own_descriptors_and_arguments, 0,
	                    2);
	tcase_add_test(tcase,
	               each_start_tells_its_own_failure_and_our_errno_is_left_alone);
	tcase_add_test(tcase, each_child_has_its_own_oom_score_adj_and_user);
	tcase_add_test(tcase, with_more_starts_than_the_window_has_numbers_all_work);
	tcase_add_test(tcase, where_descriptors_are_scarce_no_child_copies_all_of_them);
	tcase_add_loop_test(tcase, a_start_that_is_too_late_is_killed_and_has_failed, 0,
	                    2);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
