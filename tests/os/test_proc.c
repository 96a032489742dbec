/* SPDX-License-Identifier: ISC */
/* test_proc.c - what lives below us, what only seems to be gone, and what is left of
 * others. */
#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/leftover.h"
#include "os/process/proc.h"
#include "os/process/proc_sweep.h"
#include "os/process/reap.h"
#include "tests/lib/check_main.h"

static struct proc_sweep *sweep;
static struct map known = {0};

static void
set_up(void)
{
	ck_assert_int_eq(os_become_subreaper(), 0);
	sweep = proc_sweep_new(getpid());
	ck_assert_ptr_nonnull(sweep);
}

static void
tear_down(void)
{
	proc_sweep_free(sweep);
	map_done(&known);
}

/* Fork a process that is number 1 of pids of its own, in its own session, with a mark. */
static pid_t
fork_first(const char *mark)
{
	char name[PROC_MARK_MAX + 16];
	char sleeper[] = "sleep", long_enough[] = "1000";
	char *argv[] = {sleeper, long_enough, NULL};
	char *envp[] = {name, NULL};
	int pids[2];
	pid_t pid = -1;

	(void)snprintf(name, sizeof(name), "SUPD_ID=%s", mark);
	ck_assert_int_eq(pipe2(pids, O_CLOEXEC), 0);
	if (fork() == 0) {
		if (unshare(CLONE_NEWPID) < 0)
			_exit(1);
		pid = fork();
		if (pid > 0)
			_exit(write(pids[1], &pid, sizeof(pid)) < 0);
		(void)setsid();
		(void)execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	(void)close(pids[1]);
	ck_assert_int_ge(read(pids[0], &pid, sizeof(pid)), 0);
	(void)close(pids[0]);
	while (pid > 0 && !proc_has_mark(pid, mark))
		(void)usleep(1000);
	return pid;
}

/* Fork a parent beside it that has a child among its pids, and does not reap it. */
static pid_t
fork_negligent(pid_t first)
{
	int said[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		const int fd = (int)syscall(SYS_pidfd_open, first, 0);

		if (fd < 0 || setns(fd, CLONE_NEWPID) < 0)
			_exit(1);
		if (fork() > 0)
			(void)!write(said[1], "", 1);
		(void)pause();
		_exit(0);
	}
	(void)close(said[1]);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	(void)close(said[0]);
	return pid;
}

/* The first of its pids ends only when all of them are reaped: so long it has no name. */
START_TEST(an_orphan_that_ends_but_is_not_gone_is_not_taken_for_gone)
{
	const char mark[] = "ends/1";
	pid_t first = fork_first(mark);
	pid_t parent;

	if (first < 0) {
		fprintf(stderr, "# without a namespace of pids\n");
		return;
	}
	parent = fork_negligent(first);
	ck_assert_int_eq(map_put(&known, (uint64_t)parent, 0), 0);
	ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
	ck_assert(proc_sweep_has(sweep, parent, mark));
	ck_assert_int_eq(kill(first, SIGKILL), 0);
	while (proc_has_mark(first, mark))
		(void)usleep(1000);
	ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
	ck_assert(proc_sweep_has(sweep, parent, mark));
	ck_assert_int_eq(kill(parent, SIGKILL), 0);
	/* Its child comes to us, and is reaped. */
	while (waitpid(-1, NULL, 0) != first)
		;
	ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
	ck_assert(!proc_sweep_has(sweep, parent, mark));
}
END_TEST

/* Executes itself again and again: its environment is the same, but for moments empty.  A
 * test that fails ends it. */
static pid_t
fork_restless(const char *variable, const char *mark)
{
	char walker[LEFTOVER_MARK_MAX + 16], socket[64];
	char shell[] = "sh", option[] = "-c", id[] = "SUPD_ID=1";
	char again[] = "exec sh -c \"$0\" \"$0\"", text[] = "exec sh -c \"$0\" \"$0\"";
	char *argv[] = {shell, option, again, text, NULL};
	char *envp[] = {socket, id, walker, NULL};
	pid_t pid;

	(void)snprintf(walker, sizeof(walker), "SUPD_WALKER=%s", mark);
	(void)snprintf(socket, sizeof(socket), "%s", variable);
	pid = vfork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execve("/bin/sh", argv, envp);
		_exit(1);
	}
	return pid;
}

/* A search for the owner, from its beginning to its end. */
static pid_t
owner_of(const struct leftover_hunt *hunt, pid_t walker, bool *ret_none)
{
	*ret_none = false;
	return leftover_owner_end(leftover_begin(hunt, walker), ret_none);
}

