/* SPDX-License-Identifier: ISC */
/* bounded.c - do in a child what may never return. */
#include "config.h"

#include "os/self/bounded.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/pass.h"

/* The end of a child that was killed, or has said all, is waited for so long. */
#define END_MS 100
/* How long an owner with a late child rests, in milliseconds. */
#define REST_MS 10000
/* The stack of a child that shares our descriptors: it makes system calls, nothing else.
 */
enum { STACK_BYTES = 32 * 1024 };

/* The work of a child, in its copy of our memory. */
struct job {
	const struct bounded_task *task;
	pid_t parent;
	int fd;
};

/* This child, if it is one of these, was reaped with others of this process: the number
 * may be another's from now on. */
void
bounded_reaped(struct bounded *bounded, pid_t pid)
{
	for (int id = 0; id < BOUNDED_MAX; id++)
		if (bounded->pids[id] == pid)
			bounded->pids[id] = 0;
}

/* True if this child is still at work.  The child is not reaped here; the reaper of all
 * our children does that. */
bool
bounded_works(struct bounded *bounded, int id)
{
	siginfo_t end = {0};

	if (id < 0 || id >= BOUNDED_MAX || bounded->pids[id] == 0)
		return false;
	if (waitid(P_PID, (id_t)bounded->pids[id], &end, WEXITED | WNOHANG | WNOWAIT) ==
	        0 &&
	    end.si_pid == 0)
		return true;
	bounded->pids[id] = 0;
	return false;
}

/* Kill and reap a child; false: the child still exists. */
static bool
end_one(struct bounded *bounded, int id)
{
	if (bounded->pids[id] == 0)
		return true;
	(void)kill(bounded->pids[id], SIGKILL);
	if (waitpid(bounded->pids[id], NULL, WNOHANG) == 0)
		return false;
	bounded->pids[id] = 0;
	return true;
}

/*
 * Before the end of this process: nothing of ours is to be left behind.  What does not
 * even die of SIGKILL is waited for no longer than 2 * END_MS.
 */
void
bounded_done(struct bounded *bounded)
{
	const uint64_t until_ms = clock_mono_ms() + 2 * END_MS;
	bool is_left = true;

	/* What has ended may have been reaped, and its number be another's. */
	for (int id = 0; id < BOUNDED_MAX; id++)
		(void)bounded_works(bounded, id);
	while (is_left && clock_mono_ms() < until_ms) {
		is_left = false;
		for (int id = 0; id < BOUNDED_MAX; id++)
			is_left = !end_one(bounded, id) || is_left;
		if (is_left)
			(void)poll(NULL, 0, 1);
	}
}

static bool
rests(const struct bounded *bounded, int id, uint64_t now_ms)
{
	return bounded->is_late[id] && now_ms < bounded->rest_until_ms[id];
}

/* A place for another child of this owner, if possible a place where no owner rests;
 * -EAGAIN.
 */
static int
find_place(struct bounded *bounded, uint64_t owner)
{
	const uint64_t now_ms = clock_mono_ms();
	int place = -EAGAIN, n_own = 0;

	for (int id = BOUNDED_MAX - 1; id >= 0; id--) {
		if (bounded_works(bounded, id))
			n_own += bounded->owners[id] == owner;
		else if (place < 0 || !rests(bounded, id, now_ms))
			place = id;
	}
	return n_own < BOUNDED_OWN_MAX ? place : -EAGAIN;
}

/* True if a child could be started for this owner now, as far as that is known. */
bool
bounded_has_room(struct bounded *bounded, uint64_t owner)
{
	return find_place(bounded, owner) >= 0;
}

/* True if a child was late that is still there, or was a moment ago. */
static bool
is_late(struct bounded *bounded, int id, uint64_t now_ms)
{
	return bounded->is_late[id] &&
	       (rests(bounded, id, now_ms) || bounded_works(bounded, id));
}

/* True if a child of this owner was late, and is still there, or was a moment ago.  Then
 * what it was about need not be tried. */
bool
bounded_hangs(struct bounded *bounded, uint64_t owner)
{
	const uint64_t now_ms = clock_mono_ms();

	for (int id = 0; id < BOUNDED_MAX; id++)
		if (bounded->owners[id] == owner && is_late(bounded, id, now_ms))
			return true;
	return false;
}

/* How many are there of which bounded_hangs() would say so, of all owners? */
unsigned int
bounded_count_late(struct bounded *bounded)
{
	const uint64_t now_ms = clock_mono_ms();
	unsigned int n = 0;

	for (int id = 0; id < BOUNDED_MAX; id++)
		n += is_late(bounded, id, now_ms);
	return n;
}

