/* SPDX-License-Identifier: ISC */
/* goal.c - the only writer of what is wanted of a node. */
#include "config.h"

#include "core/tree/goal.h"

#include "core/tree/node.h"

#include "core/pure.h"

/* The node is wanted; a restart that is under way goes on. */
void
goal_up(struct node *node)
{
	if (node->goal == GOAL_DOWN)
		node->goal = GOAL_UP;
}

/* A command starts a node that is down; a member of a group waits for its group. */
void
goal_command(struct node *node)
{
	node->goal = node->part.grouped ? GOAL_RESTART : GOAL_UP;
	node->plan.start_reason = START_BY_COMMAND;
	node->run.restart_kind = RESTARTED_FOR_COMMAND;
}

/* The node is to be started with its siblings, or to stay down, as its spec has it. */
void
goal_join(struct node *node)
{
	node->goal = !spec_of(node)->enabled ? GOAL_DOWN
	             : node->part.grouped    ? GOAL_RESTART
	                                     : GOAL_UP;
}

/* Its supervisor starts anew, as this kind of restart: nothing of before is wanted any
 * more. */
void
goal_renew(struct node *node, bool is_wanted, enum restart_kind kind)
{
	node->run.restart_kind = kind;
	node->goal = is_wanted ? GOAL_UP : GOAL_DOWN;
	node->plan.start_reason = START_IN_TURN;
	goal_mark_for_sequence(node, false);
	node->plan.down_as = STATE_STOPPED;
}

/* ---- down ---- */

/* The node is to be down for good, and is stopped then, unless it was to be down before.
 */
void
goal_down(struct node *node)
{
	if (node->goal != GOAL_DOWN) {
		node->plan.down_as = STATE_STOPPED;
		node->plan.by_policy = false;
	}
	node->goal = GOAL_DOWN;
}

/* The same, with its group, or by a death pact: a stop by command before that counts. */
void
goal_down_by_policy(struct node *node)
{
	const bool is_new = node->goal != GOAL_DOWN;

	goal_down(node);
	node->plan.by_policy = node->plan.by_policy || is_new;
}

/* The node is to be down for good, in this state. */
void
goal_down_as(struct node *node, enum node_state down_as)
{
	node->goal = GOAL_DOWN;
	node->plan.down_as = down_as;
	node->plan.by_policy = false;
}

/* The node is down for good. */
void
goal_settled(struct node *node)
{
	node->goal = GOAL_DOWN;
	goal_forget_command(node);
	goal_leave_sequence(node);
	node->plan.stop_how = STOP_IN_ORDER;
	node->plan.start_now = false;
	node->plan.is_demanded = false;
}

/* A failed node may start again: it counts as stopped. */
void
goal_forget_failure(struct node *node)
{
	node->plan.down_as = STATE_STOPPED;
}

/* ---- down, and up again ---- */

/* Restart the node, this long after it is down.  A resume that is under way ends with it:
 * only that keeps what a restart clears (SEMANTICS 1.2). */
void
goal_restart(struct node *node, enum start_reason reason, enum restart_kind kind,
             uint64_t delay_ms)
{
	node->run.restart_kind = kind;
	node->goal = GOAL_RESTART;
	goal_end_resume(node);
	node->plan.start_reason = reason;
	node->plan.delay_ms = delay_ms;
}

/* A restart by policy that no sequence of the supervisor has a part in. */
void
goal_restart_by_policy(struct node *node, enum restart_kind kind, uint64_t delay_ms)
{
	goal_leave_sequence(node);
	goal_restart(node, START_BY_POLICY, kind, delay_ms);
}

/* The node comes up again for another reason than its policy: that is not counted. */
static void
forget_policy(struct node *node)
{
	if (node->plan.start_reason == START_BY_POLICY)
		node->plan.start_reason = START_IN_TURN;
}

/* The start could not even begin: try it again after a while. */
void
goal_retry(struct node *node)
{
	node->goal = GOAL_RESTART;
	forget_policy(node);
}

/* Put another process in the place of a dead one.  keeps_all: what a restart clears, and
 * the children, are left alone. */
void
goal_resume(struct node *node, bool keeps_all, uint64_t delay_ms)
{
	goal_retry(node);
	node->run.restart_kind = RESTARTED_FOR_RESUME;
	node->plan.comeback = keeps_all ? COMEBACK_RESUMED : COMEBACK_PLAIN;
	node->plan.delay_ms = delay_ms;
}

/* Whatever comes next is a restart, or a start: no resume. */
void
goal_end_resume(struct node *node)
{
	if (node_is_resuming(node))
		node->plan.comeback = COMEBACK_PLAIN;
}

/* Another configuration: restart what runs, and a member of a group with that; what does
 * not run starts at once. */
void
goal_reload(struct node *node, bool is_live)
{
	node->goal = is_live || node->part.grouped ? GOAL_RESTART : GOAL_UP;
	forget_policy(node);
	goal_end_resume(node);
	node->run.restart_kind = RESTARTED_FOR_COMMAND;
	node->plan.delay_ms = 0;
	goal_start_now(node, true);
}

/* Note whether the node is to be restarted when its turn in the sequence comes. */
void
goal_mark_for_sequence(struct node *node, bool is_marked)
{
	if (is_marked)
		node->plan.comeback = COMEBACK_IN_SEQUENCE;
	else if (node_is_in_sequence(node))
		node->plan.comeback = COMEBACK_PLAIN;
}

