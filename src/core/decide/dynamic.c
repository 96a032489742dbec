/* SPDX-License-Identifier: ISC */
/* dynamic.c - actors that come and go at run time (OTP's start_child, delete_child).
 *
 * Added actors stand behind those of the file.  They are forgotten when their supervisor
 * is down, and so is an added actor with a failed first start.  A deleted actor of the
 * file is absent until its supervisor starts anew.
 */
#include "config.h"

#include "base/assert.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* ---- add ---- */

/* True if there is room for all actors of the addition, with their windows and rules. */
static bool
has_room(const struct core *core, const struct node *supervisor,
         const struct addition *addition)
{
	uint32_t depths[CORE_ADDED_MAX];
	struct core_size room;
	uint64_t bytes = 0, watches = 0;

	core_room(core, &room);
	if (addition->n == 0 || addition->n > CORE_ADDED_MAX || addition->n > room.nodes)
		return false;
	for (uint32_t i = 0; i < addition->n; i++) {
		uint32_t parent = addition->at[i].parent;

		ASSERT(i == 0 || parent < i);
		depths[i] = i == 0 ? supervisor->links.depth + 1 : depths[parent] + 1;
		if (depths[i] > SPEC_DEPTH_MAX)
			return false;
		watches += addition->at[i].spec->n_watches;
		bytes += core_spec_bytes(addition->at[i].spec,
		                         i == 0 ? spec_of(supervisor)
		                                : addition->at[parent].spec);
	}
	return bytes <= room.pool_bytes && watches <= room.watches;
}

/* True if children can be added: not below a supervisor that is down, or goes down. */
static bool
takes_children(const struct core *core, const struct node *node)
{
	if (!node_is_supervisor(node) || children_of(node)->are == CHILDREN_DOWN ||
	    node->goal != GOAL_UP)
		return false;
	return children_of(node)->are == CHILDREN_OPEN && node_takes_starts(core, node);
}

static void
add_all(struct turn *turn, struct node *supervisor, const struct event *event)
{
	const struct addition *addition = event->addition;
	struct node *nodes[CORE_ADDED_MAX];

	ASSERT(addition->n > 0);
	for (uint32_t i = 0; i < addition->n; i++) {
		struct node *parent = i == 0 ? supervisor : nodes[addition->at[i].parent];
		struct node *node =
		    node_add(turn->core, parent, NULL, addition->at[i].spec);

		nodes[i] = node;
		node->run.incarnation = addition->at[i].incarnation;
		node->growth.id = event->addition_id;
		node->growth.index = i;
		struct action *action = turn_act(turn, ACTION_ADDED, node);
		action->addition_id = event->addition_id;
		action->addition_index = i;
	}
	children_of(supervisor)->n_added++;
	goal_add(nodes[0], addition->at[0].spec->enabled);
	if (!addition->at[0].spec->enabled)
		command_reply(turn, event, REPLY_DONE);
	else
		wait_add(turn, nodes[0], event->token, WAIT_READY, true);
}

/*
 * Add actors below a supervisor, and start them: the caller hears when the first of them
 * is ready.  If it does not get that far it is not added at all (SEMANTICS 2.6).
 */
void
dynamic_add(struct turn *turn, struct node *supervisor, const struct event *event)
{
	struct core *core = turn->core;

	ASSERT(event->addition != NULL && event->addition_id != 0);
	if (!takes_children(core, supervisor))
		command_reply(turn, event, REPLY_INVALID_STATE);
	else if (children_of(supervisor)->n_added >=
	         spec_of(supervisor)->policy.max_children)
		command_reply(turn, event, REPLY_LIMIT);
	else if (!has_room(core, supervisor, event->addition) ||
	         (event->token != 0 && wait_is_full(core)))
		command_reply(turn, event, REPLY_BUSY);
	else
		add_all(turn, supervisor, event);
}

/* The first child that was added at run time, or NULL. */
struct node *
dynamic_first(const struct core *core, const struct node *supervisor)
{
	if (children_of(supervisor)->n_added == 0)
		return NULL;
	CHILDREN_FOREACH (core, supervisor, child) {
		if (node_is_added(child))
			return child;
	}
	return NULL;
}

