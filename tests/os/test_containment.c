/* SPDX-License-Identifier: ISC */
/* test_containment.c - programs that hide, and nothing of them left, in both ways. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"

enum { PATIENCE_MS = 20000 };

extern char **environ;

static struct spawner spawner;
static struct cgroup_root root;
static struct proc_sweep *sweep;
static struct map known;
static char hider[4200];

static void
set_up(void)
{
	const char *build = getenv("top_builddir");
	char name[4096];
	struct err err;

	(void)snprintf(name, sizeof(name), "%s/tests/lib/hider",
	               build != NULL ? build : ".");
	ck_assert_ptr_nonnull(realpath(name, hider));
	ck_assert_int_eq(os_become_subreaper(), 0);
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	sweep = proc_sweep_new(getpid());
	ck_assert_ptr_nonnull(sweep);
	map_init(&known);
	if (cgroup_root_open(&root, &err) < 0)
		fprintf(stderr, "# without a cgroup: %s\n", err.text);
}

static void
tear_down(void)
{
	char path[sizeof(root.path)];
	const bool is_created = root.is_created;

	(void)snprintf(path, sizeof(path), "%s", root.path);
	cgroup_root_close(&root);
	/* Nothing is left behind. */
	if (is_created)
		ck_assert_int_lt(access(path, F_OK), 0);
	proc_sweep_free(sweep);
	map_done(&known);
	os_spawn_done(&spawner);
}

/* Start the hider in its containment, wait until it is hidden. */
static void
start(struct containment *c, const char *mode, struct spawn_result *ret)
{
	char *argv[] = {hider, strdup(mode), NULL};
	char mark[PROC_MARK_MAX + 16];
	char *envp[] = {strdup("A=1"), mark, NULL};
	int fds[] = {-1, -1, 2};
	struct spawn spawn = {
	    .file = hider,
	    .argv = argv,
	    .envp = envp,
	    .fds = fds,
	    .n_fds = 3,

	    .umask = SPAWN_UMASK_INHERIT,
	};
	char word[4] = "";
	int ends[2];

	(void)snprintf(mark, sizeof(mark), "SUPD_ID=%s", c->mark);
	ck_assert_int_eq(containment_prepare(c, &root, &spawn.cgroup_fd), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	fds[1] = ends[1];
	int r = os_spawn(&spawner, &spawn, ret);
	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[ret->step], strerror(-r));
	(void)close(ends[1]);
	containment_begun(c, root.keeps_leaves);
	ck_assert_int_eq(read(ends[0], word, 3), 3);
	ck_assert_str_eq(word, "up\n");
	(void)close(ends[0]);
	containment_born(c, ret->pid);
	ck_assert_int_eq(map_put(&known, (uint64_t)ret->pid, 0), 0);
	free(argv[1]);
	free(envp[0]);
}

/* One turn: reap everything that is dead, and sweep. */
static void
turn(struct containment *c)
{
	struct reap reap;

	while (os_reap_any(&reap) == 1) {
		if (reap.pid != c->session || reap.kind == REAP_STOPPED)
			continue;
		containment_reaped(c);
		map_remove(&known, (uint64_t)reap.pid);
	}
	ck_assert_int_eq(proc_sweep_take(sweep, &known), 0);
}

/* Kill until nothing is left, as the daemon will. */
static void
kill_all(struct containment *c)
{
	const uint64_t start_ms = clock_mono_ms();

	for (;;) {
		turn(c);
		if (containment_is_empty(c, &root, sweep))
			return;
		ck_assert_int_eq(containment_kill(c, &root, sweep), 0);
		ck_assert_uint_lt(clock_mono_ms() - start_ms, PATIENCE_MS);
	}
}

/* Wait until the main process has ended by itself. */
static void
wait_for_main(struct containment *c)
{
	const uint64_t start_ms = clock_mono_ms();

	while (c->is_main_alive) {
		turn(c);
		ck_assert_uint_lt(clock_mono_ms() - start_ms, PATIENCE_MS);
	}
}

static void
close_result(struct spawn_result *child)
{
	fd_close(&child->pidfd);
}

static const char *const modes[] = {"plain",    "child", "session", "daemon",  "runner",
                                    "sprinter", "tree",  "shed",    "headless"};

START_TEST(in_a_session_nothing_survives_a_kill)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", "test.session.1"), 0);
	ck_assert(containment_needs_sweep(&c));
	start(&c, modes[_i], &child);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	ck_assert(!c.is_main_alive);
	turn(&c);
	ck_assert(containment_is_empty(&c, &root, sweep));
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}
END_TEST

