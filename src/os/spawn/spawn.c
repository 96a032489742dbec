/* SPDX-License-Identifier: ISC */
/* spawn.c - start a program as a child with a clean world: the parent's side. */
#include "config.h"

#include "os/spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/names.h"
#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/self/oom.h"
#include "os/spawn/clone3.h"
#include "os/spawn/spawn_child.h"

enum { STACK_SIZE = 64 * 1024, GUARD_SIZE = 64 * 1024 };

/* A child that has failed closes its descriptors, which may take long, and ends. */
enum { END_MS = 1000 };

/* An exec goes from its futex to its own memory in microseconds, once it is scheduled. */
enum { YIELDS_MAX = 100000 };

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

/* ---- places ------------------------------------------------------------------------ */

/* Memory for a child, its stack below it; NULL with errno. */
static struct spawn_place *
place_new(void)
{
	char *map = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	const size_t size = (sizeof(struct spawn_place) + 63) / 64 * 64;

	if (map == MAP_FAILED)
		return NULL;
	if (mprotect(map, GUARD_SIZE, PROT_NONE) < 0) {
		(void)munmap(map, GUARD_SIZE + STACK_SIZE);
		return NULL;
	}
	return (struct spawn_place *)(void *)(map + GUARD_SIZE + STACK_SIZE - size);
}

static char *
place_stack(const struct spawn_place *place)
{
	const uintptr_t end = ((uintptr_t)(place + 1) + 63) / 64 * 64;

	return (char *)(end - STACK_SIZE);
}

static void
place_free(struct spawn_place *place)
{
	if (place != NULL)
		(void)munmap(place_stack(place) - GUARD_SIZE, GUARD_SIZE + STACK_SIZE);
}

/* Take back the places of children that have let go of our memory at last. */
static void
places_free_left(struct spawner *spawner)
{
	struct spawn_place **at = &spawner->hung;

	while (*at != NULL) {
		struct spawn_place *place = *at;

		if (atomic_load(&place->child.lives) != 0) {
			at = &place->next;
			continue;
		}
		*at = place->next;
		spawner->n_hung--;
		place_free(place);
	}
}

/* The place for the next child; NULL: there is none. */
static struct spawn_place *
place_take(struct spawner *spawner)
{
	places_free_left(spawner);
	if (spawner->place == NULL && spawner->n_hung < SPAWN_HUNG_MAX)
		spawner->place = place_new();
	return spawner->place;
}

/* The child has hung in its place: the next one needs another. */
static void
place_leave(struct spawner *spawner)
{
	spawner->place->next = spawner->hung;
	spawner->hung = spawner->place;
	spawner->place = NULL;
	spawner->n_hung++;
}

/* ---- oom_score_adj ----------------------------------------------------------------- */

/*
 * Have this oom_score_adj, or the one that oom_set() gets; children that do not say
 * otherwise have `of_children`, and ours is never more than that.
 */
void
os_spawn_set_oom(struct spawner *spawner, int own, int of_children)
{
	oom_set(spawner->oom_fd, own < of_children ? own : of_children);
	spawner->own_oom = oom_read(spawner->oom_fd);
	spawner->child_oom = of_children;
}

/* What the child is to write; false: it has it already, as it is born with ours. */
static bool
wants_oom(const struct spawner *spawner, const struct spawn *spawn, int *ret)
{
	*ret = spawner->child_oom;
	if (spawn->attributes != NULL && spawn->attributes->has_oom_score_adj)
		*ret = spawn->attributes->oom_score_adj;
	else if (spawn->keeps_oom)
		return false;
	return *ret != spawner->own_oom;
}

/* Does another process have our memory?  -1: the kernel does not say. */
static int
has_our_memory(pid_t pid)
{
	const long r = syscall(SYS_kcmp, getpid(), pid, KCMP_VM, 0, 0);

	return r < 0 && errno != ESRCH ? -1 : r == 0;
}

/*
 * Take back our own value, which a child that shares our memory has changed with its own.
 * The child's futex is cleared by its exec a moment before it leaves our memory; until
 * then the kernel would give the child, too, what we write.
 */
static void
take_back_oom(const struct spawner *spawner, pid_t pid)
{
	for (int i = 0; i < YIELDS_MAX && pid > 0 && has_our_memory(pid) == 1; i++)
		(void)sched_yield();
	(void)oom_write(spawner->oom_fd, spawner->own_oom);
}

