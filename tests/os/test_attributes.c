/* SPDX-License-Identifier: ISC */
/* test_attributes.c - what a child sets for itself before its program: it has it, we have
 * not, and what the kernel refuses is named.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"

#define NOBODY 65534
#define BIT(n) (UINT64_C(1) << (n))

extern char **environ;

static struct spawner spawner;

static void
set_up(void)
{
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	/* A busy machine is no fault of a child. */
	spawner.patience_ms = 600000;
}

static void
tear_down(void)
{
	os_spawn_done(&spawner);
}

static struct spawn
plain(char *const *argv, const int *fds)
{
	return (struct spawn){
	    .file = argv[0],
	    .argv = argv,
	    .envp = environ,
	    .fds = fds,
	    .n_fds = 3,
	    .cgroup_fd = -1,
	    .umask = SPAWN_UMASK_INHERIT,
	};
}

/* The output of cat(1) for a file when it is started like this. */
static void
look(struct attributes attributes, uid_t uid, const char *file, char *text, size_t size)
{
	char *argv[] = {strdup("/bin/cat"), strdup(file), NULL};
	int ends[2];
	int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds);
	struct spawn_result child;
	struct reap end;
	size_t used = 0;
	ssize_t n;
	int r;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	fds[1] = ends[1];
	spawn.attributes = &attributes;
	spawn.has_ids = uid != 0;
	spawn.uid = spawn.gid = uid;
	r = os_spawn(&spawner, &spawn, &child);
	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[child.step], strerror(-r));
	ck_assert_int_eq(child.which, -1);
	(void)close(ends[1]);
	while ((n = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	(void)close(ends[0]);
	while ((r = os_reap_pidfd(child.pidfd, child.pid, &end)) == 0)
		usleep(500);
	ck_assert_int_eq(r, 1);
	(void)close(child.pidfd);
	ck_assert_int_eq(end.status, 0);
	free(argv[0]);
	free(argv[1]);
}

/* A number in hexadecimal of /proc/PID/status. */
static uint64_t
set_of(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	ck_assert_msg(at != NULL, "%s is not in %s", name, status);
	return strtoull(at + strlen(name) + 1, NULL, 16);
}

static int
own_oom_score_adj(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "re");
	int n = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%d", &n), 1);
	(void)fclose(file);
	return n;
}

/* The second time by the older call: both share our memory. */
START_TEST(a_child_has_its_own_oom_score_adj_and_leaves_ours)
{
	const int before = own_oom_score_adj();
	const int wanted = before > 777 ? before : 777;
	char expected[16];
	char text[64];

	spawner.has_clone3 = spawner.has_clone3 && _i == 0;
	look((struct attributes){.has_oom_score_adj = true, .oom_score_adj = wanted}, 0,
	     "/proc/self/oom_score_adj", text, sizeof(text));
	(void)snprintf(expected, sizeof(expected), "%d\n", wanted);
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(own_oom_score_adj(), before);
}
END_TEST

START_TEST(a_child_has_its_own_capabilities_and_leaves_ours)
{
	const struct attributes attributes = {
	    .has_bounding = true,
	    .has_ambient = true,
	    .no_new_privileges = true,
	    .bounding = BIT(CAP_KILL) | BIT(CAP_CHOWN),
	    .ambient = BIT(CAP_CHOWN),
	};
	char text[8192];

	/* Root in a container need not have them. */
	CHECK_NEEDS(geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0) == 1 &&
	                prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) == 1 &&
	                prctl(PR_CAPBSET_READ, CAP_KILL, 0, 0, 0) == 1 &&
	                prctl(PR_CAPBSET_READ, CAP_FOWNER, 0, 0, 0) == 1,
	            "root with these capabilities");
	spawner.has_clone3 = spawner.has_clone3 && _i == 0;
	look(attributes, NOBODY, "/proc/self/status", text, sizeof(text));
	ck_assert_uint_eq(set_of(text, "CapBnd"), BIT(CAP_KILL) | BIT(CAP_CHOWN));
	ck_assert_uint_eq(set_of(text, "CapAmb"), BIT(CAP_CHOWN));
	ck_assert_uint_eq(set_of(text, "CapPrm"), BIT(CAP_CHOWN));
	ck_assert_uint_eq(set_of(text, "CapEff"), BIT(CAP_CHOWN));
	ck_assert_uint_eq(set_of(text, "NoNewPrivs"), 1);
	ck_assert_int_eq(prctl(PR_CAPBSET_READ, CAP_FOWNER, 0, 0, 0), 1);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
	ck_assert_int_eq(prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	look((struct attributes){0}, 0, "/proc/self/status", text, sizeof(text));
	ck_assert_uint_ne(set_of(text, "CapBnd"), BIT(CAP_KILL) | BIT(CAP_CHOWN));
}
END_TEST

/* A user that stops all its processes, again and again: an unused number. */
#define STOPPER 4000001

static pid_t
start_stopper(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (setresuid(STOPPER, STOPPER, STOPPER) < 0)
			_exit(1);
		for (;;)
			(void)kill(-1, SIGSTOP);
	}
	return pid;
}

