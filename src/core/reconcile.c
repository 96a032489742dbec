/* SPDX-License-Identifier: ISC */
/* reconcile.c - move states towards goals, one node at a time from a queue.
 *
 * Never by recursion: whoever changes a goal or a state queues the node and, where it
 * matters there, its supervisor.
 */
#include "config.h"

#include "core/node.h"

#include "base/assert.h"
#include "base/units.h"
#include "core/pure.h"

static uint32_t *
queue_entries(const struct core *core)
{
	return core_block(core, core->queue_at);
}

/* Look at this node before the turn ends. */
void
reconcile_queue(struct core *core, struct node *node)
{
	uint32_t at;

	if (node->queued)
		return;
	node->queued = true;
	at = (core->queue_head + core->queue_n) % core->size.nodes;
	queue_entries(core)[at] = node_slot(core, node);
	core->queue_n++;
	ASSERT(core->queue_n <= core->size.nodes);
}

static void
queue_parent(struct core *core, const struct node *node)
{
	struct node *parent = node_parent(core, node);

	if (parent != NULL)
		reconcile_queue(core, parent);
}

/*
 * Enter a state: the deadlines of the old one are cleared, the supervisor's counts of
 * its children are kept right, callers who wait are looked at.
 */
void
reconcile_set_state(struct core *core, struct node *node, enum node_state state)
{
	struct node *parent = node_parent(core, node);
	bool was_live = node_is_live(node);

	deadline_clear(core, node, LANE_STATE);
	deadline_clear(core, node, LANE_READY);
	deadline_clear(core, node, LANE_RESET);
	if (parent != NULL) {
		parent->n_live -= was_live;
		parent->n_pending -= node_is_pending(node);
		parent->n_failed -= node->state == STATE_FAILED;
		parent->n_grouped -= was_live && node->grouped;
	}
	if (state != node->state)
		node->since_ms = core->now_ms;
	node->state = state;
	if (parent != NULL) {
		parent->n_live += node_is_live(node);
		parent->n_pending += node_is_pending(node);
		parent->n_failed += state == STATE_FAILED;
		parent->n_grouped += node_is_live(node) && node->grouped;
	}
	wait_state_changed(core, node);
}

/* The child no longer holds up the start sequence of its supervisor. */
void
reconcile_pass(struct core *core, struct node *child)
{
	struct node *parent = node_supervisor(core, child);

	if (!child->sequenced)
		return;
	child->sequenced = false;
	ASSERT(parent->n_sequenced > 0);
	parent->n_sequenced--;
	reconcile_queue(core, parent);
}

/* ---- down ------------------------------------------------------------------- */

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
static void
settle_down(struct turn *turn, struct node *node)
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
	if (node->spec.restart == RESTART_TEMPORARY && !node->removing) {
		for (struct node *at = node; at != NULL; at = node_next(core, node, at))
			at->absent = true;
		turn_act(turn, ACTION_REMOVED, node)->kept = true;
	}
	reconcile_queue(core, node);
	queue_parent(core, node);
	if (node->parent == NONE)
		turn_exit(turn);
	else if (node_slot(core, node) == CORE_USER && node->state != STATE_STOPPED)
		user_ended(core, node);
}

/* Down for now: in its backoff, or, behind the leader of a group, waiting for it. */
enum node_state
reconcile_pending_state(const struct core *core, const struct node *node)
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
	reconcile_set_state(core, node, reconcile_pending_state(core, node));
	node->ready = false;
	if (!node->grouped) {
		deadline_arm(core, node, LANE_STATE, turn->now_ms, node->delay_ms);
		if (node->delay_ms > 0)
			turn_report(turn, REPORT_BACKOFF, node)->delay_ms =
			    node->delay_ms;
	}
	reconcile_queue(core, node);
	queue_parent(core, node);
}

/* Nothing of the node is left: down for good, or on its way up again. */
void
reconcile_gone(struct turn *turn, struct node *node)
{
	node->alive = false;
	node->main_alive = false;
	/* What it was doing with its children is over with them. */
	node->op = OP_NONE;
	if (node->bounce && node->up && !node->removing)
		enter_backoff(turn, node);
	else
		settle_down(turn, node);
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
reconcile_send_stop(struct turn *turn, struct node *worker)
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
reconcile_stop_sent(struct turn *turn, struct node *worker)
{
	if (worker->state == STATE_STOPPING && !worker->kill_sent &&
	    worker->spec.shutdown_mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, worker, LANE_STATE, turn->now_ms,
		             worker->spec.shutdown_ms);
}

/* A supervisor stops: its children's goals are taken away, in reverse they go. */
static void
stop_children(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;

	deadline_clear(core, supervisor, LANE_GROUP);
	CHILDREN_FOREACH (core, supervisor, child) {
		if (child->absent)
			continue;
		if (child->up || child->bounce)
			child->down_as = STATE_STOPPED;
		child->up = false;
		child->bounce = false;
		child->gave_up = false;
		child->brutal = child->brutal || supervisor->brutal;
		/* One that is down changes no state: its callers hear of it here. */
		wait_state_changed(core, child);
		reconcile_pass(core, child);
		wait_state_changed(core, child);
		if (node_is_live(child) && !child->grouped) {
			child->grouped = true;
			supervisor->n_grouped++;
		}
		if (node_is_pending(child) || child->brutal)
			reconcile_queue(core, child);
	}
	supervisor->op = OP_STOP;
	supervisor->cursor = supervisor->last;
	reconcile_queue(core, supervisor);
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
			reconcile_send_stop(turn, node);
		return;
	}
	if (node->spec.shutdown_mode == SHUTDOWN_BRUTAL_KILL)
		node->brutal = true;
	if (node->spec.shutdown_mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, node, LANE_STATE, turn->now_ms,
		             node->spec.shutdown_ms);
	node->kill_sent = node->brutal;
	stop_children(turn, node);
}

