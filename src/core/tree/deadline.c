/* SPDX-License-Identifier: ISC */
/* deadline.c - a heap of what is due when, for all nodes.
 *
 * A deadline that is due stays due until deadline_next() hands it out.  One that was
 * armed in this tick waits for the next one, however short: so nothing restarts within
 * the turn in which it failed.
 */
#include "config.h"

#include "base/assert.h"
#include "core/tree/turn.h"

#include "core/pure.h"

static struct deadline *
heap(const struct core *core)
{
	return core_block(core, core->at.heap);
}

static uint32_t *
position(const struct core *core, uint32_t id)
{
	return &node_at(core, id / TIMER_MAX)->deadlines[id % TIMER_MAX];
}

static bool
before(const struct deadline *a, const struct deadline *b)
{
	return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->rank < b->rank;
}

static uint32_t
parent_of(uint32_t i)
{
	return (i - 1) / DEADLINE_WIDTH;
}

static void
put_deadline(struct core *core, uint32_t i, struct deadline entry)
{
	heap(core)[i] = entry;
	*position(core, deadline_id(&entry)) = i;
}

static void
sift_up(struct core *core, uint32_t i, struct deadline entry)
{
	struct deadline *h = heap(core);

	while (i > 0 && before(&entry, &h[parent_of(i)])) {
		put_deadline(core, i, h[parent_of(i)]);
		i = parent_of(i);
	}
	put_deadline(core, i, entry);
}

static void
sift_down(struct core *core, uint32_t i, struct deadline entry)
{
	struct deadline *h = heap(core);

	for (uint32_t first = DEADLINE_WIDTH * i + 1; first < core->heap_n;
	     first = DEADLINE_WIDTH * i + 1) {
		const struct deadline *next = &h[first];
		const struct deadline *const end =
		    &h[first + DEADLINE_WIDTH < core->heap_n ? first + DEADLINE_WIDTH
		                                             : core->heap_n];

		for (const struct deadline *child = next + 1; child < end; child++)
			if (before(child, next))
				next = child;
		if (!before(next, &entry))
			break;
		put_deadline(core, i, *next);
		i = (uint32_t)(next - h);
	}
	put_deadline(core, i, entry);
}

/* Clocks that stand still together with the process of their node. */
static const bool stands_still[TIMER_MAX] = {
    [TIMER_STATE] = true,    [TIMER_READY] = true,  [TIMER_RESET] = true,
    [TIMER_WATCHDOG] = true, [TIMER_HEALTH] = true,
};

/* Clocks that count only the time in which the process could run. */
static const bool counts_own_time[TIMER_MAX] = {
    [TIMER_RESET] = true,
    [TIMER_WATCHDOG] = true,
    [TIMER_HEALTH] = true,
};

static bool
is_held(const struct node *node, enum node_timer timer)
{
	return (node->suspend.frozen && stands_still[timer]) ||
	       (node->living.sigstopped && counts_own_time[timer]);
}

/*
 * Set a deadline of the node, delay_ms from now, in place of the one that this timer had.
 * DURATION_INFINITE: none.  While its clocks are held, from their release on.  Without a
 * delay it is past already: now may be rounded up, and must not be waited for.
 */
void
deadline_arm(struct core *core, struct node *node, enum node_timer timer, uint64_t now_ms,
             uint64_t delay_ms)
{
	struct deadline entry = {
	    .due_ms = is_held(node, timer) ? HELD_MS + delay_ms
	                                   : now_ms + delay_ms - (delay_ms == 0),
	    .rank = core->tick << DEADLINE_ID_BITS |
	            (node_slot(core, node) * TIMER_MAX + (uint32_t)timer),
	};

	deadline_clear(core, node, timer);
	if (delay_ms != UINT64_MAX)
		sift_up(core, core->heap_n++, entry);
}

/* Forget a deadline; none is fine. */
void
deadline_clear(struct core *core, struct node *node, enum node_timer timer)
{
	uint32_t i = node->deadlines[timer];

	if (i == NONE)
		return;
	ASSERT(i < core->heap_n);
	node->deadlines[timer] = NONE;
	struct deadline last = heap(core)[--core->heap_n];
	if (i == core->heap_n)
		return;
	if (i > 0 && before(&last, &heap(core)[parent_of(i)]))
		sift_up(core, i, last);
	else
		sift_down(core, i, last);
}

/* The time that is left until then; where the clock stands, from when it goes on. */
static uint64_t
time_left(uint64_t due_ms, uint64_t now_ms)
{
	return due_ms >= HELD_MS ? due_ms - HELD_MS
	       : due_ms > now_ms ? due_ms - now_ms
	                         : 0;
}

/* Put off what this timer is armed for, if it would be due before delay_ms from now. */
void
deadline_extend(struct core *core, struct node *node, enum node_timer timer,
                uint64_t now_ms, uint64_t delay_ms)
{
	uint32_t i = node->deadlines[timer];

	if (i != NONE && time_left(heap(core)[i].due_ms, now_ms) < delay_ms)
		deadline_arm(core, node, timer, now_ms, delay_ms);
}

/* When a timer of the node is due, or 0 if nothing is armed there, or its clock stands.
 */
uint64_t
deadline_due(const struct core *core, const struct node *node, enum node_timer timer)
{
	uint32_t i = node->deadlines[timer];

	return i == NONE || heap(core)[i].due_ms >= HELD_MS ? 0 : heap(core)[i].due_ms;
}

/*
 * The node stands still, or goes on, or its process was stopped or continued from
 * outside: what is left of the time of the clocks that stand now is kept, the others go
 * on.
 */
void
deadline_look(struct core *core, struct node *node, uint64_t now_ms)
{
	for (int i = 0; i < TIMER_MAX; i++) {
		enum node_timer timer = (enum node_timer)i;
		uint32_t at = node->deadlines[timer];

		if (at != NONE &&
		    is_held(node, timer) != (heap(core)[at].due_ms >= HELD_MS))
			deadline_arm(core, node, timer, now_ms,
			             time_left(heap(core)[at].due_ms, now_ms));
	}
}

/* Take the next deadline that is due at now_ms and was armed before this tick; false:
 * there is none. */
bool
deadline_next(struct core *core, uint64_t now_ms, uint32_t *ret_slot,
              enum node_timer *ret_timer)
{
	const struct deadline *top = heap(core);

	if (core->heap_n == 0 || top->due_ms > now_ms ||
	    top->rank >> DEADLINE_ID_BITS >= core->tick)
		return false;
	uint32_t id = deadline_id(top);
	*ret_slot = id / TIMER_MAX;
	*ret_timer = (enum node_timer)(id % TIMER_MAX);
	deadline_clear(core, node_at(core, *ret_slot), *ret_timer);
	return true;
}

/*
 * When the daemon has to post EVENT_TICK: a time, perhaps past already, or
 * DURATION_INFINITE for never.
 */
uint64_t
core_deadline(const struct core *core)
{
	return core->heap_n == 0 || heap(core)[0].due_ms >= HELD_MS
	           ? UINT64_MAX
	           : heap(core)[0].due_ms;
}
