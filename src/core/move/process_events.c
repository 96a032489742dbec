/* SPDX-License-Identifier: ISC */
/* process_events.c - what is told of a process: its start, its end, and that nothing is
 * left. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

static void
on_spawned(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (node->process.spawned)
		return;
	node->process.spawned = true;
	node->run.created = true;
	node->run.generation++;
	turn_report(turn, REPORT_STARTED, node)->window = node->pace.no_room;
	node->pace.no_room = 0;
	watch_state_changed(core, node);
	gate_state_changed(core, node);
	/* Below a suspended node the process stands still from the beginning. */
	if (core->n_suspends > 0)
		queue_node(core, node);
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
	if (node->process.spawned)
		return;
	node->process.alive = false;
	node->process.main_alive = false;
	node->process.end = (struct cause){
	    .kind = CAUSE_EXEC,
	    .code = -1,
	    .error = event->error,
	};
	living_take_key(node->process.end.key, event);
	if (!cause_is_shortage(&node->process.end))
		pace_ended(turn, node,
		           node->state != STATE_STOPPING && !node_is_leaving(node));
	if (node->phase == PHASE_END)
		down_step(turn, node);
	else if (node_is_leaving(node))
		down_bring(turn, node);
	else if (node->state != STATE_STOPPING &&
	         !pace_waits_for_room(turn, node, &node->process.end))
		failure_handle(turn, node, &node->process.end, node);
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
	if (!node->process.main_alive || !node->process.spawned)
		return;
	node->process.main_alive = false;
	pace_ended(turn, node, node->state != STATE_STOPPING && !node_is_leaving(node));
	living_ended(turn->core, node);
	if (event->gone)
		node->process.alive = false;
	suspend_end(turn, node);
	node->process.end = end_cause(node, event);
	node->process.last_end = (struct last_end){
	    .is_known = true,
	    .overdue = node->process.kill_sent && node->process.overdue,
	    .cause = node->process.end,
	    .at_ms = turn->now_ms,
	};
	turn_report(turn, REPORT_EXITED, node)->cause = node->process.end;
	if (node->process.unkillable && !node->process.alive)
		unkillable_gone(turn, node);
	/* The node was left behind, or waits for this end. */
	if (!node_is_live(node))
		return;
	if (node->state == STATE_STOPPING) {
		if (!node->process.alive && node->phase == PHASE_END)
			down_step(turn, node);
		return;
	}
	if (node_is_leaving(node)) {
		/* Its end was wanted already: absorbed by that (OTP O-21). */
		down_bring(turn, node);
		return;
	}
	if (node->process.end.kind != CAUSE_NORMAL) {
		failure_handle(turn, node, &node->process.end, node);
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
	if (node->process.main_alive || !node->process.alive)
		return;
	node->process.alive = false;
	if (node->process.unkillable)
		unkillable_gone(turn, node);
	if (node->phase == PHASE_END)
		down_step(turn, node);
}

static void
on_told_ready(struct turn *turn, struct node *node)
{
	if (node->process.spawned && node->process.main_alive &&
	    node->phase == PHASE_PROCESS && node->spec.ready == READY_TOLD)
		up_step(turn, node);
}

/* The node of the process that the event is about; NULL: the event is stale, of an
 * earlier life. */
static struct node *
find_process(const struct core *core, const struct event *event)
{
	struct node *node = node_lookup(core, event->ref);
	const bool is_there =
	    node != NULL && node_has_process(node) && node->process.alive;

	return is_there && node->process.life == event->life ? node : NULL;
}

static void
post(struct turn *turn, struct node *node, const struct event *event)
{
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
		pace_reset(turn->core, node);
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

/* Take in an event about a process; a stale one is dropped. */
void
process_post(struct turn *turn, const struct event *event)
{
	struct node *node = find_process(turn->core, event);

	if (node != NULL)
		post(turn, node, event);
}
