/* SPDX-License-Identifier: ISC */
/* pool.c - the rules, needs and restart windows of nodes, which lie in one pool. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "core/tree/turn.h"

#include "core/pure.h"

/* The stamps of a window in the pool of the tree. */
uint64_t *
pool_stamps(const struct core *core, const struct window *window)
{
	return core_block(core, core->at.pool + window->at);
}

/* How much of the pool a node takes: its rules and its restart windows. */
uint32_t
core_spec_bytes(const struct spec *spec, const struct spec *parent)
{
	uint64_t bytes = 0;

	bytes += sizeof(struct rule) *
	         (spec->policy.decider.n_rules + spec->on_failure.n_rules);
	bytes += sizeof(struct need_spec) * spec->n_needs;
	if (!spec->policy.intensity.unlimited)
		bytes += sizeof(uint64_t) * spec->policy.intensity.restarts;
	if (parent != NULL && parent->policy.limit.on && !parent->policy.limit.fixed)
		bytes += sizeof(uint64_t) * parent->policy.limit.restarts;
	ASSERT(bytes < UINT32_MAX);
	return (uint32_t)bytes;
}

/* So many bytes of the pool; there must be room. */
void *
pool_take(struct core *core, uint64_t bytes, uint32_t *ret_at)
{
	*ret_at = core->pool_used;
	ASSERT(bytes % 8 == 0);
	ASSERT(core->pool_used + bytes <= core->size.pool_bytes);
	core->pool_used += (uint32_t)bytes;
	return core_block(core, core->at.pool + *ret_at);
}

/* The rules of a decider in the pool. */
const struct rule *
pool_rules(const struct core *core, uint32_t at)
{
	return core_block(core, core->at.pool + at);
}

/* What the rules and windows of all nodes take; what others had is found by moving. */
uint32_t
core_pool_in_use(const struct core *core)
{
	uint64_t bytes = 0;

	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_at(core, slot);
		const struct node *parent = node_parent(core, node);

		if (node->used)
			bytes += core_spec_bytes(&node->spec,
			                         parent == NULL ? NULL : &parent->spec);
	}
	return (uint32_t)bytes;
}

/* Give the window `cap` stamps, and keep the newest of those that it had. */
void
pool_resize(struct core *core, struct window *window, const uint64_t *old, uint32_t cap)
{
	struct window was = *window;
	uint32_t keep = was.count < cap ? was.count : cap;
	uint64_t *stamps = pool_take(core, sizeof(uint64_t) * cap, &window->at);

	memset(stamps, 0, sizeof(uint64_t) * cap);
	window->cap = cap;
	for (uint32_t i = 0; i < keep; i++) {
		uint32_t from = (was.head + was.cap - keep + i) % was.cap;

		stamps[i] = old[from];
	}
	window->count = keep;
	window->head = cap == 0 ? 0 : keep % cap;
}

uint32_t
pool_limit_stamps(const struct node *parent)
{
	const struct limit_spec *limit = &parent->spec.policy.limit;

	return limit->on && !limit->fixed ? limit->restarts : 0;
}

static void
copy_rules(struct core *core, struct decider *decider, const struct rule *rules,
           uint32_t *ret_at)
{
	size_t bytes = sizeof(struct rule) * decider->n_rules;
	void *copy = pool_take(core, bytes, ret_at);

	if (bytes > 0)
		memcpy(copy, rules, bytes);
	decider->rules = NULL;
}

/* Put the spec into the node; the rules and windows go to the pool. */
void
pool_take_rules(struct core *core, struct node *node, const struct spec *spec)
{
	const uint64_t *stamps = pool_stamps(core, &node->limits.intensity);
	uint32_t cap =
	    spec->policy.intensity.unlimited ? 0 : spec->policy.intensity.restarts;

	node->spec = *spec;
	copy_rules(core, &node->spec.policy.decider, spec->policy.decider.rules,
	           &node->pool.rules_at);
	copy_rules(core, &node->spec.on_failure, spec->on_failure.rules,
	           &node->pool.on_failure_at);
	if (node->limits.intensity.cap != cap)
		pool_resize(core, &node->limits.intensity, stamps, cap);
}

/* Copy a node's part of the pool into the new core, without what is not used any more. */
void
pool_move(struct core *core, struct node *node, const struct core *old)
{
	struct node *parent = node_parent(core, node);
	const uint64_t *intensity = pool_stamps(old, &node->limits.intensity);
	const uint64_t *limit = pool_stamps(old, &node->limits.own);

	copy_rules(core, &node->spec.policy.decider, pool_rules(old, node->pool.rules_at),
	           &node->pool.rules_at);
	copy_rules(core, &node->spec.on_failure,
	           pool_rules(old, node->pool.on_failure_at), &node->pool.on_failure_at);
	pool_resize(core, &node->limits.intensity, intensity, node->limits.intensity.cap);
	if (parent != NULL && !parent->spec.policy.limit.fixed)
		pool_resize(core, &node->limits.own, limit, node->limits.own.cap);
}
