/* SPDX-License-Identifier: ISC */
/* deaths.c - deaths of processes are seen, and they are reaped.
 *
 * Deaths are seen through one epoll of pidfds, so that one death costs the same among
 * ten thousand as among ten; a walk over all children is only for strangers, stops and
 * continues, and at most ten times a second.  Those that came from a guardian before us
 * are children of the walker, which tells of them.
 *
 * Peek, put down, reap: whenever we die, the end of a process is known to our successor,
 * or its zombie still is there to be asked.  Where nothing counts zombies they are reaped
 * while their successors are on their way to their programs, when nothing waits for us.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "helper/watchers.h"
#include "ledger/exits.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/signals.h"
#include "os/socket/closer.h"

/* A walk over all children happens at most once in so long. */
#define WALK_SECONDS 0.1
/* How long the end of supd waits for killed tasks. */
#define END_MS 5000

/* SIGCHLD: the walk over all children finds out of which process.  Until then the signal
 * stays pending, and the deaths that follow cost nothing here. */
static void
arm_walk(struct procs *procs, double seconds)
{
	if (!ev_is_active(&procs->walk)) {
		timer_begin(procs->loop, &procs->walk, seconds);
	}
}

/* A child of ours is told of once: its end is still to come (a debugger has it first). */
static void
watch_again(struct procs *procs, struct proc *proc, uint32_t slot)
{
	if (!proc->child.adopted && proc->leader == 0)
		(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_MOD, proc->child.pidfd,
		                &(struct epoll_event){.events = EPOLLIN | EPOLLONESHOT,
		                                      .data.u32 = slot});
}

/*
 * Take in the end of a child of the guardian; always true.  It may be a zombie while its
 * successor is started, but not where that counts for a limit: of descriptors, of its
 * cgroup, of its user.
 */
static bool
take_child(struct procs *procs, struct proc *proc, const struct reap *reap)
{
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	/* The epoll tells no more of it, even if a copy of its pidfd is open. */
	procs->zombies[procs->n_zombies++] = proc->child.pidfd;
	proc->child.pidfd = -1;
	ends_add(procs, proc, reap);
	if (procs->cgroups->kept_max == 0 && actor != NULL)
		output_foresee(procs->room->messages->output, actor);
	if (procs->cgroups->kept_max == 0 || proc->child.containment.is_limited ||
	    actor == NULL || actor->conf->process->identity.has_user)
		procs_reap(procs);
	return true;
}

/* Take in the end of one by its pidfd; false when it has not ended after all. */
static bool
collect_one(struct procs *procs, uint32_t slot)
{
	struct proc *proc = &procs->table->at[slot];
	struct reap reap;

	if (proc->child.pid == 0)
		return false;
	int r = os_reap_peek(proc->child.pidfd, proc->child.pid, &reap);
	if (r == 0) {
		watch_again(procs, proc, slot);
		return false;
	}
	if (r > 0 && !proc->child.adopted && proc->leader == 0)
		return take_child(procs, proc, &reap);
	if (r < 0 && proc->leader != 0)
		return mainpid_collect(procs, proc);
	if (r < 0 && !child_end(procs, &proc->child, &reap))
		return proc->child.pid == 0;
	if (r < 0 && !proc->child.adopted)
		log_line(LOG_LEVEL_ERROR, "pid %d of %s was reaped by another process",
		         (int)proc->child.pid,
		         actors_path(procs->room->actors, proc->ref));
	ends_add(procs, proc, &reap);
	(void)os_reap_pidfd(-1, reap.pid, &reap);
	return true;
}

/* A program that says READY and dies must be seen ready first: what is known to be dead
 * has said all that it had to say. */
static void
hear_first(struct procs *procs)
{
	if (post_is_stepping(procs->room->post))
		return;
	procs->is_unheard = false;
	notify_drain(procs->room->messages->notify);
}

static void
tell_ends(struct procs *procs)
{
	if (procs->is_unheard)
		hear_first(procs);
	gone_tell(procs);
}

/* Collect what is dead by now, as much as is for one turn; returns how many ends are
 * noted, among them those of children that are still to be reaped. */
static size_t
collect(struct procs *procs)
{
	struct epoll_event events[DEATHS_MAX];
	size_t collected = procs->n_zombies;
	int n = 0;

	if (collected == DEATHS_MAX)
		procs_reap(procs);
	else
		n = epoll_wait(procs->epoll_fd, events, DEATHS_MAX - (int)collected, 0);
	if (n > 0)
		hear_first(procs);
	for (int i = 0; i < n; i++)
		if (events[i].data.u32 == PROCS_NONE)
			arm_walk(procs, WALK_SECONDS);
		else if ((events[i].data.u32 & PROCS_TASK) != 0)
			collected += tasks_collect(procs->room->tasks,
			                           events[i].data.u32 & ~PROCS_TASK);
		else
			collected += collect_one(procs, events[i].data.u32);
	if (n > 0)
		tell_ends(procs);
	return collected;
}

