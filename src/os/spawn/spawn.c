/* SPDX-License-Identifier: ISC */
/* spawn.c - start a program as a child with a clean world: the parent's side.
 *
 * A child can be stopped by other processes of its user, and the files that it needs may
 * lie on a file system that does not answer.  So a start has an end in any case: a child
 * that was stopped is continued, one that takes too long is killed, and one that even
 * then does not end (state D) is left alone.  SIGKILL is pending for that one: it never
 * executes an instruction of a program again, neither ours nor its own.
 */
#include "config.h"

#include "os/spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/names.h"
#include "os/process/proc.h"
#include "os/process/reap.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/oom.h"
#include "os/spawn/spawn_child.h"

/* How often a child that is waited for is continued (SIGCONT). */
enum { STALL_US = 20000 };

/* The time that a killed child may take to die, and that a child may take after a failed
 * start to close its descriptors and to end. */
enum { KILL_MS = 200, END_MS = 1000 };

const char *const spawn_step_names[] = {SPAWN_STEP_MAP(AS_NAME)};

static uint64_t
find_ignored(void)
{
	uint64_t ignored = 0;

	for (int signo = 1; signo <= SPAWN_SIGNAL_MAX; signo++)
		if (spawn_signal_is_ignored(signo))
			ignored |= UINT64_C(1) << (signo - 1);
	return ignored;
}

/* ---- the spawner ------------------------------------------------------------------- */

/*
 * Find out what the kernel offers and get ready.  To be called when the process has
 * arranged its signals and before it opens descriptors that it keeps: from now on those
 * are born at or above FD_WINDOW.  A signal that is ignored only later stays ignored in
 * children: each that is reset there is a system call more of every start.
 *
 * Returns 0 or -errno with a sentence; after a failure only os_spawn_done() may follow,
 * and need not.
 */
int
os_spawn_init(struct spawner *spawner, struct err *err)
{
	const char *what = "memory for new processes";
	struct spawn_place *place;
	int r;

	*spawner = (struct spawner){
	    .null_fd = -1, .oom_fd = -1, .patience_ms = SPAWN_PATIENCE_MS};
	place = spawn_place_take(spawner);
	if (place == NULL)
		goto fail;
	spawn_place_give(spawner, place);
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
	spawner->has_kcmp = spawn_memory_is_told();
	if (spawner->has_clone3)
		spawn_window_fill(spawner);
	return 0;
fail:
	r = -errno;
	err_set(err, -r, "%s", what);
	os_spawn_done(spawner);
	return r;
}

/* Give everything back but the places of children that hang; the window is free again.
 * No start may be under way. */
