/* SPDX-License-Identifier: ISC */
/* growth.c - the tree as a block of memory: build it, change it, give slots back. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "core/decide/limits.h"
#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

#define ALIGNED(n) (((n) + 7) & ~UINT64_C(7))

static uint64_t
lay_out(struct core *core, const struct core_size *size)
{
	uint64_t at = ALIGNED(sizeof(*core));

	core->at.nodes = at;
	at += ALIGNED(sizeof(struct node) * size->nodes);
	core->at.queue = at;
	at += ALIGNED(sizeof(uint32_t) * size->nodes);
	core->at.watches = at;
	at += ALIGNED(sizeof(struct watch) * size->watches);
	core->at.names = at;
	at += ALIGNED(sizeof(struct names) * size->nodes);
	core->at.pool = at;
	at += ALIGNED(size->pool_bytes);
	/* At the end: what was never used of these is left alone. */
	core->at.heap = at;
	at += ALIGNED(sizeof(struct deadline) * size->nodes * TIMER_MAX);
	core->at.waiters = at;
	core->size = *size;
	return at + sizeof(struct waiter) * size->waiters;
}

/* How much of a core of this size is used whatever happens: its beginning. */
size_t
core_sure_bytes(const struct core_size *size)
{
	struct core core;

	(void)lay_out(&core, size);
	return core.at.heap;
}

/* How much memory it takes. */
size_t
core_bytes(const struct core_size *size)
{
	struct core core;

	return lay_out(&core, size);
}

/* ---- building -------------------------------------------------------------------- */

/* Give the node its specification; what belongs to it goes to the pool. */
static void
take_spec(struct core *core, struct node *node, const struct spec *spec)
{
	pool_take_rules(core, node, spec);
	gate_take_spec(core, node, spec->needs);
	watch_take_spec(core, node, spec->watches, spec->n_watches);
}

static struct node *
take_slot(struct core *core)
{
	uint32_t slot = core->vacant;

	if (slot != NONE) {
		core->vacant = node_at(core, slot)->links.next;
	} else {
		ASSERT(core->top < core->size.nodes);
		slot = core->top++;
	}
	struct node *node = node_at(core, slot);
	uint32_t tenant = node->tenant + 1;
	memset(node, 0, sizeof(*node));
	node->tenant = tenant;
	node->used = true;
	node->links = (struct node_links){
	    .parent = NONE, .prev = NONE, .next = NONE, .first = NONE, .last = NONE};
	node->waiters = node->watch.first = node->watch.running = node->watch.watchers =
	    NONE;
	for (int timer = 0; timer < TIMER_MAX; timer++)
		node->deadlines[timer] = NONE;
	node->run.incarnation = 1;
	node->process.end = (struct cause){.kind = CAUSE_NORMAL, .code = -1};
	node->since_ms = core->now_ms;
	core->n_nodes++;
	return node;
}

static void
unlink_child(struct core *core, struct node *node)
{
	struct node *parent = node_supervisor(core, node);
	struct node *prev = node_at(core, node->links.prev);
	struct node *next = node_at(core, node->links.next);

	if (children_of(parent)->cursor == node_slot(core, node))
		children_of(parent)->cursor = children_of(parent)->op == OP_STOP
		                                  ? node->links.prev
		                                  : node->links.next;
	*(prev != NULL ? &prev->links.next : &parent->links.first) = node->links.next;
	*(next != NULL ? &next->links.prev : &parent->links.last) = node->links.prev;
	node->links.prev = node->links.next = NONE;
}

static void
link_child(struct core *core, struct node *parent, struct node *node, struct node *before)
{
	uint32_t slot = node_slot(core, node);

	node->links.next = before != NULL ? node_slot(core, before) : NONE;
	node->links.prev = before != NULL ? before->links.prev : parent->links.last;
	struct node *prev = node_at(core, node->links.prev);
	*(prev != NULL ? &prev->links.next : &parent->links.first) = slot;
	*(before != NULL ? &before->links.prev : &parent->links.last) = slot;
	if (before == NULL)
		node->links.index = prev != NULL ? prev->links.index + 1 : 0;
	else
		strategy_number(core, parent, node);
}

static struct node *
add_node(struct core *core, struct node *parent, struct node *before,
         const struct spec *spec)
{
	struct node *node = take_slot(core);

	pool_take_children(core, node, spec->kind, &core->no_children);
	if (parent != NULL) {
		node->links.parent = node_slot(core, parent);
		node->links.depth = parent->links.depth + 1;
		ASSERT(node->links.depth <= SPEC_DEPTH_MAX);
		parent->links.n_children++;
		link_child(core, parent, node, before);
		pool_resize(core, &node->limits.own, NULL, pool_limit_stamps(parent));
	}
	node->name = spec->name;
	node->base = spec->base;
	take_spec(core, node, spec);
	watch_named(core, node);
	gate_named(core, node);
	return node;
}

/*
 * An empty tree in the caller's memory (core_bytes(size) of it, aligned for a uint64_t):
 * only "/", in slot CORE_ROOT.  The first core_add() below it is /user.
 */
