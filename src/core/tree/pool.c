/* SPDX-License-Identifier: ISC */
/* pool.c - the specs, rules, needs and restart windows of nodes, which lie in one pool.
 */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "core/tree/turn.h"

#include "core/pure.h"

/* The stamps of a window in the pool of the tree. */
uint64_t *
pool_stamps(const struct core *core, const struct window *window)
{
	return core_block(core, core->at.pool + window->at);
}

/* How many restarts of its children the intensity of a node has to remember. */
static uint32_t
intensity_stamps(const struct spec *spec)
{
	return spec->kind == NODE_WORKER || spec->policy.intensity.unlimited
	           ? 0
	           : spec->policy.intensity.restarts;
}

/* How much of the pool a node takes at most: its spec, its rules and its windows, and as
 * a supervisor what it knows of its children. */
uint32_t
core_spec_bytes(const struct spec *spec, const struct spec *parent)
{
	uint64_t bytes =
	    sizeof(struct shared_spec) + sizeof(struct need_spec) * spec->n_needs;

	bytes += sizeof(struct rule) *
	         (spec->policy.decider.n_rules + spec->on_failure.n_rules);
	bytes += sizeof(uint64_t) * intensity_stamps(spec);
	if (spec->kind != NODE_WORKER)
		bytes += sizeof(struct node_children);
	if (parent != NULL && parent->policy.limit.on && !parent->policy.limit.fixed)
		bytes += sizeof(uint64_t) * parent->policy.limit.restarts;
	ASSERT(bytes < UINT32_MAX);
	return (uint32_t)bytes;
}

/* Take this many bytes of the pool; there must be room. */
static void *
pool_take(struct core *core, uint64_t bytes, uint32_t *ret_at)
{
	*ret_at = core->pool_used;
	ASSERT(bytes % 8 == 0);
	ASSERT(core->pool_used + bytes <= core->size.pool_bytes);
	core->pool_used += (uint32_t)bytes;
	return core_block(core, core->at.pool + *ret_at);
}

/* A copy of something in the pool, as pool_take() has room for it. */
void
pool_copy(struct core *core, const void *source, uint64_t bytes, uint32_t *ret_at)
{
	void *copy = pool_take(core, bytes, ret_at);

	if (bytes > 0)
		memcpy(copy, source, bytes);
}

/* The rules of a decider in the pool. */
const struct rule *
pool_rules(const struct core *core, uint32_t at)
{
	return core_block(core, core->at.pool + at);
}

/* What the specs, rules and windows of all nodes take; what others had is found by
 * moving. */
uint32_t
core_pool_in_use(const struct core *core)
{
	uint64_t bytes = sizeof(struct shared_spec) * core->n_specs;

	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_in(core, slot);
		const struct node *parent = node_parent(core, node);

		if (node->used)
			bytes +=
			    core_spec_bytes(spec_of(node),
			                    parent == NULL ? NULL : spec_of(parent)) -
			    sizeof(struct shared_spec);
	}
	return (uint32_t)bytes;
}

/* Give the node its part for children: as a supervisor a copy of this part in the pool,
 * as a worker the part that all workers share. */
void
pool_take_children(struct core *core, struct node *node, enum node_kind kind,
                   const struct node_children *children)
{
	struct node_children *part = &core->no_children;
	uint32_t at;

	if (kind != NODE_WORKER)
		part = pool_take(core, sizeof(*part), &at);
	*part = *children;
	node->pool.children_at =
	    (int32_t)((uint64_t *)(void *)part - (uint64_t *)(void *)node);
}

/* ---- specs ------------------------------------------------------------------------- */

/* What is the same in the specs of nodes that are alike: no name, and no pointer. */
static void
make_shared(const struct spec *spec, struct spec *ret)
{
	memcpy(ret, spec, sizeof(*ret));
	ret->name = ret->base = 0;
	ret->watches = NULL;
	ret->needs = NULL;
	ret->policy.decider.rules = ret->on_failure.rules = NULL;
}

/* How much of the pool the root takes, which no configuration has. */
uint32_t
core_root_bytes(void)
{
	return sizeof(struct shared_spec) + sizeof(struct node_children);
}

/* How much of the pool a node takes less if another has the same spec. */
uint32_t
core_shared_bytes(void)
{
	return sizeof(struct shared_spec);
}

/* True if nodes with these two specs share one in the pool. */
bool
core_spec_is_shared(const struct spec *a, const struct spec *b)
{
	struct spec shared[2];

	make_shared(a, &shared[0]);
	make_shared(b, &shared[1]);
	return memcmp(&shared[0], &shared[1], sizeof(shared[0])) == 0;
}

static struct shared_spec *
spec_in(const struct core *core, uint32_t at)
{
	return core_block(core, core->at.pool + at);
}

/* The shared spec of this node; nothing to be looked at where spec_at is 0. */
static struct shared_spec *
spec_shared_by(struct node *node)
{
	return (void *)((uint64_t *)(void *)node + node->pool.spec_at);
}