static int
work(void *arg)
{
	const struct job *job = arg;

	/* One that hangs is not to keep the descriptors of a parent that has died. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == job->parent)
		job->task->run(job->fd, job->task->data);
	_exit(0);
}

/* The child has no other descriptor than its channel, which is 0. */
static void
work_alone(struct job *job)
{
	if (dup2(job->fd, STDIN_FILENO) != STDIN_FILENO ||
	    close_range(STDIN_FILENO + 1, UINT32_MAX, 0) < 0)
		_exit(1);
	job->fd = STDIN_FILENO;
	(void)work(job);
}

/* Start a child; the number of its place, or -errno. */
static int
begin_child(struct bounded *bounded, struct job *job)
{
	_Alignas(64) char stack[STACK_BYTES];
	const int place = find_place(bounded, job->task->owner);
	sigset_t all, before;

	if (place < 0)
		return place;
	job->parent = getpid();
	/* A handler of ours is not for the child. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	/* Our memory it has as a copy, so a stack of ours will do. */
	pid_t pid = job->fd >= 0
	                ? fork()
	                : clone(work, stack + sizeof(stack), CLONE_FILES | SIGCHLD, job);
	if (pid == 0)
		work_alone(job);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -errno;
	bounded->pids[place] = pid;
	bounded->owners[place] = job->task->owner;
	bounded->is_late[place] = false;
	return place;
}

/*
 * Start a child that shares our descriptors, so that it can close some of them, and that
 * is not waited for.  It makes system calls only.  Returns a number for bounded_works();
 * -EAGAIN while too many children are at work, or another -errno.
 */
int
bounded_start(struct bounded *bounded, const struct bounded_task *task)
{
	return begin_child(bounded, &(struct job){.task = task, .fd = -1});
}

/*
 * Start a child that has no descriptor but its end of a channel, which keeps messages
 * apart (pass.h).  Ours is in *ret_fd; the caller ends both with bounded_end().  Returns
 * as bounded_start().
 */
int
bounded_open(struct bounded *bounded, const struct bounded_task *task, int *ret_fd)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	int id = begin_child(bounded, &(struct job){.task = task, .fd = ends[1]});
	fd_close(&ends[1]);
	if (id < 0)
		fd_close(&ends[0]);
	*ret_fd = fd_raise(ends[0]);
	return id;
}

/* End a child with its channel, at any moment, before another child is reaped.  A child
 * that hangs in the kernel keeps its place. */
void
bounded_end(struct bounded *bounded, int id, int *fd)
{
	const uint64_t until_ms = clock_mono_ms() + END_MS;
	struct pollfd end = {.fd = -1, .events = POLLIN};

	fd_close(fd);
	if (end_one(bounded, id))
		return;
	/* Dying takes a tenth of a millisecond: the kernel tells when it is over. */
	end.fd = (int)syscall(SYS_pidfd_open, bounded->pids[id], 0);
	while (!end_one(bounded, id) && clock_mono_ms() < until_ms)
		(void)poll(&end, 1, end.fd < 0 ? 1 : END_MS);
	fd_close(&end.fd);
}

static void
note_late(struct bounded *bounded, uint64_t owner, int id, uint64_t rest_until_ms)
{
	bounded->owners[id] = owner;
	bounded->is_late[id] = true;
	bounded->rest_until_ms[id] = rest_until_ms;
}

/* The same for a child that was too late for this owner. */
void
bounded_end_late(struct bounded *bounded, uint64_t owner, int id, int *fd)
{
	note_late(bounded, owner, id, clock_mono_ms() + REST_MS);
	bounded_end(bounded, id, fd);
}

/* The same without a wait, for a child that others are not to wait for: it is late as
 * long as it is there. */
void
bounded_leave(struct bounded *bounded, uint64_t owner, int id, int *fd)
{
	note_late(bounded, owner, id, 0);
	fd_close(fd);
	/* Most die within a moment, and it is known then that they did not hang. */
	if (!end_one(bounded, id)) {
		(void)poll(NULL, 0, 1);
		(void)end_one(bounded, id);
	}
}

/* Wait until there is something to be read, or the end of the channel; -ETIMEDOUT. */
static int
wait_until(int fd, uint64_t until_ms)
{
	uint64_t now_ms;

	while ((now_ms = clock_mono_ms()) < until_ms)
		if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1,
		         (int)(until_ms - now_ms)) > 0)
			return 0;
	return -ETIMEDOUT;
}

/*
 * Take the answer of `size` bytes of a child of bounded_open(), which was sent a
 * question, and the descriptor in it (-1: there is none).  0; -ETIMEDOUT: it has not
 * answered by then (clock_mono_ms()); -EPIPE: it has ended; -EMFILE: there is no number
 * for the descriptor; or another -errno.
 */
int
bounded_answer(int fd, uint64_t until_ms, void *ret_answer, size_t size, int *ret_fd)
{
	int received = -1;
	ssize_t n = wait_until(fd, until_ms);

	if (n == 0)
		n = pass_receive(fd, MSG_DONTWAIT, ret_answer, size,
		                 &(struct pass_fds){&received, 1});
	*ret_fd = received >= 0 ? fd_raise(received) : -1;
	if (n < 0)
		return n == -EMSGSIZE ? -EMFILE : (int)n;
	return n == (ssize_t)size ? 0 : -EPIPE;
}

/* Take all that a child writes until it closes the channel, or `size` bytes.  How many;
 * -ETIMEDOUT: it has not done that by then (clock_mono_ms()); or another -errno. */
ssize_t
bounded_take(int fd, uint64_t until_ms, char *buf, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size) {
		n = wait_until(fd, until_ms);
		if (n < 0)
			return n;
		n = read(fd, buf + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		used += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)used;
}

/*
 * Run a function in a child with a channel, and take what it writes there, in pieces of
 * at most 64 KiB.  It is killed when it is done, late, or has written `size` bytes.
 *
 * Returns the number of bytes in `buf`; -ETIMEDOUT when the function did not return in
 * time, also where others of this owner have not and are still there; else -errno.
 */
ssize_t
bounded_run(struct bounded *bounded, const struct bounded_task *task, int timeout_ms,
            char *buf, size_t size)
{
	const uint64_t until_ms = clock_mono_ms() + (uint64_t)timeout_ms;
	int fd = -1;

	if (bounded_hangs(bounded, task->owner) &&
	    !bounded_has_room(bounded, task->owner))
		return -ETIMEDOUT;
	int id = bounded_open(bounded, task, &fd);
	if (id < 0)
		return id;
	ssize_t n = bounded_take(fd, until_ms, buf, size);
	if (n == -ETIMEDOUT)
		bounded_end_late(bounded, task->owner, id, &fd);
	else
		bounded_end(bounded, id, &fd);
	return n;
}
