/* SPDX-License-Identifier: ISC */
/* spawn_memory.c - what the kernel keeps for all processes that share a memory.
 *
 * One oom_score_adj: the kernel gives the value of one to all.  So we have the value of
 * the children while there are any, they are born with it, and a child that is to have
 * another value does not share our memory.
 *
 * Whether others of its user may look into it (PR_SET_DUMPABLE): a change of ids in it
 * forbids that, and rightly: a child that runs as an ordinary user has our memory.  We
 * allow it again when no child of another user has it any more.
 */
#include "config.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/self/oom.h"
#include "os/spawn/spawn_child.h"

/* An exec goes from its futex to its own memory in microseconds, once it is scheduled. */
enum { YIELDS_MAX = 100000 };

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

/* Does another process have our memory?  -1: the kernel does not say. */
static int
has_our_memory(pid_t pid)
{
	const long r = spawn_call(SYS_kcmp, getpid(), pid, KCMP_VM);

	return r == -ESRCH ? 0 : r < 0 ? -1 : r == 0;
}

/* True if the kernel tells which process has our memory. */
bool
spawn_memory_is_told(void)
{
	return has_our_memory(getpid()) == 1;
}

/*
 * The child's futex is cleared by its exec a moment before it leaves our memory; until
 * then what we change changes for it, too.
 */
static void
await_exec(const struct spawn_place *place)
{
	for (int i = 0; i < YIELDS_MAX && has_our_memory(place->pid) == 1; i++)
		(void)sched_yield();
}

/* Have the oom_score_adj of this child, for all that share our memory; false: another
 * child has another value. */
static bool
have_oom(struct spawner *spawner, int wanted)
{
	if (spawner->n_sharing > 0)
		return wanted == spawner->shared_oom;
	if (wanted != spawner->own_oom &&
	    (!spawner->has_kcmp || oom_write(spawner->oom_fd, wanted) < 0))
		return false;
	spawner->shared_oom = wanted;
	return true;
}

/* Let the child of this place share our memory; false: it has to have a copy. */
bool
spawn_memory_lend(struct spawner *spawner, struct spawn_place *place)
{
	const struct spawn_child *child = &place->child;

	if (!spawner->has_clone3 || child->spawn->is_apart ||
	    spawner->n_hung >= SPAWN_HUNG_MAX || !have_oom(spawner, child->oom_score_adj))
		return false;
	place->in_memory = true;
	place->is_foreign = child->spawn->has_ids;
	spawner->n_sharing++;
	spawner->n_foreign += place->is_foreign;
	return true;
}

/* The child of this place is gone from our memory. */
void
spawn_memory_left(struct spawner *spawner, const struct spawn_place *place)
{
	if (!place->is_foreign)
		return;
	if (--spawner->n_foreign == 0 && spawner->is_dumpable)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* The start is over, or given up: then it is still there, but has been killed. */
void
spawn_memory_return(struct spawner *spawner, struct spawn_place *place)
{
	const bool is_over = atomic_load(&place->child.lives) == 0;

	if (is_over && place->pid > 0 && spawner->has_kcmp &&
	    (spawner->shared_oom != spawner->own_oom || place->is_foreign))
		await_exec(place);
	if (is_over)
		spawn_memory_left(spawner, place);
	if (--spawner->n_sharing == 0 && spawner->shared_oom != spawner->own_oom)
		(void)oom_write(spawner->oom_fd, spawner->own_oom);
}
