/* SPDX-License-Identifier: ISC */
/* witness_significant.c - supervisors that end with the work of their children (I32). */
#include "config.h"

#include "tests/sim/sim.h"

/* Does the actor wait for its first start, because its supervisor began in this very
 * turn? */
static bool
is_to_begin(const struct witness *witness, const struct witnessed *supervisor,
            const struct witnessed *child)
{
	return supervisor->started > witness->op_began &&
	       child->ended < supervisor->started && child->spec->enabled &&
	       child->hold == 0;
}

/* Was it left behind, because SIGKILL did not end it?  It is as down as others are. */
static bool
is_left(const struct witnessed *child)
{
	return child->process.unkillable &&
	       (child->exited_by_itself || child->removing || child->down > child->up);
}

/* Is it to start, once a process of an earlier supd is gone? */
static bool
is_held_up(const struct witnessed *child)
{
	return child->process.left && child->process.there && child->up > child->down &&
	       child->spec->enabled && child->hold == 0;
}

/* A child of weight is at work, or not down yet. */
static bool
is_one_active(const struct witness *witness, const struct witnessed *supervisor)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *child = &witness->nodes[i];

		if (child->used && child->parent == supervisor->ref.slot &&
		    child->ref.slot != CORE_USER && child->spec->significant &&
		    ((child->begun != 0 && !is_left(child)) ||
		     is_to_begin(witness, supervisor, child) || is_held_up(child) ||
		     (child->before == STATE_WAITING &&
		      child->ended < witness->op_began)))
			return true;
	}
	return false;
}

/* Is the actor, or a supervisor above it, to go down, or to start anew? */
bool
witness_is_leaving(struct witness *witness, const struct witnessed *at)
{
	for (; at != NULL; at = witness_parent(witness, at)) {
		if (at->stop > at->started || at->up > at->started ||
		    at->down > at->started)
			return true;
		if (at->ref.slot == CORE_USER)
			break;
	}
	return false;
}

/* The actor ends normally: its backoff may count the end. */
static void
count_stop(struct witnessed *supervisor)
{
	if (supervisor->spec->backoff.on_stop)
		supervisor->counted_stop = true;
}

/*
 * The work of the supervisor is done: it stops the others, and that is a normal end.  It
 * is not when it goes down anyway.
 */
static void
retire(struct witness *witness, struct witnessed *supervisor)
{
	bool is_going = witness_is_leaving(witness, supervisor);

	witness->commotions++;
	witness_mark(witness, supervisor, &supervisor->stop);
	count_stop(supervisor);
	supervisor->may_be_retired = witness->seq;
	if (is_going && supervisor->unsure) {
		/* Only an end of before may have had it go: then it ends now. */
		if (supervisor->spec->restart == RESTART_PERMANENT)
			witness_ended_normally(witness, supervisor);
		else
			supervisor->may_be_natural = true;
	}
	if (is_going)
		return;
	supervisor->retired = witness->seq;
	witness_mark(witness, supervisor, &supervisor->down);
	if (supervisor->ref.slot == CORE_USER)
		return;
	witness_ended_normally(witness, supervisor);
}

/* A supervisor ends normally: it is restarted if it is permanent, without a decision. */
void
witness_ended_normally(struct witness *witness, struct witnessed *supervisor)
{
	if (supervisor->spec->restart != RESTART_PERMANENT) {
		supervisor->exited_by_itself = true;
		return;
	}
	witness->seq++;
	witness_may_restart(witness, supervisor);
	witness_count(witness, witness_parent(witness, supervisor), false);
	count_stop(supervisor);
}

/* Was the child left behind when its supervisor began anew? It comes up with the
 * supervisor again. */
static bool
is_revived(struct witness *witness, const struct witnessed *supervisor,
           const struct witnessed *child)
{
	return child->process.unkillable && supervisor->started > child->process.asked &&
	       child->spec->enabled && child->hold == 0 &&
	       !witness_is_kept(witness, child);
}

/* The final end of a child: does it end its supervisor, too? */
void
witness_significant(struct witness *witness, struct witnessed *child)
{
	struct witnessed *supervisor = witness_parent(witness, child);
	bool by_itself = child->exited_by_itself;
	bool may_be_natural = child->may_be_natural;

	child->exited_by_itself = false;
	child->may_be_natural = false;
	if ((!by_itself && !may_be_natural) || !child->spec->significant ||
	    supervisor == NULL || child->ref.slot == CORE_USER ||
	    supervisor->spec->policy.auto_shutdown == AUTO_SHUTDOWN_NEVER ||
	    is_revived(witness, supervisor, child))
		return;
	if (!by_itself) {
		witness_may_restart(witness, supervisor);
		witness_count(witness, witness_parent(witness, supervisor), false);
		count_stop(supervisor);
		supervisor->may_be_retired = witness->seq;
		if (witness_parent(witness, supervisor) != NULL)
			supervisor = witness_parent(witness, supervisor);
		witness_doubt(witness, supervisor);
	} else if (supervisor->spec->policy.auto_shutdown == AUTO_SHUTDOWN_ANY ||
	           (supervisor->spec->policy.auto_shutdown == AUTO_SHUTDOWN_ALL &&
	            !is_one_active(witness, supervisor)))
		retire(witness, supervisor);
}

/* A group was stopped for this failure; a supervisor without children left may end, too.
 */
void
witness_group_stopped(struct witness *witness, struct witnessed *leader)
{
	struct witnessed *supervisor = witness_parent(witness, leader);

	if (supervisor == NULL ||
	    supervisor->spec->policy.strategy == STRATEGY_ONE_FOR_ONE)
		return;
	leader->may_go_on = true;
	if (supervisor->spec->policy.when_empty != WHEN_EMPTY_STOP)
		return;
	witness_doubt(witness, supervisor);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used &&
		    witness_below(witness, &witness->nodes[i], supervisor))
			witness->nodes[i].may_be_stopped = true;
}

/* Is every supervisor from this one up at work, and is to be? */
static bool
is_at_work(struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	for (; node != NULL; node = witness_parent(witness, node)) {
		if (!core_valid(witness->rig->core, node->ref))
			return false;
		core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
		if (view.state != STATE_RUNNING)
			return false;
		if (node->ref.slot == CORE_USER)
			break;
	}
	return true;
}

/* Was its work done, so that it is to start anew? */
bool
witness_retires(const struct witnessed *node)
{
	return node->retired > node->started && node->told_down <= node->retired &&
	       node->spec->restart == RESTART_PERMANENT;
}

/*
 * It is down because its work was done, and waits to start anew: so may its group.  That
 * was counted once its children were gone.
 */
void
witness_retiring(struct witness *witness, struct witnessed *node, enum node_state state)
{
	if (state != STATE_BACKOFF || node->before == STATE_BACKOFF ||
	    !witness_retires(node))
		return;
	witness->seq++;
	witness_may_restart(witness, node);
	if (node->ref.slot != CORE_USER)
		witness_count(witness, witness_parent(witness, node), false);
}

/* The turn is over: an actor completed in it does not go on. */
void
witness_check_retired(struct witness *witness, const struct witnessed *node)
{
	if (node->retired <= witness->turn_began || node->started > node->retired ||
	    !witness->clean || witness_is_kept(witness, node))
		return;
	if (is_at_work(witness, node))
		witness_blame(witness, "I32 slot %u has done its work, and runs",
		              node->ref.slot);
}