START_TEST(in_a_cgroup_nothing_survives_a_kill)
{
	struct containment c;
	struct spawn_result child;

	if (root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, &root, "/user/app/a", "test.cgroup.1"), 0);
	ck_assert(!containment_needs_sweep(&c));
	ck_assert_str_eq(leaf_of(&c).text, "user:app:a");
	start(&c, modes[_i], &child);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	ck_assert_int_eq(containment_close(&c, &root), -EBUSY);
	kill_all(&c);
	wait_for_main(&c);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}
END_TEST

START_TEST(what_is_never_long_the_same_process_is_never_taken_for_gone)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", "test.sprint.1"), 0);
	start(&c, "sprinter", &child);
	wait_for_main(&c);
	for (int i = 0; i < 300; i++) {
		turn(&c);
		ck_assert(!containment_is_empty(&c, &root, sweep));
	}
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(what_the_main_process_left_is_seen_after_its_own_end)
{
	struct containment c, other;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", "test.left.1"), 0);
	ck_assert_int_eq(containment_open(&other, NULL, "/user/b", "test.left.2"), 0);
	containment_born(&other, getpid());
	containment_reaped(&other);
	start(&c, "daemon", &child);
	wait_for_main(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	/* It is nobody else's. */
	ck_assert(containment_is_empty(&other, &root, sweep));
	ck_assert_int_eq(containment_kill(&other, &root, sweep), 0);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(a_main_process_that_has_named_another_is_of_the_rest)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", "test.named.1"), 0);
	start(&c, "plain", &child);
	/* The main process is another now, and has ended. */
	containment_told(&c, getpid());
	map_remove(&known, (uint64_t)child.pid);
	containment_reaped(&c);
	turn(&c);
	ck_assert(!containment_is_empty(&c, &root, sweep));
	while (containment_stop(&c, sweep) > 0)
		turn(&c);
	ck_assert(proc_is_stopped(child.pid));
	containment_continue(&c, sweep);
	ck_assert(!proc_is_stopped(child.pid));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(an_orphan_of_the_session_is_known_without_its_mark)
{
	struct containment c;
	struct spawn_result child;

	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", "test.nomark.1"), 0);
	start(&c, "child", &child);
	wait_for_main(&c);
	c.mark[0] = '\0';
	ck_assert(!containment_is_empty(&c, &root, sweep));
	kill_all(&c);
	close_result(&child);
}
END_TEST

START_TEST(a_watched_cgroup_tells_when_its_last_process_is_gone)
{
	struct containment c;
	struct spawn_result child;
	uint64_t token = 0;

	if (root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", "test.watch.1"), 0);
	start(&c, "daemon", &child);
	wait_for_main(&c);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 0);
	ck_assert_int_eq(containment_kill(&c, &root, NULL), 0);
	while (!containment_is_empty(&c, &root, NULL)) {
		struct pollfd poll_watch = {.fd = root.watch_fd, .events = POLLIN};

		ck_assert_int_eq(poll(&poll_watch, 1, PATIENCE_MS), 1);
		ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 1);
		ck_assert_uint_eq(token, 4711);
	}
	containment_unwatch(&c, &root);
	ck_assert_int_eq(c.events_fd, -1);
	ck_assert_int_eq(cgroup_root_next(&root, &token, 1), 0);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
	turn(&c);
}
END_TEST

START_TEST(a_signal_reaches_every_process_of_the_actor_and_no_other)
{
	struct containment c, other;
	struct spawn_result child, bystander;
	const struct cgroup_root *where = _i == 0 ? NULL : &root;

	if (_i == 1 && root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, where, "/user/a", "test.signal.1"), 0);
	ck_assert_int_eq(containment_open(&other, where, "/user/b", "test.signal.2"), 0);
	start(&c, "tree", &child);
	start(&other, "plain", &bystander);
	turn(&c);
	ck_assert_int_eq(containment_signal(&c, &root, sweep, SIGKILL), 0);
	for (const uint64_t start_ms = clock_mono_ms();
	     !containment_is_empty(&c, &root, sweep); turn(&c))
		ck_assert_uint_lt(clock_mono_ms() - start_ms, PATIENCE_MS);
	ck_assert_int_eq(kill(bystander.pid, 0), 0);
	ck_assert(!containment_is_empty(&other, &root, sweep));
	kill_all(&other);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	ck_assert_int_eq(containment_close(&other, &root), 0);
	close_result(&child);
	close_result(&bystander);
}
END_TEST