struct core *
core_init(void *memory, const struct core_size *size, uint64_t seed)
{
	struct core *core = memory;
	struct spec root;

	memset(memory, 0, core_sure_bytes(size));
	(void)lay_out(core, size);
	core->vacant = NONE;
	core->tick = 1;
	rng_seed(&core->rng, seed);
	core->no_children.cursor = core->no_children.group_leader = NONE;
	wait_init(core);
	watch_init(core);
	spec_default(&root, NODE_SUPERVISOR);
	root.policy.intensity = (struct intensity_spec){.unlimited = true};
	(void)add_node(core, NULL, NULL, &root);
	return core;
}

/*
 * The same core in other, usually larger memory: same slots, same state.  Both sizes
 * must hold what is in use (core_room); the old memory is the caller's to free.
 */
struct core *
core_move(void *memory, const struct core_size *size, const struct core *old)
{
	struct core *core = memory;
	const uint32_t *queue = core_block(old, old->at.queue);

	ASSERT(size->nodes >= old->top);
	ASSERT(size->waiters >= old->size.waiters);
	ASSERT(size->watches >= old->size.watches);
	memset(memory, 0, core_sure_bytes(size));
	*core = *old;
	(void)lay_out(core, size);
	memcpy(core_block(core, core->at.nodes), core_block(old, old->at.nodes),
	       sizeof(struct node) * old->top);
	memcpy(core_block(core, core->at.heap), core_block(old, old->at.heap),
	       sizeof(struct deadline) * old->heap_n);
	for (uint32_t i = 0; i < old->queue_n; i++)
		((uint32_t *)core_block(core, core->at.queue))[i] =
		    queue[(old->queue_head + i) % old->size.nodes];
	core->queue_head = 0;
	wait_move(core, old);
	watch_move(core, old);
	gate_move(core);
	core->pool_used = core->n_specs = 0;
	for (uint32_t slot = 0; slot < core->top; slot++) {
		struct node *node = node_in(core, slot);

		if (!node->used)
			continue;
		pool_move(core, node, old);
		gate_move_needs(core, node, old);
	}
	return core;
}

/* How much the core holds at most. */
void
core_size(const struct core *core, struct core_size *ret_size)
{
	*ret_size = core->size;
}

/* What is left: nodes, bytes of the pool, watches, waiters (as if none were in use). */
void
core_room(const struct core *core, struct core_size *ret_free)
{
	*ret_free = (struct core_size){
	    .nodes = core->size.nodes - core->n_nodes,
	    .pool_bytes = core->size.pool_bytes - core->pool_used,
	    .waiters = core->size.waiters,
	    .watches = core->size.watches - core->n_watches,
	};
}

/* The sibling to stand before; REF_NONE is the end of those that the file has. */
static struct node *
behind_others(const struct core *core, const struct node *supervisor, struct ref before)
{
	struct node *sibling = node_find(core, before);

	return sibling != NULL ? sibling : dynamic_first(core, supervisor);
}

/* The node is down while its supervisor may run: then it comes up with its siblings. */
void
node_join(struct core *core, struct node *supervisor, struct node *node)
{
	if (children_of(supervisor)->are != CHILDREN_DOWN) {
		/* A group is on its way down: it comes up together with it. */
		if (strategy_joins(core, node))
			part_join(core, node);
		goal_join(node);
		if (node->goal == GOAL_UP && children_of(supervisor)->op == OP_START) {
			/* In a sequence the node waits for its elder siblings. */
			state_set(core, node, STATE_WAITING);
			part_line_up(core, node, true);
			children_of(supervisor)->cursor = supervisor->links.first;
			queue_node(core, supervisor);
		}
		queue_node(core, node);
	}
}

/* Link in a child, before this sibling or (NULL) at the very end; it starts as core_add
 * says.
 */
struct node *
node_add(struct core *core, struct node *supervisor, struct node *before,
         const struct spec *spec)
{
	struct node *node = add_node(core, supervisor, before, spec);

	node_join(core, supervisor, node);
	return node;
}

/* The node, which is there; the core is at this time from now on. */
static struct node *
find_at(struct core *core, struct ref ref, uint64_t now_ms)
{
	struct node *node = node_find(core, ref);

	ASSERT(node != NULL);
	core->now_ms = now_ms;
	return node;
}

/*
 * Add a child, before a sibling or (REF_NONE) as the last one of the file.  There must be
 * room.  It starts when its supervisor does, or in the next core_settle() if that runs
 * already.
 */
struct ref
core_add(struct core *core, struct ref parent, struct ref before, const struct spec *spec,
         uint64_t now_ms)
{
	struct node *supervisor = find_at(core, parent, now_ms);

	return node_ref(core, node_add(core, supervisor,
	                               behind_others(core, supervisor, before), spec));
}

