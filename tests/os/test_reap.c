/* SPDX-License-Identifier: ISC */
/* test_reap.c - ends of children, descriptors, clocks. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/signals.h"
#include "tests/lib/check_main.h"

static void
child_life(int way)
{
	switch (way) {
	case 0:
		_exit(42);
	case 1:
		(void)raise(SIGKILL);
		break;
	default:
		(void)signal(SIGTERM, SIG_DFL);
		(void)raise(SIGTERM);
		break;
	}
	_exit(99);
}

static pid_t
child_that(int way)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		child_life(way);
	return pid;
}

static pid_t
child_that_waits(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	while (pid == 0)
		(void)pause();
	return pid;
}

/* Or -1 where there are none, and the pid has to do. */
static int
pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void
peek_until_dead(int pidfd, pid_t pid, struct reap *ret)
{
	int r;

	while ((r = os_reap_peek(pidfd, pid, ret)) == 0)
		usleep(500);
	ck_assert_int_eq(r, 1);
}

START_TEST(an_end_is_seen_as_often_as_one_peeks_and_once_when_reaped)
{
	static const struct {
		enum reap_kind kind;
		int status;
	} ends[] = {
	    {REAP_EXITED, 42}, {REAP_SIGNALED, SIGKILL}, {REAP_SIGNALED, SIGTERM}};

	for (int way = 0; way < 3; way++) {
		pid_t pid = child_that(way);
		int pidfd = pidfd_of(pid);
		struct reap reap;

		peek_until_dead(pidfd, pid, &reap);
		ck_assert_int_eq(reap.pid, pid);
		ck_assert_int_eq(reap.kind, ends[way].kind);
		ck_assert_int_eq(reap.status, ends[way].status);
		ck_assert_int_eq(os_reap_peek(-1, pid, &reap), 1);
		ck_assert_int_eq(kill(pid, 0), 0);
		memset(&reap, 0, sizeof(reap));
		ck_assert_int_eq(os_reap_pidfd(way == 1 ? -1 : pidfd, pid, &reap), 1);
		ck_assert_int_eq(reap.pid, pid);
		ck_assert_int_eq(reap.kind, ends[way].kind);
		ck_assert_int_eq(reap.status, ends[way].status);
		ck_assert_uint_gt(reap.maxrss_kib, 0);
		ck_assert_int_eq(os_reap_pidfd(pidfd, pid, &reap), -ECHILD);
		(void)close(pidfd);
	}
}
END_TEST

static void
on_alarm(int signo)
{
	(void)signo;
}

START_TEST(an_end_is_waited_for_whatever_signals_come_meanwhile)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	pid_t pid = child_that_waits();
	int pidfd = pidfd_of(pid);
	uint64_t begun_ms;
	struct reap reap;
	int r;

	ck_assert_int_eq(os_reap_wait(pidfd, pid, 0, &reap), 0);
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	begun_ms = clock_mono_ms();
	ck_assert_int_eq(os_reap_wait(pidfd, pid, 20, &reap), 0);
	ck_assert(pidfd < 0 || clock_mono_ms() - begun_ms >= 20);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	/* Without a pidfd nothing is waited for. */
	while ((r = os_reap_wait(pidfd, pid, 60000, &reap)) == 0 && pidfd < 0)
		usleep(500);
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_eq(reap.status, SIGKILL);
	if (pidfd >= 0)
		(void)close(pidfd);
}
END_TEST

START_TEST(a_living_process_has_no_end_to_collect)
{
	pid_t pid = child_that_waits();
	int pidfd = pidfd_of(pid);
	struct reap reap = {.pid = 4711};

	ck_assert_int_eq(os_reap_peek(pidfd, pid, &reap), 0);
	ck_assert_int_eq(os_reap_pidfd(pidfd, pid, &reap), 0);
	ck_assert_int_eq(os_reap_any(&reap), 0);
	ck_assert_int_eq(reap.pid, 4711);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	peek_until_dead(pidfd, pid, &reap);
	ck_assert_int_eq(os_reap_pidfd(pidfd, pid, &reap), 1);
	(void)close(pidfd);
}
END_TEST

static void
any_until(struct reap *ret)
{
	int r;

	while ((r = os_reap_any(ret)) == 0)
		usleep(500);
	ck_assert_int_eq(r, 1);
}

