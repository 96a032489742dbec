/* SPDX-License-Identifier: ISC */
/* gate.c - `needs`: nodes that wait until others are started, ready or completed.
 *
 * Every start passes the gate: the first start, a start after a failure, a start by hand.
 * A node that is held up there is waiting; it stands in the list of the first name with
 * an unmet need, and is looked at again when a node of that name changes.
 *
 * Both kinds of lists are in the order of the slots, highest first, wherever the core was
 * moved to meanwhile: the same events give the same actions.
 *
 * A node has a name of its own, and all replicas share their base name besides: a need of
 * the base name needs each replica, however many there are at that time.
 */
#include "config.h"

#include "core/wait/wait.h"

#include "core/pure.h"

/* ---- names ------------------------------------------------------------------------- */

/* A new node, or one in new memory: it is found by the name of its replicas. */
void
gate_named(struct core *core, struct node *node)
{
	uint32_t *link = &names_of(core, node->base)->replicas;

	if (node->base == 0)
		return;
	while (*link != NONE && *link > node_slot(core, node))
		link = &node_in(core, *link)->gate.next_replica;
	node->gate.next_replica = *link;
	*link = node_slot(core, node);
}

static void
unname(struct core *core, struct node *node)
{
	uint32_t *link = &names_of(core, node->base)->replicas;

	if (node->base == 0)
		return;
	while (*link != node_slot(core, node))
		link = &node_in(core, *link)->gate.next_replica;
	*link = node->gate.next_replica;
}

/* ---- what is needed ---------------------------------------------------------------- */

/* The needs of a node, spec.n_needs of them. */
static const struct need_spec *
needs_of(const struct core *core, const struct node *node)
{
	return core_block(core, core->at.pool + node->pool.needs_at);
}

/* True if the node is as far as the need asks. */
static bool
is_as_far(const struct node *node, enum need need)
{
	const bool is_up = node->goal == GOAL_UP && (node->state == STATE_STARTING ||
	                                             node->state == STATE_RUNNING);

	/* An on-demand actor on standby counts as ready. */
	if (node_is_on_standby(node))
		return need != NEED_COMPLETED;
	/* Left behind, with a process that SIGKILL did not end: it has not ended yet. */
	if (process_is_unkillable(node))
		return false;
	/* A completed one-shot meets all needs of it. */
	if (node->state == STATE_DONE)
		return need != NEED_READY || node_is_ready(node);
	switch (need) {
	case NEED_STARTED:
		return is_up && node->run.created;
	case NEED_READY:
		return is_up && node_is_ready(node);
	case NEED_COMPLETED:
	case NEED_MAX:
		break;
	}
	return false;
}

/* True for a replica that counts for a need: also one that completed, but none that was
 * deleted or is being removed. */
static bool
is_counted(const struct node *replica)
{
	return !replica->growth.removing &&
	       replica->growth.presence != PRESENCE_DELETED &&
	       (!node_is_hidden(replica) || replica->state == STATE_DONE);
}

/* The next of the replicas of that name; NULL begins and ends. */
static struct node *
next_replica(const struct core *core, uint64_t name, const struct node *prev)
{
	struct node *node = node_at(core, prev == NULL ? names_of(core, name)->replicas
	                                               : prev->gate.next_replica);

	while (node != NULL && (node->base != name || !is_counted(node)))
		node = node_at(core, node->gate.next_replica);
	return node;
}

/*
 * The first actor of that name that does not meet the need; ret_met is false then.  NULL:
 * the need is met, or no actor has the name.
 */
static struct node *
find_unmet(const struct core *core, const struct need_spec *need, bool *ret_met)
{
	struct node *target = watch_find_named(core, need->target);

	if (target != NULL) {
		*ret_met = is_as_far(target, need->level);
		return *ret_met ? NULL : target;
	}
	struct node *replica = next_replica(core, need->target, NULL);
	*ret_met = replica != NULL;
	for (; replica != NULL; replica = next_replica(core, need->target, replica)) {
		if (is_as_far(replica, need->level))
			continue;
		*ret_met = false;
		return replica;
	}
	return NULL;
}

/* The first of its needs that is not met, or n_needs. */
static uint32_t
first_unmet(const struct core *core, const struct node *node)
{
	const struct need_spec *needs = needs_of(core, node);
	bool is_met = true;
	uint32_t i = 0;

	for (; i < spec_of(node)->n_needs; i++) {
		(void)find_unmet(core, &needs[i], &is_met);
		if (!is_met)
			break;
	}
	return i;
}

/*
 * The unmet needs of an actor, a bit for each: what a waiting actor waits for, when its
 * turn has come.
 */
