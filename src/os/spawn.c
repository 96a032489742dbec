/* SPDX-License-Identifier: ISC */
/* spawn.c - start a program as a child with a clean world: the parent's side. */
#include "config.h"

#include "os/spawn.h"

#include "base/assert.h"
#include "base/names.h"
#include "os/clone3.h"
#include "os/fd.h"
#include "os/spawn-child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024, GUARD_SIZE = 64 * 1024 };

/* A child that is watched is looked after so often, and given up after so many times:
 * half a minute. */
#define STALL_MS   20
#define STALLS_MAX 1500

#define OOM_TEXT_MAX 16

const char *const spawn_step_names[] = {SPAWN_STEP_MAP(AS_NAME)};

/* Signals that programs like to ignore: reset always, whatever was seen at the start. */
static const int often_ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
                                    SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD,
                                    SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

static uint64_t
find_ignored(void)
{
	uint64_t ignored = 0;

	for (int signo = 1; signo <= SPAWN_SIGNAL_MAX; signo++)
		if (spawn_signal_is_ignored(signo))
			ignored |= UINT64_C(1) << (signo - 1);
	for (size_t i = 0; i < ARRAY_SIZE(often_ignored); i++)
		ignored |= UINT64_C(1) << (often_ignored[i] - 1);
	return ignored;
}

/*
 * Occupy the free numbers of the window with /dev/null.  So nothing that is opened from
 * now on can land there by accident, and each is a place to stage a descriptor in.
 */
static void
fill_window(struct spawner *spawner)
{
	struct rlimit limit;

	if (fd_limit(&limit) < 0 || limit.rlim_cur < 2 * FD_WINDOW)
		return;
	for (int fd = 3; fd < FD_WINDOW; fd++) {
		int got = fcntl(spawner->null_fd, F_DUPFD_CLOEXEC, fd);

		if (got < 0)
			return;
		if (got >= FD_WINDOW) {
			(void)close(got);
			return;
		}
		spawner->is_slot[got] = true;
		fd = got;
	}
}

/*
 * Find out what the kernel offers and get ready.  To be called when the process has
 * arranged its signals and before it opens descriptors that it keeps: from now on those
 * are born at or above FD_WINDOW.  A signal outside the usual ones that is ignored only
 * later stays ignored in children.
 *
 * Returns 0 or -errno with a sentence; after a failure only os_spawn_done() may follow,
 * and need not.
 */
