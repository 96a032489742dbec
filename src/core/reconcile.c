/* SPDX-License-Identifier: ISC */
/* reconcile.c - move states towards goals, node by node from a queue.
 *
 * Never by recursion: a change of a goal or a state queues the node and, where it matters
 * there, its supervisor.  The moves are in up.c, down.c and children.c.
 */
#include "config.h"

#include "base/assert.h"
#include "core/marks.h"
#include "core/steps.h"

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

/* Look at its supervisor before the turn ends; "/" has none. */
void
reconcile_queue_parent(struct core *core, const struct node *node)
{
	struct node *parent = node_parent(core, node);

	if (parent != NULL)
		reconcile_queue(core, parent);
}

static bool
is_ready_state(enum node_state state)
{
	return state == STATE_RUNNING || state == STATE_SUSPENDED;
}

/*
 * Enter a state: clear the deadlines of the old state, count the supervisor's children,
 * look at waiting calls.
 */
void
reconcile_set_state(struct core *core, struct node *node, enum node_state state)
{
	struct node *parent = node_parent(core, node);
	bool was_live = node_is_live(node);

	gate_leave(core, node);
	deadline_clear(core, node, TIMER_STATE);
	deadline_clear(core, node, TIMER_READY);
	/* One that is suspended was ready before, and will go on. */
	if (!is_ready_state(node->state) || !is_ready_state(state)) {
		deadline_clear(core, node, TIMER_RESET);
		deadline_clear(core, node, TIMER_WATCHDOG);
		deadline_clear(core, node, TIMER_HEALTH);
	}
	if (parent != NULL) {
		parent->n_live -= was_live;
		parent->n_pending -= node_is_pending(node);
		parent->n_failed -= node->state == STATE_FAILED;
		parent->n_grouped -= was_live && node->grouped;
	}
	if (state != node->state)
		node->since_ms = core->now_ms;
	node->state = state;
	node->on_standby = false;
	if (parent != NULL) {
		parent->n_live += node_is_live(node);
		parent->n_pending += node_is_pending(node);
		parent->n_failed += state == STATE_FAILED;
		parent->n_grouped += node_is_live(node) && node->grouped;
	}
	wait_state_changed(core, node);
	watch_state_changed(core, node);
	gate_state_changed(core, node);
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

/*
 * May this node be started?  Not below a supervisor that is down or going down, however
 * far above: no start after the stop of an ancestor was begun.
 */
bool
reconcile_takes_starts(const struct core *core, const struct node *node)
{
	const struct node *above = node_parent(core, node);

	if (core->shutting_down && node_slot(core, node) == CORE_USER)
		return false;
	for (; above != NULL; above = node_parent(core, above))
		if (!above->may_start_children || above->goal != GOAL_UP)
			return false;
	return true;
}

/*
 * Does the node go down, or stay down, together with a supervisor above?  Not below a
 * supervisor with children that outlive its restart: there a failure is decided as usual.
 */
bool
reconcile_is_doomed(const struct core *core, const struct node *node)
{
	const struct node *above = node_parent(core, node);

	for (; above != NULL; above = node_parent(core, above)) {
		if (above->may_start_children && above->goal == GOAL_UP)
			continue;
		if (above->goal == GOAL_DOWN || !above->children_started)
			return true;
		/* A supervisor that has gone further has kept its children already. */
		if ((above->may_start_children || above->phase == PHASE_PRE_STOP) &&
		    !node_keeps_children(above))
			return true;
	}
	return false;
}

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
		if (node->n_children == 0 && !node->unkillable)
			node_free(turn, node);
		else
			queue_children(turn->core, node);
		return;
	}
	if (node->goal != GOAL_DOWN && !node->grouped && !node->absent &&
	    reconcile_takes_starts(turn->core, node))
		gate_start(turn, node);
}

/* True if a pending start may skip its delay: demand for a sleeping actor, or an explicit
 * start during backoff. */
static bool
may_start_now(const struct node *node)
{
	return node->on_standby ? node->demanded
	                        : node->start_now && node->state == STATE_BACKOFF;
}

static void
advance_pending(struct turn *turn, struct node *node)
{
	if (node->goal == GOAL_DOWN || node->removing) {
		if (!node->children_started) {
			down_settle(turn, node);
			return;
		}
		down_wait_turn(turn->core, node);
		down_bring(turn, node);
	} else if ((may_start_now(node) && !node->grouped &&
	            reconcile_takes_starts(turn->core, node)) ||
	           gate_is_next(turn->core, node)) {
		gate_start(turn, node);
	}
}

static void
advance_live(struct turn *turn, struct node *node)
{
	bool wants_down = node->goal != GOAL_UP;

	if (node->state == STATE_STOPPING) {
		if (stop_kills(node))
			down_kill(turn, node);
		if (node->unkillable && !node_comes_back(node))
			unkillable_leave(turn, node);
		return;
	}
	if (wants_down && !node->grouped)
		down_bring(turn, node);
	else if (node->phase == PHASE_PRE_START && node->hook_serial == 0)
		up_step(turn, node);
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
		children_advance(turn, node);
	if (node->used && node->rewatch)
		react_advance(turn, node);
	if (node->used)
		suspend_apply(turn, node);
}

/* Decisions that wait until no node moves any more: which nodes do not come after all? */
static void
look_around(struct core *core)
{
	if (core->look_early)
		watch_look_early(core);
	if (core->recheck_needs)
		blocker_look(core);
}

/* Work the queue until it is empty (false) or the actions are many (true). */
bool
reconcile_run(struct turn *turn)
{
	struct core *core = turn->core;

	for (;;) {
		struct node *node;

		if (core->queue_n == 0)
			look_around(core);
		if (core->queue_n == 0)
			return false;
		if (!turn_has_room(turn))
			return true;
		node = node_in(core, queue_entries(core)[core->queue_head]);
		core->queue_head = (core->queue_head + 1) % core->size.nodes;
		core->queue_n--;
		node->queued = false;
		if (node->used)
			advance(turn, node);
	}
}