uint64_t
gate_unmet(const struct core *core, const struct node *node)
{
	const struct need_spec *needs = needs_of(core, node);
	uint64_t unmet = 0;

	for (uint32_t i = 0; i < spec_of(node)->n_needs; i++) {
		bool is_met;

		(void)find_unmet(core, &needs[i], &is_met);
		unmet |= (uint64_t)!is_met << i;
	}
	return unmet;
}

/*
 * Walk over all actors that a need waits for: REF_NONE begins and ends.  Ends at once
 * where the need is met, and where no actor has the name.
 */
struct ref
core_unmet_next(const struct core *core, struct ref ref, uint32_t need, struct ref prev)
{
	const struct node *node = node_lookup(core, ref), *at = node_find(core, prev);
	bool is_met;

	if (node == NULL || need >= spec_of(node)->n_needs)
		return REF_NONE;
	const struct need_spec *spec = &needs_of(core, node)[need];
	if (at == NULL) {
		at = find_unmet(core, spec, &is_met);
		return at == NULL ? REF_NONE : node_ref(core, at);
	}
	if (at->name == spec->target)
		return REF_NONE;
	do {
		at = next_replica(core, spec->target, at);
	} while (at != NULL && is_as_far(at, spec->level));
	return at == NULL ? REF_NONE : node_ref(core, at);
}

/* The first actor that a node needs and that is down for good; NULL: there is none. */
static const struct node *
find_down(const struct core *core, const struct node *node)
{
	const struct ref ref = node_ref(core, node);

	for (uint32_t i = 0; i < spec_of(node)->n_needs; i++) {
		struct ref at = core_unmet_next(core, ref, i, REF_NONE);
		const struct node *needed;

		for (; (needed = node_find(core, at)) != NULL;
		     at = core_unmet_next(core, ref, i, at))
			if (node_is_down(needed) && !watch_is_coming(core, needed))
				return needed;
	}
	return NULL;
}

/*
 * The needed actor that holds this node up: an actor that is down for good, else the
 * first that does not meet its need.  NULL: all needs are met, or, with *ret_absent, no
 * actor has the needed name.
 */
const struct node *
gate_needed(const struct core *core, const struct node *node, bool *ret_absent)
{
	const uint32_t unmet = first_unmet(core, node);
	bool is_met;

	*ret_absent = false;
	if (unmet == spec_of(node)->n_needs)
		return NULL;
	const struct node *needed = find_down(core, node);
	if (needed != NULL)
		return needed;
	needed = find_unmet(core, &needs_of(core, node)[unmet], &is_met);
	*ret_absent = needed == NULL;
	return needed;
}

/* ---- who is held up ---------------------------------------------------------------- */

static void
enter(struct core *core, struct node *node, uint64_t name)
{
	const uint32_t slot = node_slot(core, node);
	uint32_t *link = &names_of(core, name)->blocked;

	node->gate.name = name;
	node->gate.prev = NONE;
	for (; *link != NONE && *link > slot; link = &node_in(core, *link)->gate.next)
		node->gate.prev = *link;
	node->gate.next = *link;
	struct node *next = node_at(core, *link);
	if (next != NULL)
		next->gate.prev = slot;
	*link = slot;
}

static void
leave(struct core *core, struct node *node)
{
	struct node *next = node_at(core, node->gate.next);
	struct node *prev = node_at(core, node->gate.prev);

	*(prev != NULL ? &prev->gate.next : &names_of(core, node->gate.name)->blocked) =
	    node->gate.next;
	if (next != NULL)
		next->gate.prev = node->gate.prev;
	node->gate.next = node->gate.prev = NONE;
}

/* It is held up no longer, or in another state: whatever it waits for is not this. */
void
gate_leave(struct core *core, struct node *node)
{
	if (!node_is_blocked(node))
		return;
	leave(core, node);
	node->gate.waits_for = WAITS_FOR_TURN;
	core->n_blocked--;
}

/* Its turn has come without demand: from now on it waits for that, as good as ready. */
void
gate_stand_by(struct node *node)
{
	node->gate.waits_for = WAITS_FOR_DEMAND;
}

/* It is demanded, or in another state: demand is not what it waits for. */
void
gate_end_standby(struct node *node)
{
	if (node_is_on_standby(node))
		node->gate.waits_for = WAITS_FOR_TURN;
}

/*
 * True if a node may start now that its turn has come; else a need is unmet: the node
 * waits, and is looked at again when that may have changed.
 */
