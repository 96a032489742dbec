/* SPDX-License-Identifier: ISC */
/* react.c - a watcher is told of the end of its target: what comes of it. */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* How a hook or the command of a watch ended, or why it did not begin: HOOK_DONE,
 * REACT_DONE. */
struct cause
react_cause(const struct event *event)
{
	struct cause cause = {
	    .kind = CAUSE_EXIT,
	    .code = event->code,
	    .signal = (uint8_t)event->signal,
	    .error = event->error,
	    .core = event->core,
	};

	if (event->error != 0)
		cause.kind = CAUSE_EXEC;
	else if (event->signal != 0)
		cause.kind = event->core ? CAUSE_CORE : CAUSE_SIGNAL;
	living_take_key(cause.key, event);
	return cause;
}

/* True if the watcher has a process that can be told, or needs none. */
static bool
is_there(const struct node *node)
{
	return node_has_process(node) ? node->process.state == PROCESS_RUNS
	                              : !node_is_dead(node);
}

/*
 * True if the watcher can take the end now.  A watcher that is restarted takes it
 * afterwards; a watcher that waits for its start takes reactions that need no process.
 */
static bool
can_take(const struct core *core, const struct node *node, const struct watch *watch)
{
	bool waits = node_is_pending(node) && !node->part.grouped;
	bool runs = (node->state == STATE_STARTING || node->state == STATE_RUNNING) &&
	            !node_is_leaving(node);

	if (node->goal == GOAL_DOWN || node->growth.removing || (!waits && !runs) ||
	    !node_takes_starts(core, node))
		return false;
	switch (watch->reaction) {
	case REACTION_FAIL:
		return runs && is_there(node);
	case REACTION_SIGNAL:
		return runs && is_there(node) &&
		       (node_is_ready(node) || spec_of(node)->start.ready == READY_EXIT);
	case REACTION_RUN:
		return node->watch.running == NONE;
	case REACTION_RESTART:
	case REACTION_STOP:
	case REACTION_MAX:
		break;
	}
	return true;
}

/* A death pact stops the watcher, for good. */
static void
stop(struct turn *turn, struct node *node)
{
	goal_down_by_policy(node);
	command_want_down(turn, node);
}

/*
 * Restart, without a failure.  A watcher that starts after the end has been restarted by
 * that; a watcher that runs once is stopped instead (OTP O-15).  A supervisor waits out
 * its backoff, because its restart may well end its target again.
 */
static void
restart(struct turn *turn, struct node *node, bool confirmed)
{
	bool delayed = node_is_supervisor(node) || spec_of(node)->backoff.on_stop;

	if (!confirmed || !node_is_live(node))
		return;
	if (spec_runs_once(spec_of(node))) {
		stop(turn, node);
		return;
	}
	goal_restart(
	    node, START_BY_POLICY, RESTARTED_FOR_WATCH,
	    delayed ? pace_delay(turn, node,
	                         &(const struct decision){.directive = DIRECTIVE_RESTART})
	            : pace_delay_floor(turn, node));
	queue_node(turn->core, node);
}

static void
send(struct turn *turn, const struct node *node, int32_t signal)
{
	if (!node_has_process(node))
		return;
	struct action *action = turn_act(turn, ACTION_SIGNAL, node);
	action->life = node->process.life;
	action->signal = signal;
}

/* Say what is told, in an action about the watcher. */
static void
fill_telling(struct action *action, const struct watch *watch,
             const struct telling *telling)
{
	action->death.watch = watch->index + 1;
	action->origin = telling->ended;
	action->incarnation = telling->incarnation;
	action->generation = 0;
	action->death.confirmed = telling->confirmed;
	action->death.child_failed = telling->child_failed;
	action->cause = telling->cause;
	action->death.reaction = watch->reaction;
}

/* What is asked for: the same whenever it is asked. */
static void
describe_run(const struct node *node, const struct watch *watch, struct action *action)
{
	fill_telling(action, watch, &watch->run);
	action->death.reaction = REACTION_RUN;
	action->serial = watch->run_serial;
	action->life = node->process.life;
}

/* Have its command run; react_done() tells of its end. */
static void
run(struct turn *turn, struct node *node, struct watch *watch)
{
	struct core *core = turn->core;

	core->run_serial += core->run_serial == UINT32_MAX ? 2 : 1;
	watch->run_serial = core->run_serial;
	watch_run_begun(core, watch);
	describe_run(node, watch, turn_act(turn, ACTION_REACT, node));
}

/*
 * The watch's command that this actor waits for, as the action that asked for it; false:
 * none.  As core_hook(), for a new guardian, which cannot know how much of it was done.
 */
bool
core_react(const struct core *core, struct ref ref, struct action *ret)
{
	const struct node *node = node_find(core, ref);

	if (node == NULL || node->watch.running == NONE)
		return false;
	*ret = (struct action){.kind = ACTION_REACT, .ref = ref, .to = REF_NONE};
	describe_run(node, watch_in(core, node->watch.running), ret);
	return true;
}

/*
 * EVENT_REACT_DONE; one of another serial than that of what runs is stale.  It may
 * outlive a temporary actor, which is hidden then.
 */
void
react_done(struct turn *turn, struct node *node, const struct event *event)
{
	struct watch *watch = watch_at(turn->core, node->watch.running);
	bool failed;

	if (watch == NULL || watch->run_serial != event->serial)
		return;
	failed =
	    event->late || event->error != 0 || event->signal != 0 || event->code != 0;
	/* What another configuration does not run any more did not fail. */
	if (failed && watch->reaction == REACTION_RUN) {
		struct action *action = turn_report(turn, REPORT_HOOK_FAILED, node);

		action->death.watch = watch->index + 1;
		action->timed_out = event->late;
		action->cause = react_cause(event);
	}
	watch_run_ended(turn->core, watch);
}

static void
deliver(struct turn *turn, struct node *node, struct watch *watch)
{
	fill_telling(turn_report(turn, REPORT_TERMINATED, node), watch, &watch->due);
	watch_was_told(turn->core, watch);
	switch (watch->reaction) {
	case REACTION_FAIL:
		failure_handle(turn, node,
		               &(const struct cause){.kind = CAUSE_DEATH_PACT,
		                                     .code = -1,
		                                     .watch = watch->index + 1},
		               node);
		break;
	case REACTION_SIGNAL:
		send(turn, node, watch->signal);
		break;
	case REACTION_RUN:
		run(turn, node, watch);
		break;
	case REACTION_RESTART:
		restart(turn, node, watch->due.confirmed);
		break;
	case REACTION_STOP:
		stop(turn, node);
		break;
	case REACTION_MAX:
		break;
	}
}

/* The earliest of the ends that the watcher can take now; NULL: none. */
static struct watch *
next_due(const struct core *core, const struct node *node)
{
	struct watch *next = NULL;

	for (struct watch *own = watch_at(core, node->watch.first);
	     own != NULL && node->watch.n_due > 0; own = watch_at(core, own->next)) {
		if (own->state == WATCH_DUE && can_take(core, node, own) &&
		    (next == NULL || own->order < next->order))
			next = own;
	}
	return next;
}

/*
 * Look at the watches of a node: register the new ones, tell it what it can take, one at
 * a time, because each may change what it can take next.
 */
void
react_advance(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	watch_register(core, node);
	struct watch *next = next_due(core, node);
	if (next == NULL)
		return;
	watch_look(core, node);
	if (turn_has_room(turn))
		deliver(turn, node, next);
}
