/* SPDX-License-Identifier: ISC */
/* test_confine.c - what a confined process can do no more, and what it still can. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/confine.h"
#include "tests/lib/check_main.h"

#ifdef HAVE_SECCOMP
static const bool has_filters = true;
#else
static const bool has_filters = false;
#endif

/* What a kind may still do: letters, in the order of the deeds. */
struct may {
	enum confine_kind kind;
	const char *letters;
};

static bool
can_open(int flags)
{
	return open("/dev/null", flags | O_CLOEXEC) >= 0;
}

static bool
can_connect(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0;
}

static bool
can_execute(void)
{
	char *const argv[] = {(char *)(uintptr_t) "true", NULL};
	char *const envp[] = {NULL};
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		(void)execve("/bin/true", argv, envp);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Never: more namespaces, or a hand on another process. */
static bool
can_escape(void)
{
	return unshare(CLONE_NEWUSER) == 0 ||
	       ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ||
	       syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0) > 0;
}

/* In a child: which of these deeds a process of this kind can do. */
static void
report(enum confine_kind kind, int fd)
{
	char done[8] = "";
	size_t n = 0;

	if (os_confine(kind, NULL) < 0)
		done[n++] = '!';
	if (can_open(O_RDONLY))
		done[n++] = 'r';
	if (can_open(O_WRONLY))
		done[n++] = 'w';
	if (can_connect(AF_UNIX))
		done[n++] = 'u';
	if (can_connect(AF_INET))
		done[n++] = 'i';
	if (can_execute())
		done[n++] = 'x';
	if (can_escape())
		done[n++] = 'e';
	_exit(write(fd, done, n) == (ssize_t)n ? 0 : 1);
}

static void
ask(enum confine_kind kind, char ret[8])
{
	int ends[2];
	int status;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		report(kind, ends[1]);
	(void)close(ends[1]);
	n = read(ends[0], ret, 7);
	ck_assert_int_ge(n, 0);
	ret[n] = '\0';
	(void)close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(each_kind_keeps_the_system_calls_that_it_needs)
{
	static const struct may may[] = {
	    {CONFINE_LOG, "rwu"}, {CONFINE_READER, "r"}, {CONFINE_GZIP, ""},
	    {CONFINE_SERVER, ""}, {CONFINE_LETTERS, ""}, {CONFINE_CLIENT, "ui"},
	};

	_Static_assert(ARRAY_SIZE(may) == CONFINE_MAX, "all of them");
	for (size_t i = 0; i < ARRAY_SIZE(may); i++) {
		char can[8];

		ask(may[i].kind, can);
		ck_assert_str_eq(can, may[i].letters);
	}
}
END_TEST

/* Of /proc/PID/status. */
static unsigned long long
number_of(pid_t pid, const char *key, int base)
{
	char line[256];
	unsigned long long number = 0;
	FILE *file;

	(void)snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	file = fopen(line, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			number = strtoull(line + strlen(key), NULL, base);
	(void)fclose(file);
	return number;
}

START_TEST(no_capability_and_no_new_privilege_is_left)
{
	char byte = 0;
	int ends[2];
	int status;
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)close(ends[0]);
		(void)os_confine(CONFINE_GZIP, NULL);
		_exit(write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 0);
	}
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	ck_assert_uint_eq(number_of(pid, "CapPrm:", 16), 0);
	ck_assert_uint_eq(number_of(pid, "CapEff:", 16), 0);
	ck_assert_uint_eq(number_of(pid, "CapInh:", 16), 0);
	ck_assert_uint_eq(number_of(pid, "NoNewPrivs:", 10), 1);
	(void)close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("os/confine");
	TCase *calls = tcase_create("system calls");
	TCase *rights = tcase_create("rights");

	tcase_set_tags(calls, "confined");
	tcase_set_tags(rights, "confined");
	if (has_filters)
		tcase_add_test(calls, each_kind_keeps_the_system_calls_that_it_needs);
	tcase_add_test(rights, no_capability_and_no_new_privilege_is_left);
	suite_add_tcase(suite, calls);
	suite_add_tcase(suite, rights);
	return check_run(srunner_create(suite));
}
