/* SPDX-License-Identifier: ISC */
/* node_process.c - how far the newest process of a node is: the table is in parts.h. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* Another process is asked for. */
void
process_order(struct turn *turn, struct node *node)
{
	node->process.life++;
	node->process.state = PROCESS_ORDERED;
	node->process.killed = KILL_NOT_SENT;
	living_renewed(node);
	turn_act(turn, ACTION_SPAWN, node)->life = node->process.life;
}

/* Before the boot: the actor has a process of a supd that died, which SIGKILL has not
 * ended. */
void
process_found(struct node *node, uint32_t life)
{
	node->process.life = life;
	node->process.state = PROCESS_RUNS;
	node->process.killed = KILL_SURVIVED;
}

/* Its start is acknowledged. */
void
process_runs(struct node *node)
{
	node->process.state = PROCESS_RUNS;
}

/* The main process has ended, and nothing (is_gone), or something, of it is there. */
void
process_ended(struct node *node, bool is_gone)
{
	node->process.state = is_gone ? PROCESS_GONE : PROCESS_LEFT;
}

/* Nothing is there any more of a process that was asked for. */
void
process_lost(struct node *node)
{
	node->process.state =
	    node->process.state == PROCESS_ORDERED ? PROCESS_NONE : PROCESS_GONE;
}

/* SIGKILL is sent: KILL_SENT or KILL_SENT_LATE. */
void
process_killed(struct node *node, enum process_kill how)
{
	node->process.killed = how;
}

/* The killed process has outlived its kill_timeout. */
void
process_survives(struct node *node)
{
	node->process.killed =
	    node->process.killed == KILL_SENT_LATE ? KILL_SURVIVED_LATE : KILL_SURVIVED;
}

/* It was unkillable, and is gone after all. */
void
process_survives_no_more(struct node *node)
{
	node->process.killed =
	    node->process.killed == KILL_SURVIVED_LATE ? KILL_SENT_LATE : KILL_SENT;
}
