/* SPDX-License-Identifier: ISC */
/* test_hanging.c - processes that a file system keeps, which does not answer. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/process/hindrance.h"
#include "os/process/leftover.h"
#include "os/process/proc.h"
#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"
#include "tests/lib/hang_fuse.h"

#define NOBODY      65534
#define PATIENCE_MS 300

extern char **environ;

static char directory[64];
static char program[128];
static struct spawner spawner;
static pid_t server;
static int said;

/* A line that the server says; false at its end. */
static bool
next_line(char *text, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && read(said, text + n, 1) == 1 && text[n] != '\n')
		n++;
	text[n] = '\0';
	return n > 0;
}

/* A file system of this user that holds the operation; false: there is none here. */
static bool
start_server(const char *operation, uid_t uid)
{
	char file[4200], ids[32], line[64];
	const char *build = getenv("top_builddir");
	int ends[2], status;

	if (geteuid() != 0)
		return false;
	(void)snprintf(file, sizeof(file), "%s/tests/lib/hang_fuse",
	               build != NULL ? build : ".");
	(void)snprintf(ids, sizeof(ids), "%u:%u", uid, uid);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	server = fork();
	if (server == 0) {
		(void)dup2(ends[1], 1);
		(void)execl(file, file, "-u", ids, "-h", operation, "-c", "/bin/true",
		            directory, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	said = ends[0];
	if (!next_line(line, sizeof(line))) {
		ck_assert_int_eq(waitpid(server, &status, 0), server);
		server = 0;
		ck_assert_int_eq(WEXITSTATUS(status), HANG_FUSE_LACKS);
		return false;
	}
	(void)snprintf(program, sizeof(program), "/proc/%d/root%s/f", server, directory);
	return true;
}

static void
stop_server(void)
{
	if (server <= 0)
		return;
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)close(said);
	server = 0;
}

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_hanging.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void)chmod(directory, 0755);
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	spawner.patience_ms = PATIENCE_MS;
}

static void
tear_down(void)
{
	stop_server();
	os_spawn_done(&spawner);
	(void)rmdir(directory);
}

static int
start(const char *file, uid_t uid, bool is_apart, struct spawn_result *ret)
{
	char *argv[] = {(char *)(uintptr_t)file, NULL};
	const int fds[] = {-1, -1, -1};
	const struct spawn spawn = {
	    .file = file,
	    .argv = argv,
	    .envp = environ,
	    .fds = fds,
	    .n_fds = 3,
	    .cgroup_fd = -1,
	    .has_ids = uid != 0,
	    .uid = uid,
	    .gid = uid,
	    .umask = SPAWN_UMASK_INHERIT,
	    .is_apart = is_apart,
	};

	return os_spawn(&spawner, &spawn, ret);
}

static void
assert_runs(const char *file, uid_t uid)
{
	struct spawn_result child;
	struct reap end;
	int r;

	/* It will not hang, only be slow on a busy machine. */
	spawner.patience_ms = 60000;
	r = start(file, uid, false, &child);
	spawner.patience_ms = PATIENCE_MS;
	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[child.step], strerror(-r));
	ck_assert_int_eq(os_reap_wait(child.pidfd, child.pid, 60000, &end), 1);
	ck_assert_int_eq(end.kind, REAP_EXITED);
	ck_assert_int_eq(end.status, 0);
	(void)close(child.pidfd);
}

static void
assert_hangs(uid_t uid, bool is_apart, struct spawn_result *ret)
{
	struct reap end;

	/* On a busy machine it may be given up before it asks for the program: that one
	 * is gone. */
	do {
		ck_assert_int_eq(start(program, uid, is_apart, ret), -ETIMEDOUT);
	} while (ret->pid < 0);
	ck_assert_str_eq(spawn_step_names[ret->step], "exec");
	ck_assert_int_gt(ret->pid, 0);
	ck_assert_int_ge(ret->pidfd, 0);
	ck_assert_int_eq(os_reap_peek(ret->pidfd, ret->pid, &end), 0);
}

static void
assert_killed(const struct spawn_result *child)
{
	struct reap end;

	ck_assert_int_eq(os_reap_wait(child->pidfd, child->pid, 60000, &end), 1);
	ck_assert_int_eq(end.kind, REAP_SIGNALED);
	ck_assert_int_eq(end.status, SIGKILL);
	(void)close(child->pidfd);
}

START_TEST(a_child_whose_exec_hangs_is_left_behind_and_other_children_start)
{
	const uid_t uid = _i == 0 ? 0 : NOBODY;
	struct spawn_result children[3];

	CHECK_NEEDS(start_server("read", uid), "root, and FUSE in a user namespace");
	for (size_t i = 0; i < 3; i++) {
		assert_hangs(uid, false, &children[i]);
		assert_runs("/bin/true", uid);
	}
	ck_assert_uint_eq(spawner.n_hung, spawner.has_clone3 ? 3 : 0);
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	for (size_t i = 0; i < 3; i++)
		assert_killed(&children[i]);
	assert_runs(program, uid);
	ck_assert_uint_eq(spawner.n_hung, 0);
}
END_TEST

