/* SPDX-License-Identifier: ISC */
/* post.h - events on their way to the core.
 *
 * Rooms post events; the turn (daemon/loop) gives them to the core.  An event that must
 * not be lost can be written to the journal before the turn is over.
 */
#ifndef DAEMON_POST_H
#define DAEMON_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "daemon/state/queue.h"

/* Actors that calls wait for, all together: also what the core must have room for. */
#define WAITERS_MAX 4096

struct post {
	struct engine *engine;       /* with the core; borrowed, as is … */
	struct recording *recording; /* … the ledger with the journal */
	struct queue posted;
	struct queue stepping; /* the queue that the core is stepping through */
	size_t n_written;      /* posted events that are in the journal already … */
	uint64_t written_ms;   /* … and their time there */
	struct action_list actions; /* of the core, not performed yet */
	/* A turn is under way, and sources of events are looked at meanwhile. */
	bool is_stepping;
	uint64_t until_ms; /* when the loop is to look at them again; UINT64_MAX: never */
	void (*finish)(void *loop); /* end it at once */
	void *loop;
	uint32_t n_actions; /* of the core since the checkpoint */
	uint64_t n_turns;   /* that were stepped */
};

/* A post without events; NULL: out of memory.  Engine and recording are borrowed. */
struct post *post_new(struct engine *engine, struct recording *recording);
void post_free(struct post *post);

/* Room for the events of so many actors, so that post_event() cannot fail; -ENOMEM. */
int post_reserve(struct post *post, uint32_t actors);

/* True in the midst of a turn, while the loop looks at what else happened. */
bool post_is_stepping(const struct post *post);

/* Bring the turn that is under way to its end: what comes next changes the core by
 * itself.  Not while actions are performed. */
void post_finish(struct post *post);

/* Write the state of the core as a whole; the journal begins anew.  Not while actions are
 * performed. */
void post_checkpoint(struct post *post);

/* Queue an event for the core; it is stepped at the end of this turn of the loop.  False
 * for a command that this turn has no room for; other events are always taken. */
bool post_event(struct post *post, const struct event *event);

/* Let the core have a turn, and what is due by now; nothing is ever due too early. */
void post_tick(struct post *post);

/* True if there is room for so many more events, besides urgent events. */
bool post_has_room(const struct post *post, size_t n);

/*
 * The same, and the events are in the journal when this returns true: a new guardian
 * gives them to the core, and their sources may forget them. false: nothing was queued,
 * ask again in the next turn.  Not while actions are performed.
 */
bool post_surely(struct post *post, const struct event *events, size_t n);

#endif
