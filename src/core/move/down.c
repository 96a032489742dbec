/* SPDX-License-Identifier: ISC */
/* down.c - a node goes down: asked to, killed, gone, and what that leads to. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

/* /user failed or ended for good, or was the first to go in a shutdown: so does all of
 * supd (SEMANTICS G-02, G-03). */
static void
user_ended(struct core *core, struct node *user)
{
	struct node *root = node_supervisor(core, user);

	if (!core->shutting_down)
		core->exit_status = significant_status(core);
	core->shutting_down = true;
	goal_down(root);
	queue_node(core, root);
}

/* Nothing of the actor is left, and that is its final end: tell waiters and watchers. */
void
down_terminated(struct turn *turn, struct node *node)
{
	const bool was_started = node_has_begun(node);

	if (node_has_begun(node)) {
		turn_report(turn, REPORT_STOPPED, node)->cause = *node_final_cause(node);
		turn_report(turn, REPORT_TERMINATED, node)->cause =
		    *node_final_cause(node);
		run_terminated(node);
		wait_terminated(turn->core, node);
	}
	if (spec_of(node)->keeps && node->run.begun != BEGUN_NEVER)
		turn_act(turn, ACTION_CLEAR, node)->is_final = true;
	if (node->goal == GOAL_DOWN)
		dynamic_settled(turn, node);
	/* Watchers are told after the supervisor (D-05). */
	watch_ended(turn->core, node, was_started);
	if (node->goal == GOAL_DOWN)
		significant_ended(turn, node);
}

/* It is down and stays down. */
void
down_settle(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	goal_settled(node);
	failure_is_over(node);
	/* A one-shot is ready once it is done. */
	if (!node_is_ready(node) || node->plan.down_as != STATE_DONE ||
	    spec_of(node)->start.ready != READY_EXIT)
		run_forget_ready(node);
	node->pace.no_room = 0;
	suspend_clear(core, node);
	suspend_decided(core, node);
	state_set(core, node, node->plan.down_as);
	part_leave(core, node);
	part_pass(core, node);
	queue_node(core, node);
	queue_parent(core, node);
	/* Of what could not be killed the end is told when it comes. */
	if (!process_is_unkillable(node))
		down_terminated(turn, node);
	else
		/* An actor that has not begun has no end to tell: look at its watches. */
		core->look_early = true;
	significant_settled(turn, node);
	if (node->links.parent == NONE)
		turn_exit(turn);
	else if (node_slot(core, node) == CORE_USER &&
	         (node->state != STATE_STOPPED || core->shutting_down))
		user_ended(core, node);
}

/*
 * Down for now: in its backoff, or, behind the leader of a group or in its supervisor's
 * sequence, waiting for it.
 */
enum node_state
down_pending_state(const struct core *core, const struct node *node)
{
	if (node_is_in_sequence(node))
		return STATE_WAITING;
	if (node->part.grouped &&
	    children_of(node_supervisor(core, node))->group_leader !=
	        node_slot(core, node))
		return STATE_WAITING;
	return STATE_BACKOFF;
}

/* The node's own delay begins, and then its start. */
static void
begin_delay(struct turn *turn, struct node *node)
{
	deadline_arm(turn->core, node, TIMER_STATE, turn->now_ms, node->plan.delay_ms);
	/* An episode of no room is told once, when it begins. */
	if (node->plan.delay_ms > 0 && node->pace.no_room == 0)
		turn_report(turn, REPORT_BACKOFF, node)->delay_ms = node->plan.delay_ms;
}

/* It had ended for good, and is to come up after all. */
void
down_come_back(struct turn *turn, struct node *node)
{
	state_set(turn->core, node, STATE_BACKOFF);
	begin_delay(turn, node);
	queue_parent(turn->core, node);
}

/* Down for now; up again after a while. */
static void
enter_backoff(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	/* The end of a process was told already; a supervisor's is told here. */
	if (!node_has_process(node))
		turn_report(turn, REPORT_STOPPED, node)->cause = node->process.end;
	state_set(core, node, down_pending_state(core, node));
	run_not_ready(node);
	if (node_is_in_sequence(node) &&
	    children_of(node_supervisor(core, node))->op == OP_START) {
		/* Its turn was here, and is again. */
		children_of(node_supervisor(core, node))->cursor =
		    node_supervisor(core, node)->links.first;
	} else if (!node->part.grouped && !node_is_in_sequence(node)) {
		begin_delay(turn, node);
	}
	queue_node(core, node);
	queue_parent(core, node);
}