START_TEST(no_program_is_executed_for_a_child_that_was_given_up)
{
	struct spawn_result child;
	char line[64];

	/* Looking up the name hangs: the file is not even open. */
	CHECK_NEEDS(start_server("lookup", NOBODY), "root, and FUSE in a user namespace");
	assert_hangs(NOBODY, false, &child);
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	assert_killed(&child);
	ck_assert(next_line(line, sizeof(line)));
	ck_assert_str_eq(strtok(line, " "), "held");
	ck_assert_str_eq(strtok(NULL, " "), "lookup");
}
END_TEST

START_TEST(with_all_places_taken_children_have_a_copy_and_start)
{
	struct spawn_result first, second;

	CHECK_NEEDS(start_server("read", NOBODY), "root, and FUSE in a user namespace");
	assert_hangs(NOBODY, false, &first);
	spawner.n_hung += SPAWN_HUNG_MAX;
	assert_hangs(NOBODY, false, &second);
	assert_runs("/bin/true", NOBODY);
	spawner.n_hung -= SPAWN_HUNG_MAX;
	stop_server();
	assert_killed(&first);
	assert_killed(&second);
}
END_TEST

/* Begin to start the file, without waiting for it. */
static struct spawn_place *
begin(struct spawn *spawn, char *argv[2], const char *file, uid_t uid)
{
	static const int fds[] = {-1, -1, -1};
	struct spawn_place *place;
	struct spawn_result child;

	argv[0] = (char *)(uintptr_t)file;
	argv[1] = NULL;
	*spawn = (struct spawn){
	    .file = file,
	    .argv = argv,
	    .envp = environ,
	    .fds = fds,
	    .n_fds = 3,
	    .cgroup_fd = -1,
	    .has_ids = uid != 0,
	    .uid = uid,
	    .gid = uid,
	    .umask = SPAWN_UMASK_INHERIT,
	};
	ck_assert_int_eq(os_spawn_begin(&spawner, spawn, &place, &child), 0);
	return place;
}

START_TEST(a_start_that_hangs_holds_up_no_other_start)
{
	struct spawn_place *places[4];
	struct spawn spawns[4];
	struct spawn_result child;
	char *argvs[4][2];
	char line[64];

	CHECK_NEEDS(start_server("read", NOBODY), "root, and FUSE in a user namespace");
	spawner.patience_ms = 60000;
	for (size_t i = 0; i < 4; i++) {
		places[i] = begin(&spawns[i], argvs[i], program, NOBODY);
		ck_assert(i > 0 || next_line(line, sizeof(line)));
		assert_runs("/bin/true", i % 2 == 0 ? NOBODY : 0);
		spawner.patience_ms = 60000;
	}
	for (size_t i = 0; i < 4; i++) {
		ck_assert(!os_spawn_is_over(places[i]));
		ck_assert(!os_spawn_await(places[i], 1000));
		ck_assert(!os_spawn_urge(places[i]));
	}
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	for (size_t i = 0; i < 4; i++) {
		struct reap end;

		while (!os_spawn_await(places[i], 1000))
			continue;
		ck_assert_int_eq(os_spawn_end(&spawner, places[i], &child), 0);
		ck_assert_int_eq(os_reap_wait(child.pidfd, child.pid, 60000, &end), 1);
		ck_assert_int_eq(end.status, 0);
		(void)close(child.pidfd);
	}
}
END_TEST

/* Its user could read and write all of our memory there. */
START_TEST(a_child_of_another_user_that_hangs_in_our_memory_cannot_be_looked_into)
{
	struct spawn_result child;
	char path[64];
	pid_t looker;
	int status;

	CHECK_NEEDS(start_server("read", NOBODY) && spawner.is_dumpable &&
	                spawner.has_clone3,
	            "root, FUSE in a user namespace, and clone3()");
	assert_hangs(NOBODY, false, &child);
	assert_runs("/bin/true", NOBODY);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", child.pid);
	looker = fork();
	if (looker == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(2);
		_exit(open(path, O_RDWR | O_CLOEXEC) >= 0 ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(looker, &status, 0), looker);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	assert_killed(&child);
	assert_runs("/bin/true", NOBODY);
	ck_assert_int_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
}
END_TEST

START_TEST(a_child_apart_does_not_share_our_memory)
{
	struct spawn_result shared, apart;

	CHECK_NEEDS(start_server("read", NOBODY), "root, and FUSE in a user namespace");
	assert_hangs(NOBODY, false, &shared);
	assert_hangs(NOBODY, true, &apart);
	if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) == 0) {
		if (spawner.has_clone3)
			ck_assert_int_eq(
			    syscall(SYS_kcmp, getpid(), shared.pid, KCMP_VM, 0, 0), 0);
		ck_assert_int_gt(syscall(SYS_kcmp, getpid(), apart.pid, KCMP_VM, 0, 0),
		                 0);
	}
	stop_server();
	assert_killed(&shared);
	assert_killed(&apart);
}
END_TEST

static void
count_beats(void *arg)
{
	(*(int *)arg)++;
}

