/* SPDX-License-Identifier: ISC */
/* deadline.c - a heap of what is due when, for all nodes.
 *
 * A deadline that is due stays due until deadline_next() hands it out.  One that was
 * armed in this tick waits for the next one, however short: so nothing restarts within
 * the turn in which it failed.
 */
#include "config.h"

#include "core/node.h"

#include "base/assert.h"
#include "core/pure.h"

static struct deadline *
heap(const struct core *core)
{
	return core_block(core, core->heap_at);
}

static uint32_t *
position(const struct core *core, uint32_t id)
{
	return &node_at(core, id / LANE_MAX)->heap_at[id % LANE_MAX];
}

static bool
before(const struct deadline *a, const struct deadline *b)
{
	if (a->due_ms != b->due_ms)
		return a->due_ms < b->due_ms;
	if (a->armed != b->armed)
		return a->armed < b->armed;
	return a->id < b->id;
}

static void
put(struct core *core, uint32_t i, struct deadline entry)
{
	heap(core)[i] = entry;
	*position(core, entry.id) = i;
}

static void
sift_up(struct core *core, uint32_t i, struct deadline entry)
{
	struct deadline *h = heap(core);

	while (i > 0 && before(&entry, &h[(i - 1) / 2])) {
		put(core, i, h[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(core, i, entry);
}

static void
sift_down(struct core *core, uint32_t i, struct deadline entry)
{
	struct deadline *h = heap(core);

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= core->heap_n)
			break;
		if (child + 1 < core->heap_n && before(&h[child + 1], &h[child]))
			child++;
		if (!before(&h[child], &entry))
			break;
		put(core, i, h[child]);
		i = child;
	}
	put(core, i, entry);
}

/* Which clocks stand still together with the process that they are about. */
static const bool stands_still[LANE_MAX] = {
    [LANE_STATE] = true,
    [LANE_READY] = true,
    [LANE_RESET] = true,
};

/*
 * Set a deadline of the node, delay_ms from now, in place of the one it had in this lane.
 * DURATION_INFINITE: none.  While its clocks are held, from their release on.
 */
void
deadline_arm(struct core *core, struct node *node, enum lane lane, uint64_t now_ms,
             uint64_t delay_ms)
{
	struct deadline entry = {
	    .due_ms = now_ms + delay_ms,
	    .armed = core->tick,
	    .id = node_slot(core, node) * LANE_MAX + (uint32_t)lane,
	};

	deadline_clear(core, node, lane);
	if (delay_ms == UINT64_MAX)
		return;
	if (node->clocks_held && stands_still[lane]) {
		node->left_ms[lane] = delay_ms;
		node->lanes_held |= 1u << lane;
		return;
	}
	sift_up(core, core->heap_n++, entry);
}

/* Forget a deadline; none is fine. */
void
deadline_clear(struct core *core, struct node *node, enum lane lane)
{
	uint32_t i = node->heap_at[lane];
	struct deadline last;

	node->lanes_held &= ~(1u << lane);
	if (i == NONE)
		return;
	ASSERT(i < core->heap_n);
	node->heap_at[lane] = NONE;
	last = heap(core)[--core->heap_n];
	if (i == core->heap_n)
		return;
	if (i > 0 && before(&last, &heap(core)[(i - 1) / 2]))
		sift_up(core, i, last);
	else
		sift_down(core, i, last);
}

/* When a lane of the node is due, or 0 if nothing is armed there. */
uint64_t
deadline_due(const struct core *core, const struct node *node, enum lane lane)
{
	uint32_t i = node->heap_at[lane];

	return i == NONE ? 0 : heap(core)[i].due_ms;
}

/* The node stands still: what is left of the time of its clocks is kept. */
void
deadline_hold(struct core *core, struct node *node, uint64_t now_ms)
{
	ASSERT(!node->clocks_held);
	node->clocks_held = true;
	for (int i = 0; i < LANE_MAX; i++) {
		enum lane lane = (enum lane)i;
		uint64_t due_ms = deadline_due(core, node, lane);

		if (node->heap_at[lane] != NONE && stands_still[lane])
			deadline_arm(core, node, lane, now_ms,
			             due_ms > now_ms ? due_ms - now_ms : 0);
	}
}

/* It goes on, and so do its clocks. */
void
deadline_release(struct core *core, struct node *node, uint64_t now_ms)
{
	node->clocks_held = false;
	for (int i = 0; i < LANE_MAX; i++)
		if ((node->lanes_held >> i & 1) != 0)
			deadline_arm(core, node, (enum lane)i, now_ms, node->left_ms[i]);
}

/* Take the next one that is due at now_ms and was armed before this tick. */
bool
deadline_next(struct core *core, uint64_t now_ms, uint32_t *ret_slot, enum lane *ret_lane)
{
	const struct deadline *top = heap(core);
	uint32_t id;

	if (core->heap_n == 0 || top->due_ms > now_ms || top->armed >= core->tick)
		return false;
	id = top->id;
	*ret_slot = id / LANE_MAX;
	*ret_lane = (enum lane)(id % LANE_MAX);
	deadline_clear(core, node_at(core, *ret_slot), *ret_lane);
	return true;
}

/*
 * When the shell has to post EVENT_TICK: a time, perhaps past already, or
 * DURATION_INFINITE for never.
 */
uint64_t
core_deadline(const struct core *core)
{
	return core->heap_n == 0 ? UINT64_MAX : heap(core)[0].due_ms;
}
