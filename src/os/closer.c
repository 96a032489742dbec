/* SPDX-License-Identifier: ISC */
/* closer.c - close in a process that may hang what another program has sent us. */
#include "config.h"

#include "os/closer.h"

#include "base/assert.h"
#include "os/sdnotify.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The child makes system calls, nothing else. */
enum { STACK_BYTES = 32 * 1024 };

struct closer_progress {
	atomic_bool is_done[CLOSERS_MAX];
};

/* What one child is to do, in its copy of our memory. */
struct job {
	pid_t parent;
	atomic_bool *is_done;
	const int *fds; /* to be closed … */
	size_t n;
	int socket_fd;     /* … or -1, or a socket whose next datagram goes … */
	uint64_t stamp_ns; /* … if it was sent then */
};

/* Get ready; 0 or -errno, and then closer_has_room() never is. */
int
closer_open(struct closer *closer)
{
	void *map = mmap(NULL, sizeof(struct closer_progress), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*closer = (struct closer){0};
	if (map == MAP_FAILED)
		return -errno;
	closer->progress = map;
	return 0;
}

/* Children that are at work go on. */
void
closer_done(struct closer *closer)
{
	if (closer->progress != NULL)
		(void)munmap(closer->progress, sizeof(*closer->progress));
	*closer = (struct closer){0};
}

/* Is this child, as closer_drop() named it, still at work? */
bool
closer_works(struct closer *closer, int id)
{
	if (id < 0 || id >= CLOSERS_MAX || closer->pids[id] == 0)
		return false;
	/* It may have been killed before it could say so. */
	if (!atomic_load(&closer->progress->is_done[id]) &&
	    (kill(closer->pids[id], 0) == 0 || errno != ESRCH))
		return true;
	closer->pids[id] = 0;
	return false;
}

/* A place for one more child of this owner; -EAGAIN. */
static int
find_place(struct closer *closer, uint64_t owner)
{
	int place = -EAGAIN, n_own = 0;

	if (closer->progress == NULL)
		return -EAGAIN;
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

	/* Whoever hangs is not to keep the descriptors of a parent that has died; nor is
	 * what the next one reads ours to throw away. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job->parent)
		_exit(0);
	for (size_t i = 0; i < job->n; i++)
		(void)close(job->fds[i]);
	if (job->socket_fd >= 0)
		notify_skip_sent(job->socket_fd, job->stamp_ns);
	atomic_store(job->is_done, true);
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
	atomic_store(&closer->progress->is_done[place], false);
	job->parent = getpid();
	job->is_done = &closer->progress->is_done[place];
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