/* Two actors of a dead supd: the first reads the hanging file, the second does not. */
static pid_t
start_leftover(const char *socket, const char *const *argv)
{
	const char *const envp[] = {socket, "SUPD_ID=x", "SUPD_PATH=/user/v", NULL};
	pid_t pid = fork();

	if (pid == 0) {
		(void)execve(argv[0], (char *const *)(uintptr_t)argv,
		             (char *const *)(uintptr_t)envp);
		_exit(127);
	}
	return pid;
}

/* Three of them, and a single wait: at a sign of life every 50 ms it has some 60. */
START_TEST(what_cannot_be_killed_is_told_and_the_wait_for_all_shows_signs_of_life)
{
	const char *const stuck_argv[] = {"/bin/cat", program, NULL};
	const char *const other_argv[] = {"/bin/sleep", "1000", NULL};
	char socket[200], line[64];
	struct leftovers found;
	int n_beats = 0, status;
	const struct leftover_hunt hunt = {
	    .variable = socket, .beat = count_beats, .arg = &n_beats};
	pid_t stuck[3], other;

	CHECK_NEEDS(start_server("open", 0), "root, and FUSE in a user namespace");
	(void)snprintf(socket, sizeof(socket), "SUPD_SOCKET=%s/control.sock", directory);
	for (size_t i = 0; i < ARRAY_SIZE(stuck); i++) {
		stuck[i] = start_leftover(socket, stuck_argv);
		ck_assert(next_line(line, sizeof(line)));
	}
	other = start_leftover(socket, other_argv);
	/* Before its exec the child has our environment. */
	while (!proc_has_execed(other))
		(void)usleep(1000);
	ck_assert_int_eq(leftover_kill(&hunt, &found), 0);
	ck_assert_uint_eq(found.n_killed, 4);
	ck_assert_uint_eq(found.n_left, 3);
	ck_assert_uint_eq(found.n, 3);
	for (size_t i = 0; i < found.n; i++) {
		ck_assert(found.left[i].pid == stuck[0] ||
		          found.left[i].pid == stuck[1] || found.left[i].pid == stuck[2]);
		ck_assert_str_eq(found.left[i].path, "/user/v");
	}
	leftovers_done(&found);
	ck_assert_int_gt(n_beats, 5);
	ck_assert_int_lt(n_beats, 120);
	ck_assert_int_eq(waitpid(other, &status, 0), other);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(stuck); i++)
		ck_assert_int_eq(waitpid(stuck[i], NULL, 0), stuck[i]);
	n_beats = 0;
	ck_assert_int_eq(leftover_kill(&hunt, &found), 0);
	ck_assert_uint_eq(found.n_killed, 0);
	leftovers_done(&found);
}
END_TEST

START_TEST(a_process_hanging_in_its_exec_is_known_to_exist)
{
	struct hindrance why;
	char sleeper[] = "sleep", long_enough[] = "1000", line[64];
	char *argv[] = {sleeper, long_enough, NULL};
	pid_t pid, parent = 0;
	uint64_t start = 1;

	CHECK_NEEDS(start_server("flush", 0), "root, and FUSE in a user namespace");
	pid = fork();
	if (pid == 0) {
		if (open(program, O_RDONLY | O_CLOEXEC) >= 0)
			(void)execv("/bin/sleep", argv);
		_exit(1);
	}
	ck_assert(next_line(line, sizeof(line)));
	ck_assert_int_eq(proc_look(pid, &parent, &start), 0);
	ck_assert_int_eq(parent, getpid());
	ck_assert_uint_eq(start, 0);
	ck_assert(!proc_is_ending(pid));
	ck_assert(!proc_has_mark(pid, "x"));
	hindrance_read(pid, &why);
	ck_assert_str_eq(why.wchan, "");
	ck_assert_int_eq(kill(server, SIGUSR1), 0);
	while (proc_look(pid, &parent, &start) == 0 && start == 0)
		(void)usleep(1000);
	ck_assert_uint_gt(start, 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_lt(proc_look(pid, &parent, &start), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("hanging");
	TCase *tcase = tcase_create("hanging");

	tcase_set_timeout(tcase, 120);
	tcase_set_tags(tcase, "hangs");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
	    tcase, a_child_whose_exec_hangs_is_left_behind_and_other_children_start, 0,
	    2);
	tcase_add_test(tcase, no_program_is_executed_for_a_child_that_was_given_up);
	tcase_add_test(tcase, with_all_places_taken_children_have_a_copy_and_start);
	tcase_add_test(tcase, a_start_that_hangs_holds_up_no_other_start);
	tcase_add_test(
	    tcase,
	    a_child_of_another_user_that_hangs_in_our_memory_cannot_be_looked_into);
	tcase_add_test(tcase, a_child_apart_does_not_share_our_memory);
	tcase_add_test(
	    tcase,
	    what_cannot_be_killed_is_told_and_the_wait_for_all_shows_signs_of_life);
	tcase_add_test(tcase, a_process_hanging_in_its_exec_is_known_to_exist);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
