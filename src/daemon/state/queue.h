/* SPDX-License-Identifier: ISC */
/* queue.h - the events of one turn that wait for the core.
 *
 * What processes say and what clients command comes from outside, as often as they like:
 * so much of it is let in with one turn, and the rest stays in its socket (backpressure)
 * or is refused.  What the kernel and the core itself bring about cannot wait, and is
 * bounded by the number of actors; should it be more than was foreseen, the queue grows.
 */
#ifndef DAEMON_QUEUE_H
#define DAEMON_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

/* Commands with one turn; more are refused. */
#define QUEUE_COMMANDS_MAX 4096
/* What processes say of themselves with one turn; more of it has to wait. */
#define QUEUE_SAID_MAX 4096

struct queue {
	struct event *events; /* in the order of posting */
	size_t n, cap;
	size_t n_commands, n_said;
};

void queue_done(struct queue *queue);
int queue_reserve(struct queue *queue, size_t cap);
int queue_reserve_for(struct queue *queue, uint32_t actors);
bool queue_is_command(const struct event *event);
bool queue_has_room(const struct queue *queue, size_t n_said);
int queue_post(struct queue *queue, const struct event *event);
void queue_clear(struct queue *queue);
void queue_sort_ends(const struct core *core, struct event *events, size_t n,
                     struct event *scratch);

#endif