int
os_spawn_init(struct spawner *spawner, struct err *err)
{
	const int prot = PROT_READ | PROT_WRITE;
	const char *what = "memory for new processes";
	char *map;
	int r;

	*spawner = (struct spawner){.null_fd = -1};
	map = mmap(NULL, GUARD_SIZE + STACK_SIZE, prot,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (map == MAP_FAILED)
		goto fail;
	spawner->stack = map;
	if (mprotect(map, GUARD_SIZE, PROT_NONE) < 0)
		goto fail;
	/* Shared, so that it also works where the child has a copy of our memory. */
	map =
	    mmap(NULL, sizeof(*spawner->trace), prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		goto fail;
	spawner->trace = (struct spawn_trace *)(void *)map;
	spawner->null_fd = fd_raise(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (spawner->null_fd < 0) {
		what = "open /dev/null, which every process is given";
		goto fail;
	}
	spawner->ignored = find_ignored();
	spawner->is_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
	spawner->has_clone3 = os_clone3_exists();
	spawner->has_close_range = spawn_close_range_exists();
	if (spawner->has_clone3 && spawner->has_close_range)
		fill_window(spawner);
	return 0;
fail:
	r = -errno;
	err_set(err, -r, "%s", what);
	os_spawn_done(spawner);
	return r;
}

/* Give everything back; the window is free again. */
void
os_spawn_done(struct spawner *spawner)
{
	if (spawner->stack != NULL)
		(void)munmap(spawner->stack, GUARD_SIZE + STACK_SIZE);
	if (spawner->trace != NULL)
		(void)munmap(spawner->trace, sizeof(*spawner->trace));
	for (int fd = 0; fd < FD_WINDOW; fd++)
		if (spawner->is_slot[fd])
			(void)close(fd);
	fd_close(&spawner->null_fd);
	*spawner = (struct spawner){.null_fd = -1};
}

/* Put /dev/null back where a descriptor was staged. */
static void
unstage(const struct spawner *spawner, const struct spawn_child *child)
{
	for (size_t i = 0; i < child->spawn->n_fds; i++)
		if (child->is_borrowed[i])
			(void)dup3(spawner->null_fd, child->from[i], O_CLOEXEC);
}

/*
 * Put what the child needs into the window, right above the numbers it will have, so
 * that it need copy no more of the table than this.  The child renames them once the
 * table is its own.  false: the window is too small; the child copies all of the table.
 */
static bool
stage(const struct spawner *spawner, struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;
	int slot = (int)spawn->n_fds;

	child->keep = slot;
	for (size_t i = 0; i < spawn->n_fds; i++) {
		child->from[i] = spawn->fds[i];
		if (spawn->fds[i] == (int)i || spawn->fds[i] == SPAWN_FD_CLOSED)
			continue;
		if (i > 0 && spawn->fds[i] == spawn->fds[i - 1] &&
		    child->from[i - 1] >= child->keep) {
			child->from[i] = child->from[i - 1];
			continue;
		}
		while (slot < FD_WINDOW && !spawner->is_slot[slot])
			slot++;
		if (slot >= FD_WINDOW)
			return false;
		child->from[i] = slot;
		/* What was not asked for is there already: a slot is /dev/null. */
		if (spawn->fds[i] >= 0) {
			if (dup3(spawn->fds[i], slot, O_CLOEXEC) < 0)
				return false;
			child->is_borrowed[i] = true;
		}
		slot++;
	}
	child->keep = slot;
	return true;
}

static void
tell_late(const struct spawn_child *child, int stalls)
{
	if (stalls < STALLS_MAX || child->trace->step != SPAWN_STEP_NONE)
		return;
	child->trace->code = ETIMEDOUT;
	child->trace->step = SPAWN_STEP_EXEC;
}

/*
 * Between its change of user and its exec a child can be stopped by every process of that
 * user, and its program may lie where somebody else has a say in how long a read takes.
 * After a vfork we would wait for that as long as they please.  So we wait in a way that
 * has an end: who was stopped goes on, who takes too long is killed.  Nothing here may
 * touch errno, which is the child's at that time.
 */
static void
watch(struct spawn_child *child, int pidfd)
{
	static const struct timespec stall = {.tv_nsec = STALL_MS * 1000 * 1000};
	int stalls = 0;

	while (atomic_load(&child->lives) != 0)
		if (os_quiet_syscall(SYS_futex, (long)&child->lives, FUTEX_WAIT, 1,
		                     (long)&stall) == -ETIMEDOUT)
			(void)os_quiet_syscall(SYS_pidfd_send_signal, pidfd,
			                       ++stalls < STALLS_MAX ? SIGCONT : SIGKILL,
			                       0, 0);
	tell_late(child, stalls);
}

/* The same by the end of a pipe, which the exec closes; signals are blocked. */
static void
watch_pipe(struct spawn_child *child, int fd, pid_t pid)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	int stalls = 0;

	while (poll(&end, 1, child->is_watched ? STALL_MS : -1) <= 0)
		(void)kill(pid, ++stalls < STALLS_MAX ? SIGCONT : SIGKILL);
	tell_late(child, stalls);
}

static int
start_clone3(struct spawner *spawner, struct spawn_child *child, struct spawn_result *ret)
{
	const struct spawn *spawn = child->spawn;
	struct clone_args args = {
	    .flags = CLONE_VM | CLONE_PIDFD | CLONE_CLEAR_SIGHAND | CLONE_PARENT_SETTID |
	             (child->is_watched ? CLONE_CHILD_CLEARTID : CLONE_VFORK),
	    .child_tid = (uintptr_t)&child->lives,
	    .parent_tid = (uintptr_t)&child->trace->pid,
	    .pidfd = (uintptr_t)&ret->pidfd,
	    .exit_signal = SIGCHLD,
	    .stack = (uintptr_t)spawner->stack + GUARD_SIZE,
	    .stack_size = STACK_SIZE,
	};
	pid_t pid;

	if (spawn->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)spawn->cgroup_fd;
	}
	child->to_reset = spawner->ignored;
	child->is_shared = stage(spawner, child);
	if (child->is_shared)
		args.flags |= CLONE_FILES;
	else
		unstage(spawner, child);
	pid = os_clone3(&args, spawn_child_run, child);
	if (pid > 0 && child->is_watched)
		watch(child, ret->pidfd);
	if (child->is_shared)
		unstage(spawner, child);
	if (pid < 0)
		return pid;
	ret->pid = pid;
	ret->pidfd = fd_raise(ret->pidfd);
	return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAVE_ONLY_FORK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HAVE_ONLY_FORK 1
#endif
#endif

/* As start_clone3() where that is refused; under a sanitizer or valgrind a fork. */
static int
start_old(struct spawner *spawner, struct spawn_child *child, struct spawn_result *ret)
{
	int ends[2];

	/* Its closing tells of the exec where the kernel's vfork does not. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child->is_joining = child->spawn->cgroup_fd >= 0;
	child->exec_fd = ends[1];
	child->to_reset = UINT64_MAX;
#ifdef HAVE_ONLY_FORK
	/* The pid is there before the child runs, whenever we die: fork() cannot do that.
	 */
	ret->pid = (pid_t)syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, NULL,
	                          &child->trace->pid, NULL, NULL);
	if (ret->pid == 0)
		(void)spawn_child_run(child);
#else
	ret->pid =
	    clone(spawn_child_run, (char *)spawner->stack + GUARD_SIZE + STACK_SIZE,
	          CLONE_VM | CLONE_PARENT_SETTID | SIGCHLD |
	              (child->is_watched ? 0 : CLONE_VFORK),
	          child, &child->trace->pid);
#endif
	int code = ret->pid < 0 ? errno : 0;

	(void)spawner;
	(void)close(ends[1]);
	if (code == 0)
		watch_pipe(child, ends[0], ret->pid);
	(void)close(ends[0]);
	if (code != 0)
		return -code;
#ifdef SYS_pidfd_open
	ret->pidfd = fd_raise((int)syscall(SYS_pidfd_open, ret->pid, 0));
#endif
	return 0;
}

/* Which of its two parts failed when the clone as a whole was refused? */
static enum spawn_step
refused_step(const struct spawn *spawn, int code)
{
	if (spawn->cgroup_fd < 0)
		return SPAWN_STEP_CLONE;
	switch (code) {
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
		return SPAWN_STEP_CLONE;
	default:
		return SPAWN_STEP_CGROUP;
	}
}

static int
start(struct spawner *spawner, struct spawn_child *child, struct spawn_result *ret)
{
	sigset_t all, old;
	int saved = errno;
	int r;

	/* No handler of ours may run in the child, which shares our memory: clone3 has
	 * taken them all away before its first instruction. */
	if (spawner->has_clone3) {
		r = start_clone3(spawner, child, ret);
	} else {
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, &old);
		r = start_old(spawner, child, ret);
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
	}
	/* With other ids in the memory that we share the kernel made of us a process that
	 * must not dump core, or look at itself in /proc. */
	if (child->spawn->has_ids && spawner->is_dumpable)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	/* The child, too, wrote to our errno. */
	errno = saved;
	return r;
}

