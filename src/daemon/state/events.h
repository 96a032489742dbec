/* SPDX-License-Identifier: ISC */
/* events.h - the event stream: every change is a record with a gapless number.
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
#include "core/spec.h"
#include "events/vocabulary.h"

#define EVENTS_BYTES_MAX (2 * 1024 * 1024)
#define EVENTS_MAX       16384
#define EVENT_BYTES_MAX  (64 * 1024) /* of the path and the fields of one */

/* A field is a word, enum field above the length of the value, and the value: a number is
 * an int64_t, or nothing for null; texts have their NUL; of a cause what it is about
 * follows it, if that is known. */
#define EVENT_LENGTH_BITS 24

struct event_record {
	uint64_t seq;
	uint64_t by;      /* number of the causing event: events.by when it was written */
	uint64_t wall_us; /* when it happened */
	uint64_t mono_ns;
	uint32_t offset; /* into data: the path with its NUL, then the fields */
	uint32_t len;
	uint32_t incarnation, generation;
	uint8_t kind; /* enum report or enum notice */
	bool truncated;
	uint8_t log_level; /* 1 + enum log_level of its line in the log; 0: none */
	bool tells_group;  /* the line names the strategy of the group */
};

/* The ring itself, in memory that outlives us; all zero is an empty one. */
struct events_ring {
	_Atomic uint64_t first_seq; /* the oldest event in the ring; 0: no event yet */
	_Atomic uint64_t next_seq;  /* the next to be given out; the first ever is 1 */
	_Atomic uint64_t next_line; /* of events; lines before it are in the log */
	struct event_record records[EVENTS_MAX];
	char data[EVENTS_BYTES_MAX]; /* a record never wraps around */
};

struct events {
	struct events_ring *ring; /* borrowed */
	uint64_t first_seq;       /* as in the ring */
	uint64_t next_seq;
	uint64_t by; /* 0, or the action, or failed task, that is dealt with */
	struct event_record record; /* the one being written */
	struct strbuf text;         /* its path and fields */
	size_t mark;                /* where its last field begins */
};

/* What all events have in common. */
struct event_head {
	uint8_t kind; /* enum report or enum notice */
	const char *path;
	uint32_t incarnation, generation;
};

/* An event as it is read; valid until the next event is written. */
struct event_view {
	const struct event_record *record;
	const char *path, *fields;
	size_t len; /* of the fields */
};

int events_init(struct events *events);
void events_attach(struct events *events, struct events_ring *ring);
void events_copy(struct events *events, const struct events_ring *from);
void events_done(struct events *events);

/* Write an event: begin, any number of fields, end (which gives the number). */
void events_begin(struct events *events, const struct event_head *head);
void events_text(struct events *events, enum field field, const char *value);
void events_number(struct events *events, enum field field, int64_t value);
void events_null(struct events *events, enum field field);
void events_flag(struct events *events, enum field field, bool value);
void events_cause(struct events *events, const struct cause *cause, const char *about);
/* An array: open it, add its texts; of a change the path and the kind. */
void events_open(struct events *events, enum field field);
void events_add(struct events *events, const char *text, size_t len);
void events_close(struct events *events);
void events_end(struct events *events);

/* False when the event is no longer there. */
bool events_view(const struct events *events, uint64_t seq, struct event_view *ret);
/* The event that is being written, or was the last to be written. */
void events_view_newest(struct events *events, struct event_view *ret);
/* The oldest event with a line that is not in the log yet; false: there is none.  When
 * the line is there, events_pass_line() goes on to the next event. */
bool events_find_line(struct events *events, struct event_view *ret);
void events_pass_line(struct events *events);
/* How many events came since the oldest of those. */
uint64_t events_behind(const struct events *events);
uint64_t events_by(const struct events *events, uint64_t seq);
/* True if the path of this record matches the glob.  NULL matches everything. */
bool events_match(const struct events *events, uint64_t seq, const char *glob);

/* event_view.c: what a record says */
bool event_is_whole(const struct event_view *view);
int64_t event_number(const struct event_view *view, enum field field);
bool event_flag(const struct event_view *view, enum field field);
const char *event_text(const struct event_view *view, enum field field);
const char *event_next(const struct event_view *view, enum field field, const char *text);
bool event_cause(const struct event_view *view, struct cause *ret,
                 const char **ret_about);
bool event_mentions(const struct event_view *view, const char *text);
void event_json(struct strbuf *sb, const struct event_view *view);

#endif
