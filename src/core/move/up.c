/* SPDX-License-Identifier: ISC */
/* up.c - a node comes up, step by step: hook, process, hook, children; then it is ready.
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* Start a node that is down; whether it may is decided by the caller. */
static void
begin_start(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	const bool begins = !node_has_begun(node);

	/* Earlier stops of the children are forgotten now that their supervisor begins
	 * anew. */
	CHILDREN_FOREACH (core, node, child)
		goal_keep_down(child, STAY_NOT);
	run_begins(node);
	goal_started(node);
	if (spec_of(node)->keeps && !node_is_resuming(node))
		(void)turn_act(turn, ACTION_CLEAR, node);
	goal_forget_end(node);
	significant_begins(node);
	node->process.end = (struct cause){.kind = CAUSE_NORMAL, .code = -1};
	/* What a supervisor counted is lost when it starts anew (OTP O-31). */
	if (!node_is_resuming(node))
		window_clear(&children_of(node)->intensity);
	pace_begun(turn, node);
	state_set(core, node, STATE_STARTING);
	if (begins)
		watch_begun(core, node);
	/* Below a suspended node the process stands still from the beginning. */
	if (core->n_suspends > 0)
		queue_node(core, node);
	node->phase = PHASE_PRE_START;
	if (!hooks_run(turn, node, HOOK_PRE_START))
		up_step(turn, node);
}

/* Its hook is over, or it has none: the process is asked for, or the children. */
static void
create(struct turn *turn, struct node *node)
{
	pace_begun(turn, node);
	if (!node_has_process(node)) {
		run_created(node);
		node->phase = PHASE_CHILDREN;
		turn_report(turn, REPORT_STARTED, node)->window = node->pace.no_room;
		node->pace.no_room = 0;
		watch_state_changed(turn->core, node);
		gate_state_changed(turn->core, node);
		children_open(turn, node);
		return;
	}
	node->phase = PHASE_PROCESS;
	process_order(turn, node);
}

/* The node is ready: its younger siblings may start, its backoff may heal. */
static void
be_ready(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	node->phase = PHASE_NONE;
	run_ready(node);
	goal_forget_command(node);
	goal_stay_added(node);
	goal_end_resume(node);
	failure_is_over(node);
	suspend_decided(core, node);
	if (node_has_process(node) && !process_is_main_there(node)) {
		/* An actor with `ready: exit` is ready at its end. */
		(void)turn_report(turn, REPORT_READY, node);
		if (node_is_leaving(node))
			down_bring(turn, node);
		else
			failure_normal_end(turn, node);
		return;
	}
	state_set(core, node, STATE_RUNNING);
	if (node->pace.failures > 0 && !spec_of(node)->backoff.manual_reset)
		deadline_arm(core, node, TIMER_RESET, turn->now_ms,
		             spec_of(node)->backoff.reset_after_ms);
	living_ready(core, node);
	(void)turn_report(turn, REPORT_READY, node);
	/* A node with a restart queued in the supervisor's start sequence keeps its
	 * place. */
	if (!node_is_in_sequence(node))
		part_pass(core, node);
	queue_parent(core, node);
	/* A node that becomes ready during a suspend is suspended now. */
	if (core->n_suspends > 0)
		queue_node(core, node);
}

/* post_start, or post_restart; false: it has none.  A resume has neither. */
static bool
run_post_hook(struct turn *turn, struct node *node)
{
	node->phase = PHASE_POST_START;
	return !node_is_resuming(node) &&
	       hooks_run(turn, node,
	                 node->run.readied != READIED_NOT ? HOOK_POST_RESTART
	                                                  : HOOK_POST_START);
}

/* A step of the start is over: go on to the next that takes time. */
void
up_step(struct turn *turn, struct node *node)
{
	switch (node->phase) {
	case PHASE_PRE_START:
		/* A child kept across its supervisor's restart starts when the supervisor
		 * is ready. */
		if (!node_is_leaving(node) && node_takes_starts(turn->core, node))
			create(turn, node);
		return;
	case PHASE_PROCESS:
		deadline_clear(turn->core, node, TIMER_STATE);
		deadline_clear(turn->core, node, TIMER_READY);
		deadline_clear(turn->core, node, TIMER_HEALTH);
		if (run_post_hook(turn, node))
			return;
		break;
	case PHASE_POST_START:
		break;
	case PHASE_CHILDREN:
		if (!node_has_process(node) && run_post_hook(turn, node))
			return;
		be_ready(turn, node);
		return;
	case PHASE_NONE:
	case PHASE_TURN:
	case PHASE_PRE_STOP:
	case PHASE_DISMISS:
	case PHASE_END:
	case PHASE_POST_STOP:
		return;
	}
	if (spec_of(node)->kind != NODE_BOTH) {
		be_ready(turn, node);
		return;
	}
	node->phase = PHASE_CHILDREN;
	children_open(turn, node);
}

/*
 * Start a node that is down and may start, as soon as it has what it needs, and, if it
 * starts on demand, is needed itself.
 */
void
up_start(struct turn *turn, struct node *node)
{
	if (process_is_unkillable(node)) {
		unkillable_hold(turn, node);
		return;
	}
	if (demand_waits(node)) {
		demand_stand_by(turn, node);
		return;
	}
	gate_end_standby(node);
	if (gate_admits(turn->core, node))
		begin_start(turn, node);
}
