/* SPDX-License-Identifier: ISC */
/* up.c - a node comes up: its start, and when it counts as ready. */
#include "config.h"

#include "core/node.h"

#include "core/pure.h"

/* Start a node that is down; whether it may is decided by the caller. */
void
up_start(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (!node->born && node->ever)
		node->incarnation++;
	node->restarts += node->automatic;
	node->born = true;
	node->ever = true;
	node->automatic = false;
	node->bounce = false;
	node->start_now = false;
	node->brutal = false;
	node->ready = false;
	node->down_as = STATE_STOPPED;
	node->attempts++;
	node->end = (struct cause){.kind = CAUSE_NORMAL, .code = -1};
	reconcile_set_state(core, node, STATE_STARTING);
	if (node_is_supervisor(node)) {
		node->generation++;
		node->gave_up = false;
		(void)turn_report(turn, REPORT_STARTED, node);
		children_start(core, node);
		return;
	}
	node->life++;
	node->alive = true;
	node->main_alive = true;
	node->spawned = false;
	node->kill_sent = false;
	turn_act(turn, ACTION_SPAWN, node)->life = node->life;
}

/* The node is ready: its younger siblings may start, its backoff may heal. */
void
up_ready(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	node->ready = true;
	node->was_ready = true;
	node->manual = false;
	node->is_fresh = false;
	reconcile_set_state(core, node, STATE_RUNNING);
	if (node->failures > 0 && !node->spec.backoff.manual_reset)
		deadline_arm(core, node, LANE_RESET, turn->now_ms,
		             node->spec.backoff.reset_after_ms);
	(void)turn_report(turn, REPORT_READY, node);
	reconcile_pass(core, node);
	reconcile_queue_parent(core, node);
}
