/* SPDX-License-Identifier: ISC */
/* spawn_child.c - what the child does between clone and exec. */
#include "config.h"

#include "os/spawn/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/self/oom.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2U
#endif

/* Where the plain name means the call with ids of 16 bits. */
#ifdef SYS_setresuid32
#define RAW_SETRESUID SYS_setresuid32
#define RAW_SETRESGID SYS_setresgid32
#define RAW_SETGROUPS SYS_setgroups32
#else
#define RAW_SETRESUID SYS_setresuid
#define RAW_SETRESGID SYS_setresgid
#define RAW_SETGROUPS SYS_setgroups
#endif

/* As in a system that says nothing about PATH. */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The kernel's own struct sigaction; the C library hides two signals behind its. */
struct raw_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Is the signal ignored in this process, and so would be in its children? */
bool
spawn_signal_is_ignored(int signo)
{
	struct raw_sigaction now = {.handler = SIG_DFL};

	return syscall(SYS_rt_sigaction, signo, NULL, &now, sizeof(now.mask)) == 0 &&
	       now.handler == SIG_IGN;
}

/* Note the step that begins, which may take long: if it takes too long, this step has
 * failed.
 */
void
spawn_child_begin(const struct spawn_child *child, enum spawn_step step)
{
	child->trace->code = (int)step;
}

/* Tell the parent which step failed, with errno and with what, or -1; and end. */
_Noreturn void
spawn_child_fail(const struct spawn_child *child, enum spawn_step step, int which)
{
	child->trace->code = errno;
	child->trace->which = which;
	child->trace->step = (int)step;
	_exit(127);
}

static _Noreturn void
fail(const struct spawn_child *child, enum spawn_step step)
{
	spawn_child_fail(child, step, -1);
}

static void
reset_signals(uint64_t signals)
{
	const struct raw_sigaction standard = {.handler = SIG_DFL};

	/* KILL and STOP refuse, and need it not. */
	for (int signo = 1; signo <= SPAWN_SIGNAL_MAX; signo++)
		if (signals & (UINT64_C(1) << (signo - 1)))
			(void)syscall(SYS_rt_sigaction, signo, &standard, NULL,
			              sizeof(standard.mask));
}

/* Enter the cgroup, while its directory is still open. */
static int
join_cgroup(int directory)
{
	int fd = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	/* "0" is whoever writes it. */
	return fd < 0 || write(fd, "0", 1) < 0 ? -1 : close(fd);
}

/* In a table of our own: move what we need above the numbers that we will have. */
static int
stage_own(struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;
	const int n = (int)spawn->n_fds;

	if (child->exec_fd >= 0) {
		child->exec_fd = fcntl(child->exec_fd, F_DUPFD_CLOEXEC, n);
		if (child->exec_fd < 0)
			return -1;
	}
	for (int i = 0; i < n; i++) {
		int fd = spawn->fds[i] >= 0 ? spawn->fds[i] : child->null_fd;

		if (spawn->fds[i] == SPAWN_FD_CLOSED)
			continue;
		child->from[i] = fd == i ? i : fcntl(fd, F_DUPFD_CLOEXEC, n);
		if (child->from[i] < 0)
			return -1;
	}
	return 0;
}

/* Have the descriptors that were asked for, in their places, and no others. */
static int
arrange_fds(struct spawn_child *child)
{
	const int n = (int)child->spawn->n_fds;
	int rest = n;

	/* Until this is done, nothing may touch a descriptor: they are the parent's. */
	if (child->is_shared) {
		if (close_range((unsigned int)child->keep, ~0U, CLOSE_RANGE_UNSHARE) < 0)
			return -1;
	} else if (stage_own(child) < 0) {
		return -1;
	}
	for (int i = 0; i < n; i++) {
		if (child->spawn->fds[i] == SPAWN_FD_CLOSED) {
			(void)close(i);
			continue;
		}
		if (child->from[i] == i && fcntl(i, F_SETFD, 0) < 0)
			return -1;
		if (child->from[i] != i && dup2(child->from[i], i) < 0)
			return -1;
	}
	if (child->exec_fd >= 0) {
		rest = n + 1;
		if (child->exec_fd != n && dup3(child->exec_fd, n, O_CLOEXEC) < 0)
			return -1;
	}
	return close_range((unsigned int)rest, ~0U, 0);
}

static void
apply_limits(const struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;

	for (size_t i = 0; i < spawn->n_limits; i++) {
		const struct spawn_limit *limit = &spawn->limits[i];

		if (setrlimit(limit->resource, &limit->value) < 0)
			spawn_child_fail(child, SPAWN_STEP_LIMIT, limit->resource);
	}
}