/* ---- the spawner ------------------------------------------------------------------- */

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
	void *map;
	int r;

	*spawner = (struct spawner){
	    .null_fd = -1, .oom_fd = -1, .patience_ms = SPAWN_PATIENCE_MS};
	spawner->place = place_new();
	if (spawner->place == NULL)
		goto fail;
	/* Shared, so that it also works where the child has a copy of our memory. */
	map =
	    mmap(NULL, sizeof(*spawner->shared), prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		goto fail;
	spawner->shared = map;
	spawner->null_fd = fd_raise(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (spawner->null_fd < 0) {
		what = "open /dev/null, which every process is given";
		goto fail;
	}
	spawner->oom_fd = fd_raise(open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
	spawner->own_oom = spawner->child_oom = oom_read(spawner->oom_fd);
	spawner->uid = geteuid();
	spawner->ignored = find_ignored();
	spawner->is_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
	spawner->has_clone3 = os_clone3_exists();
	spawner->has_kcmp = has_our_memory(getpid()) == 1;
	if (spawner->has_clone3)
		fill_window(spawner);
	return 0;
fail:
	r = -errno;
	err_set(err, -r, "%s", what);
	os_spawn_done(spawner);
	return r;
}

/*
 * Give up the window: its numbers are needed for something else.  Spawning takes longer
 * then.  Returns how many there were.
 */
size_t
os_spawn_give_window(struct spawner *spawner)
{
	size_t n = 0;

	for (int fd = 0; fd < FD_WINDOW; fd++) {
		if (!spawner->is_slot[fd])
			continue;
		(void)close(fd);
		spawner->is_slot[fd] = false;
		n++;
	}
	return n;
}

/* Give everything back but the places of children that hang; the window is free again. */
void
os_spawn_done(struct spawner *spawner)
{
	places_free_left(spawner);
	place_free(spawner->place);
	if (spawner->shared != NULL)
		(void)munmap(spawner->shared, sizeof(*spawner->shared));
	(void)os_spawn_give_window(spawner);
	fd_close(&spawner->null_fd);
	fd_close(&spawner->oom_fd);
	*spawner = (struct spawner){.null_fd = -1, .oom_fd = -1};
}

/* ---- a start ----------------------------------------------------------------------- */

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
	struct spawn_place *place = NULL;
	sigset_t all, old;
	int saved = errno;
	int r;

	if (spawner->has_clone3 && !child->spawn->is_apart &&
	    (!child->writes_oom || spawner->has_kcmp))
		place = place_take(spawner);
	child->patience_ms =
	    spawner->patience_ms >>
	    (spawner->n_hung < SPAWN_HALVINGS_MAX ? spawner->n_hung : SPAWN_HALVINGS_MAX);
	/* No handler of ours may run in the child: clone3 has taken them all away before
	 * its first instruction. */
	if (place != NULL) {
		place->child = *child;
		r = spawn_start_shared(spawner, &place->child, place_stack(place),
		                       (size_t)((char *)place - place_stack(place)), ret);
		*child = place->child;
		if (child->writes_oom)
			take_back_oom(spawner, child->lives == 0 ? ret->pid : 0);
		if (child->lives != 0)
			place_leave(spawner);
	} else {
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, &old);
		r = spawn_start_copied(spawner, child, ret);
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

/* What a child that was too late was doing. */
static enum spawn_step
late_step(const struct spawn_trace *trace)
{
	const int step = trace->code;

	return step > SPAWN_STEP_NONE && step < SPAWN_STEP_MAX ? (enum spawn_step)step
	                                                       : SPAWN_STEP_EXEC;
}

/*
 * Start a program.  Returns when it has been exec'd, or when that has failed, and after
 * SPAWN_PATIENCE_MS and a little more in any case.
 *
 * Returns 0 with pid and pidfd of the child; the caller reaps it.  Or -errno with the
 * step that failed; then there is no child, or, if ret->pid says so, one that does not
 * end yet: it will never execute a program, has been killed, and is the caller's to reap;
 * as long as it lives it is in its cgroup.  -ETIMEDOUT: the step took too long.  "fork"
 * is the kernel's refusal to make a process (EAGAIN, ENOMEM, EMFILE): worth another try
 * later.  "exec" of a name that was looked up is EACCES where only forbidden files were
 * found, ENOENT where none, as in execvp(3); but a script without an interpreter line is
 * ENOEXEC, no shell is tried.
 *
 * Call with SIGCHLD not ignored, or failures and ends cannot be waited for.
 */
int
os_spawn(struct spawner *spawner, const struct spawn *spawn, struct spawn_result *ret)
{
	struct spawn_child child = {
	    .spawn = spawn,
	    .trace = spawn->trace != NULL ? spawn->trace : &spawner->shared->trace,
	    .shared = spawner->shared,
	    .uid = spawn->has_ids ? spawn->uid : spawner->uid,
	    .parent_uid = spawner->uid,
	    .root_fd = -1,
	    .null_fd = spawner->null_fd,
	    .exec_fd = -1,
	    .lives = 1,
	};
	struct reap reap;
	int r;

	ASSERT(spawn->n_fds >= 3);
	ASSERT(spawn->n_fds <= SPAWN_FDS_MAX);
	*ret = (struct spawn_result){.pid = -1, .pidfd = -1, .which = -1};
	child.trace->step = SPAWN_STEP_NONE;
	child.trace->code = 0;
	child.trace->which = -1;
	spawner->shared->err.text[0] = '\0';
	child.writes_oom = wants_oom(spawner, spawn, &child.oom_score_adj);
	r = start(spawner, &child, ret);
	if (r < 0) {
		ret->step = refused_step(spawn, -r);
		return r;
	}
	/* A successor of ours finds there what we say. */
	if (child.is_late && child.trace->step == SPAWN_STEP_NONE) {
		ret->step = late_step(child.trace);
		child.trace->code = ETIMEDOUT;
		child.trace->step = (int)ret->step;
	}
	ret->step = (enum spawn_step)child.trace->step;
	if (ret->step == SPAWN_STEP_NONE)
		return 0;
	ret->which = child.trace->which;
	if (os_reap_wait(ret->pidfd, ret->pid, child.lives == 0 ? END_MS : 0, &reap) !=
	    0) {
		fd_close(&ret->pidfd);
		ret->pid = -1;
	}
	return -child.trace->code;
}