/* Give the node another policy; what runs goes on, counters and its name stay. */
void
core_update(struct core *core, struct ref ref, const struct spec *spec, uint64_t now_ms)
{
	struct node *node = find_at(core, ref, now_ms);

	ASSERT(spec_of(node)->kind == spec->kind);
	/* Of thousands an apply changes few. */
	if (pool_has_spec(node, spec))
		return;
	bool was_fixed = spec_of(node)->policy.limit.fixed;
	struct probe_spec was_health = spec_of(node)->health;
	take_spec(core, node, spec);
	living_updated(core, node, &was_health);
	demand_updated(core, node);
	uint32_t cap = pool_limit_stamps(node);
	CHILDREN_FOREACH (core, node, child) {
		const uint64_t *stamps = pool_stamps(core, &child->limits.own);

		/* The one kind of window cannot read what the other counted. */
		if (was_fixed != spec->policy.limit.fixed)
			window_clear(&child->limits.own);
		if (child->limits.own.cap != cap)
			pool_resize(core, &child->limits.own, stamps, cap);
	}
	if (spec->backoff.none)
		node->pace.failures = 0;
	suspend_updated(core, node);
}

/* Change the start order: the child comes before this sibling, or (REF_NONE) last. */
void
core_place_before(struct core *core, struct ref ref, struct ref before)
{
	struct node *node = node_find(core, ref);

	ASSERT(node != NULL);
	struct node *sibling = behind_others(core, node_supervisor(core, node), before);
	struct node *next = node_at(core, node->links.next);
	while (next != NULL && next->growth.removing)
		next = node_at(core, next->links.next);
	if (next == sibling)
		return;
	struct node *parent = node_supervisor(core, node);
	unlink_child(core, node);
	link_child(core, parent, node, sibling);
	/* An operation under way looks at all children again. */
	if (children_of(parent)->op == OP_STOP)
		children_of(parent)->cursor = parent->links.last;
	else if (children_of(parent)->op == OP_START)
		children_of(parent)->cursor = parent->links.first;
	queue_node(core, parent);
}

/*
 * Remove a node and all below it: they are stopped, in reverse, and each slot is given
 * back (ACTION_REMOVED) once its tenant is gone.
 */
void
core_remove(struct core *core, struct ref ref, uint64_t now_ms)
{
	struct node *top = find_at(core, ref, now_ms);

	dynamic_remove(core, top);
	core->look_early = true;
	goal_down(top);
	strategy_leave(core, top);
}

/*
 * A client waits for this node, which is being removed: stop it, or the removed node
 * above it, now, and not in its turn among the removed nodes.
 */
void
core_hasten(struct core *core, struct ref ref)
{
	struct node *node = node_find(core, ref);
	struct node *parent = node == NULL ? NULL : node_parent(core, node);

	while (parent != NULL && parent->growth.removing) {
		node = parent;
		parent = node_parent(core, node);
	}
	if (parent == NULL || !node->growth.removing || !node->part.grouped ||
	    parent->state == STATE_STOPPING)
		return;
	part_leave(core, node);
	queue_node(core, node);
	queue_node(core, parent);
}

/* Set the number of actors of that name, this one included: for an actor that was just
 * added. */
void
core_set_incarnation(struct core *core, struct ref ref, uint32_t incarnation)
{
	struct node *node = node_find(core, ref);

	ASSERT(node != NULL && node->run.begun == BEGUN_NEVER);
	node->run.incarnation = incarnation;
}

/*
 * Restart a node because its configuration changed: no backoff, nothing counted.  One
 * that was stopped by hand is started (DECISIONS 20), a held one stays as it is.
 */
void
core_restart(struct core *core, struct ref ref, uint64_t now_ms)
{
	struct node *node = find_at(core, ref, now_ms);

	if (node->plan.stay == STAY_HELD || node_is_hidden(node) ||
	    node->growth.presence == PRESENCE_DELETED || !spec_of(node)->enabled ||
	    node_is_refused(node))
		return;
	/* Below a node that is down or stops this node starts when that node does. */
	if (node_is_doomed(core, node))
		return;
	if (node_is_down(node) && strategy_joins(core, node))
		part_join(core, node);
	goal_reload(node, node_is_live(node));
	node->pace.short_lives = 0;
	queue_node(core, node);
}

/* Give a slot back.  The node is down and has no children. */
void
node_free(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;
	struct node *parent = node_supervisor(core, node);

	ASSERT(!node_is_live(node) && node->links.first == NONE);
	turn_act(turn, ACTION_REMOVED, node)->incarnation = node->run.incarnation;
	wait_node_freed(core, node);
	watch_node_freed(core, node);
	gate_node_freed(core, node);
	part_pass(core, node);
	for (int timer = 0; timer < TIMER_MAX; timer++)
		deadline_clear(core, node, (enum node_timer)timer);
	state_count_failed(core, node, -(node->state == STATE_FAILED));
	unlink_child(core, node);
	if (children_of(parent)->group_leader == node_slot(core, node))
		children_of(parent)->group_leader = NONE;
	parent->links.n_children--;
	children_of(parent)->n_added -= node_is_added(node);
	queue_node(core, parent);
	pool_drop_spec(core, node);
	node->used = false;
	node->links.next = core->vacant;
	core->vacant = node_slot(core, node);
	core->n_nodes--;
}
