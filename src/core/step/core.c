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
#define AS_EVENT_NAME(symbol, name, of, take) [symbol] = name,
const char *const event_kind_names[] = {EVENT_KIND_MAP(AS_EVENT_NAME)};
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

	while (core->tick_ms != 0) {
		uint32_t slot;
		enum node_timer timer;

		if (!turn_has_room(turn))
			return true;
		if (deadline_next(core, core->tick_ms, &slot, &timer))
			on_due(turn, node_at(core, slot), timer);
		else
			core->tick_ms = 0;
	}
	return false;
}

/* ---- a turn ------------------------------------------------------------------------ */

/*
 * In order: /user goes down first, and with it gone so does the rest (down.c).  Until
 * then supd's own actors are restarted as ever: /user's last words need the log.
 */
static void
shut_down(struct turn *turn, bool at_once)
{
	struct core *core = turn->core;
	struct node *root = node_at(core, CORE_ROOT);
	struct node *user = node_at(core, CORE_USER);

	if (core->exited)
		return;
	core->shutting_down = true;
	if (at_once) {
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
boot(struct core *core, struct node *root)
{
	if (core->shutting_down || core->exited || node_is_live(root))
		return;
	goal_up(root);
	queue_node(core, root);
}

/* ---- which node an event is about; NULL: it is dropped ---- */

static struct node *
top_of(const struct turn *turn, const struct event *event UNUSED)
{
	return node_at(turn->core, CORE_ROOT);
}

static struct node *
actor_of(const struct turn *turn, const struct event *event)
{
	return node_lookup(turn->core, event->ref);
}

/* Also an actor that has ended, and left the tree. */
static struct node *
hidden_too(const struct turn *turn, const struct event *event)
{
	return node_find(turn->core, event->ref);
}

/* A process of an earlier life is not meant any more. */
static struct node *
process_of(const struct turn *turn, const struct event *event)
{
	struct node *node = actor_of(turn, event);
	const bool is_there =
	    node != NULL && node_has_process(node) && process_is_there(node);

	return is_there && node->process.life == event->life ? node : NULL;
}

/* The node of a process that says something; NULL: it does not count, because it is not
 * between the start and the end of the process, or is said again. */
static struct node *
living_of(const struct turn *turn, const struct event *event)
{
	struct node *node = process_of(turn, event);

	return node != NULL && living_hears(node, event) ? node : NULL;
}

/* A command to an actor that is not there, or no more, is answered at once. */
static struct node *
commanded(struct turn *turn, const struct event *event)
{
	struct node *node = actor_of(turn, event);

	if (node != NULL && !node->growth.removing && !node_is_refused(node) &&
	    node->links.parent != NONE)
		return node;
	command_reply(turn, event, REPLY_NO_SUCH_ACTOR);
	return NULL;
}

#define AS_CASE(symbol, name, of, take) \
	case symbol:                    \
		node = of(turn, event); \
		if (node != NULL)       \
			take;           \
		break;

/*
 * Take an event in: goals and states of those it concerns directly change, the rest
 * moves in core_settle().  Appends at most CORE_POST_ACTIONS actions.  A command's token
 * that is not 0 gets exactly one ACTION_REPLY.
 */
void
core_post(struct core *core, uint64_t now_ms, const struct event *event,
          struct action_list *actions)
{
	struct turn *turn = &(struct turn){core, now_ms, actions};
	struct node *node;

	ASSERT(now_ms >= core->now_ms);
	core->now_ms = now_ms;
	switch (event->kind) {
		EVENT_KIND_MAP(AS_CASE)
	case EVENT_KIND_MAX:
		break;
	}
}

/* True if the core has said ACTION_EXIT, with this status. */
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

	ASSERT(now_ms >= core->now_ms);
	core->now_ms = now_ms;
	bool more = run_deadlines(&turn) || reconcile_run(&turn) || wait_flush(&turn) ||
	            core->queue_n > 0;
	/* What was armed in this turn may be due from the next one on. */
	core->tick += !more;
	return more;
}
