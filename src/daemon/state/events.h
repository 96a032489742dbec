/* SPDX-License-Identifier: ISC */
/* events.h - the event stream: every change is a JSON object with a gapless number.
 *
 * Kept in a ring that is bounded in bytes; the oldest events go first.  An event is in
 * the ring as a whole or not at all, whenever the process dies.  Readers keep the number
 * they want next and ask again; the ring calls nothing back.
 *
 * All memory is taken at the start: writing an event cannot fail.  A field that does not
 * fit any more is left out, and the event says "truncated".
 */
#ifndef DAEMON_EVENTS_H
#define DAEMON_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define EVENTS_BYTES_MAX (2 * 1024 * 1024)
#define EVENTS_MAX       16384
#define EVENT_BYTES_MAX  (64 * 1024) /* the JSON text of one */
#define EVENT_PATH_MAX   (32 * 1024)

struct event_record {
	uint64_t seq;
	uint64_t by;   /* number of the causing event: events.by when it was written */
	size_t offset; /* into data: the JSON text, a NUL, the path, a NUL */
	uint32_t len;  /* of the JSON text */
	uint32_t path_len;
};

/* The ring itself, in memory that outlives us; all zero is an empty one. */
struct events_ring {
	_Atomic uint64_t first_seq; /* the oldest event in the ring; 0: no event yet */
	_Atomic uint64_t next_seq;  /* the next to be given out; the first ever is 1 */
	struct event_record records[EVENTS_MAX];
	char data[EVENTS_BYTES_MAX]; /* a record never wraps around */
};

struct events {
	struct events_ring *ring; /* borrowed */
	uint64_t first_seq;       /* as in the ring */
	uint64_t next_seq;
	uint64_t by;        /* 0, or the action, or failed task, that is dealt with */
	struct strbuf text; /* the one being written */
	struct strbuf path; /* its path */
	bool truncated;
};

/* What all events have in common. */
struct event_head {
	const char *event; /* "started" */
	const char *path;
	uint32_t incarnation;
	uint32_t generation;
};

int events_init(struct events *events);
void events_attach(struct events *events, struct events_ring *ring);
void events_copy(struct events *events, const struct events_ring *from);
void events_done(struct events *events);

/* Write an event: begin, any number of fields, end (which gives the number). */
void events_begin(struct events *events, const struct event_head *head);
void events_string(struct events *events, const char *key, const char *value);
void events_number(struct events *events, const char *key, int64_t value);
void events_raw(struct events *events, const char *key, const char *json);
void events_end(struct events *events);
void events_buffer(struct events *events, const char *key, const struct strbuf *json);

/* The JSON text of a record, NUL-terminated, or false when it is no longer there. */
bool events_get(const struct events *events, uint64_t seq, const char **ret_json,
                size_t *ret_len);
/* The path of a record, or NULL when it is no longer there. */
const char *events_path(const struct events *events, uint64_t seq);
uint64_t events_by(const struct events *events, uint64_t seq);
/* Does the path of this record match the glob?  NULL matches everything. */
bool events_match(const struct events *events, uint64_t seq, const char *glob);

#endif