void
os_spawn_done(struct spawner *spawner)
{
	spawn_places_free(spawner);
	(void)spawn_window_empty(spawner, 0);
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

/* The oom_score_adj that the child is to have. */
static int
wanted_oom(const struct spawner *spawner, const struct spawn *spawn)
{
	if (spawn->attributes != NULL && spawn->attributes->has_oom_score_adj)
		return spawn->attributes->oom_score_adj;
	return spawn->keeps_oom ? spawner->own_oom : spawner->child_oom;
}

/* Nothing has come of the start at this place yet. */
static void
clear(const struct spawner *spawner, struct spawn_place *place, uint64_t begun_ms)
{
	place->child.shared->err.text[0] = '\0';
	atomic_store(&place->child.lives, 1);
	place->in_memory = place->is_foreign = place->is_late = place->is_adopted = false;
	place->end_fd = place->pidfd = place->pid = -1;
	place->begun_ms = begun_ms;
	place->patience_ms = spawner->patience_ms;
}

/* Make ready a place for this child. */
static void
furnish(const struct spawner *spawner, const struct spawn *spawn,
        struct spawn_place *place)
{
	struct spawn_child *child = &place->child;

	clear(spawner, place, clock_mono_ms());
	child->spawn = spawn;
	child->trace = spawn->trace != NULL ? spawn->trace : &child->shared->trace;
	*child->trace = (struct spawn_trace){.step = SPAWN_STEP_NONE, .which = -1};
	child->uid = spawn->has_ids ? spawn->uid : spawner->uid;
	child->parent_uid = spawner->uid;
	child->null_fd = spawner->null_fd;
	child->root_fd = child->exec_fd = -1;
	child->is_joining = child->writes_oom = false;
	child->oom_score_adj = wanted_oom(spawner, spawn);
}

static int
clone_child(struct spawner *spawner, struct spawn_place *place)
{
	struct spawn_child *child = &place->child;

	if (!spawn_memory_lend(spawner, place)) {
		child->writes_oom =
		    child->oom_score_adj !=
		    (spawner->n_sharing > 0 ? spawner->shared_oom : spawner->own_oom);
		return spawn_clone_copied(spawner, place);
	}
	int r = spawn_clone_shared(spawner, place);
	if (r < 0) {
		atomic_store(&child->lives, 0);
		spawn_memory_return(spawner, place);
	}
	return r;
}

/*
 * Begin to start a program: *spawn and all that it names is the child's until
 * os_spawn_end() returns.  Returns 0 with pid and pidfd of the child, and its place; or
 * -errno with the step that failed: there is no child then.  "fork" is the kernel's
 * refusal to make a process (EAGAIN, ENOMEM, EMFILE): worth another try later.
 *
 * Call with SIGCHLD not ignored, or failures and ends cannot be waited for.
 */
int
os_spawn_begin(struct spawner *spawner, const struct spawn *spawn,
               struct spawn_place **ret_place, struct spawn_result *ret)
{
	struct spawn_place *place = spawn_place_take(spawner);

	ASSERT(spawn->n_fds >= 3);
	ASSERT(spawn->n_fds <= SPAWN_FDS_MAX);
	*ret = (struct spawn_result){.pid = -1, .pidfd = -1, .which = -1, .said = ""};
	if (place == NULL) {
		ret->step = SPAWN_STEP_CLONE;
		return -errno;
	}
	furnish(spawner, spawn, place);
	int r = clone_child(spawner, place);
	if (r < 0) {
		spawn_place_give(spawner, place);
		ret->step = refused_step(spawn, -r);
		return r;
	}
	ret->pid = place->pid;
	ret->pidfd = place->pidfd;
	*ret_place = place;
	return 0;
}

/*
 * Go on with a start that another process began and has left: its child, of which only
 * the trace is known, has the rest of its time.  The other functions do for it what they
 * do for a child of ours, but the child is not ours to reap.  0 with its place, or
 * -errno.
 */
int
os_spawn_adopt(struct spawner *spawner, pid_t pid, uint64_t begun_ms,
               struct spawn_trace *trace, struct spawn_place **ret_place)
{
	struct spawn_place *place = spawn_place_take(spawner);

	if (place == NULL)
		return -errno;
	clear(spawner, place, begun_ms);
	place->child.trace = trace;
	place->is_adopted = true;
	place->pid = pid;
	place->pidfd = fd_raise((int)syscall(SYS_pidfd_open, pid, 0));
	*ret_place = place;
	return 0;
}

/* True if an adopted child has come to its program, or has ended.  A child that cannot be
 * held counts so, too. */
static bool
has_left(const struct spawn_place *place)
{
	return place->pidfd < 0 ||
	       poll(&(struct pollfd){.fd = place->pidfd, .events = POLLIN}, 1, 0) > 0 ||
	       (place->child.trace->step == SPAWN_STEP_NONE &&
	        proc_has_execed(place->pid));
}

/* True if the child has come to its program, or has ended. */
bool
os_spawn_is_over(struct spawn_place *place)
{
	if (place->is_adopted && has_left(place))
		atomic_store(&place->child.lives, 0);
	if (place->end_fd >= 0 &&
	    poll(&(struct pollfd){.fd = place->end_fd, .events = POLLIN}, 1, 0) > 0) {
		fd_close(&place->end_fd);
		atomic_store(&place->child.lives, 0);
	}
	return atomic_load(&place->child.lives) == 0;
}

/* Wait until the start is over, but no longer than so many microseconds; true if it is.
 */
bool
os_spawn_await(struct spawn_place *place, unsigned int us)
{
	if (place->end_fd >= 0)
		(void)poll(&(struct pollfd){.fd = place->end_fd, .events = POLLIN}, 1,
		           (int)(us + 999) / 1000);
	else if (atomic_load(&place->child.lives) != 0)
		(void)os_quiet_syscall(
		    SYS_futex, (long)&place->child.lives, FUTEX_WAIT, 1,
		    (long)&(const struct timespec){.tv_sec = us / 1000000,
		                                   .tv_nsec = us % 1000000 * 1000},
		    0);
	return os_spawn_is_over(place);
}

/*
 * To be called every 20 ms as long as the start is not over: the child is continued, in
 * case it was stopped, and killed when its time is over.  True when even that does not
 * end it: it is given up, and os_spawn_end() is to follow.
 */
bool
os_spawn_urge(struct spawn_place *place)
{
	const uint64_t waited_ms = clock_mono_ms() - place->begun_ms;
	const bool is_late = waited_ms >= place->patience_ms;

	if (waited_ms >= place->patience_ms + KILL_MS)
		return true;
	place->is_late |= is_late;
	(void)syscall(SYS_pidfd_send_signal, place->pidfd, is_late ? SIGKILL : SIGCONT,
	              NULL, 0);
	return false;
}

/* What a child that was too late was doing. */
static enum spawn_step
late_step(const struct spawn_trace *trace)
{
	const int step = trace->code;

	return step > SPAWN_STEP_NONE && step < SPAWN_STEP_MAX ? (enum spawn_step)step
	                                                       : SPAWN_STEP_EXEC;
}

/* Fill in what became of the start; 0 or -errno. */
static int
tell_outcome(const struct spawn_place *place, struct spawn_result *ret)
{
	struct spawn_trace *trace = place->child.trace;

	/* A successor of ours finds there what we say. */
	if (place->is_late && trace->step == SPAWN_STEP_NONE) {
		const enum spawn_step step = late_step(trace);

		trace->code = ETIMEDOUT;
		trace->step = (int)step;
	}
	*ret = (struct spawn_result){
	    .pid = place->pid,
	    .pidfd = place->pidfd,
	    .step = (enum spawn_step)trace->step,
	    .which = trace->which,
	    .said = "",
	};
	if (ret->step == SPAWN_STEP_NONE)
		return 0;
	/* After a timeout there is no sentence. */
	if (!place->is_late)
		ret->said = place->child.shared->err.text;
	return -trace->code;
}

/*
 * The start is over, or given up: give back what it took.  As os_spawn() returns, with
 * its results.
 */
int
os_spawn_end(struct spawner *spawner, struct spawn_place *take_place,
             struct spawn_result *ret)
{
	struct spawn_place *place = take_place;
	const bool is_over = os_spawn_is_over(place);
	const int r = tell_outcome(place, ret);
	struct reap reap;

	if (place->in_memory) {
		spawn_window_unstage(spawner, place);
		spawn_memory_return(spawner, place);
	}
	fd_close(&place->end_fd);
	if (r < 0 &&
	    (place->is_adopted ? is_over
	                       : os_reap_wait(ret->pidfd, ret->pid, is_over ? END_MS : 0,
	                                      &reap) != 0)) {
		fd_close(&ret->pidfd);
		ret->pid = -1;
	}
	if (place->in_memory && !is_over)
		spawn_place_leave(spawner, place);
	else
		spawn_place_give(spawner, place);
	return r;
}

/*
 * Start a program.  Returns when it has been exec'd, or when that has failed, and after
 * SPAWN_PATIENCE_MS and a little more in any case.
 *
 * Returns 0 with pid and pidfd of the child; the caller reaps it.  Or -errno with the
 * step that failed; then there is no child, or, if ret->pid says so, one that does not
 * end yet: it will never execute a program, has been killed, and is the caller's to reap;
 * as long as it lives it is in its cgroup.  -ETIMEDOUT: the step took too long.  "exec"
 * of a name that was looked up is EACCES where only forbidden files were found, ENOENT
 * where none, as in execvp(3); but a script without an interpreter line is ENOEXEC, no
 * shell is tried.
 */
int
os_spawn(struct spawner *spawner, const struct spawn *spawn, struct spawn_result *ret)
{
	const unsigned int n_hung = spawner->n_hung;
	const int saved = errno;
	struct spawn_place *place;
	int r = os_spawn_begin(spawner, spawn, &place, ret);

	if (r == 0) {
		place->patience_ms >>=
		    n_hung < SPAWN_HALVINGS_MAX ? n_hung : SPAWN_HALVINGS_MAX;
		while (!os_spawn_await(place, STALL_US) && !os_spawn_urge(place))
			continue;
		r = os_spawn_end(spawner, place, ret);
	}
	errno = saved;
	return r;
}