/* Whatever is left of it is killed, at once. */
void
reconcile_kill(struct turn *turn, struct node *node)
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
	stop_children(turn, node);
}

static bool
is_empty(const struct node *supervisor)
{
	return supervisor->n_live == 0 && supervisor->n_pending == 0;
}

/* Make the node go down from whatever it is in. */
void
reconcile_bring_down(struct turn *turn, struct node *node)
{
	if (node_is_pending(node)) {
		reconcile_queue(turn->core, node);
	} else if (node_is_live(node) && !node_is_supervisor(node)) {
		if (!node->alive)
			reconcile_gone(turn, node);
		else if (node->state != STATE_STOPPING)
			begin_stop(turn, node);
	} else if (node_is_live(node)) {
		if (node->state != STATE_STOPPING)
			begin_stop(turn, node);
		else if (is_empty(node))
			reconcile_gone(turn, node);
	}
}

/*
 * May this node be started?  Not below a supervisor that is down or going down, however
 * far above: no start after the stop of an ancestor was begun.
 */
bool
reconcile_takes_starts(const struct core *core, const struct node *node)
{
	const struct node *above = node_parent(core, node);

	for (; above != NULL; above = node_parent(core, above)) {
		if (above->state != STATE_STARTING && above->state != STATE_RUNNING)
			return false;
		if (!above->up || above->bounce)
			return false;
	}
	return true;
}

/* ---- up --------------------------------------------------------------------- */

/* Its supervisor starts anew: what was counted and what had ended is forgotten. */
static void
renew_child(struct core *core, struct node *child)
{
	child->absent = false;
	child->attempts = 0;
	child->was_ready = false;
	child->manual = false;
	child->failures = 0;
	child->shown_delay_ms = 0;
	child->guard_n = 0;
	window_clear(&child->limit);
	child->bounce = false;
	child->automatic = false;
	child->grouped = false;
	child->down_as = STATE_STOPPED;
	child->up = child->spec.enabled && !child->held && !child->removing;
	reconcile_set_state(core, child, child->up ? STATE_WAITING : STATE_STOPPED);
}

static void
start_children(struct core *core, struct node *supervisor)
{
	window_clear(&supervisor->intensity);
	supervisor->n_sequenced = 0;
	CHILDREN_FOREACH (core, supervisor, child) {
		renew_child(core, child);
		child->sequenced = child->up;
		supervisor->n_sequenced += child->up;
	}
	supervisor->op = OP_START;
	supervisor->cursor = supervisor->first;
	reconcile_queue(core, supervisor);
}

/* Start a node that is down; whether it may is decided by the caller. */
void
reconcile_start(struct turn *turn, struct node *node)
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
		start_children(core, node);
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
reconcile_ready(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	node->ready = true;
	node->was_ready = true;
	node->manual = false;
	reconcile_set_state(core, node, STATE_RUNNING);
	if (node->failures > 0 && !node->spec.backoff.manual_reset)
		deadline_arm(core, node, LANE_RESET, turn->now_ms,
		             node->spec.backoff.reset_after_ms);
	(void)turn_report(turn, REPORT_READY, node);
	reconcile_pass(core, node);
	queue_parent(core, node);
}

/* ---- a supervisor and its children -------------------------------------------- */

/* The group's delay is over: its members start in order. */
void
reconcile_group_due(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;

	if (supervisor->op != OP_DELAY)
		return;
	deadline_clear(core, supervisor, LANE_GROUP);
	CHILDREN_FOREACH (core, supervisor, child) {
		if (!child->grouped)
			continue;
		child->grouped = false;
		if (!child->up)
			continue;
		child->bounce = false;
		reconcile_set_state(core, child, STATE_WAITING);
		child->sequenced = true;
		supervisor->n_sequenced++;
	}
	supervisor->op = OP_START;
	supervisor->cursor = supervisor->first;
	reconcile_queue(core, supervisor);
}