/* ---- delete ---- */

/* The node is down and deleted: hide it until its supervisor starts anew. */
static void
hide(struct turn *turn, struct node *top)
{
	for (struct node *node = top; node != NULL;
	     node = node_next(turn->core, top, node)) {
		state_count_failed(turn->core, node, -(node->state == STATE_FAILED));
		goal_hide(node, true);
	}
	turn_act(turn, ACTION_REMOVED, top)->kept = true;
}

/* A hidden node is there again, with all nodes below, and with a clean slate. */
void
dynamic_show(struct core *core, struct node *top)
{
	if (!node_is_hidden(top))
		return;
	for (struct node *node = top; node != NULL; node = node_next(core, top, node)) {
		goal_hide(node, false);
		state_count_failed(core, node, node->state == STATE_FAILED);
		pace_forget(core, node);
	}
}

/* Everything from here down goes away: its slots are given back once it is down. */
void
dynamic_remove(struct core *core, struct node *top)
{
	for (struct node *node = top; node != NULL; node = node_next(core, top, node))
		node->growth.removing = true;
	queue_node(core, top);
}

/*
 * Delete an actor with its specification.  One that runs, or is to be restarted, is
 * refused (OTP's `running` and `restarting`) unless the event says that it be stopped.
 */
void
dynamic_delete(struct turn *turn, struct node *node, const struct event *event)
{
	struct core *core = turn->core;

	if (!event->stop && !node_is_down(node)) {
		command_reply(turn, event, REPLY_INVALID_STATE);
		return;
	}
	if (event->token != 0 && wait_is_full(core)) {
		command_reply(turn, event, REPLY_BUSY);
		return;
	}
	if (node_is_added(node)) {
		core_remove(core, node_ref(core, node), turn->now_ms);
	} else {
		goal_delete(node);
		strategy_leave(core, node);
		queue_node(core, node);
	}
	wait_state_changed(core, node);
	wait_add(turn, node, event->token, WAIT_STOPPED, true);
	if (node->growth.presence == PRESENCE_DELETED && node_is_down(node))
		dynamic_settled(turn, node);
}

/* ---- what ends ---- */

/* The node is down and stays down: does it disappear?  (OTP O-15, and a failed add.) */
void
dynamic_settled(struct turn *turn, struct node *node)
{
	bool was_fresh = node->growth.added == ADDED_FRESH && node->state != STATE_DONE;

	/* A hidden node would get no more events: unkillable_gone() comes back here. */
	if (node_has_unkillable(turn->core, node))
		return;
	goal_stay_added(node);
	if (node->growth.removing)
		return;
	if (node_is_added(node) &&
	    (was_fresh || spec_of(node)->restart == RESTART_TEMPORARY))
		dynamic_remove(turn->core, node);
	else if (node->growth.presence == PRESENCE_DELETED ||
	         spec_of(node)->restart == RESTART_TEMPORARY)
		hide(turn, node);
}

/* The supervisor is down: what was added to it at run time is forgotten. */
void
dynamic_forget(struct core *core, struct node *supervisor)
{
	if (children_of(supervisor)->n_added == 0)
		return;
	CHILDREN_FOREACH (core, supervisor, child) {
		if (node_is_added(child) && !child->growth.removing &&
		    node_is_down(child))
			dynamic_remove(core, child);
	}
}

/* ---- those of the file ---- */

/*
 * Have one again that was deleted by a command, or ended as a temporary: it starts as
 * core_add says.  Nothing happens to one that is there.
 */
void
core_restore(struct core *core, struct ref ref, uint64_t now_ms)
{
	struct node *top = node_find(core, ref);

	ASSERT(top != NULL);
	core->now_ms = now_ms;
	if (!node_is_hidden(top))
		return;
	dynamic_show(core, top);
	if (top->plan.stay != STAY_HELD)
		node_join(core, node_supervisor(core, top), top);
}

/* The number of actors of that name up to now, hidden ones included. 0: the slot is free.
 */
uint32_t
core_incarnation(const struct core *core, struct ref ref)
{
	const struct node *node = node_find(core, ref);

	return node == NULL ? 0 : node->run.incarnation;
}