START_TEST(a_child_stopped_before_its_exec_does_not_stop_the_guardian)
{
	char *argv[] = {strdup("/bin/true"), NULL};
	const int fds[] = {-1, -1, -1};
	const struct attributes attributes = {
	    .has_ambient = true, .has_oom_score_adj = true, .oom_score_adj = 1000};
	const int before = own_oom_score_adj();
	struct spawn spawn = plain(argv, fds);
	struct spawn_result child;
	pid_t stopper;

	CHECK_NEEDS(geteuid() == 0, "root");
	spawner.has_clone3 = spawner.has_clone3 && _i == 0;
	stopper = start_stopper();
	spawn.has_ids = true;
	spawn.uid = spawn.gid = STOPPER;
	spawn.attributes = &attributes;
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), 0);
		ck_assert_int_eq(kill(child.pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(child.pid, NULL, 0), child.pid);
		(void)close(child.pidfd);
	}
	ck_assert_int_eq(own_oom_score_adj(), before);
	ck_assert_int_eq(kill(stopper, SIGKILL), 0);
	ck_assert_int_eq(waitpid(stopper, NULL, 0), stopper);
	free(argv[0]);
}
END_TEST

START_TEST(where_we_lower_ours_children_have_what_was_said)
{
	const struct attributes more = {.has_oom_score_adj = true, .oom_score_adj = 300};
	const int before = own_oom_score_adj();
	const uid_t uid = geteuid() == 0 && _i != 0 ? NOBODY : 0;
	char text[64];

	os_spawn_set_oom(&spawner, before - 50, before);
	/* Without the right to lower it nothing has happened. */
	ck_assert(spawner.own_oom == before - 50 || spawner.own_oom == before);
	ck_assert_int_eq(own_oom_score_adj(), spawner.own_oom);
	look((struct attributes){0}, uid, "/proc/self/oom_score_adj", text, sizeof(text));
	ck_assert_int_eq(atoi(text), before);
	ck_assert_int_eq(own_oom_score_adj(), spawner.own_oom);
	look(more, uid, "/proc/self/oom_score_adj", text, sizeof(text));
	ck_assert_int_eq(atoi(text), 300);
	ck_assert_int_eq(own_oom_score_adj(), spawner.own_oom);
}
END_TEST

static void
assert_fails(struct attributes attributes, const struct spawn_limit *limit,
             const char *root, int code, const char *step, int which)
{
	char *argv[] = {strdup("/bin/true"), NULL};
	const int fds[] = {-1, -1, -1};
	struct spawn spawn = plain(argv, fds);
	struct spawn_result child;

	spawn.attributes = &attributes;
	spawn.root = root;
	spawn.limits = limit;
	spawn.n_limits = limit != NULL;
	ck_assert_int_eq(os_spawn(&spawner, &spawn, &child), -code);
	ck_assert_str_eq(spawn_step_names[child.step], step);
	ck_assert_int_eq(child.which, which);
	ck_assert_int_eq(child.pid, -1);
	free(argv[0]);
}

#define FAILS(code, step, which, ...) \
	assert_fails((struct attributes){__VA_ARGS__}, NULL, NULL, code, step, which)

START_TEST(what_an_ordinary_user_may_not_is_named)
{
	const struct spawn_limit limit = {RLIMIT_CORE, {2, 1}};
	unsigned long no_cpu = 0;

	if (geteuid() == 0)
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	/* As after an exec: /proc/self is our own. */
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
	FAILS(EACCES, "setpriority", -1, .has_nice = true, .nice = -20);
	FAILS(EINVAL, "oom_score_adj", -1, .has_oom_score_adj = true,
	      .oom_score_adj = INT_MIN);
	FAILS(EINVAL, "sched_setaffinity", -1, .cpus = &no_cpu, .n_cpus = 1);
	FAILS(EPERM, "sched_setscheduler", -1, .has_scheduler = true,
	      .policy = SCHED_FIFO, .priority = 99);
	FAILS(EPERM, "ioprio_set", -1, .has_io_priority = true, .io_priority = 1 << 13);
	assert_fails((struct attributes){0}, NULL, "/", EPERM, "chroot", -1);
	FAILS(EPERM, "bounding", CAP_CHOWN, .has_bounding = true, .bounding = 0);
	FAILS(EPERM, "ambient", CAP_NET_RAW, .has_ambient = true,
	      .ambient = BIT(CAP_NET_RAW));
	assert_fails((struct attributes){0}, &limit, NULL, EINVAL, "setrlimit",
	             RLIMIT_CORE);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("attributes");
	TCase *tcase = tcase_create("attributes");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_child_has_its_own_oom_score_adj_and_leaves_ours, 0,
	                    2);
	tcase_add_loop_test(tcase, a_child_has_its_own_capabilities_and_leaves_ours, 0,
	                    2);
	tcase_add_loop_test(
	    tcase, a_child_stopped_before_its_exec_does_not_stop_the_guardian, 0, 2);
	tcase_add_loop_test(tcase, where_we_lower_ours_children_have_what_was_said, 0, 2);
	tcase_add_test(tcase, what_an_ordinary_user_may_not_is_named);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