/* A process of this user, in a session of its own, with this SUPD_ID. */
static pid_t
start_marked(const char *mark, uid_t uid)
{
	char variable[PROC_MARK_MAX + 16];
	char *argv[] = {strdup("sleep"), strdup("1000"), NULL};
	char *envp[] = {variable, NULL};
	pid_t pid;

	(void)snprintf(variable, sizeof(variable), "SUPD_ID=%s", mark);
	pid = fork();
	if (pid == 0) {
		if (setsid() < 0 || setresuid(uid, uid, uid) < 0)
			_exit(1);
		(void)execve("/bin/sleep", argv, envp);
		_exit(1);
	}
	free(argv[0]);
	free(argv[1]);
	while (pid > 0 && !proc_has_mark(pid, mark))
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	return pid;
}

START_TEST(a_mark_that_another_user_has_written_is_not_believed)
{
	const char *mark = "test.forged.1";
	const uid_t other = 65534;
	struct containment c;
	pid_t pid;

	if (getuid() != 0)
		return;
	ck_assert_int_eq(containment_open(&c, NULL, "/user/a", mark), 0);
	pid = start_marked(mark, other);
	ck_assert_int_gt(pid, 0);
	ck_assert(!containment_has(&c, &root, pid, 0));
	ck_assert(!containment_has(&c, &root, pid, 1));
	ck_assert(containment_has(&c, &root, pid, other));
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	pid = start_marked(mark, 0);
	ck_assert(containment_has(&c, &root, pid, other));
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(containment_close(&c, &root), 0);
}
END_TEST

START_TEST(a_sender_is_recognised_as_one_of_the_actors_processes)
{
	struct containment c;
	struct spawn_result child;
	const struct cgroup_root *where = _i == 0 ? NULL : &root;

	if (_i == 1 && root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, where, "/user/a", "test.has.1"), 0);
	start(&c, "session", &child);
	ck_assert(containment_has(&c, &root, child.pid, getuid()));
	ck_assert(!containment_has(&c, &root, getpid(), getuid()));
	ck_assert(!containment_has(&c, &root, 1, getuid()));
	ck_assert(!containment_has(&c, &root, 0, getuid()));
	kill_all(&c);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	close_result(&child);
}
END_TEST

START_TEST(a_second_life_finds_its_cgroup_empty_and_in_place)
{
	char leaf[CGROUP_LEAF_MAX];
	struct containment c;
	struct spawn_result child;

	if (root.fd < 0)
		return;
	/* A former process that was killed does no harm either. */
	cgroup_leaf_name("/user/a", leaf);
	ck_assert_int_eq(cgroup_leaf_make(&root, leaf), 1);
	ck_assert_int_eq(cgroup_leaf_make(&root, leaf), 0);
	ck_assert_int_eq(cgroup_leaf_kill(&root, leaf), 0);
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", "test.life.1"), 0);
	for (int i = 0; i < 3; i++) {
		start(&c, "child", &child);
		wait_for_main(&c);
		ck_assert(!containment_is_empty(&c, &root, NULL));
		kill_all(&c);
		close_result(&child);
	}
	ck_assert_int_eq(containment_close(&c, &root), 0);
}
END_TEST

START_TEST(with_descriptors_in_plenty_one_tells_the_end_of_each_life)
{
	struct containment c;
	struct spawn_result child;
	int fd;

	if (root.fd < 0)
		return;
	root.keeps_leaves = true;
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", "test.life.1"), 0);
	start(&c, "plain", &child);
	ck_assert(!containment_is_empty(&c, &root, NULL));
	fd = c.events_fd;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(containment_watch(&c, &root, 4711), 0);
	containment_unwatch(&c, &root);
	ck_assert_int_eq(c.events_fd, fd);
	/* Not that of a leaf which is replaced. */
	kill_all(&c);
	close_result(&child);
	ck_assert_int_eq(containment_prepare(&c, &root, &fd), 0);
	ck_assert_int_eq(c.events_fd, -1);
	containment_begun(&c, false);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	root.keeps_leaves = false;
}
END_TEST

