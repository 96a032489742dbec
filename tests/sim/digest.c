/* SPDX-License-Identifier: ISC */
/* digest.c - are two cores in the same state, whenever and however they came there?
 *
 * Times count from now, numbers that are only compared with each other (lives, ticks,
 * serials, tokens) do not count.  What is forgotten here makes states the same that are
 * not: so whole nodes are taken, but for what is named.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/tree/turn.h"
#include "tests/sim/sim.h"

#define SEEN_MAX (UINT64_C(1) << 22)

/* States that were looked into, and how many letters deep. */
struct seen {
	uint64_t n;
	struct {
		uint64_t digest; /* 0: nobody is here */
		uint32_t letters;
	} at[SEEN_MAX];
};

static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 29;
}

static uint64_t
mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mix(hash, word);
	}
	for (; n > 0; n--)
		hash = mix(hash, *at++);
	return hash;
}

/* How old the restarts are that still count. */
static uint64_t
mix_window(uint64_t hash, const struct core *core, const struct window *window,
           uint64_t within_ms)
{
	const uint64_t *stamps = pool_stamps(core, window);

	for (uint32_t i = 0; i < window->count; i++) {
		uint32_t at = (window->head + window->cap - 1 - i) % window->cap;
		uint64_t age_ms = core->now_ms - stamps[at];

		if (age_ms > within_ms)
			break;
		hash = mix(hash, age_ms + 1);
	}
	return mix(hash, UINT64_MAX);
}

static uint64_t
mix_deadlines(uint64_t hash, const struct core *core, const struct node *node)
{
	const struct deadline *heap = core_block(core, core->at.heap);

	for (uint32_t timer = 0; timer < TIMER_MAX; timer++) {
		const uint32_t i = node->deadlines[timer];

		if (i == NONE)
			continue;
		hash = mix(hash, timer);
		hash = mix(hash, heap[i].due_ms -
		                     (heap[i].due_ms < HELD_MS ? core->now_ms : 0));
		hash = mix(hash, heap[i].rank >> DEADLINE_ID_BITS >= core->tick);
	}
	return hash;
}

static uint64_t
mix_waiters(uint64_t hash, const struct core *core, const struct node *node)
{
	const struct waiter *waiters = core_block(core, core->at.waiters);

	for (uint32_t i = node->waiters; i != NONE; i = waiters[i].next)
		hash = mix(hash, (uint64_t)waiters[i].wait_for * 2 + waiters[i].command);
	return hash;
}

static uint64_t
mix_node(uint64_t hash, const struct core *core, const struct node *node)
{
	const struct node *parent = node_parent(core, node);
	struct node_children children = *children_of(node);
	struct node copy;

	memcpy(&copy, node, sizeof(copy));
	copy.since_ms = 0;
	copy.process.life = 0;
	copy.run.incarnation = 0;
	copy.run.generation = 0;
	copy.run.attempts = node->run.attempts < 2 ? node->run.attempts : 2;
	memset(copy.run.restarts_by, 0, sizeof(copy.run.restarts_by));
	copy.run.restart_kind = copy.run.started_as = 0;
	memset(&copy.process.last_end, 0, sizeof(copy.process.last_end));
	copy.failure.at_ms = 0;
	copy.hooks.serial = node->hooks.serial != 0;
	copy.living.probe_serial = 0;
	copy.living.probed_ms = 0;
	copy.waiters = 0;
	memset(copy.deadlines, 0, sizeof(copy.deadlines));
	copy.limits.resumed_ms = copy.limits.resumed_ms != 0;
	for (int i = 0; i < RESUME_GUARD - 1; i++)
		copy.limits.closer_ms[i] = copy.limits.closer_ms[i] != 0;
	memset(&children.intensity, 0, sizeof(children.intensity));
	memset(&copy.limits.own, 0, sizeof(copy.limits.own));
	copy.pool.spec_at = copy.pool.children_at = 0;
	hash = mix_bytes(hash, &copy, sizeof(copy));
	hash = mix_bytes(hash, &children, sizeof(children));
	hash = mix_deadlines(hash, core, node);
	hash = mix_waiters(hash, core, node);
	if (node_is_supervisor(node) && !spec_of(node)->policy.intensity.unlimited)
		hash = mix_window(hash, core, &children_of(node)->intensity,
		                  spec_of(node)->policy.intensity.within_ms);
	if (parent != NULL && spec_of(parent)->policy.limit.on)
		hash = mix_window(hash, core, &node->limits.own,
		                  spec_of(parent)->policy.limit.within_ms);
	return hash;
}

/*
 * A number for the state of a core between two turns: equal for states with equal
 * futures. Specifications are not looked at: no actor may have been given another.
 */
uint64_t
digest(const struct core *core)
{
	uint64_t hash = 1;

	hash = mix(hash, core->tick_ms);
	hash = mix(hash, core->shutting_down);
	hash = mix(hash, core->exited);
	hash = mix(hash, core->n_suspends);
	hash = mix(hash, core->vacant);
	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_in(core, slot);

		hash = mix(hash, slot);
		if (node->used)
			hash = mix_node(hash, core, node);
	}
	return hash;
}

/* The same of something that will happen to that core. */
uint64_t
digest_event(uint64_t hash, const struct core *core, const struct event *event)
{
	const struct node *node = node_find(core, event->ref);

	hash = mix(hash, event->kind);
	hash = mix(hash, (uint64_t)event->ref.slot << 32 | event->ref.tenant);
	hash = mix(hash, node != NULL && node->process.life == event->life);
	hash = mix(hash, (uint64_t)(uint32_t)event->code << 32 | (uint32_t)event->signal);
	return mix(hash, (uint64_t)(uint32_t)event->error * 2 + event->gone);
}

struct seen *
seen_new(void)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	if (seen == NULL)
		abort();
	return seen;
}

void
seen_free(struct seen *seen)
{
	free(seen);
}

/*
 * Go into a state with this number of letters left? Not when the state was entered with
 * as many before. When the table is full every state is entered.
 */
bool
seen_enter(struct seen *seen, uint64_t hash, uint32_t letters)
{
	uint64_t i = hash % SEEN_MAX;

	hash += hash == 0;
	while (seen->at[i].digest != 0 && seen->at[i].digest != hash)
		i = (i + 1) % SEEN_MAX;
	if (seen->at[i].digest == hash && seen->at[i].letters >= letters)
		return false;
	if (seen->at[i].digest == 0) {
		if (seen->n > SEEN_MAX / 4 * 3)
			return true;
		seen->n++;
	}
	seen->at[i].digest = hash;
	seen->at[i].letters = letters;
	return true;
}