/* All of the group is gone. */
static void
group_is_down(struct turn *turn, struct node *supervisor)
{
	struct core *core = turn->core;
	const struct node *leader;

	if (supervisor->state == STATE_STOPPING) {
		if (!is_empty(supervisor))
			return;
		supervisor->op = OP_NONE;
		if (supervisor->gave_up)
			failure_give_up(turn, supervisor);
		else
			reconcile_gone(turn, supervisor);
		return;
	}
	supervisor->op = OP_DELAY;
	if (supervisor->group_delay_ms == DURATION_INFINITE) {
		reconcile_group_due(turn, supervisor);
		return;
	}
	deadline_arm(core, supervisor, LANE_GROUP, turn->now_ms,
	             supervisor->group_delay_ms);
	/* The one that began it may be configured no longer. */
	leader = node_at(core, supervisor->group_leader);
	if (supervisor->group_delay_ms > 0 && leader != NULL)
		turn_report(turn, REPORT_BACKOFF, leader)->delay_ms =
		    supervisor->group_delay_ms;
}

static void
advance_stop(struct turn *turn, struct node *supervisor)
{
	bool parallel = supervisor->spec.stop_parallel || supervisor->brutal;

	while (supervisor->cursor != NONE) {
		struct node *child = node_at(turn->core, supervisor->cursor);

		if (child->grouped && node_is_live(child)) {
			if (!turn_has_room(turn)) {
				reconcile_queue(turn->core, supervisor);
				return;
			}
			reconcile_bring_down(turn, child);
			if (!parallel && node_is_live(child))
				return;
		}
		supervisor->cursor = child->prev;
	}
	if (supervisor->n_grouped == 0)
		group_is_down(turn, supervisor);
}

static void
advance_start(struct turn *turn, struct node *supervisor)
{
	while (supervisor->cursor != NONE) {
		struct node *child = node_at(turn->core, supervisor->cursor);

		/* One that is to stop only waits to be looked at. */
		if (child->state == STATE_WAITING && !child->up)
			reconcile_pass(turn->core, child);
		if (child->sequenced && child->state == STATE_WAITING) {
			if (!reconcile_takes_starts(turn->core, child))
				return;
			if (!turn_has_room(turn)) {
				reconcile_queue(turn->core, supervisor);
				return;
			}
			reconcile_start(turn, child);
		}
		if (child->sequenced && !supervisor->spec.start_parallel)
			return;
		supervisor->cursor = child->next;
	}
	if (supervisor->n_sequenced > 0)
		return;
	supervisor->op = OP_NONE;
	if (supervisor->state == STATE_STARTING)
		reconcile_ready(turn, supervisor);
}

static void
advance_children(struct turn *turn, struct node *supervisor)
{
	switch (supervisor->op) {
	case OP_STOP:
		advance_stop(turn, supervisor);
		break;
	case OP_START:
		advance_start(turn, supervisor);
		break;
	case OP_NONE:
	case OP_DELAY:
		break;
	}
}

/* ---- one node ------------------------------------------------------------------- */

static void
queue_children(struct core *core, const struct node *supervisor)
{
	CHILDREN_FOREACH (core, supervisor, child)
		reconcile_queue(core, child);
}

static void
advance_down(struct turn *turn, struct node *node)
{
	if (node->removing) {
		if (node->n_children == 0)
			node_free(turn, node);
		else
			queue_children(turn->core, node);
		return;
	}
	if (node->up && !node->grouped && !node->absent &&
	    reconcile_takes_starts(turn->core, node))
		reconcile_start(turn, node);
}

static void
advance_pending(struct turn *turn, struct node *node)
{
	if (!node->up || node->removing)
		settle_down(turn, node);
	else if (node->start_now && node->state == STATE_BACKOFF && !node->grouped &&
	         reconcile_takes_starts(turn->core, node))
		reconcile_start(turn, node);
}

static void
advance_live(struct turn *turn, struct node *node)
{
	bool wants_down = !node->up || node->bounce;

	if (node->state == STATE_STOPPING) {
		if (node->brutal)
			reconcile_kill(turn, node);
		return;
	}
	if (wants_down && !node->grouped)
		reconcile_bring_down(turn, node);
}

static void
advance(struct turn *turn, struct node *node)
{
	if (node_is_live(node))
		advance_live(turn, node);
	else if (node_is_pending(node))
		advance_pending(turn, node);
	else
		advance_down(turn, node);
	if (node->used && node_is_supervisor(node))
		advance_children(turn, node);
}

/* Work the queue until it is empty (false) or the actions are many (true). */
bool
reconcile_run(struct turn *turn)
{
	struct core *core = turn->core;

	while (core->queue_n > 0) {
		struct node *node;

		if (!turn_has_room(turn))
			return true;
		node = node_in(core, queue_entries(core)[core->queue_head]);
		core->queue_head = (core->queue_head + 1) % core->size.nodes;
		core->queue_n--;
		node->queued = false;
		if (node->used)
			advance(turn, node);
	}
	return false;
}
