/* SPDX-License-Identifier: ISC */
/* core.c - a turn: events in, actions out. */
#include "config.h"

#include "core/core.h"

#include <string.h>

#include "base/assert.h"
#include "core/marks.h"
#include "core/steps.h"

#include "core/pure.h"

const char *const node_state_names[] = {NODE_STATE_MAP(AS_NAME)};
const char *const event_kind_names[] = {EVENT_KIND_MAP(AS_NAME)};
const char *const action_kind_names[] = {ACTION_KIND_MAP(AS_NAME)};
const char *const report_names[] = {REPORT_MAP(AS_NAME)};
const char *const decision_reason_names[] = {DECISION_REASON_MAP(AS_NAME)};
const char *const wait_for_names[] = {WAIT_FOR_MAP(AS_NAME)};
const char *const hook_reason_names[] = {HOOK_REASON_MAP(AS_NAME)};

/* At most so many actions come of one node's advance or one deadline. */
#define STEP_ACTIONS (CORE_POST_ACTIONS)

/* Append an action about this node. */
struct action *
turn_act(struct turn *turn, enum action_kind kind, const struct node *node)
{
	struct action *action;

	ASSERT(turn->out->n < CORE_ACTIONS_MAX);
	action = &turn->out->at[turn->out->n++];
	/* Padding too: the same events must give the same bytes. */
	memset(action, 0, sizeof(*action));
	action->kind = kind;
	action->ref = node_ref(turn->core, node);
	action->origin = REF_NONE;
	action->to = REF_NONE;
	return action;
}

/* Append an event for the stream about this node. */
struct action *
turn_report(struct turn *turn, enum report report, const struct node *node)
{
	struct action *action = turn_act(turn, ACTION_REPORT, node);

	action->report = report;
	action->life = node->life;
	action->incarnation = node->incarnation;
	action->generation = node->generation;
	return action;
}

/* supd is done. */
void
turn_exit(struct turn *turn)
{
	struct core *core = turn->core;

	if (core->exited)
		return;
	core->exited = true;
	turn_act(turn, ACTION_EXIT, node_at(core, CORE_ROOT))->status = core->exit_status;
}

/* True if there is room for all actions of another step. */
bool
turn_has_room(const struct turn *turn)
{
	return turn->out->n + STEP_ACTIONS <= CORE_ACTIONS_MAX;
}

/* The backoff begins anew at its minimum: Akka's manual reset (B-06), at any time. */
static void
forget_failures(struct core *core, struct node *node)
{
	node->failures = 0;
	node->shown_delay_ms = 0;
	deadline_clear(core, node, TIMER_RESET);
}

/* ---- processes --------------------------------------------------------------------- */

static void
on_spawned(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (node->spawned)
		return;
	node->spawned = true;
	node->created = true;
	node->generation++;
	turn_report(turn, REPORT_STARTED, node)->window = node->no_room;
	node->no_room = 0;
	watch_state_changed(core, node);
	gate_state_changed(core, node);
	/* Below a suspended node the process stands still from the beginning. */
	if (core->n_suspends > 0)
		reconcile_queue(core, node);
	if (node->state == STATE_STOPPING) {
		down_spawned(turn, node);
		return;
	}
	if (node->spec.ready == READY_EXEC) {
		up_step(turn, node);
		return;
	}
	if (node->spec.ready == READY_AFTER)
		deadline_arm(core, node, TIMER_READY, turn->now_ms,
		             node->spec.ready_after_ms);
	living_grant(turn, node, node->spec.start_timeout_ms);
	living_spawned(turn, node);
}

static void
on_spawn_failed(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->spawned)
		return;
	node->alive = false;
	node->main_alive = false;
	node->end = (struct cause){
	    .kind = CAUSE_EXEC,
	    .code = -1,
	    .error = event->error,
	};
	living_take_key(node->end.key, event);
	if (!cause_is_shortage(&node->end))
		pace_ended(turn, node,
		           node->state != STATE_STOPPING && !node_is_leaving(node));
	if (node->phase == PHASE_END)
		down_step(turn, node);
	else if (node_is_leaving(node))
		down_bring(turn, node);
	else if (node->state != STATE_STOPPING &&
	         !pace_waits_for_room(turn, node, &node->end))
		failure_handle(turn, node, &node->end, node);
}

/* What an end means for this actor: DESIGN's "waitid result → cause → normal?". */
static struct cause
end_cause(const struct node *node, const struct event *event)
{
	struct cause cause = {
	    .code = event->code,
	    .signal = event->signal,
	    .core = event->core,
	};
	bool success = exit_set_has(&node->spec.success_exits, event->code) ||
	               signal_set_has(&node->spec.success_signals, event->signal);
	bool early = node->phase == PHASE_PROCESS && node->spec.ready != READY_EXIT;

	if (early)
		cause.kind = CAUSE_EARLY_EXIT;
	else if (event->oom)
		cause.kind = CAUSE_OOM;
	else if (success)
		cause.kind = CAUSE_NORMAL;
	else if (event->signal == 0)
		cause.kind = CAUSE_EXIT;
	else
		cause.kind = event->core ? CAUSE_CORE : CAUSE_SIGNAL;
	return cause;
}