/* Nothing of the node is left: down for good, or on its way up again. */
static void
finish_stop(struct turn *turn, struct node *node)
{
	node->phase = PHASE_NONE;
	children_close(node);
	if (!process_is_unkillable(node))
		living_ended(turn->core, node);
	if (!node_has_process(node))
		pace_ended(turn, node, false);
	/* All children are gone, so is the group operation on them. */
	if (children_of(node)->are == CHILDREN_DOWN) {
		children_of(node)->op = OP_NONE;
		dynamic_forget(turn->core, node);
	}
	if (node_comes_back(node))
		enter_backoff(turn, node);
	else
		down_settle(turn, node);
}

static void
send_kill(struct turn *turn, struct node *node, enum process_kill how)
{
	if (node->process.killed != KILL_NOT_SENT)
		return;
	process_killed(node, how);
	turn_act(turn, ACTION_KILL, node)->life = node->process.life;
	deadline_arm(turn->core, node, TIMER_STATE, turn->now_ms,
	             spec_of(node)->stop.kill_timeout_ms);
}

/* Ask the process to end, as its `shutdown` has it (OTP O-06 to O-08). */
static void
send_stop(struct turn *turn, struct node *node)
{
	const struct spec *spec = spec_of(node);

	if (stop_kills(node) || spec->stop.mode == SHUTDOWN_BRUTAL_KILL) {
		send_kill(turn, node, KILL_SENT);
		return;
	}
	struct action *action = turn_act(turn, ACTION_STOP, node);
	action->life = node->process.life;
	action->watchdog_expired = node->living.watchdog_expired;
	if (spec->stop.mode == SHUTDOWN_TIMEOUT)
		living_grant(turn, node, spec->stop.shutdown_ms);
}

/* The start was acknowledged after the decision to stop: now there is a process to be
 * told. */
void
down_spawned(struct turn *turn, struct node *node)
{
	if (node->phase == PHASE_END)
		send_stop(turn, node);
}

/*
 * The request to end was sent later than it was decided, because supd itself had died in
 * between: the process has its full time from now on.
 */
void
down_stop_sent(struct turn *turn, struct node *node)
{
	if (node->phase == PHASE_END && node->process.killed == KILL_NOT_SENT &&
	    spec_of(node)->stop.mode == SHUTDOWN_TIMEOUT)
		deadline_extend(turn->core, node, TIMER_STATE, turn->now_ms,
		                spec_of(node)->stop.shutdown_ms);
}

/*
 * pre_restart or pre_stop; false: none.  They are for what was ready once (systemd's
 * ExecStop=), and pre_stop for what is still there.
 */
static bool
run_pre_hook(struct turn *turn, struct node *node)
{
	const bool is_there = node_has_process(node)
	                          ? process_is_main_there(node)
	                          : children_of(node)->are != CHILDREN_DOWN;

	node->phase = PHASE_PRE_STOP;
	if (!node_is_ready(node) || node_is_resuming(node) ||
	    (node_is_ending(node) && node->ending.as != ENDING_RETIRES))
		return false;
	/* A process that is to be killed at once does not wait for a hook. */
	if (is_there && spec_of(node)->stop.mode == SHUTDOWN_BRUTAL_KILL)
		return false;
	if (node_comes_back(node))
		return hooks_run(turn, node, HOOK_PRE_RESTART);
	return is_there && hooks_run(turn, node, HOOK_PRE_STOP);
}

/* post_stop; false: there is none, or nothing to clean up after. */
static bool
run_post_hook(struct turn *turn, struct node *node)
{
	const bool is_due = node->run.created && !node_is_resuming(node);

	node->phase = PHASE_POST_STOP;
	run_cleaned(node);
	return is_due && hooks_run(turn, node, HOOK_POST_STOP);
}

/* Stop the children, unless they outlive this stop; false: no child has to stop. */
static bool
dismiss(struct turn *turn, struct node *node)
{
	if (children_of(node)->are == CHILDREN_DOWN ||
	    (node_comes_back(node) && node_keeps_children(node)))
		return false;
	node->phase = PHASE_DISMISS;
	if (!node_has_process(node) && spec_of(node)->stop.mode == SHUTDOWN_TIMEOUT)
		deadline_arm(turn->core, node, TIMER_STATE, turn->now_ms,
		             spec_of(node)->stop.shutdown_ms);
	children_stop(turn, node);
	return true;
}

/* The process stops; false: there is none any more. */
static bool
end_process(struct turn *turn, struct node *node)
{
	deadline_clear(turn->core, node, TIMER_STATE);
	node->phase = PHASE_END;
	if (!process_is_there(node) || process_is_unkillable(node))
		return false;
	/* Before the spawn is acknowledged there is no process to be told. */
	if (node->process.state != PROCESS_ORDERED)
		send_stop(turn, node);
	return true;
}

