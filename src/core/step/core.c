/* SPDX-License-Identifier: ISC */
/* core.c - a turn: events in, actions out. */
#include "config.h"

#include "base/assert.h"
#include "core/core.h"
#include "core/decide/marks.h"
#include "core/move/steps.h"

#include "core/pure.h"

const char *const node_state_names[] = {NODE_STATE_MAP(AS_NAME)};
const char *const restart_kind_names[] = {RESTART_KIND_MAP(AS_NAME)};
const char *const event_kind_names[] = {EVENT_KIND_MAP(AS_NAME)};
const char *const action_kind_names[] = {ACTION_KIND_MAP(AS_NAME)};
const char *const decision_reason_names[] = {DECISION_REASON_MAP(AS_NAME)};
const char *const wait_for_names[] = {WAIT_FOR_MAP(AS_NAME)};
const char *const hook_reason_names[] = {HOOK_REASON_MAP(AS_NAME)};

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
		if (node->goal != GOAL_DOWN && node_takes_starts(turn->core, node))
			up_start(turn, node);
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
		pace_reset(turn->core, node);
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
		queue_node(core, root);
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
	queue_node(core, root);
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
		process_post(&turn, event);
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
