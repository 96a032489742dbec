/* SPDX-License-Identifier: ISC */
/* wait.c - calls that wait for an actor: each gets exactly one reply.
 *
 * A waiter is looked at whenever the state of its node changes; it fires once, and fired
 * waiters are handed out at the end of the turn.
 */
#include "config.h"

#include "core/wait/wait.h"

#include <string.h>

#include "base/assert.h"

#include "core/pure.h"

static struct waiter *
waiter_at(const struct core *core, uint32_t i)
{
	return (struct waiter *)core_block(core, core->at.waiters) + i;
}

/* All waiters of a node; the body may fire the waiter i. */
#define WAITERS_FOREACH(core, node, i)               \
	for (uint32_t i = (node)->waiters, next_##i; \
	     i != NONE && (next_##i = waiter_at(core, i)->next, true); i = next_##i)

/* The place is free. */
static void
give_back(struct core *core, uint32_t i)
{
	*waiter_at(core, i) = (struct waiter){.next = core->waiters.vacant, .slot = NONE};
	core->waiters.vacant = i;
}

/* Take waiter i off the list of its node. */
static void
take_off(struct core *core, struct node *node, uint32_t i)
{
	uint32_t *link = &node->waiters;

	while (*link != i)
		link = &waiter_at(core, *link)->next;
	*link = waiter_at(core, i)->next;
}

/* An empty pool. */
void
wait_init(struct core *core)
{
	core->waiters =
	    (struct core_waiters){.vacant = NONE, .fired_head = NONE, .fired_tail = NONE};
}

/* Carry the waiters of another core over into this one, which has at least as many. */
void
wait_move(struct core *core, const struct core *old)
{
	memcpy(waiter_at(core, 0), waiter_at(old, 0),
	       sizeof(struct waiter) * old->waiters.top);
}

/* True if there is no place for another waiter. */
bool
wait_is_full(const struct core *core)
{
	return core->waiters.vacant == NONE && core->waiters.top == core->size.waiters;
}

/* Take waiter i off the list of its node and put it among the fired. */
static void
fire(struct core *core, struct node *node, uint32_t i, enum reply_result result,
     const struct cause *cause)
{
	struct waiter *waiter = waiter_at(core, i);

	take_off(core, node, i);
	waiter->next = NONE;
	waiter->fired = true;
	waiter->result = result;
	waiter->cause = *cause;
	if (core->waiters.fired_tail == NONE)
		core->waiters.fired_head = i;
	else
		waiter_at(core, core->waiters.fired_tail)->next = i;
	core->waiters.fired_tail = i;
}

/* Has what is waited for come (1), can it no longer come (-1), or neither (0)? */
static int
judge(const struct core *core, const struct waiter *waiter, const struct node *node)
{
	bool settled = node_is_down(node) && node->goal == GOAL_DOWN;

	switch (waiter->wait_for) {
	case WAIT_READY:
		/* It starts when its last process is gone, which may be never: a command
		 * does not wait for that. */
		if (waiter->command && process_is_unkillable(node))
			return -1;
		if (node->state == STATE_RUNNING && node_is_ready(node) &&
		    node->goal != GOAL_DOWN && node->goal != GOAL_RESTART)
			return 1;
		if (node->state == STATE_DONE && spec_of(node)->start.ready == READY_EXIT)
			return 1;
		/* Unless it was told to start anyway. */
		if (node_is_on_standby(node) && !node->plan.is_demanded &&
		    node->goal != GOAL_DOWN)
			return 1;
		if (waiter->command)
			return settled ? -1 : 0;
		return settled && node->state != STATE_STOPPED ? -1 : 0;
	case WAIT_STOPPED:
		if (settled && node_has_unkillable(core, node))
			return waiter->command ? -1 : 0;
		if (settled)
			return 1;
		/* A later command wanted it up again. */
		return waiter->command && node->goal != GOAL_DOWN ? -1 : 0;
	case WAIT_FAILED:
		if (settled && node->state == STATE_FAILED)
			return 1;
		return settled && node->state == STATE_DONE ? -1 : 0;
	case WAIT_DONE:
		if (settled && node->state == STATE_DONE)
			return 1;
		return settled && node->state == STATE_FAILED ? -1 : 0;
	case WAIT_TERMINATED:
	case WAIT_FOR_MAX:
		break;
	}
	return 0;
}

/* True if only a process that cannot be killed keeps the wish from coming true. */
static bool
is_kept_by_one(const struct core *core, const struct waiter *waiter,
               const struct node *node)
{
	return waiter->wait_for == WAIT_STOPPED ? node_has_unkillable(core, node)
	                                        : process_is_unkillable(node);
}

/* The reply for a waiter with a goal that cannot come true any more. */
static enum reply_result
refusal(const struct waiter *waiter, const struct node *node)
{
	if (waiter->wait_for == WAIT_STOPPED)
		return REPLY_SUPERSEDED;
	return waiter->command && node->state == STATE_STOPPED ? REPLY_SUPERSEDED
	                                                       : REPLY_FAILED;
}

/* The state or the goal of the node changed: answer the waiters that this concerns. */
void
wait_state_changed(struct core *core, struct node *node)
{
	WAITERS_FOREACH (core, node, i) {
		const struct waiter *waiter = waiter_at(core, i);
		int judged = judge(core, waiter, node);

		if (judged > 0)
			fire(core, node, i, REPLY_DONE, &node->process.end);
		else if (judged < 0 && is_kept_by_one(core, waiter, node))
			fire(core, node, i, REPLY_FAILED, &unkillable_cause);
		else if (judged < 0)
			fire(core, node, i, refusal(waiter, node),
			     node_final_cause(node));
	}
}

/* The node failed: tell the waiters for its start, whatever policy does next. */
void
wait_failed(struct core *core, struct node *node, const struct cause *cause)
{
	WAITERS_FOREACH (core, node, i) {
		const struct waiter *waiter = waiter_at(core, i);

		if (waiter->command && waiter->wait_for == WAIT_READY &&
		    !node_is_ready(node))
			fire(core, node, i, REPLY_FAILED, cause);
	}
}

/* A final end: one Terminated for each watch (Akka's DeathWatch). */
void
wait_terminated(struct core *core, struct node *node)
{
	WAITERS_FOREACH (core, node, i)
		if (waiter_at(core, i)->wait_for == WAIT_TERMINATED)
			fire(core, node, i, REPLY_DONE, node_final_cause(node));
}

/* The node is no more: nothing that is still waited for can come. */
void
wait_node_freed(struct core *core, struct node *node)
{
	while (node->waiters != NONE)
		fire(core, node, node->waiters, REPLY_NO_SUCH_ACTOR, &node->process.end);
}

/* Register a waiter; a goal that is reached already is answered in this turn. */
void
wait_add(struct turn *turn, struct node *node, uint64_t token, enum wait_for wait_for,
         bool command)
{
	struct core *core = turn->core;
	uint32_t i = core->waiters.vacant;

	if (token == 0)
		return;
	if (wait_is_full(core)) {
		struct action *action = turn_act(turn, ACTION_REPLY, node);

		action->token = token;
		action->result = REPLY_BUSY;
		return;
	}
	if (i == NONE)
		i = core->waiters.top++;
	else
		core->waiters.vacant = waiter_at(core, i)->next;
	*waiter_at(core, i) = (struct waiter){
	    .token = token,
	    .slot = node_slot(core, node),
	    .next = node->waiters,
	    .wait_for = wait_for,
	    .command = command,
	    .ref = node_ref(core, node),
	};
	node->waiters = i;
	/* Watched when it was still ending, and the end came first in this turn. */
	if (wait_for == WAIT_TERMINATED && node_is_down(node) && !node_has_begun(node))
		fire(core, node, i, REPLY_DONE, node_final_cause(node));
	wait_state_changed(core, node);
}

static bool
is_removed(const struct waiter *waiter, uint64_t token)
{
	return token == TOKEN_OTHERS ? (waiter->token & TOKEN_KEPT) == 0
	                             : token == TOKEN_ALL || waiter->token == token;
}

/* The caller went away, or all did (TOKEN_ALL, TOKEN_OTHERS).  Linear in the bound on
 * waiters, which is small. */
void
wait_remove(struct core *core, uint64_t token)
{
	for (uint32_t i = 0; i < core->waiters.top; i++) {
		const struct waiter *waiter = waiter_at(core, i);

		if (waiter->slot == NONE || waiter->fired || !is_removed(waiter, token))
			continue;
		take_off(core, node_at(core, waiter->slot), i);
		give_back(core, i);
	}
}

/* Hand out the replies of those that fired; true when room for more is wanted. */
bool
wait_flush(struct turn *turn)
{
	struct core *core = turn->core;

	while (core->waiters.fired_head != NONE) {
		uint32_t i = core->waiters.fired_head;
		struct waiter *waiter = waiter_at(core, i);

		if (!turn_has_room(turn))
			return true;
		struct action *action =
		    turn_act(turn, ACTION_REPLY, node_at(core, waiter->slot));
		action->ref = waiter->ref;
		action->token = waiter->token;
		action->result = waiter->result;
		action->cause = waiter->cause;
		core->waiters.fired_head = waiter->next;
		if (core->waiters.fired_head == NONE)
			core->waiters.fired_tail = NONE;
		give_back(core, i);
	}
	return false;
}
