/* SPDX-License-Identifier: ISC */
/* mainpid.c - MAINPID=: another process of the actor is its main process from now on.
 *
 * It need not be a child of ours.  Its own parent may live and reap it: then its end is
 * seen, but not how it ended.  When its parent has ended it is ours, or the walker's
 * where its parent was; until then we hold it by a pidfd.
 */
#include "config.h"

#include <unistd.h>

#include "daemon/processes/procs_private.h"
#include "daemon/state/log.h"
#include "os/self/fd.h"

/* This process, which the map knows and `take_fd` holds, is the main process from now on.
 */
static void
take_over(struct procs *procs, struct proc *proc, pid_t pid, int take_fd, uint64_t start)
{
	if (proc->child.pid != 0) {
		map_remove(&procs->table->by_pid, (uint64_t)proc->child.pid);
		held_let_go(procs, &proc->child.pidfd);
	}
	proc->child.pid = pid;
	proc->child.pidfd = take_fd;
	proc->child.adopted = true;
	proc->main_start = start;
	containment_told(&proc->child.containment, pid);
	actors_get(procs->actors, proc->ref)->pid = pid;
	proc_record(procs, proc);
}

/*
 * The actor says that this process is its main process.  The process must be the actor's
 * own, which the caller has checked; a process that has ended, or is another actor's main
 * process, is refused.  The former main process is waited for like all other leftovers.
 */
void
procs_take_main(struct procs *procs, struct ref ref, pid_t pid)
{
	struct proc *proc = proc_of(procs->table, ref, proctable_life(procs->table, ref));
	struct actor *actor = actors_get(procs->actors, ref);
	uint64_t start = 0;
	pid_t parent;
	uint32_t owner;

	if (proc == NULL || actor == NULL || proc->child.pid == 0 ||
	    proc->child.pid == pid)
		return;
	int fd = map_get(&procs->table->by_pid, (uint64_t)pid, &owner)
	             ? -1
	             : held_open(procs, pid, ref.slot);
	if (fd < 0 || proc_look(pid, &parent, &start) < 0 || proc_is_ending(pid) ||
	    map_put(&procs->table->by_pid, (uint64_t)pid, ref.slot) < 0) {
		log_paced(&actor->pace, LOG_LEVEL_WARNING,
		          "%s: MAINPID=%d is no process of its own that could be its "
		          "main process, and is ignored",
		          actor->path, (int)pid);
		fd_close(&fd);
		return;
	}
	log_paced(&actor->pace, LOG_LEVEL_INFO,
	          "%s: its main process is pid %d now, pid %d was", actor->path, (int)pid,
	          (int)proc->child.pid);
	if (proc->leader == 0)
		proc->leader = proc->child.pid;
	take_over(procs, proc, pid, fd, start);
}

/*
 * The main process has ended, and we cannot reap it.  The walker tells of the walker's
 * children; the status of others stays unknown. false: the walker's message is still to
 * come.
 */
bool
mainpid_collect(struct procs *procs, struct proc *proc)
{
	const pid_t pid = proc->child.pid;
	uint64_t start;
	pid_t parent = 0;

	/* Look before: what the walker has reaped by then it has told. */
	if (proc_look(pid, &parent, &start) < 0 ||
	    !proc_same_start(start, proc->main_start))
		parent = 0;
	ends_take_exits(procs);
	if (proc->child.pid == 0)
		return true;
	/* It came to us just now: it will be reaped as any child. */
	if (parent == getpid())
		return false;
	if (parent == procs->walker_pid) {
		/* Not to be woken by it again and again. */
		held_let_go(procs, &proc->child.pidfd);
		return false;
	}
	struct reap reap = end_unknown(pid);
	log_line(LOG_LEVEL_NOTICE,
	         "%s: pid %d has ended; how is not known, because another process is its "
	         "parent",
	         actors_path(procs->room->actors, proc->ref), (int)pid);
	ends_add(procs, proc, &reap);
	return true;
}

/*
 * Those that a guardian before us was told of.  Of what the walker does not reap the pid
 * may be anybody's by now.
 */
void
mainpid_adopt(struct procs *procs)
{
	for (uint32_t slot = 0; slot < procs->table->cap; slot++) {
		struct proc *proc = &procs->table->at[slot];
		uint64_t start;
		pid_t parent;

		if (proc->leader == 0 || proc->child.pid == 0)
			continue;
		proc->child.pidfd = held_open(procs, proc->child.pid, slot);
		if (proc->child.pidfd >= 0 &&
		    proc_look(proc->child.pid, &parent, &start) == 0 &&
		    proc_same_start(start, proc->main_start))
			continue;
		held_let_go(procs, &proc->child.pidfd);
		(void)mainpid_collect(procs, proc);
	}
}

/* Make a leftover of the actor its main process; false: the leftover is gone. */
static bool
take_left(struct procs *procs, struct proc *proc, const struct leftover *left)
{
	uint64_t start;
	pid_t parent;
	int fd = held_open(procs, left->pid, proc->ref.slot);

	/* What is true of the pid now stays true of the pidfd. */
	if (fd < 0 || proc_look(left->pid, &parent, &start) < 0 ||
	    !proc_same_start(start, left->start) ||
	    map_put(&procs->table->by_pid, (uint64_t)left->pid, proc->ref.slot) < 0) {
		held_let_go(procs, &fd);
		return false;
	}
	proc->leader = left->pid;
	proc_enter(proc, PROC_RUNS);
	proc->child.killing = true;
	proc->child.containment.session = left->pid;
	take_over(procs, proc, left->pid, fd, start);
	return true;
}

/*
 * The actor's process has ended, or the actor has none: take another process that was
 * left of it (strays.c) for its process from now on; false: there is none.
 */
bool
mainpid_next(struct procs *procs, struct proc *proc)
{
	const struct actor *actor = actors_get(procs->actors, proc->ref);
	struct leftover left;

	while (actor != NULL && leftovers_take(&procs->strays, actor->path, &left))
		if (left.pid != proc->child.pid && take_left(procs, proc, &left))
			return true;
	return false;
}
