/* SPDX-License-Identifier: ISC */
/* leaves.c - the cgroups of actors that wait to be started.
 *
 * A third of the time of a start goes into its cgroup.  Where many wait, a child makes
 * the cgroups of those further behind, on another processor, and tells of each in memory
 * that it shares with us.  What is not there when an actor's turn has come is made then,
 * as ever.
 */
#include "config.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "daemon/processes/procs_private.h"
#include "daemon/state/options.h"
#include "os/cgroup/cgroup.h"
#include "os/self/bounded.h"

/* How many starts have to wait before a child makes their cgroups; and the first ones,
 * which are started before a child would have made theirs. */
enum { CROWD = 64, NEXT = 16 };

/* The name of its cgroup if the actor in this slot is to have one, but has none; false
 * also for one with limits, which wants another place. */
static bool
lacks(const struct procs *procs, uint32_t slot, char ret_leaf[CGROUP_LEAF_MAX])
{
	const struct actor *actor = actors_get(procs->actors, procs->table->at[slot].ref);

	if (actor == NULL || actor->conf_owner != NULL ||
	    procs->table->at[slot].child.containment.is_cgroup ||
	    !launch_in_cgroup(procs->cgroups, actor) ||
	    actor->conf->process->cgroup.given != 0 || actor->conf->process->asks_for_oom)
		return false;
	cgroup_leaf_name(actor->path, ret_leaf);
	return true;
}

/* What the child does.  Starts that are under way go first. */
static void
make_all(int fd UNUSED, void *data)
{
	const struct procs *procs = data;
	char leaf[CGROUP_LEAF_MAX];

	for (uint32_t i = NEXT; i < procs->births.n_waiting; i++, (void)sched_yield()) {
		const uint32_t owner =
		    procs->births.waiting[(procs->births.first + i) % procs->births.cap];

		/* A leaf that exists already may have been killed: it is not counted. */
		if ((owner & PROCS_TASK) == 0 && lacks(procs, owner, leaf) &&
		    cgroup_leaf_make(procs->cgroups, leaf) == 1)
			atomic_store(&procs->leaves.made[owner], true);
	}
}

/* Many starts wait: have their cgroups made, once for this crowd. */
void
leaves_make(struct procs *procs)
{
	struct leaves *leaves = &procs->leaves;

	if (leaves->made != NULL || procs->births.n_waiting < CROWD ||
	    procs->cgroups->fd < 0)
		return;
	void *memory = mmap(NULL, procs->table->cap, PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	*leaves = (struct leaves){.made = memory, .cap = procs->table->cap};
	leaves->child =
	    bounded_start(procs->room->bounded,
	                  &(struct bounded_task){BOUNDED_LEAVES, make_all, procs});
}

/* True if a cgroup was made for the actor in this slot.  Then it is the caller's. */
bool
leaves_take(struct procs *procs, uint32_t slot)
{
	const struct leaves *leaves = &procs->leaves;

	return leaves->made != NULL && slot < leaves->cap &&
	       atomic_exchange(&leaves->made[slot], false);
}

/* None waits any more, or one of them will never be started: what was not taken is
 * removed. */
void
leaves_end(struct procs *procs)
{
	struct leaves *leaves = &procs->leaves;
	char leaf[CGROUP_LEAF_MAX];
	int none = -1;

	if (leaves->made == NULL)
		return;
	if (bounded_works(procs->room->bounded, leaves->child))
		bounded_end(procs->room->bounded, leaves->child, &none);
	for (uint32_t slot = 0; slot < leaves->cap; slot++)
		if (leaves_take(procs, slot) && lacks(procs, slot, leaf))
			(void)cgroup_leaf_remove(procs->cgroups, leaf);
	(void)munmap(leaves->made, leaves->cap);
	leaves->made = NULL;
}
