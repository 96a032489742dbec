/* SPDX-License-Identifier: ISC */
/* contained.c - processes that hide, in a containment, for tests. */
#include "config.h"

#include "tests/os/contained.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"

#define NOBODY 65534

extern char **environ;

struct spawner spawner;
struct cgroup_root root;
struct proc_sweep *sweep;
struct map known = {0};
char hider[4200];

struct proc_mark
a_mark(uint32_t life)
{
	static const uint64_t secret[] = {0x0123456789abcdef, 0x0fedcba987654321};

	return (struct proc_mark){secret, 7, life};
}

static void
set_up_without_cgroups(void)
{
	const char *build = getenv("top_builddir");
	char name[4096];

	(void)snprintf(name, sizeof(name), "%s/tests/lib/hider",
	               build != NULL ? build : ".");
	ck_assert_ptr_nonnull(realpath(name, hider));
	ck_assert_int_eq(os_become_subreaper(), 0);
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	/* A busy machine is no fault of a child. */
	spawner.patience_ms = 600000;
	sweep = proc_sweep_new(getpid());
	ck_assert_ptr_nonnull(sweep);
}

void
set_up(void)
{
	struct err err;

	set_up_without_cgroups();
	if (cgroup_root_open(&root, &err) < 0)
		fprintf(stderr, "# without a cgroup: %s\n", err.text);
}

/* As a supd without any right; its programs may lie where root alone gets to. */
void
set_up_unprivileged(void)
{
	set_up_without_cgroups();
	root.fd = -1;
	if (geteuid() == 0) {
		const int fd = open(hider, O_PATH);

		ck_assert_int_ge(fd, 0);
		(void)snprintf(hider, sizeof(hider), "/proc/%d/fd/%d", getpid(), fd);
		ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
		ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
		ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
	}
}

void
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
void
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

	(void)snprintf(mark, sizeof(mark), "SUPD_ID=%s", proc_mark_text(&c->mark).text);
	ck_assert_int_eq(containment_prepare(c, &root, &spawn.cgroup_fd), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	fds[1] = ends[1];
	int r = os_spawn(&spawner, &spawn, ret);
	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[ret->step], strerror(-r));
	(void)close(ends[1]);
	containment_begun(c, &root);
	ck_assert_int_eq(read(ends[0], word, 3), 3);
	ck_assert_str_eq(word, "up\n");
	(void)close(ends[0]);
	containment_born(c, ret->pid);
	ck_assert_int_eq(map_put(&known, (uint64_t)ret->pid, 0), 0);
	free(argv[1]);
	free(envp[0]);
}

/* One turn: reap everything that is dead, and sweep. */
void
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
void
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
void
wait_for_main(struct containment *c)
{
	const uint64_t start_ms = clock_mono_ms();

	while (c->is_main_alive) {
		turn(c);
		ck_assert_uint_lt(clock_mono_ms() - start_ms, PATIENCE_MS);
	}
}

void
close_result(struct spawn_result *child)
{
	fd_close(&child->pidfd);
}