bool
gate_admits(struct core *core, struct node *node)
{
	const uint32_t unmet = first_unmet(core, node);

	if (unmet == spec_of(node)->n_needs)
		return true;
	uint64_t name = needs_of(core, node)[unmet].target;
	core->recheck_needs =
	    core->recheck_needs || !node_is_blocked(node) || node->gate.name != name;
	if (node_is_blocked(node)) {
		leave(core, node);
	} else {
		if (node->state != STATE_WAITING)
			state_set(core, node, STATE_WAITING);
		node->gate.waits_for = WAITS_FOR_NEED;
		core->n_blocked++;
	}
	enter(core, node, name);
	return false;
}

/*
 * True if the node is held up by nothing but its needs.  Its turn in a sequence has come
 * once, but there may be a group that has to be gone, or another order, since then.
 */
bool
gate_is_next(const struct core *core, const struct node *node)
{
	const struct node *parent = node_parent(core, node);
	const struct node *turn =
	    parent == NULL ? NULL : node_at(core, children_of(parent)->cursor);

	if (!node_is_blocked(node) || node->part.grouped || parent == NULL)
		return false;
	if (node->part.sequenced &&
	    (children_of(parent)->op != OP_START ||
	     (turn != NULL && turn->links.index < node->links.index)))
		return false;
	return node_takes_starts(core, node);
}

static void
recheck_blocked_on(struct core *core, uint64_t name)
{
	struct node *at = node_at(core, names_of(core, name)->blocked);

	if (name == 0 || at == NULL)
		return;
	while (at->gate.next != NONE)
		at = node_in(core, at->gate.next);
	for (; at != NULL; at = node_at(core, at->gate.prev)) {
		if (at->gate.name != name)
			continue;
		queue_node(core, at);
		/* In a sequence the supervisor starts the node. */
		if (at->part.sequenced)
			queue_parent(core, at);
	}
}

/* The node is in another state, or further on its way: that may be what others need. */
void
gate_state_changed(struct core *core, const struct node *node)
{
	if (core->n_blocked == 0)
		return;
	recheck_blocked_on(core, node->name);
	recheck_blocked_on(core, node->base);
	if (node_is_pending(node) || node_is_down(node))
		core->recheck_needs = true;
}

/* The node is no more, nor can it be held up. */
void
gate_node_freed(struct core *core, struct node *node)
{
	gate_leave(core, node);
	unname(core, node);
	gate_state_changed(core, node);
}

/* ---- memory ------------------------------------------------------------------------ */

static void
copy_needs(struct core *core, struct node *node, const struct need_spec *needs)
{
	pool_copy(core, needs, sizeof(*needs) * spec_of(node)->n_needs,
	          &node->pool.needs_at);
}

/* The node has these needs now, as many as its spec says: it may not wait any more. */
void
gate_take_spec(struct core *core, struct node *node, const struct need_spec *needs)
{
	copy_needs(core, node, needs);
	if (!node_is_blocked(node) || node->growth.removing)
		return;
	queue_node(core, node);
	core->recheck_needs = true;
}

/* Its needs are copied out of the pool of another core. */
void
gate_move_needs(struct core *core, struct node *node, const struct core *old)
{
	copy_needs(core, node, needs_of(old, node));
}

/* After the core was moved into other memory, with empty buckets: enter the waiting nodes
 * again. */
void
gate_move(struct core *core)
{
	for (uint32_t slot = 0; slot < core->top; slot++) {
		struct node *node = node_in(core, slot);

		if (!node->used)
			continue;
		gate_named(core, node);
		if (node_is_blocked(node))
			enter(core, node, node->gate.name);
	}
}

/* ---- is everything as it must be? -------------------------------------------------- */

/* NULL, or what is wrong with the lists of waiting nodes; between two turns. */
const char *
gate_check(const struct core *core)
{
	uint32_t blocked = 0, listed = 0;

	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_in(core, slot);

		if (!node->used || !node_is_blocked(node))
			continue;
		blocked++;
		if (node->state != STATE_WAITING ||
		    (node->part.grouped && node->goal != GOAL_DOWN))
			return "an actor is held up by its needs and is not waiting";
		if (node->goal != GOAL_DOWN && !node->queued &&
		    gate_is_next(core, node) &&
		    first_unmet(core, node) == spec_of(node)->n_needs)
			return "an actor waits although all its needs are met";
	}
	for (uint32_t i = 0; i < core->size.nodes; i++) {
		const struct names *names =
		    (const struct names *)core_block(core, core->at.names) + i;

		for (const struct node *at = node_at(core, names->blocked); at != NULL;
		     at = node_at(core, at->gate.next))
			listed +=
			    node_is_blocked(at) && at->gate.name % core->size.nodes == i;
	}
	if (blocked != core->n_blocked || listed != blocked)
		return "wrong count of actors that are held up";
	return NULL;
}
