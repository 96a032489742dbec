/* SPDX-License-Identifier: ISC */
/* goal.h - what is wanted of a node: read by all of the core, changed only by goal.c.
 *
 * A node has a goal, which failures, commands and reloads set, and a state, which
 * reconcile.c moves there, one step at each look.  The total state is a combination.
 *
 * Down (STOPPED, DONE, FAILED) and
 *	DOWN     stays so
 *	UP       starts as soon as its supervisor takes starts, and is in no group
 *	RESTART  is a member of a group, and starts together with it
 *
 * Pending (WAITING, BACKOFF) and
 *	DOWN     is down at once, in the state `down_as`, or, where its children have
 *	         outlived it so far, begins to stop
 *	UP       starts when its turn, its needs, its demand or its delay let it
 *	RESTART  the same: what had to go down is down
 *
 * STARTING, RUNNING (shown as suspended while it is frozen) and
 *	DOWN     begins to stop; a node that the start of supervisors above failed with,
 *	         when its own supervisor stops, and may become RUNNING until then
 *	UP       goes on
 *	RESTART  begins to stop
 *
 * STOPPING and
 *	DOWN     goes on, and is then down in the state `down_as`
 *	UP       the same: a supervisor that gave up, until its failure is decided; or a
 *	         node in a sequence, which is then pending
 *	RESTART  goes on, and is then pending
 *
 * A member of a group (`grouped`) takes the step of STARTING and RUNNING in the order of
 * the group.  A node to be restarted in its supervisor's sequence (COMEBACK_IN_SEQUENCE)
 * has the goal UP until its turn has come, unless it is stopped before.  A node that is
 * held has the goal DOWN.  tests/lib/goal_table.c holds the core to this after each turn.
 */
#ifndef CORE_GOAL_H
#define CORE_GOAL_H

#include "core/core.h"

struct node;

enum goal {
	GOAL_DOWN,
	GOAL_UP,
	GOAL_RESTART, /* down first, then up again */
} ONE_BYTE;

/*
 * How a node is stopped.  An order to kill is carried out when the node is looked at: a
 * supervisor stops its children anew then.
 */
enum stop_how {
	STOP_IN_ORDER,
	STOP_KILL_CHILDREN, /* the children are killed at once, and in parallel */
	STOP_KILL_ORDERED,  /* all that is left of it is to be killed */
	STOP_KILL,          /* … and its children have been told to kill */
} ONE_BYTE;

/* Why a supervisor goes down by itself: what follows is decided when its children are
 * gone. */
enum ending {
	ENDING_NOT,
	ENDING_GIVES_UP,     /* the intensity is exceeded: it fails */
	ENDING_START_FAILED, /* a child could not start: it fails, see `failure` */
	ENDING_RETIRES,      /* its work is done: a normal end */
} ONE_BYTE;

/* Why a node is started. */
enum start_reason {
	START_IN_TURN,
	START_BY_POLICY,  /* a restart that is counted in `restarts` */
	START_BY_COMMAND, /* a failed start is final */
} ONE_BYTE;

/* What a node that is to come up again comes back as. */
enum comeback {
	COMEBACK_PLAIN,
	COMEBACK_RESUMED, /* its children, and what a restart clears, are left alone */
	COMEBACK_IN_SEQUENCE, /* restarted in the sequence of its supervisor */
} ONE_BYTE;

/* For how long a node that was stopped is kept from starting with its siblings. */
enum stay {
	STAY_NOT,
	STAY_FOR_ONCE, /* stopped while its supervisor came up */
	STAY_HELD,     /* until a command starts it */
} ONE_BYTE;

void goal_up(struct node *node);
void goal_command(struct node *node);
void goal_join(struct node *node);
void goal_renew(struct node *node, bool is_wanted, enum restart_kind kind);
void goal_down(struct node *node);
void goal_down_by_policy(struct node *node);
void goal_down_as(struct node *node, enum node_state down_as);
void goal_settled(struct node *node);
void goal_forget_failure(struct node *node);
void goal_restart(struct node *node, enum start_reason reason, enum restart_kind kind,
                  uint64_t delay_ms);
void goal_restart_by_policy(struct node *node, enum restart_kind kind, uint64_t delay_ms);
void goal_retry(struct node *node);
void goal_resume(struct node *node, bool keeps_all, uint64_t delay_ms);
void goal_end_resume(struct node *node);
void goal_reload(struct node *node, bool is_live);
void goal_mark_for_sequence(struct node *node, bool is_marked);
void goal_revive(struct node *node);
void goal_take_turn(struct node *node);
void goal_leave_sequence(struct node *node);
void goal_restart_is_due(struct node *node);
void goal_started(struct node *node);
void goal_stood_by(struct node *node);
void goal_delay(struct node *node, uint64_t delay_ms);
void goal_start_now(struct node *node, bool is_now);
void goal_demand(struct node *node, bool is_demanded);
void goal_forget_command(struct node *node);
void goal_keep_down(struct node *node, enum stay stay);
void goal_forget_stop(struct node *node);
void goal_delete(struct node *node);
void goal_undelete(struct node *node);
void goal_hide(struct node *node, bool is_hidden);
void goal_add(struct node *node, bool is_started);
void goal_end(struct node *supervisor, enum ending as);
void goal_forget_end(struct node *supervisor);
void goal_stay_added(struct node *node);
void goal_kill(struct node *node);
void goal_kill_children(struct node *node);
void goal_begin_stop(struct node *node, bool kills_children);

#endif
