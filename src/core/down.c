/* SPDX-License-Identifier: ISC */
/* down.c - a node goes down: asked to, killed, gone, and what that leads to. */
#include "config.h"

#include "core/node.h"

#include "core/pure.h"

/* /user failed or ended for good: so does all of supd (SEMANTICS G-03). */
static void
user_ended(struct core *core, struct node *user)
{
	struct node *root = node_supervisor(core, user);

	if (!core->shutting_down)
		core->exit_status = user->state == STATE_FAILED ? CORE_EXIT_GAVE_UP : 0;
	core->shutting_down = true;
	root->up = false;
	reconcile_queue(core, root);
}

/* It is down and stays down: its final end, told to everyone. */
void
down_settle(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	node->up = false;
	node->bounce = false;
	/* A one-shot is ready once it is done. */
	node->ready =
	    node->ready && node->down_as == STATE_DONE && node->spec.ready == READY_EXIT;
	node->manual = false;
	node->start_now = false;
	node->brutal = false;
	reconcile_set_state(core, node, node->down_as);
	node->grouped = false;
	reconcile_pass(core, node);
	if (node->born) {
		turn_report(turn, REPORT_STOPPED, node)->cause = *node_final_cause(node);
		turn_report(turn, REPORT_TERMINATED, node)->cause =
		    *node_final_cause(node);
		node->born = false;
		wait_terminated(core, node);
	}
	dynamic_settled(turn, node);
	reconcile_queue(core, node);
	reconcile_queue_parent(core, node);
	if (node->parent == NONE)
		turn_exit(turn);
	else if (node_slot(core, node) == CORE_USER && node->state != STATE_STOPPED)
		user_ended(core, node);
}

/* Down for now: in its backoff, or, behind the leader of a group, waiting for it. */
enum node_state
down_pending_state(const struct core *core, const struct node *node)
{
	if (node->grouped &&
	    node_supervisor(core, node)->group_leader != node_slot(core, node))
		return STATE_WAITING;
	return STATE_BACKOFF;
}

/* Down for now; up again after a while. */
static void
enter_backoff(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	/* The end of a process was told already; a supervisor's is told here. */
	if (node_is_supervisor(node))
		turn_report(turn, REPORT_STOPPED, node)->cause = node->end;
	reconcile_set_state(core, node, down_pending_state(core, node));
	node->ready = false;
	if (!node->grouped) {
		deadline_arm(core, node, LANE_STATE, turn->now_ms, node->delay_ms);
		if (node->delay_ms > 0)
			turn_report(turn, REPORT_BACKOFF, node)->delay_ms =
			    node->delay_ms;
	}
	reconcile_queue(core, node);
	reconcile_queue_parent(core, node);
}

/* Nothing of the node is left: down for good, or on its way up again. */
void
down_gone(struct turn *turn, struct node *node)
{
	node->alive = false;
	node->main_alive = false;
	/* What it was doing with its children is over with them. */
	node->op = OP_NONE;
	dynamic_forget(turn->core, node);
	if (node->bounce && node->up && !node->removing)
		enter_backoff(turn, node);
	else
		down_settle(turn, node);
}

static void
send_kill(struct turn *turn, struct node *worker)
{
	if (worker->kill_sent)
		return;
	worker->kill_sent = true;
	turn_act(turn, ACTION_KILL, worker)->life = worker->life;
}

/* Ask the process to end, as its `shutdown` has it (OTP O-06 to O-08). */
void
down_send_stop(struct turn *turn, struct node *worker)
{
	const struct spec *spec = &worker->spec;

	if (worker->brutal || spec->shutdown_mode == SHUTDOWN_BRUTAL_KILL) {
		send_kill(turn, worker);
		return;
	}
	turn_act(turn, ACTION_STOP, worker)->life = worker->life;
	if (spec->shutdown_mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, worker, LANE_STATE, turn->now_ms,
		             spec->shutdown_ms);
}

/*
 * The request to end was sent later than it was decided, because supd itself had died in
 * between: the process has its full time from now on.
 */
void
down_stop_sent(struct turn *turn, struct node *worker)
{
	if (worker->state == STATE_STOPPING && !worker->kill_sent &&
	    worker->spec.shutdown_mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, worker, LANE_STATE, turn->now_ms,
		             worker->spec.shutdown_ms);
}

static void
begin_stop(struct turn *turn, struct node *node)
{
	reconcile_set_state(turn->core, node, STATE_STOPPING);
	(void)turn_report(turn, REPORT_STOPPING, node);
	node->kill_sent = false;
	if (!node_is_supervisor(node)) {
		/* Before the spawn is acknowledged there is nobody to be told. */
		if (node->spawned)
			down_send_stop(turn, node);
		return;
	}
	if (node->spec.shutdown_mode == SHUTDOWN_BRUTAL_KILL)
		node->brutal = true;
	if (node->spec.shutdown_mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, node, LANE_STATE, turn->now_ms,
		             node->spec.shutdown_ms);
	node->kill_sent = node->brutal;
	children_stop(turn, node);
}

/* Whatever is left of it is killed, at once. */
void
down_kill(struct turn *turn, struct node *node)
{
	node->brutal = true;
	if (node->state != STATE_STOPPING || node->kill_sent)
		return;
	if (!node_is_supervisor(node)) {
		if (node->spawned && node->alive)
			send_kill(turn, node);
		return;
	}
	node->kill_sent = true;
	children_stop(turn, node);
}

/* Make the node go down from whatever it is in. */
void
down_bring(struct turn *turn, struct node *node)
{
	if (node_is_pending(node)) {
		reconcile_queue(turn->core, node);
	} else if (node_is_live(node) && !node_is_supervisor(node)) {
		if (!node->alive)
			down_gone(turn, node);
		else if (node->state != STATE_STOPPING)
			begin_stop(turn, node);
	} else if (node_is_live(node)) {
		if (node->state != STATE_STOPPING)
			begin_stop(turn, node);
		else if (children_are_down(node))
			down_gone(turn, node);
	}
}
