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

#include "base/names.h"
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

/* True if the signal is ignored in this process, and so would be in its children. */
bool
spawn_signal_is_ignored(int signo)
{
	struct raw_sigaction now = {.handler = SIG_DFL};

	return syscall(SYS_rt_sigaction, signo, NULL, &now, sizeof(now.mask)) == 0 &&
	       now.handler == SIG_IGN;
}

/* Note the step that begins: if it takes too long, this is the step that has failed. */
void
spawn_child_begin(const struct spawn_child *child, enum spawn_step step)
{
	child->trace->code = (int)step;
}

/* Tell the parent which step failed, with a -errno and with what, or -1; and end. */
_Noreturn void
spawn_child_fail(const struct spawn_child *child, enum spawn_step step, int which,
                 long error)
{
	child->trace->code = (int)-error;
	child->trace->which = which;
	child->trace->step = (int)step;
	for (;;)
		(void)spawn_call(SYS_exit_group, 127, 0, 0);
}

/* The step has failed if the system call for it has. */
static void
expect(const struct spawn_child *child, enum spawn_step step, long r)
{
	if (r < 0)
		spawn_child_fail(child, step, -1, r);
}

static void
reset_signals(uint64_t signals)
{
	const struct raw_sigaction standard = {.handler = SIG_DFL};

	/* KILL and STOP refuse, and need it not. */
	for (int signo = 1; signo <= SPAWN_SIGNAL_MAX; signo++)
		if (signals & (UINT64_C(1) << (signo - 1)))
			(void)os_quiet_syscall(SYS_rt_sigaction, signo, (long)&standard,
			                       0, sizeof(standard.mask), 0);
}

/* Enter the cgroup, while its directory is still open. */
static long
join_cgroup(int directory)
{
	const long fd =
	    spawn_call(SYS_openat, directory, (long)"cgroup.procs", O_WRONLY | O_CLOEXEC);
	/* "0" is whoever writes it. */
	const long r = fd < 0 ? fd : spawn_call(SYS_write, fd, (long)"0", 1);

	return r < 0 ? r : spawn_call(SYS_close, fd, 0, 0);
}

/* In a table of our own: move what we need above the numbers that we will have. */
static long
stage_own(struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;
	const int n = (int)spawn->n_fds;

	if (child->exec_fd >= 0) {
		child->exec_fd =
		    (int)spawn_call(SYS_fcntl, child->exec_fd, F_DUPFD_CLOEXEC, n);
		if (child->exec_fd < 0)
			return child->exec_fd;
	}
	for (int i = 0; i < n; i++) {
		int fd = spawn->fds[i] >= 0 ? spawn->fds[i] : child->null_fd;

		if (spawn->fds[i] == SPAWN_FD_CLOSED)
			continue;
		child->from[i] =
		    fd == i ? i : (int)spawn_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, n);
		if (child->from[i] < 0)
			return child->from[i];
	}
	return 0;
}

/* Have one of the descriptors that were asked for. */
static long
place_fd(const struct spawn_child *child, int own)
{
	if (child->spawn->fds[own] == SPAWN_FD_CLOSED) {
		(void)spawn_call(SYS_close, own, 0, 0);
		return 0;
	}
	return child->from[own] == own ? spawn_call(SYS_fcntl, own, F_SETFD, 0)
	                               : spawn_call(SYS_dup3, child->from[own], own, 0);
}

/* Have the descriptors that were asked for, in their places, and no others. */
static long
arrange_fds(struct spawn_child *child)
{
	const int n = (int)child->spawn->n_fds;
	int rest = n;

	/* Until this is done, nothing may touch a descriptor: they are the parent's. */
	long r = child->is_shared
	             ? spawn_call(SYS_close_range, child->keep, ~0U, CLOSE_RANGE_UNSHARE)
	             : stage_own(child);
	for (int i = 0; i < n && r >= 0; i++)
		r = place_fd(child, i);
	if (r >= 0 && child->exec_fd >= 0) {
		rest = n + 1;
		if (child->exec_fd != n)
			r = spawn_call(SYS_dup3, child->exec_fd, n, O_CLOEXEC);
	}
	return r < 0 ? r : spawn_call(SYS_close_range, rest, ~0U, 0);
}

static void
apply_limits(const struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;

	for (size_t i = 0; i < spawn->n_limits; i++) {
		const struct spawn_limit *limit = &spawn->limits[i];

		const long r = os_quiet_syscall(SYS_prlimit64, 0, limit->resource,
		                                (long)&limit->value, 0, 0);

		if (r < 0)
			spawn_child_fail(child, SPAWN_STEP_LIMIT, limit->resource, r);
	}
}