START_TEST(a_stranger_in_the_cgroup_does_not_keep_the_next_life_from_its_start)
{
	struct containment c, other;
	struct spawn_result child, stranger;
	char file[CGROUP_LEAF_MAX + 16], pid[16];
	int fd, r;

	if (root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", "test.life.1"), 0);
	ck_assert_int_eq(containment_open(&other, &root, "/user/b", "test.life.2"), 0);
	start(&c, "plain", &child);
	kill_all(&c);
	close_result(&child);
	start(&other, "plain", &stranger);
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", leaf_of(&c).text);
	(void)snprintf(pid, sizeof(pid), "%d", stranger.pid);
	ck_assert_int_eq(cgroup_write(root.fd, file, pid), 0);
	ck_assert_int_eq(containment_prepare(&c, &root, &fd), -EBUSY);
	while ((r = containment_prepare(&c, &root, &fd)) == -EBUSY)
		turn(&other);
	ck_assert_int_eq(r, 0);
	containment_begun(&c, false);
	kill_all(&other);
	close_result(&stranger);
	ck_assert_int_eq(containment_close(&c, &root), 0);
	ck_assert_int_eq(containment_close(&other, &root), 0);
}
END_TEST

START_TEST(what_another_supd_had_is_taken_over_with_all_that_lives_in_it)
{
	struct cgroup_root successor;
	struct containment c;
	struct spawn_result child;
	struct err err;

	if (root.fd < 0)
		return;
	ck_assert_int_eq(containment_open(&c, &root, "/user/a", "test.life.1"), 0);
	start(&c, "child", &child);
	ck_assert_int_eq(cgroup_root_adopt(&successor,
	                                   fcntl(root.fd, F_DUPFD_CLOEXEC, FD_WINDOW),
	                                   &err),
	                 0);
	ck_assert_str_eq(successor.path, root.path);
	ck_assert_str_eq(successor.name, root.name);
	ck_assert(successor.is_created == root.is_created);
	containment_adopt(&c, &successor, "/user/a", "test.life.1");
	c.session = child.pid;
	ck_assert(containment_has(&c, &successor, child.pid, getuid()));
	ck_assert(!containment_is_empty(&c, &successor, NULL));
	/* The guardian before may have killed the process as its last act. */
	ck_assert_int_eq(containment_kill(&c, &root, NULL), 0);
	wait_for_main(&c);
	close_result(&child);
	while (!containment_is_empty(&c, &successor, NULL))
		usleep(500);
	containment_adopt(&c, &successor, "/user/a", "test.life.2");
	start(&c, "child", &child);
	wait_for_main(&c);
	ck_assert(!containment_is_empty(&c, &successor, NULL));
	kill_all(&c);
	close_result(&child);
	ck_assert_int_eq(containment_close(&c, &successor), 0);
	fd_close(&successor.fd);
	fd_close(&successor.watch_fd);
}
END_TEST

START_TEST(two_supds_beside_each_other_have_different_directories)
{
	struct cgroup_root second;
	struct err err;

	if (root.fd < 0 || !root.is_created)
		return;
	ck_assert_int_eq(cgroup_root_open(&second, &err), 0);
	ck_assert_str_ne(second.path, root.path);
	/* The one that looked for leftovers let the living alone. */
	ck_assert_int_eq(access(root.path, F_OK), 0);
	cgroup_root_close(&second);
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

	if (root.fd < 0 || !root.is_created)
		return;
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

	if (root.fd < 0 || !root.is_created)
		return;
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

	if (root.fd < 0)
		return;
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
	Suite *suite = suite_create("containment");
	TCase *tcase = tcase_create("containment");
	const int n_modes = (int)(sizeof(modes) / sizeof(modes[0]));

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, in_a_session_nothing_survives_a_kill, 0, n_modes);
	tcase_add_loop_test(tcase, in_a_cgroup_nothing_survives_a_kill, 0, n_modes);
	tcase_add_test(tcase,
	               what_is_never_long_the_same_process_is_never_taken_for_gone);
	tcase_add_test(tcase, what_the_main_process_left_is_seen_after_its_own_end);
	tcase_add_test(tcase, a_main_process_that_has_named_another_is_of_the_rest);
	tcase_add_test(tcase, an_orphan_of_the_session_is_known_without_its_mark);
	tcase_add_test(tcase, a_watched_cgroup_tells_when_its_last_process_is_gone);
	tcase_add_loop_test(
	    tcase, a_signal_reaches_every_process_of_the_actor_and_no_other, 0, 2);
	tcase_add_test(tcase, a_mark_that_another_user_has_written_is_not_believed);
	tcase_add_loop_test(tcase, a_sender_is_recognised_as_one_of_the_actors_processes,
	                    0, 2);
	tcase_add_test(tcase, a_second_life_finds_its_cgroup_empty_and_in_place);
	tcase_add_test(
	    tcase, a_stranger_in_the_cgroup_does_not_keep_the_next_life_from_its_start);
	tcase_add_test(tcase, with_descriptors_in_plenty_one_tells_the_end_of_each_life);
	tcase_add_test(tcase,
	               what_another_supd_had_is_taken_over_with_all_that_lives_in_it);
	tcase_add_test(tcase, two_supds_beside_each_other_have_different_directories);
	tcase_add_test(
	    tcase,
	    from_inside_the_leaf_of_supd_the_directory_that_was_delegated_is_found);
	tcase_add_test(tcase, what_a_dead_supd_left_empty_is_removed_by_the_next);
	tcase_add_test(tcase, a_path_too_long_for_a_file_gets_a_name_of_its_own);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
