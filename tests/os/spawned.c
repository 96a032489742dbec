/* SPDX-License-Identifier: ISC */
/* spawned.c - starts of a program that says what it sees, for tests. */
#include "config.h"

#include "tests/os/spawned.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/spawn/spawn.h"

extern char **environ;

char directory[64];
char probe[4200];
struct spawner spawner;

void
begin_spawner(void)
{
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	/* A busy machine is no fault of a child. */
	spawner.patience_ms = 600000;
}

void
set_up(void)
{
	const char *build = getenv("top_builddir");
	char name[4096];

	(void)snprintf(name, sizeof(name), "%s/tests/lib/surroundings",
	               build != NULL ? build : ".");
	ck_assert_ptr_nonnull(realpath(name, probe));
	(void)snprintf(directory, sizeof(directory), "/tmp/test_spawn.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	begin_spawner();
}

void
tear_down(void)
{
	char command[128];

	os_spawn_done(&spawner);
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* The start of most tests, which change single members. */
struct spawn
plain(char *const *argv, const int *fds, size_t n_fds)
{
	return (struct spawn){
	    .file = argv[0],
	    .argv = argv,
	    .envp = environ,
	    .fds = fds,
	    .n_fds = n_fds,
	    .cgroup_fd = -1,
	    .umask = SPAWN_UMASK_INHERIT,
	};
}

static void
read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	(void)close(fd);
}

void
wait_for_end(const struct spawn_result *child, struct reap *ret)
{
	int r;

	while ((r = os_reap_pidfd(child->pidfd, child->pid, ret)) == 0)
		usleep(500);
	ck_assert_int_eq(r, 1);
	if (child->pidfd >= 0)
		(void)close(child->pidfd);
}

/* Start the probe with its stdout in a pipe and read what it says. */
void
run_probe(struct spawn *spawn, int *fds, char *text, size_t size)
{
	struct spawn_result child;
	struct reap end;
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	fds[1] = ends[1];
	int r = os_spawn(&spawner, spawn, &child);
	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[child.step], strerror(-r));
	ck_assert_int_eq(child.step, SPAWN_STEP_NONE);
	(void)close(ends[1]);
	fds[1] = -1;
	read_all(ends[0], text, size);
	wait_for_end(&child, &end);
	ck_assert_int_eq(end.kind, REAP_EXITED);
	ck_assert_int_eq(end.status, 0);
	ck_assert_msg(strstr(text, "\nend\n") != NULL, "%s", text);
}

/* The start fails at this step, and leaves nothing behind. */
void
assert_fails(const struct spawn *spawn, int code, const char *step)
{
	struct spawn_result child = {.pid = 1, .pidfd = 1};
	int before = dup(2);
	int after;

	(void)close(before);
	errno = 4711;
	ck_assert_int_eq(os_spawn(&spawner, spawn, &child), -code);
	ck_assert_int_eq(errno, 4711);
	ck_assert_str_eq(spawn_step_names[child.step], step);
	ck_assert_int_eq(child.pid, -1);
	ck_assert_int_eq(child.pidfd, -1);
	/* No zombie, no descriptor is left. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	after = dup(2);
	ck_assert_int_eq(before, after);
	(void)close(after);
}