START_TEST(a_stop_and_a_continue_are_told_each_once)
{
	pid_t pid = child_that_waits();
	struct reap reap;

	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	any_until(&reap);
	ck_assert_int_eq(reap.pid, pid);
	ck_assert_int_eq(reap.kind, REAP_STOPPED);
	ck_assert_int_eq(reap.status, SIGSTOP);
	ck_assert_int_eq(os_reap_any(&reap), 0);
	/* A stop is no end. */
	ck_assert_int_eq(os_reap_pidfd(-1, pid, &reap), 0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	any_until(&reap);
	ck_assert_int_eq(reap.kind, REAP_CONTINUED);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	any_until(&reap);
	ck_assert_int_eq(reap.kind, REAP_SIGNALED);
	ck_assert_int_eq(os_reap_any(&reap), 0);
}
END_TEST

START_TEST(many_ends_at_once_are_all_seen)
{
	struct reap reap;
	int seen = 0;

	for (int i = 0; i < 200; i++)
		(void)child_that(0);
	while (seen < 200) {
		any_until(&reap);
		ck_assert_int_eq(reap.status, 42);
		seen++;
	}
	ck_assert_int_eq(os_reap_any(&reap), 0);
}
END_TEST

START_TEST(an_orphan_comes_to_a_subreaper)
{
	struct reap reap;
	int ends[2];
	pid_t orphan = 0;

	ck_assert_int_eq(os_become_subreaper(), 0);
	ck_assert_int_eq(pipe(ends), 0);
	if (fork() == 0) {
		pid_t pid = fork();

		if (pid > 0) {
			(void)!write(ends[1], &pid, sizeof(pid));
			_exit(0);
		}
		for (;;)
			(void)pause();
	}
	any_until(&reap);
	ck_assert_int_eq(reap.kind, REAP_EXITED);
	ck_assert_int_eq(read(ends[0], &orphan, sizeof(orphan)), sizeof(orphan));
	ck_assert_int_eq(kill(orphan, SIGKILL), 0);
	any_until(&reap);
	ck_assert_int_eq(reap.pid, orphan);
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
END_TEST

START_TEST(a_parent_that_ignored_and_blocked_sigchld_is_overcome)
{
	struct reap reap;
	sigset_t all, now;

	(void)signal(SIGCHLD, SIG_IGN);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	signals_reset();
	(void)sigprocmask(SIG_SETMASK, NULL, &now);
	ck_assert(!sigismember(&now, SIGCHLD));
	pid_t pid = child_that(0);
	any_until(&reap);
	ck_assert_int_eq(reap.pid, pid);
	ck_assert_int_eq(reap.status, 42);
}
END_TEST

START_TEST(a_descriptor_is_raised_once_and_an_error_passes_through)
{
	int low = fcntl(0, F_DUPFD, 3);
	int raised;

	ck_assert_int_lt(low, FD_WINDOW);
	raised = fd_raise(low);
	ck_assert_int_ge(raised, FD_WINDOW);
	ck_assert(fcntl(raised, F_GETFD) & FD_CLOEXEC);
	ck_assert_int_lt(fcntl(low, F_GETFD), 0);
	ck_assert_int_eq(fd_raise(raised), raised);
	ck_assert_int_eq(fd_raise(-1), -1);
	fd_close(&raised);
	ck_assert_int_eq(raised, -1);
	fd_close(&raised);
}
END_TEST

START_TEST(a_descriptor_that_cannot_be_raised_stays)
{
	struct rlimit old, tiny;
	int low = fcntl(0, F_DUPFD, 3);
	int raised;

	ck_assert_int_eq(fd_limit(&old), 0);
	tiny = (struct rlimit){.rlim_cur = 50, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tiny), 0);
	raised = fd_raise(low);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(raised, low);
	(void)close(low);
}
END_TEST

START_TEST(the_limit_on_descriptors_is_raised_to_the_hard_one)
{
	struct rlimit old, now, low;
	struct err err;

	ck_assert_int_eq(fd_limit(&old), 0);
	low = (struct rlimit){.rlim_cur = 256, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_int_eq(fd_raise_limit(300, &err), 0);
	ck_assert_int_eq(fd_limit(&now), 0);
	ck_assert_uint_ge(now.rlim_cur, 300);
	ck_assert_uint_eq(now.rlim_max, old.rlim_max);
	/* More than any kernel gives. */
	ck_assert_int_eq(fd_raise_limit(UINT64_C(1) << 40, &err), -EMFILE);
	ck_assert_ptr_nonnull(strstr(err.text, "1099511627776"));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}
END_TEST

START_TEST(directories_are_made_as_far_as_a_slash_goes)
{
	char base[] = "/tmp/test_reap.XXXXXX";
	char path[128];
	struct stat st;

	ck_assert_ptr_nonnull(mkdtemp(base));
	(void)snprintf(path, sizeof(path), "%s/a//b/file", base);
	ck_assert_int_eq(fd_mkdir_parents(path, 0700), 0);
	ck_assert_int_eq(fd_mkdir_parents(path, 0700), 0);
	ck_assert_int_lt(stat(path, &st), 0);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	(void)snprintf(path, sizeof(path), "%s/c/d/", base);
	ck_assert_int_eq(fd_mkdir_parents(path, 0755), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	(void)snprintf(path, sizeof(path), "%s/file", base);
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	(void)snprintf(path, sizeof(path), "%s/file/x/y", base);
	ck_assert_int_eq(fd_mkdir_parents(path, 0755), -ENOTDIR);
	ck_assert_int_eq(fd_mkdir_parents("file", 0755), 0);
	(void)snprintf(path, sizeof(path), "rm -rf %s", base);
	ck_assert_int_eq(system(path), 0);
}
END_TEST

START_TEST(all_of_it_is_written_or_an_error_told)
{
	char text[100000];
	int ends[2];

	memset(text, 'x', sizeof(text));
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	ck_assert_int_eq(fd_write_all(ends[1], text, 1000), 0);
	ck_assert_int_eq(read(ends[0], text, sizeof(text)), 1000);
	ck_assert_int_eq(fd_write_all(ends[1], text, sizeof(text)), -EAGAIN);
	(void)close(ends[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(fd_write_all(ends[1], text, 1), -EPIPE);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)close(ends[1]);
}
END_TEST

START_TEST(times_are_written_for_people)
{
	char buf[CLOCK_TEXT_MAX];
	uint64_t before = clock_mono_ns();

	ck_assert_str_eq(clock_format(0, 3, buf), "1970-01-01T00:00:00.000Z");
	ck_assert_str_eq(clock_format(UINT64_C(1795252353123999), 3, buf),
	                 "2026-11-21T09:12:33.123Z");
	ck_assert_str_eq(clock_format(UINT64_C(1795252353000045), 6, buf),
	                 "2026-11-21T09:12:33.000045Z");
	(void)clock_format(UINT64_MAX, 6, buf);

	/* Every day of a thousand years is that of the C library. */
	for (time_t day = 0; day < 366 * 1000; day++) {
		const time_t second = day * 86400 + day * 7 % 86400;
		char wanted[CLOCK_TEXT_MAX];
		struct tm tm;

		ck_assert_ptr_nonnull(gmtime_r(&second, &tm));
		(void)strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.000Z", &tm);
		ck_assert_str_eq(clock_format((uint64_t)second * 1000000, 3, buf),
		                 wanted);
	}
	ck_assert_uint_lt(strlen(buf), CLOCK_TEXT_MAX);
	ck_assert_uint_ge(clock_mono_ns(), before);
	ck_assert_uint_ge(clock_mono_ms(), before / 1000000);
	ck_assert_uint_gt(clock_wall_us(), UINT64_C(1700000000000000));
}
END_TEST

START_TEST(a_time_to_come_is_never_too_early)
{
	for (uint64_t ms = 0; ms < 1000; ms++) {
		const uint64_t before_ns = clock_mono_ns();

		ck_assert_uint_ge(clock_due_ms(ms) * 1000000, before_ns + ms * 1000000);
	}
}
END_TEST

CHECK_MAIN("reap", an_end_is_waited_for_whatever_signals_come_meanwhile,
           an_end_is_seen_as_often_as_one_peeks_and_once_when_reaped,
           a_living_process_has_no_end_to_collect,
           a_stop_and_a_continue_are_told_each_once, many_ends_at_once_are_all_seen,
           an_orphan_comes_to_a_subreaper,
           a_parent_that_ignored_and_blocked_sigchld_is_overcome,
           a_descriptor_is_raised_once_and_an_error_passes_through,
           a_descriptor_that_cannot_be_raised_stays,
           the_limit_on_descriptors_is_raised_to_the_hard_one,
           directories_are_made_as_far_as_a_slash_goes,
           all_of_it_is_written_or_an_error_told, times_are_written_for_people,
           a_time_to_come_is_never_too_early)