/* True if the node has this spec already, and nothing beside it of which it has copies.
 */
bool
pool_has_spec(struct node *node, const struct spec *spec)
{
	return core_spec_is_shared(spec_of(node), spec) &&
	       spec->policy.decider.n_rules + spec->on_failure.n_rules + spec->n_needs +
	               spec->n_watches ==
	           0;
}

/* The spec in the pool that says the same: that of the node, another one, or a new one;
 * its memory is zero. */
static struct shared_spec *
share_spec(struct core *core, struct node *node, const struct spec *spec)
{
	struct names *names = core_block(core, core->at.names);
	struct shared_spec *shared = spec_shared_by(node);
	struct spec wanted;
	uint32_t at;

	make_shared(spec, &wanted);
	if (node->pool.spec_at != 0 &&
	    memcmp(&shared->spec, &wanted, sizeof(wanted)) == 0)
		return shared;
	uint32_t *list =
	    &names[sum_bytes(&wanted, sizeof(wanted), 0) % core->size.nodes].specs;
	for (at = *list; at != NONE; at = shared->next) {
		shared = spec_in(core, at);
		if (memcmp(&shared->spec, &wanted, sizeof(wanted)) == 0)
			return shared;
	}
	shared = pool_take(core, sizeof(*shared), &at);
	memcpy(&shared->spec, &wanted, sizeof(wanted));
	shared->next = *list;
	*list = at;
	return shared;
}

/* The node has no spec any more, or is about to have another. */
void
pool_drop_spec(struct core *core, struct node *node)
{
	core->n_specs -= --spec_shared_by(node)->users == 0;
}

/* Give the node its spec: one that other nodes have, too, if there is any. */
static void
take_spec(struct core *core, struct node *node, const struct spec *spec)
{
	struct shared_spec *shared = share_spec(core, node, spec);

	core->n_specs += shared->users++ == 0;
	if (node->pool.spec_at != 0)
		pool_drop_spec(core, node);
	node->pool.spec_at =
	    (int32_t)((const uint64_t *)(const void *)shared - (uint64_t *)(void *)node);
}

/* ---- rules and windows ------------------------------------------------------------- */

/* Give the window `cap` stamps, and keep the newest of those that it had. */
void
pool_resize(struct core *core, struct window *window, const uint64_t *old, uint32_t cap)
{
	struct window was = *window;
	uint32_t keep = was.count < cap ? was.count : cap;
	uint64_t *stamps = pool_take(core, sizeof(uint64_t) * cap, &window->at);

	memset(stamps, 0, sizeof(uint64_t) * cap);
	window->cap = cap;
	for (uint32_t i = 0; i < keep; i++)
		stamps[i] = old[(was.head + was.cap - keep + i) % was.cap];
	window->count = keep;
	window->head = cap == 0 ? 0 : keep % cap;
}

uint32_t
pool_limit_stamps(const struct node *parent)
{
	const struct limit_spec *limit = &spec_of(parent)->policy.limit;

	return limit->on && !limit->fixed ? limit->restarts : 0;
}

/* Give the node copies of these rules, as many as its spec has. */
static void
take_rules(struct core *core, struct node *node, const struct rule *decider,
           const struct rule *on_failure)
{
	pool_copy(core, decider, sizeof(*decider) * spec_of(node)->policy.decider.n_rules,
	          &node->pool.rules_at);
	pool_copy(core, on_failure,
	          sizeof(*on_failure) * spec_of(node)->on_failure.n_rules,
	          &node->pool.on_failure_at);
}

/* Put the spec, the rules and the windows of a node into the pool. */
void
pool_take_rules(struct core *core, struct node *node, const struct spec *spec)
{
	struct window *intensity = &children_of(node)->intensity;
	const uint64_t *stamps = pool_stamps(core, intensity);

	take_spec(core, node, spec);
	take_rules(core, node, spec->policy.decider.rules, spec->on_failure.rules);
	if (intensity->cap != intensity_stamps(spec))
		pool_resize(core, intensity, stamps, intensity_stamps(spec));
}

/* Copy a node's part of the pool into the new core, without what is not used any more. */
void
pool_move(struct core *core, struct node *node, const struct core *old)
{
	const struct node *was = node_in(old, node_slot(core, node));
	const struct spec *spec = spec_of(was);
	const struct node *parent = node_at(old, node->links.parent);
	const uint64_t *limit = pool_stamps(old, &node->limits.own);

	node->pool.spec_at = 0;
	take_spec(core, node, spec);
	pool_take_children(core, node, spec->kind, children_of(was));
	take_rules(core, node, pool_rules(old, node->pool.rules_at),
	           pool_rules(old, node->pool.on_failure_at));
	if (spec->kind != NODE_WORKER)
		pool_resize(core, &children_of(node)->intensity,
		            pool_stamps(old, &children_of(was)->intensity),
		            children_of(was)->intensity.cap);
	if (parent != NULL && !spec_of(parent)->policy.limit.fixed)
		pool_resize(core, &node->limits.own, limit, node->limits.own.cap);
}
