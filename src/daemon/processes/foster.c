/* SPDX-License-Identifier: ISC */
/* foster.c - children of a guardian that was left behind.
 *
 * A guardian that SIGKILL does not end keeps its children: the walker is told nothing of
 * them, and cannot reap them.  The next guardian holds each of them by a pidfd, sees its
 * end, and learns its exit status from /proc.  When the parent ends at last the processes
 * are the walker's, like all adopted processes; of a zombie the walker then tells a
 * second time, which has no effect.
 */
#include "config.h"

#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/keeper.h"
#include "daemon/state/options.h"
#include "ledger/handover.h"

/* While we take over: true if the parent of this process is a guardian left behind. */
bool
foster_is(const struct procs *procs, pid_t pid)
{
	const struct link_hello *hello = &keeper_handover(procs->room->keeper)->hello;
	uint64_t start;
	pid_t parent = 0;

	for (size_t i = 0; i < LINK_LEFT_MAX; i++) {
		if (hello->left[i] == 0)
			continue;
		if (parent == 0 && proc_look(pid, &parent, &start) < 0)
			return false;
		if (hello->left[i] == parent)
			return true;
	}
	return false;
}

/* Wait by ourselves for the ends of those that the walker cannot tell of. */
void
fosters_adopt(struct procs *procs)
{
	const struct link_hello *hello = &keeper_handover(procs->room->keeper)->hello;
	bool any = false;

	for (size_t i = 0; i < LINK_LEFT_MAX; i++)
		any = any || hello->left[i] != 0;
	if (!any)
		return;
	for (uint32_t slot = 0; slot < procs->table->cap; slot++) {
		struct proc *proc = &procs->table->at[slot];

		if (proc->child.pid != 0 && proc->child.pidfd < 0 &&
		    foster_is(procs, proc->child.pid))
			proc->child.pidfd =
			    held_take(procs, proc->child.pid, proc->ref.slot);
	}
	tasks_hold_adopted(procs->room->tasks, true);
}

/*
 * A process has ended, as its pidfd says, and cannot be reaped.  True: *ret is how, which
 * may be that it is not known.  False: the walker is its parent by now, and has told or
 * will tell; the pid is 0 if it has, and the pidfd is closed in any case.
 */
bool
child_end(struct procs *procs, struct spawned *child, struct reap *ret)
{
	const struct processes *room = procs->room;
	pid_t parent = 0;

	if (!child->adopted) {
		*ret = end_unknown(child->pid);
		return true;
	}
	/* Look before: what the walker has reaped by then it has told. */
	int r = proc_zombie(child->pid, &parent, ret);
	ends_take_exits(procs);
	if (child->pid == 0)
		return false;
	if (parent == room->origin->walker_pid && !keeper_walker_died(room->keeper)) {
		held_let_go(procs, &child->pidfd);
		return false;
	}
	if (r < 0)
		*ret = end_unknown(child->pid);
	return true;
}
