/* SPDX-License-Identifier: ISC */
/* queue.c - the events of one turn that wait for the core. */
#include "config.h"

#include "daemon/state/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Of one actor there can wait at most: spawned (or not), ready, alive, probed, exited,
 * gone, the end of a hook, needed, not needed. */
#define EVENTS_PER_ACTOR 9

/* Give back its memory. */
void
queue_done(struct queue *queue)
{
	free(queue->events);
	*queue = (struct queue){0};
}

/* Room for so many events in all; -ENOMEM. */
int
queue_reserve(struct queue *queue, size_t cap)
{
	if (cap <= queue->cap)
		return 0;
	if (!ARRAY_RESIZE(queue->events, cap))
		return -ENOMEM;
	queue->cap = cap;
	return 0;
}

/* Room for all that so many actors can bring about in one turn, for commands, and for
 * clients that wait no longer; -ENOMEM. */
int
queue_reserve_for(struct queue *queue, uint32_t actors)
{
	return queue_reserve(queue, (size_t)actors * EVENTS_PER_ACTOR +
	                                2 * QUEUE_COMMANDS_MAX + QUEUE_SAID_MAX);
}

/* True if so many more events of processes fit into this turn; else the messages stay in
 * their sockets. */
bool
queue_has_room(const struct queue *queue, size_t n_said)
{
	return queue->n_said + n_said <= QUEUE_SAID_MAX;
}

/* True if a client commanded it. */
bool
queue_is_command(const struct event *event)
{
	return event->token != 0 && event->kind != EVENT_UNWAIT;
}

#define BIT(kind) (UINT64_C(1) << (kind))
_Static_assert(EVENT_KIND_MAX <= 64, "kinds have too many bits");

/* What processes say of themselves, and what other processes of their user do to them. */
static const uint64_t said_kinds =
    BIT(EVENT_READY) | BIT(EVENT_WATCHDOG) | BIT(EVENT_WATCHDOG_EVERY) |
    BIT(EVENT_WATCHDOG_TRIGGER) | BIT(EVENT_EXTEND) | BIT(EVENT_SELF_REPORT) |
    BIT(EVENT_BACKOFF_RESET) | BIT(EVENT_PAUSED) | BIT(EVENT_CONTINUED);

/*
 * Add an event to this turn.  Returns 0; -EBUSY for a command for which there is no room;
 * -ENOMEM.  What a process says is always taken: ask queue_has_room() before.
 */
int
queue_post(struct queue *queue, const struct event *event)
{
	if (queue_is_command(event) && queue->n_commands == QUEUE_COMMANDS_MAX)
		return -EBUSY;
	if (queue->n == queue->cap && queue_reserve(queue, 2 * queue->cap + 64) < 0)
		return -ENOMEM;
	queue->n_commands += queue_is_command(event);
	queue->n_said += (said_kinds & BIT(event->kind)) != 0;
	queue->events[queue->n++] = *event;
	return 0;
}

/* Nothing waits any more. */
void
queue_clear(struct queue *queue)
{
	queue->n = queue->n_commands = queue->n_said = 0;
}

static int
by_start_order(const void *a, const void *b, void *arg)
{
	const struct event *x = a, *y = b;

	return core_compare_order(arg, x->ref, y->ref);
}

/* Answers of probes come last: a process that has ended is not unhealthy. */
static void
put_probes_last(struct event *events, size_t n, struct event *scratch)
{
	size_t n_probes = 0;

	for (size_t i = 0; i < n; i++) {
		if (events[i].kind == EVENT_PROBED)
			scratch[n_probes++] = events[i];
		else if (n_probes > 0)
			events[i - n_probes] = events[i];
	}
	memcpy(events + n - n_probes, scratch, n_probes * sizeof(*events));
}

/*
 * Ends that were collected together are stepped in start order (DECISIONS 5), so that
 * the outcome does not depend on which of them the kernel named first.  `scratch` has
 * room for all of the events.
 */
void
queue_sort_ends(const struct core *core, struct event *events, size_t n,
                struct event *scratch)
{
	size_t i = 0;

	put_probes_last(events, n, scratch);
	while (i < n) {
		size_t end = i;

		while (end < n && events[end].kind == EVENT_EXITED)
			end++;
		if (end - i > 1)
			qsort_r(events + i, end - i, sizeof(*events), by_start_order,
			        (void *)(uintptr_t)core);
		i = end + 1;
	}
}
