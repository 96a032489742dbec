/* SPDX-License-Identifier: ISC */
/* process_events.c - what is told of a process: its start, its end, and that nothing is
 * left. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* The start of the process is acknowledged. */
void
process_spawned(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	if (node->process.state != PROCESS_ORDERED)
		return;
	process_runs(node);
	run_created(node);
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
	if (spec_of(node)->start.ready == READY_EXEC) {
		up_step(turn, node);
		return;
	}
	if (spec_of(node)->start.ready == READY_AFTER)
		deadline_arm(core, node, TIMER_READY, turn->now_ms,
		             spec_of(node)->start.ready_after_ms);
	living_grant(turn, node, spec_of(node)->start.timeout_ms);
	living_spawned(turn, node);
}

/* The program could not be executed. */
void
process_spawn_failed(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->process.state != PROCESS_ORDERED)
		return;
	process_lost(node);
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

/* The cause of an end, and whether the end is normal for this actor: SEMANTICS 1. */
static struct cause
end_cause(const struct node *node, const struct event *event)
{
	struct cause cause = {
	    .code = event->code,
	    .signal = (uint8_t)event->signal,
	    .core = event->core,
	};
	bool success = exit_set_has(&spec_of(node)->success_exits, event->code) ||
	               signal_set_has(&spec_of(node)->success_signals, event->signal);
	bool early =
	    node->phase == PHASE_PROCESS && spec_of(node)->start.ready != READY_EXIT;

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

/* The main process has ended. */
void
process_exited(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->process.state != PROCESS_RUNS)
		return;
	process_ended(node, event->gone);
	pace_ended(turn, node, node->state != STATE_STOPPING && !node_is_leaving(node));
	living_ended(turn->core, node);
	suspend_end(turn, node);
	node->process.end = end_cause(node, event);
	node->process.last_end = (struct last_end){
	    .kind = node->process.end.kind,
	    .core = event->core,
	    .signal = node->process.end.signal,
	    .code = (int16_t)event->code,
	    .is_known = true,
	    .overdue = node->process.killed == KILL_SENT_LATE ||
	               node->process.killed == KILL_SURVIVED_LATE,
	    .at_ms = turn->now_ms,
	};
	turn_report(turn, REPORT_EXITED, node)->cause = node->process.end;
	if (process_is_unkillable(node) && event->gone)
		unkillable_gone(turn, node);
	/* The node was left behind, or waits for this end. */
	if (!node_is_live(node))
		return;
	if (node->state == STATE_STOPPING) {
		if (event->gone && node->phase == PHASE_END)
			down_step(turn, node);
		return;
	}
	if (node_is_leaving(node))
		/* Its end was wanted already: absorbed by that (OTP O-21). */
		down_bring(turn, node);
	else if (node->process.end.kind != CAUSE_NORMAL)
		failure_handle(turn, node, &node->process.end, node);
	else if (node->phase == PHASE_PROCESS)
		up_step(turn, node);
	else
		failure_normal_end(turn, node);
}

/* Nothing of the process is left. */
void
process_gone(struct turn *turn, struct node *node)
{
	if (node->process.state != PROCESS_LEFT)
		return;
	process_lost(node);
	if (process_is_unkillable(node))
		unkillable_gone(turn, node);
	if (node->phase == PHASE_END)
		down_step(turn, node);
}

/* READY=1, or another sign of readiness, has come from the process. */
void
process_told_ready(struct turn *turn, struct node *node)
{
	if (node->process.state == PROCESS_RUNS && node->phase == PHASE_PROCESS &&
	    spec_of(node)->start.ready == READY_TOLD)
		up_step(turn, node);
}
