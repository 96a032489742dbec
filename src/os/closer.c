/* SPDX-License-Identifier: ISC */
/* closer.c - close in a process that may hang what another program has sent us. */
#include "config.h"

#include "os/closer.h"

#include "base/assert.h"
#include "os/sdnotify.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child makes system calls, nothing else. */
enum { STACK_BYTES = 32 * 1024 };
/* So long children may take to die at the end. */
#define END_MS 200

/* The task of a child, in its copy of our memory. */
struct job {
	pid_t parent;
	const int *fds; /* to be closed … */
	size_t n;
	int socket_fd;     /* … or -1, or a socket: its next datagram is discarded … */
	uint64_t stamp_ns; /* … if it was sent then */
};

/* No child is at work. */
void
closer_init(struct closer *closer)
{
	*closer = (struct closer){0};
}

/* True if this child, by the id of closer_drop(), is still at work.  The child is not
 * reaped here: the owner of all our children does that. */
bool
closer_works(struct closer *closer, int id)
{
	siginfo_t end = {0};

	if (id < 0 || id >= CLOSERS_MAX || closer->pids[id] == 0)
		return false;
	if (waitid(P_PID, (id_t)closer->pids[id], &end, WEXITED | WNOHANG | WNOWAIT) ==
	        0 &&
	    end.si_pid == 0)
		return true;
	closer->pids[id] = 0;
	return false;
}

/* Kill and reap one; false: there is none any more. */
static bool
end_one(struct closer *closer, int id)
{
	if (closer->pids[id] == 0)
		return false;
	(void)kill(closer->pids[id], SIGKILL);
	if (waitpid(closer->pids[id], NULL, WNOHANG) == 0)
		return true;
	closer->pids[id] = 0;
	return false;
}

/*
 * Before the end of this process, which closes the rest: nothing of ours is to be left
 * behind.  What does not even die of SIGKILL is waited for no longer than END_MS.
 */
void
closer_done(struct closer *closer)
{
	const struct timespec a_moment = {.tv_nsec = 1000000};
	bool is_left = true;

	/* What has ended may have been reaped, and its number be another's. */
	for (int id = 0; id < CLOSERS_MAX; id++)
		(void)closer_works(closer, id);
	for (int ms = 0; is_left && ms < END_MS; ms++) {
		is_left = false;
		for (int id = 0; id < CLOSERS_MAX; id++)
			is_left = end_one(closer, id) || is_left;
		if (is_left)
			(void)nanosleep(&a_moment, NULL);
	}
}

/* A place for one more child of this owner; -EAGAIN. */
static int
find_place(struct closer *closer, uint64_t owner)
{
	int place = -EAGAIN, n_own = 0;

	for (int id = CLOSERS_MAX - 1; id >= 0; id--) {
		if (!closer_works(closer, id))
			place = id;
		else if (closer->owners[id] == owner)
			n_own++;
	}
	return n_own < CLOSERS_OWN_MAX ? place : -EAGAIN;
}

/* Could something be closed for this owner now, as far as that is known? */
bool
closer_has_room(struct closer *closer, uint64_t owner)
{
	return find_place(closer, owner) >= 0;
}

static int
work(void *arg)
{
	const struct job *job = arg;

	/* A child that hangs must not keep the descriptors of a dead parent, nor discard
	 * a datagram that is meant for the next guardian. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job->parent)
		_exit(0);
	for (size_t i = 0; i < job->n; i++)
		(void)close(job->fds[i]);
	if (job->socket_fd >= 0)
		notify_skip_sent(job->socket_fd, job->stamp_ns);
	_exit(0);
}

/* Start a child; the number of its place, or -errno. */
static int
start(struct closer *closer, uint64_t owner, struct job *job)
{
	_Alignas(64) char stack[STACK_BYTES];
	const int place = find_place(closer, owner);
	sigset_t all, before;
	pid_t pid;

	if (place < 0)
		return place;
	job->parent = getpid();
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	/* Our memory it has as a copy, so a stack of ours will do. */
	pid = clone(work, stack + sizeof(stack), CLONE_FILES | SIGCHLD, job);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -errno;
	closer->pids[place] = pid;
	closer->owners[place] = owner;
	return place;
}

/*
 * Close up to CLOSER_FDS_MAX descriptors, some time.
 *
 * Returns 0, and their numbers are not ours any more; -EAGAIN while too many children are
 * at work, or another -errno: then they are the caller's still.  The child ends as any
 * other one of ours, and is reaped as such.
 */
int
closer_close(struct closer *closer, uint64_t owner, const int *take_fds, size_t n)
{
	struct job job = {.fds = take_fds, .n = n, .socket_fd = -1};
	int r;

	ASSERT(n <= CLOSER_FDS_MAX);
	r = n == 0 ? 0 : start(closer, owner, &job);
	return r < 0 ? r : 0;
}

/*
 * Throw away the next datagram of a socket of notify_listen(), with the descriptors in
 * it, some time: the one that was sent at stamp_ns, no other.  Returns a number for
 * closer_works(), or -errno as closer_close().
 */
int
closer_drop(struct closer *closer, uint64_t owner, int socket_fd, uint64_t stamp_ns)
{
	struct job job = {.socket_fd = socket_fd, .stamp_ns = stamp_ns};

	return start(closer, owner, &job);
}