static void
on_exited(struct turn *turn, struct node *node, const struct event *event)
{
	if (!node->main_alive || !node->spawned)
		return;
	node->main_alive = false;
	pace_ended(turn, node, node->state != STATE_STOPPING && !node_is_leaving(node));
	living_ended(turn->core, node);
	if (event->gone)
		node->alive = false;
	suspend_end(turn, node);
	node->end = end_cause(node, event);
	turn_report(turn, REPORT_EXITED, node)->cause = node->end;
	if (node->unkillable && !node->alive)
		unkillable_gone(turn, node);
	/* The node was left behind, or waits for this end. */
	if (!node_is_live(node))
		return;
	if (node->state == STATE_STOPPING) {
		if (!node->alive && node->phase == PHASE_END)
			down_step(turn, node);
		return;
	}
	if (node_is_leaving(node)) {
		/* Its end was wanted already: absorbed by that (OTP O-21). */
		down_bring(turn, node);
		return;
	}
	if (node->end.kind != CAUSE_NORMAL) {
		failure_handle(turn, node, &node->end, node);
		return;
	}
	if (node->phase == PHASE_PROCESS)
		up_step(turn, node);
	else
		failure_normal_end(turn, node);
}

static void
on_gone(struct turn *turn, struct node *node)
{
	if (node->main_alive || !node->alive)
		return;
	node->alive = false;
	if (node->unkillable)
		unkillable_gone(turn, node);
	if (node->phase == PHASE_END)
		down_step(turn, node);
}

static void
on_told_ready(struct turn *turn, struct node *node)
{
	if (node->spawned && node->main_alive && node->phase == PHASE_PROCESS &&
	    node->spec.ready == READY_TOLD)
		up_step(turn, node);
}

/* The node of the process that the event is about; NULL: the event is stale, of an
 * earlier life. */
static struct node *
find_process(const struct core *core, const struct event *event)
{
	struct node *node = node_lookup(core, event->ref);
	const bool is_there = node != NULL && node_has_process(node) && node->alive;

	return is_there && node->life == event->life ? node : NULL;
}

/* Events about a process; NULL: a stale one, which is dropped. */
static void
post_process(struct turn *turn, struct node *node, const struct event *event)
{
	if (node == NULL)
		return;
	switch (event->kind) {
	case EVENT_SPAWNED:
		on_spawned(turn, node);
		break;
	case EVENT_SPAWN_FAILED:
		on_spawn_failed(turn, node, event);
		break;
	case EVENT_READY:
		on_told_ready(turn, node);
		break;
	case EVENT_EXITED:
		on_exited(turn, node, event);
		break;
	case EVENT_GONE:
		on_gone(turn, node);
		break;
	case EVENT_BACKOFF_RESET:
		forget_failures(turn->core, node);
		break;
	case EVENT_STOP_SENT:
		down_stop_sent(turn, node);
		break;
	case EVENT_WATCHDOG:
	case EVENT_WATCHDOG_TRIGGER:
	case EVENT_WATCHDOG_EVERY:
	case EVENT_EXTEND:
	case EVENT_SELF_REPORT:
	case EVENT_PAUSED:
	case EVENT_CONTINUED:
	case EVENT_PROBED:
		living_post(turn, node, event);
		break;
	case EVENT_HOOK_DONE:
	case EVENT_REACT_DONE:
	case EVENT_DEMAND:
	case EVENT_IDLE:
	case EVENT_BOOT:
	case EVENT_TICK:
	case EVENT_START:
	case EVENT_STOP:
	case EVENT_RESTART:
	case EVENT_RESET:
	case EVENT_KILL:
	case EVENT_ADD:
	case EVENT_DELETE:
	case EVENT_WAIT:
	case EVENT_UNWAIT:
	case EVENT_SUSPEND:
	case EVENT_RESUME:
	case EVENT_SHUTDOWN:
	case EVENT_QUIT:
	case EVENT_LEFT:
	case EVENT_KIND_MAX:
		break;
	}
}

/* ---- deadlines --------------------------------------------------------------------- */

static void
on_state_due(struct turn *turn, struct node *node)
{
	const struct cause timeout = living_unready(node);

	switch (node->state) {
	case STATE_STARTING:
		if (node->goal == GOAL_UP)
			failure_handle(turn, node, &timeout, node);
		break;
	case STATE_STOPPING:
		down_overdue(turn, node);
		break;
	case STATE_BACKOFF:
		/* Below a node that stops the child waits to be stopped. */
		if (node->goal != GOAL_DOWN && reconcile_takes_starts(turn->core, node))
			gate_start(turn, node);
		break;
	case STATE_STOPPED:
	case STATE_WAITING:
	case STATE_RUNNING:
	case STATE_SUSPENDED:
	case STATE_DONE:
	case STATE_FAILED:
	case STATE_UNKILLABLE:
	case NODE_STATE_MAX:
		break;
	}
}