/* By system call: the C library would tell all threads of the process that we share. */
static void
apply_ids(const struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;

	if (syscall(RAW_SETGROUPS, spawn->n_groups, spawn->groups) < 0)
		fail(child, SPAWN_STEP_GROUPS);
	if (syscall(RAW_SETRESGID, spawn->gid, spawn->gid, spawn->gid) < 0)
		fail(child, SPAWN_STEP_GID);
	if (syscall(RAW_SETRESUID, spawn->uid, spawn->uid, spawn->uid) < 0)
		fail(child, SPAWN_STEP_UID);
}

/* execvp(3) without a shell.  Comes back with errno. */
static void
exec_along(const struct spawn *spawn, const char *path)
{
	const size_t file_len = strlen(spawn->file);
	bool is_forbidden = false;
	char full[PATH_MAX];

	for (const char *at = path;; at++) {
		size_t len = strcspn(at, ":");

		if (len + 1 + file_len < sizeof(full)) {
			memcpy(full, at, len);
			full[len] = '/';
			/* An empty entry is the current directory. */
			memcpy(full + len + (len > 0), spawn->file, file_len + 1);
			(void)execve(full, spawn->argv, spawn->envp);
			if (errno == EACCES)
				is_forbidden = true;
			else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE &&
			         errno != ENODEV && errno != ETIMEDOUT)
				return;
		}
		at += len;
		if (*at == '\0')
			break;
	}
	errno = is_forbidden ? EACCES : ENOENT;
}

/* Where programs are looked for. */
static const char *
find_path(const struct spawn *spawn)
{
	static const char key[] = "PATH=";

	if (spawn->environment_files == NULL)
		return spawn->path != NULL ? spawn->path : DEFAULT_PATH;
	for (char *const *var = spawn->envp; *var != NULL; var++)
		if (strncmp(*var, key, strlen(key)) == 0)
			return *var + strlen(key);
	return DEFAULT_PATH;
}

static void
exec_file(const struct spawn *spawn)
{
	if (spawn->file[0] == '\0')
		errno = ENOENT;
	else if (strchr(spawn->file, '/') != NULL)
		(void)execve(spawn->file, spawn->argv, spawn->envp);
	else
		exec_along(spawn, find_path(spawn));
}

/* True if the child opens files by itself. */
static bool
has_files(const struct spawn *spawn)
{
	return spawn->environment_files != NULL || spawn->files[0] != NULL ||
	       spawn->files[1] != NULL || spawn->files[2] != NULL;
}

/* The whole life of the child before its program.  Reports a failure and ends. */
int
spawn_child_run(void *arg)
{
	struct spawn_child *child = arg;
	const struct spawn *spawn = child->spawn;
	sigset_t none;

	reset_signals(child->to_reset);
	if (child->is_joining && join_cgroup(spawn->cgroup_fd) < 0)
		fail(child, SPAWN_STEP_CGROUP);
	if (arrange_fds(child) < 0)
		fail(child, SPAWN_STEP_FDS);
	if (!spawn->foreground && setsid() < 0)
		fail(child, SPAWN_STEP_SESSION);
	/* Before the limits, which may leave no descriptor for it; before the root, which
	 * may have no /proc. */
	if (child->writes_oom)
		spawn_oom_score_adj(child);
	if (has_files(spawn) && spawn->root != NULL) {
		child->root_fd = open("/", O_PATH | O_CLOEXEC);
		if (child->root_fd < 0)
			fail(child, SPAWN_STEP_FDS);
	}
	apply_limits(child);
	if (spawn->attributes != NULL)
		spawn_priorities(child);
	spawn_child_begin(child, SPAWN_STEP_ROOT);
	if (spawn->root != NULL && chroot(spawn->root) < 0)
		fail(child, SPAWN_STEP_ROOT);
	if (spawn->attributes != NULL)
		spawn_before_ids(child);
	if (spawn->has_ids)
		apply_ids(child);
	if (spawn->attributes != NULL)
		spawn_after_ids(child);
	/* Before the umask: what is made has the mode that it would have of the parent.
	 */
	spawn_open_files(child);
	spawn_read_environment(child);
	if (spawn->umask != SPAWN_UMASK_INHERIT)
		(void)umask(spawn->umask);
	spawn_child_begin(child, SPAWN_STEP_DIRECTORY);
	if (spawn->directory != NULL && chdir(spawn->directory) < 0)
		fail(child, SPAWN_STEP_DIRECTORY);
	spawn_child_begin(child, SPAWN_STEP_EXEC);
	if (spawn->listen_pid != NULL)
		oom_print(spawn->listen_pid, (pid_t)syscall(SYS_getpid));
	if (spawn->watchdog_pid != NULL)
		oom_print(spawn->watchdog_pid, (pid_t)syscall(SYS_getpid));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	exec_file(spawn);
	fail(child, SPAWN_STEP_EXEC);
}