/* Look at all children: orphans that came to us, stops, continues, merged signals. */
static void
on_walk(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct procs *procs = timer->data;
	struct reap reap;

	if (post_is_stepping(procs->room->post)) {
		arm_walk(procs, 0.);
		return;
	}
	/* Before we look: what comes after this wakes us again. */
	(void)signals_take(procs->child_fd);
	size_t n = collect(procs);
	/* They are no news. */
	procs_reap(procs);
	for (; n < DEATHS_MAX && os_reap_peek_any(&reap) > 0; n++) {
		births_meet(procs, reap.pid);
		hear_first(procs);
		struct proc *proc = proc_by_pid(procs->table, reap.pid);
		struct task *task = task_by_pid(procs->room->tasks, reap.pid);

		if (reap.kind == REAP_STOPPED || reap.kind == REAP_CONTINUED) {
			if (!ends_stopped_or_continued(procs, &reap)) {
				arm_walk(procs, WALK_SECONDS);
				break;
			}
		} else if (proc != NULL) {
			ends_add(procs, proc, &reap);
		} else if (task != NULL) {
			task_ended(procs->room->tasks, task, &reap);
		} else {
			bounded_reaped(procs->room->closers, reap.pid);
			bounded_reaped(procs->room->bounded, reap.pid);
			proc_ask_reaped(reap.pid);
		}
		os_reap_peeked(&reap);
	}
	if (n >= DEATHS_MAX)
		arm_walk(procs, 0.);
	tell_ends(procs);
}

static void
hold(struct procs *procs, struct proc *proc)
{
	proc->child.pidfd = held_take(procs, proc->child.pid, proc->ref.slot);
	if (proc->child.pidfd < 0) {
		const struct reap reap = end_unknown(proc->child.pid);

		ends_add(procs, proc, &reap);
	}
}

void
procs_walker_died(struct procs *procs)
{
	ends_take_exits(procs);
	/* Orphans of before have gone to strangers: they are killed by their mark when
	 * everything else has ended. */
	(void)os_become_subreaper();
	proc_sweep_follow(procs->sweeper, getpid());
	for (uint32_t slot = 0; slot < procs->table->cap; slot++)
		if (procs->table->at[slot].child.adopted &&
		    procs->table->at[slot].child.pid != 0 &&
		    procs->table->at[slot].child.pidfd < 0)
			hold(procs, &procs->table->at[slot]);
	tasks_hold_adopted(procs->room->tasks, false);
	tell_ends(procs);
}

void
procs_take_exits(struct procs *procs)
{
	struct reap reap;

	/* Not while the core steps: messages are not taken then, and an end is told after
	 * what its process said.  A start may have noted ends in that time (is_unheard):
	 * the core is told of them now. */
	if (post_is_stepping(procs->room->post) ||
	    (!procs->is_unheard && !exits_peek(procs->exits, &reap)))
		return;
	while (exits_peek(procs->exits, &reap)) {
		hear_first(procs);
		if (!ends_take_exit(procs))
			break;
	}
	tell_ends(procs);
}

static void
on_death(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
	struct procs *procs = io->data;

	if (!post_is_stepping(procs->room->post))
		(void)collect(procs);
}

/* Begin to watch; the loop holds its watchers until deaths_unwatch().  0 or -errno. */
int
deaths_watch(struct procs *procs)
{
	struct ev_loop *loop = procs->loop;

	procs->child_fd = signals_listen(SIGCHLD);
	if (procs->child_fd < 0)
		return procs->child_fd;
	if (epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, procs->child_fd,
	              &(struct epoll_event){.events = EPOLLIN | EPOLLET,
	                                    .data.u32 = PROCS_NONE}) < 0)
		return -errno;
	io_prepare(&procs->death, on_death, procs);
	io_begin(loop, &procs->death, procs->epoll_fd, EV_READ);
	timer_prepare(&procs->walk, on_walk, procs);
	gone_watch(procs);
	return 0;
}

/* Watch no longer. */
void
deaths_unwatch(struct procs *procs)
{
	struct ev_loop *loop = procs->loop;

	ev_io_stop(loop, &procs->death);
	fd_close(&procs->child_fd);
	ev_timer_stop(loop, &procs->walk);
	gone_unwatch(procs);
}

void
tasks_end_all(struct tasks *tasks)
{
	const uint64_t end_ms = clock_mono_ms() + END_MS;

	while (tasks->first != TASKS_NONE)
		tasks_forget(tasks, tasks->queued[tasks->first].order.ref);
	for (;;) {
		bool is_left = false;

		for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
			struct task *task = &tasks->at[place];

			if (task_is_used(task) && !task->told) {
				is_left = true;
				task_kill(tasks, task, false);
			}
		}
		if (!is_left || clock_mono_ms() > end_ms)
			return;
		(void)procs_bear(tasks->room->procs);
		(void)collect(tasks->room->procs);
		procs_take_exits(tasks->room->procs);
		tasks_check(tasks);
		(void)poll(NULL, 0, 1);
	}
}