/* A restart in the sequence of the supervisor, of a node that may be down already. */
void
goal_revive(struct node *node)
{
	goal_up(node);
	node->plan.start_reason = START_BY_POLICY;
	node->run.restart_kind = RESTARTED_FOR_SUPERVISOR;
	node->plan.delay_ms = 0;
}

/* The turn of the node has come: a node that is wanted goes down, to come up again. */
void
goal_take_turn(struct node *node)
{
	if (node->goal == GOAL_UP)
		node->goal = GOAL_RESTART;
}

/* The node has no part any more in a sequence, nor in a resume: it is in a group. */
void
goal_leave_sequence(struct node *node)
{
	node->plan.comeback = COMEBACK_PLAIN;
}

/* What had to go down is down: only the start is left of the restart. */
void
goal_restart_is_due(struct node *node)
{
	if (node->goal == GOAL_RESTART)
		node->goal = GOAL_UP;
}

/* ---- up ---- */

/* The start begins; a resume is one until the node is ready. */
void
goal_started(struct node *node)
{
	goal_restart_is_due(node);
	forget_policy(node);
	goal_mark_for_sequence(node, false);
	node->plan.stop_how = STOP_IN_ORDER;
	node->plan.down_as = STATE_STOPPED;
	node->plan.start_now = false;
	node->plan.is_demanded = true;
}

/* The node is on standby: a start that was asked for is fulfilled by that. */
void
goal_stood_by(struct node *node)
{
	goal_restart_is_due(node);
	node->run.restart_kind = RESTART_KIND_MAX;
	node->plan.start_reason = START_IN_TURN;
	goal_leave_sequence(node);
	node->plan.stop_how = STOP_IN_ORDER;
	node->plan.start_now = false;
}

/* The node starts again this long after its end. */
void
goal_delay(struct node *node, uint64_t delay_ms)
{
	node->plan.delay_ms = delay_ms;
}

/* The backoff is not waited for, or is again. */
void
goal_start_now(struct node *node, bool is_now)
{
	node->plan.start_now = is_now;
}

/* The node, which starts on demand, is needed or is not. */
void
goal_demand(struct node *node, bool is_demanded)
{
	node->plan.is_demanded = is_demanded;
}

/* From now on a failed start is not final. */
void
goal_forget_command(struct node *node)
{
	if (node->plan.start_reason == START_BY_COMMAND)
		node->plan.start_reason = START_IN_TURN;
}

/* ---- how it stops, and for how long ---- */

/* A stop keeps the node down for this long; one that is held stays held. */
void
goal_keep_down(struct node *node, enum stay stay)
{
	if (node->plan.stay != STAY_HELD)
		node->plan.stay = stay;
}

/* A command starts the node: an earlier stop, or a hold, counts no more. */
void
goal_forget_stop(struct node *node)
{
	node->plan.stay = STAY_NOT;
}

/* A command deletes the node: it is hidden once it is down. */
void
goal_delete(struct node *node)
{
	goal_down(node);
	node->growth.presence = PRESENCE_DELETED;
}

/* The node is wanted after all, before it was hidden. */
void
goal_undelete(struct node *node)
{
	if (node->growth.presence == PRESENCE_DELETED)
		node->growth.presence = PRESENCE_SHOWN;
}

/* The node is down, and is not there, or is there again. */
void
goal_hide(struct node *node, bool is_hidden)
{
	node->growth.presence = is_hidden ? PRESENCE_HIDDEN : PRESENCE_SHOWN;
}

/* The node was added at run time; its first start, if it is begun, is a command, too. */
void
goal_add(struct node *node, bool is_started)
{
	node->growth.added = is_started ? ADDED_FRESH : ADDED;
	if (is_started)
		node->plan.start_reason = START_BY_COMMAND;
}

/* The first start of an added actor is over: it stays, whatever comes. */
void
goal_stay_added(struct node *node)
{
	if (node->growth.added == ADDED_FRESH)
		node->growth.added = ADDED;
}

/* All that is left of the node is to be killed, when it is looked at. */
void
goal_kill(struct node *node)
{
	if (node->plan.stop_how == STOP_KILL_CHILDREN)
		node->plan.stop_how = STOP_KILL;
	else if (node->plan.stop_how == STOP_IN_ORDER)
		node->plan.stop_how = STOP_KILL_ORDERED;
}

/* From now on the children are killed. */
void
goal_kill_children(struct node *node)
{
	if (node->plan.stop_how == STOP_KILL_ORDERED)
		node->plan.stop_how = STOP_KILL;
	else if (node->plan.stop_how == STOP_IN_ORDER)
		node->plan.stop_how = STOP_KILL_CHILDREN;
}

/* The stop begins: the children are killed if it says so, or the order. */
void
goal_begin_stop(struct node *node, bool kills_children)
{
	if (stop_kills(node))
		node->plan.stop_how = STOP_KILL;
	else
		node->plan.stop_how = kills_children ? STOP_KILL_CHILDREN : STOP_IN_ORDER;
}

/* ---- its own end ---- */

/* The supervisor goes down by itself, for this reason. */
void
goal_end(struct node *supervisor, enum ending as)
{
	supervisor->ending.as = as;
}

/* What follows the end is decided, or another stop or start takes its place. */
void
goal_forget_end(struct node *supervisor)
{
	supervisor->ending.as = ENDING_NOT;
}