static void
on_due(struct turn *turn, struct node *node, enum node_timer timer)
{
	switch (timer) {
	case TIMER_STATE:
		on_state_due(turn, node);
		break;
	case TIMER_READY:
		if (node->phase == PHASE_PROCESS)
			up_step(turn, node);
		break;
	case TIMER_RESET:
		forget_failures(turn->core, node);
		break;
	case TIMER_GROUP:
		children_group_due(turn, node);
		break;
	case TIMER_HOOK:
		hooks_due(turn, node);
		break;
	case TIMER_WATCHDOG:
	case TIMER_HEALTH:
		living_due(turn, node, timer);
		break;
	case TIMER_MAX:
		break;
	}
}

/* Hand out what is due in this tick; true when room for more is wanted. */
static bool
run_deadlines(struct turn *turn)
{
	struct core *core = turn->core;

	while (core->ticking) {
		uint32_t slot;
		enum node_timer timer;

		if (!turn_has_room(turn))
			return true;
		if (deadline_next(core, turn->now_ms, &slot, &timer))
			on_due(turn, node_at(core, slot), timer);
		else
			core->ticking = false;
	}
	return false;
}

/* ---- a turn ------------------------------------------------------------------------ */

/*
 * In order: /user goes down first, and with it gone so does the rest (down.c).  Until
 * then supd's own actors are restarted as ever: /user's last words need the log.
 */
static void
shut_down(struct turn *turn, bool brutal)
{
	struct core *core = turn->core;
	struct node *root = node_at(core, CORE_ROOT);
	struct node *user = node_at(core, CORE_USER);

	if (core->exited)
		return;
	core->shutting_down = true;
	if (brutal) {
		goal_kill(root);
	} else if (node_is_live(root) && root->goal != GOAL_DOWN && !node_is_down(user)) {
		command_want_down(turn, user);
		return;
	}
	goal_down(root);
	if (node_is_live(root))
		reconcile_queue(core, root);
	else
		turn_exit(turn);
}

static void
boot(struct core *core)
{
	struct node *root = node_at(core, CORE_ROOT);

	if (core->shutting_down || core->exited || node_is_live(root))
		return;
	goal_up(root);
	reconcile_queue(core, root);
}

/*
 * Take an event in: goals and states of those it concerns directly change, the rest
 * moves in core_settle().  Appends at most CORE_POST_ACTIONS actions.
 */
void
core_post(struct core *core, uint64_t now_ms, const struct event *event,
          struct action_list *actions)
{
	struct turn turn = {core, now_ms, actions};

	ASSERT(now_ms >= core->now_ms);
	core->now_ms = now_ms;
	switch (event->kind) {
	case EVENT_BOOT:
		boot(core);
		break;
	case EVENT_TICK:
		core->ticking = true;
		break;
	case EVENT_SHUTDOWN:
	case EVENT_QUIT:
		shut_down(&turn, event->kind == EVENT_QUIT);
		break;
	case EVENT_LEFT:
		unkillable_left(&turn, event);
		break;
	case EVENT_SPAWNED:
	case EVENT_SPAWN_FAILED:
	case EVENT_READY:
	case EVENT_EXITED:
	case EVENT_GONE:
	case EVENT_BACKOFF_RESET:
	case EVENT_STOP_SENT:
	case EVENT_WATCHDOG:
	case EVENT_WATCHDOG_TRIGGER:
	case EVENT_WATCHDOG_EVERY:
	case EVENT_EXTEND:
	case EVENT_SELF_REPORT:
	case EVENT_PAUSED:
	case EVENT_CONTINUED:
	case EVENT_PROBED:
		post_process(&turn, find_process(core, event), event);
		break;
	case EVENT_HOOK_DONE:
		hooks_done(&turn, event);
		break;
	case EVENT_REACT_DONE:
		react_done(&turn, event);
		break;
	case EVENT_START:
	case EVENT_STOP:
	case EVENT_RESTART:
	case EVENT_RESET:
	case EVENT_KILL:
	case EVENT_ADD:
	case EVENT_DELETE:
	case EVENT_WAIT:
	case EVENT_UNWAIT:
	case EVENT_SUSPEND:
	case EVENT_RESUME:
	case EVENT_DEMAND:
	case EVENT_IDLE:
	case EVENT_KIND_MAX:
		command_post(&turn, event);
		break;
	}
}

/* Has it said ACTION_EXIT, and with which status? */
bool
core_exited(const struct core *core, int32_t *ret_status)
{
	*ret_status = core->exit_status;
	return core->exited;
}

/*
 * Let everything move as far as it can without the world.  True: perform what is in
 * `actions`, empty the list and call again before anything else is posted.
 */
bool
core_settle(struct core *core, uint64_t now_ms, struct action_list *actions)
{
	struct turn turn = {core, now_ms, actions};
	bool more;

	ASSERT(now_ms >= core->now_ms);
	core->now_ms = now_ms;
	more = run_deadlines(&turn) || reconcile_run(&turn) || wait_flush(&turn) ||
	       core->queue_n > 0;
	/* What was armed in this turn may be due from the next one on. */
	core->tick += !more;
	return more;
}