/* A step of the stop is over: go on to the next that takes time. */
void
down_step(struct turn *turn, struct node *node)
{
	switch (node->phase) {
	case PHASE_PRE_STOP:
		if (dismiss(turn, node))
			return;
		__attribute__((fallthrough));
	case PHASE_DISMISS:
		if (end_process(turn, node))
			return;
		__attribute__((fallthrough));
	case PHASE_END:
		deadline_clear(turn->core, node, TIMER_STATE);
		if (run_post_hook(turn, node))
			return;
		__attribute__((fallthrough));
	case PHASE_POST_STOP:
		/* Meanwhile the goal may have become to stay down. */
		if (!dismiss(turn, node))
			finish_stop(turn, node);
		return;
	case PHASE_NONE:
	case PHASE_PRE_START:
	case PHASE_PROCESS:
	case PHASE_POST_START:
	case PHASE_CHILDREN:
	case PHASE_TURN:
		return;
	}
}

/* True if there is nothing to be stopped, and nothing to be waited for. */
static bool
is_over(const struct node *node)
{
	if (process_is_there(node) || node->hooks.serial != 0)
		return false;
	if (node_has_process(node))
		return children_of(node)->are == CHILDREN_DOWN ||
		       (node_comes_back(node) && node_keeps_children(node));
	return node_is_dead(node) && children_of(node)->are == CHILDREN_DOWN;
}

static void
begin_stop(struct turn *turn, struct node *node)
{
	const bool has_hooks = spec_of(node)->hooks != 0 &&
	                       (node_is_ready(node) || node->run.created) &&
	                       !stop_kills(node);

	children_close(node);
	/* Nodes below that were coming do not come now. */
	turn->core->look_early = turn->core->look_early || node_is_supervisor(node);
	suspend_end(turn, node);
	if (is_over(node) && !has_hooks) {
		finish_stop(turn, node);
		return;
	}
	state_set(turn->core, node, STATE_STOPPING);
	(void)turn_report(turn, REPORT_STOPPING, node);
	goal_begin_stop(node, node_is_supervisor(node) &&
	                          spec_of(node)->stop.mode == SHUTDOWN_BRUTAL_KILL);
	if (node->hooks.serial != 0) {
		/* The start is not wanted any more. */
		node->phase = PHASE_PRE_STOP;
		hooks_kill(turn, node);
	} else if (!run_pre_hook(turn, node)) {
		down_step(turn, node);
	}
}

/*
 * The node itself is down and its children live on: they are to stop now, or when it is
 * the turn of the node.
 */
void
down_wait_turn(struct core *core, struct node *node)
{
	state_set(core, node, STATE_STOPPING);
	node->phase = PHASE_TURN;
	goal_begin_stop(node, false);
}

static void
hasten(struct turn *turn, struct node *node)
{
	hooks_kill(turn, node);
	if (node_is_supervisor(node) && !stop_kills_children(node)) {
		goal_kill_children(node);
		if (node->phase == PHASE_DISMISS)
			children_stop(turn, node);
	}
	if (node->phase == PHASE_END && process_is_there(node) &&
	    node->process.state != PROCESS_ORDERED)
		send_kill(turn, node, KILL_SENT);
}

/* Whatever is left of it is killed, at once. */
void
down_kill(struct turn *turn, struct node *node)
{
	goal_kill(node);
	if (node->state == STATE_STOPPING)
		hasten(turn, node);
}

/* The time is over that its process, or its subtree, had to stop in, or to be killed. */
void
down_overdue(struct turn *turn, struct node *node)
{
	const bool is_process = node->phase == PHASE_END;

	if (is_process && node->process.killed != KILL_NOT_SENT) {
		unkillable_found(turn, node);
		return;
	}
	/* Unless a stop of a supervisor above had the process killed already. */
	if (is_process || !stop_kills_children(node))
		turn_report(turn, REPORT_KILLED_AFTER_TIMEOUT, node)->delay_ms =
		    spec_of(node)->stop.shutdown_ms;
	/* The children of a process have all the time that they need. */
	if (is_process)
		send_kill(turn, node, KILL_SENT_LATE);
	else
		hasten(turn, node);
}

/* Make the node go down, in whatever state it is. */
void
down_bring(struct turn *turn, struct node *node)
{
	if (node_is_pending(node)) {
		queue_node(turn->core, node);
	} else if (node_is_live(node) && node->state != STATE_STOPPING) {
		begin_stop(turn, node);
	} else if (node->phase == PHASE_TURN) {
		(void)turn_report(turn, REPORT_STOPPING, node);
		if (!run_pre_hook(turn, node))
			down_step(turn, node);
	} else if (node->phase == PHASE_DISMISS && children_of(node)->op == OP_NONE) {
		/* The supervisor gave up, and its failure is decided now. */
		goal_forget_end(node);
		if (!run_pre_hook(turn, node))
			down_step(turn, node);
	}
}