/* Who is watched is born with our own: have for that moment what it is to have. */
static int
lend_oom_score_adj(const struct spawn *spawn, int *ret_fd, char own[OOM_TEXT_MAX])
{
	const struct attributes *wanted = spawn->attributes;
	char text[OOM_TEXT_MAX];
	ssize_t n;
	int r = 0;

	if (wanted == NULL || !wanted->has_oom_score_adj)
		return 0;
	*ret_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (*ret_fd < 0)
		return -errno;
	n = read(*ret_fd, own, OOM_TEXT_MAX - 1);
	own[n > 0 ? n : 0] = '\0';
	spawn_write_number(text, wanted->oom_score_adj);
	if (n <= 0 || pwrite(*ret_fd, text, strlen(text), 0) < 0) {
		r = n == 0 ? -EIO : -errno;
		fd_close(ret_fd);
	}
	return r;
}

static void
take_back_oom_score_adj(int *fd, const char *own)
{
	if (*fd >= 0)
		(void)!pwrite(*fd, own, strlen(own), 0);
	fd_close(fd);
}

/*
 * Start a program.  Returns when it has been exec'd, or when that has failed.
 *
 * Returns 0 with pid and pidfd of the child; the caller reaps it.  Or -errno with the
 * step that failed; then there is no child.  "fork" is the kernel's refusal to make a
 * process (EAGAIN, ENOMEM, EMFILE): worth another try later.  "exec" of a name that was
 * looked up is EACCES where only forbidden files were found, ENOENT where none, as in
 * execvp(3); but a script without an interpreter line is ENOEXEC, no shell is tried.
 *
 * Call with SIGCHLD not ignored, or failures and ends cannot be waited for.
 */
int
os_spawn(struct spawner *spawner, const struct spawn *spawn, struct spawn_result *ret)
{
	struct spawn_child child = {
	    .spawn = spawn,
	    .trace = spawn->trace != NULL ? spawn->trace : spawner->trace,
	    .null_fd = spawner->null_fd,
	    .has_close_range = spawner->has_close_range,
	    .exec_fd = -1,
	    .is_watched = spawn->has_ids,
	    .lives = 1,
	};
	char own_oom[OOM_TEXT_MAX];
	int oom_fd = -1;
	int r;

	ASSERT(spawn->n_fds >= 3);
	ASSERT(spawn->n_fds <= SPAWN_FDS_MAX);
	*ret = (struct spawn_result){.pid = -1, .pidfd = -1, .which = -1};
	child.trace->step = SPAWN_STEP_NONE;
	child.trace->which = -1;
	r = child.is_watched ? lend_oom_score_adj(spawn, &oom_fd, own_oom) : 0;
	if (r < 0) {
		ret->step = SPAWN_STEP_OOM;
		return r;
	}
	r = start(spawner, &child, ret);
	take_back_oom_score_adj(&oom_fd, own_oom);
	if (r < 0) {
		ret->step = refused_step(spawn, -r);
		return r;
	}
	ret->step = (enum spawn_step)child.trace->step;
	if (ret->step == SPAWN_STEP_NONE)
		return 0;
	while (waitpid(ret->pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	fd_close(&ret->pidfd);
	ret->pid = -1;
	ret->which = child.trace->which;
	return -child.trace->code;
}