/* By system call: the C library would tell all threads of the process that we share. */
static void
apply_ids(const struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;

	expect(child, SPAWN_STEP_GROUPS,
	       spawn_call(RAW_SETGROUPS, (long)spawn->n_groups, (long)spawn->groups, 0));
	expect(child, SPAWN_STEP_GID,
	       spawn_call(RAW_SETRESGID, spawn->gid, spawn->gid, spawn->gid));
	expect(child, SPAWN_STEP_UID,
	       spawn_call(RAW_SETRESUID, spawn->uid, spawn->uid, spawn->uid));
}

static long
execute(const struct spawn *spawn, const char *file)
{
	return spawn_call(SYS_execve, (long)file, (long)spawn->argv, (long)spawn->envp);
}

/* True if the program may still be in another directory. */
static bool
may_be_elsewhere(long error)
{
	return error == -EACCES || error == -ENOENT || error == -ENOTDIR ||
	       error == -ESTALE || error == -ENODEV || error == -ETIMEDOUT;
}

/* execvp(3) without a shell.  Comes back with -errno. */
static long
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
			long r = execute(spawn, full);
			if (!may_be_elsewhere(r))
				return r;
			is_forbidden |= r == -EACCES;
		}
		at += len;
		if (*at == '\0')
			break;
	}
	return is_forbidden ? -EACCES : -ENOENT;
}

/* Where programs are looked for. */
static const char *
find_path(const struct spawn *spawn)
{
	const char *path = spawn->path;

	if (spawn->environment_files != NULL)
		path = environ_find(spawn->envp, "PATH", strlen("PATH"));
	return path != NULL ? path : DEFAULT_PATH;
}

static long
exec_file(const struct spawn *spawn)
{
	if (spawn->file[0] == '\0')
		return -ENOENT;
	return strchr(spawn->file, '/') != NULL ? execute(spawn, spawn->file)
	                                        : exec_along(spawn, find_path(spawn));
}

/* True if the child opens files by itself. */
static bool
has_files(const struct spawn *spawn)
{
	return spawn->environment_files != NULL || spawn->files[0] != NULL ||
	       spawn->files[1] != NULL || spawn->files[2] != NULL;
}

/* Take the limits, the root, the user and the rights of the program. */
static void
become(struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;

	if (has_files(spawn) && spawn->root != NULL) {
		child->root_fd =
		    (int)spawn_call(SYS_openat, AT_FDCWD, (long)"/", O_PATH | O_CLOEXEC);
		expect(child, SPAWN_STEP_FDS, child->root_fd);
	}
	apply_limits(child);
	if (spawn->attributes != NULL)
		spawn_priorities(child);
	spawn_child_begin(child, SPAWN_STEP_ROOT);
	if (spawn->root != NULL)
		expect(child, SPAWN_STEP_ROOT,
		       spawn_call(SYS_chroot, (long)spawn->root, 0, 0));
	if (spawn->attributes != NULL)
		spawn_before_ids(child);
	if (spawn->has_ids)
		apply_ids(child);
	if (spawn->attributes != NULL)
		spawn_after_ids(child);
}

/* The whole life of the child before its program.  Reports a failure and ends. */
int
spawn_child_run(void *arg)
{
	static const uint64_t no_signals;
	struct spawn_child *child = arg;
	const struct spawn *spawn = child->spawn;

	reset_signals(child->to_reset);
	if (child->is_joining)
		expect(child, SPAWN_STEP_CGROUP, join_cgroup(spawn->cgroup_fd));
	expect(child, SPAWN_STEP_FDS, arrange_fds(child));
	if (!spawn->foreground)
		expect(child, SPAWN_STEP_SESSION, spawn_call(SYS_setsid, 0, 0, 0));
	/* Before the limits, which may leave no descriptor for it; before the root, which
	 * may have no /proc. */
	if (child->writes_oom)
		spawn_oom_score_adj(child);
	become(child);
	/* Before the umask: what is made has the mode that it would have of the parent.
	 */
	spawn_open_files(child);
	spawn_read_environment(child);
	if (spawn->umask != SPAWN_UMASK_INHERIT)
		(void)spawn_call(SYS_umask, spawn->umask, 0, 0);
	spawn_child_begin(child, SPAWN_STEP_DIRECTORY);
	if (spawn->directory != NULL)
		expect(child, SPAWN_STEP_DIRECTORY,
		       spawn_call(SYS_chdir, (long)spawn->directory, 0, 0));
	spawn_child_begin(child, SPAWN_STEP_EXEC);
	if (spawn->listen_pid != NULL)
		oom_print(spawn->listen_pid, (int)spawn_call(SYS_getpid, 0, 0, 0));
	if (spawn->watchdog_pid != NULL)
		oom_print(spawn->watchdog_pid, (int)spawn_call(SYS_getpid, 0, 0, 0));
	(void)os_quiet_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0,
	                       sizeof(no_signals), 0);
	spawn_child_fail(child, SPAWN_STEP_EXEC, -1, exec_file(spawn));
}