START_TEST(a_leftover_in_the_midst_of_an_exec_is_found)
{
	const uid_t uid = getuid();
	struct leftovers found;
	char variable[64], mark[LEFTOVER_MARK_MAX];
	const struct leftover_hunt hunt = {
	    .variable = variable, .uids = &uid, .n_uids = 1};
	bool none;
	pid_t pid;

	leftover_mark(getpid(), mark);
	(void)snprintf(variable, sizeof(variable), "SUPD_SOCKET=/none/%d", (int)getpid());
	pid = fork_restless(variable, mark);
	ck_assert_int_gt(pid, 0);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(owner_of(&hunt, 1, &none), getpid());
		ck_assert(!none);
	}
	/* The owner that is asked about is no other one: but the process is there. */
	ck_assert_int_eq(owner_of(&hunt, getpid(), &none), 0);
	ck_assert(!none);
	ck_assert_int_eq(leftover_kill(&hunt, &found), 0);
	ck_assert_uint_eq(found.n_killed, 1);
	leftovers_done(&found);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(owner_of(&hunt, 1, &none), 0);
	ck_assert(none);
}
END_TEST

/* The number may be another's by now: a walker is known by the time of its start, too. */
START_TEST(a_process_with_the_pid_of_a_walker_that_died_is_no_owner)
{
	const uid_t uid = getuid();
	char variable[64], mark[LEFTOVER_MARK_MAX];
	const struct leftover_hunt hunt = {
	    .variable = variable, .uids = &uid, .n_uids = 1};
	unsigned long long start;
	struct leftovers found;
	bool none;

	leftover_mark(getpid(), mark);
	ck_assert_int_eq(sscanf(mark, "%*d-%llu", &start), 1);
	for (int i = 0; i < 5; i++) {
		char marks[][LEFTOVER_MARK_MAX] = {"", "", "", "", ""};
		pid_t pid;

		(void)snprintf(marks[0], sizeof(marks[0]), "%d-%llu", (int)getpid(),
		               start);
		(void)snprintf(marks[1], sizeof(marks[1]), "%d-%llu", (int)getpid(),
		               start - 1);
		(void)snprintf(marks[2], sizeof(marks[2]), "%d-%llu0", (int)getpid(),
		               start);
		(void)snprintf(marks[3], sizeof(marks[3]), "%d-", (int)getpid());
		(void)snprintf(marks[4], sizeof(marks[4]), "%d", (int)getpid());
		(void)snprintf(variable, sizeof(variable), "SUPD_SOCKET=/none/%d/%d",
		               (int)getpid(), i);
		pid = fork_restless(variable, marks[i]);
		ck_assert_int_gt(pid, 0);
		ck_assert_int_eq(owner_of(&hunt, 1, &none), i == 0 ? getpid() : 0);
		ck_assert(!none);
		ck_assert_int_eq(leftover_kill(&hunt, &found), 0);
		ck_assert_uint_eq(found.n_killed, 1);
		leftovers_done(&found);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
}
END_TEST

START_TEST(an_orphan_in_the_midst_of_an_exec_is_not_taken_for_gone)
{
	pid_t pid = fork_restless("SUPD_SOCKET=/none", "1-1");

	ck_assert_int_gt(pid, 0);
	while (!proc_has_mark(pid, "1"))
		continue;
	for (int i = 0; i < 3000; i++) {
		ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
		ck_assert(proc_sweep_has(sweep, -1, "1"));
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
	ck_assert(!proc_sweep_has(sweep, -1, "1"));
}
END_TEST

/* A process that waits to be killed. */
static pid_t
fork_waiting(void)
{
	const pid_t pid = fork();

	while (pid == 0)
		(void)pause();
	ck_assert_int_gt(pid, 0);
	return pid;
}

START_TEST(a_process_is_known_by_its_pid_and_a_time_without_any_descriptor)
{
	const pid_t pid = fork_waiting();
	struct rlimit before;
	uint64_t since;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}),
	                 0);
	since = proc_ticks();
	ck_assert(!proc_is_gone(pid, since));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert(!proc_is_gone(pid, since));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(proc_is_gone(pid, since));
}
END_TEST

START_TEST(a_later_process_with_the_same_pid_is_another_one)
{
	const uint64_t since = proc_ticks();
	pid_t pid;

	while (proc_ticks() == since)
		continue;
	pid = fork_waiting();
	ck_assert(proc_is_gone(pid, since));
	ck_assert(!proc_is_gone(pid, proc_ticks()));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("proc");
	TCase *tcase = tcase_create("proc");

	tcase_set_timeout(tcase, 120);
	tcase_set_tags(tcase, "deaths");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, an_orphan_that_ends_but_is_not_gone_is_not_taken_for_gone);
	tcase_add_test(tcase, an_orphan_in_the_midst_of_an_exec_is_not_taken_for_gone);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("leftovers");
	tcase_set_timeout(tcase, 120);
	tcase_set_tags(tcase, "deaths");
	tcase_add_test(tcase, a_leftover_in_the_midst_of_an_exec_is_found);
	tcase_add_test(tcase, a_process_with_the_pid_of_a_walker_that_died_is_no_owner);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("gone");
	tcase_add_test(tcase,
	               a_process_is_known_by_its_pid_and_a_time_without_any_descriptor);
	tcase_add_test(tcase, a_later_process_with_the_same_pid_is_another_one);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
