/* SPDX-License-Identifier: ISC */
/* events.c - the event stream: every change is one JSON object with a gapless number. */
#include "config.h"

#include "daemon/state/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/glob.h"
#include "os/self/clock.h"

/* Room behind the last field for what ends an event. */
#define EVENT_SLACK 32

/* Make a buffer as large as it will ever be, so that additions need no memory. */
static bool
preallocate(struct strbuf *sb, size_t limit)
{
	strbuf_init(sb, limit);
	sb->data = malloc(limit + 1);
	if (sb->data == NULL)
		return false;
	sb->cap = limit + 1;
	sb->data[0] = '\0';
	return true;
}

static size_t
record_bytes(const struct event_record *record)
{
	return (size_t)record->len + 1 + record->path_len + 1;
}

/* Take the memory to write events in; -ENOMEM.  Then events_attach(). */
int
events_init(struct events *events)
{
	*events = (struct events){.first_seq = 1, .next_seq = 1};
	if (!preallocate(&events->text, EVENT_BYTES_MAX + EVENT_SLACK) ||
	    !preallocate(&events->path, EVENT_PATH_MAX)) {
		events_done(events);
		return -ENOMEM;
	}
	return 0;
}

/* True if every record is where the index says; a guardian that wrote at random may have
 * spoiled them. */
static bool
is_whole(const struct events_ring *ring)
{
	const uint64_t first = atomic_load(&ring->first_seq);
	const uint64_t next = atomic_load(&ring->next_seq);

	if (first == 0 || first > next || next - first > EVENTS_MAX)
		return false;
	for (uint64_t seq = first; seq < next; seq++) {
		const struct event_record *record = &ring->records[seq % EVENTS_MAX];

		if (record->seq != seq || record->len > EVENTS_BYTES_MAX ||
		    record->path_len > EVENTS_BYTES_MAX ||
		    record->offset + record_bytes(record) > EVENTS_BYTES_MAX ||
		    record->offset > EVENTS_BYTES_MAX)
			return false;
	}
	return true;
}

/*
 * Go on with this ring, which stays the caller's.  Events of a damaged ring are lost; its
 * numbers go on.
 */
void
events_attach(struct events *events, struct events_ring *ring)
{
	const uint64_t next = atomic_load(&ring->next_seq);

	if (next == 0 || !is_whole(ring)) {
		atomic_store(&ring->first_seq, next == 0 ? 1 : next);
		atomic_store(&ring->next_seq, next == 0 ? 1 : next);
	}
	events->ring = ring;
	events->first_seq = atomic_load(&ring->first_seq);
	events->next_seq = atomic_load(&ring->next_seq);
}

/* Go on with the numbers, and the events, of another ring; ours must be empty. */
void
events_copy(struct events *events, const struct events_ring *from)
{
	if (atomic_load(&from->next_seq) == 0)
		return;
	memcpy(events->ring, from, sizeof(*from));
	events_attach(events, events->ring);
}

/* Give back the memory; one that is all zero is fine. */
void
events_done(struct events *events)
{
	strbuf_done(&events->text);
	strbuf_done(&events->path);
	*events = (struct events){0};
}

static void
append_number(struct strbuf *sb, const char *key, int64_t value)
{
	strbuf_addf(sb, ",\"%s\":%" PRId64, key, value);
}

/* Begin the next event; its time is now.  Fields follow, events_end() ends it. */
void
events_begin(struct events *events, const struct event_head *head)
{
	struct strbuf *text = &events->text;
	char time[CLOCK_TEXT_MAX];

	strbuf_clear(text);
	strbuf_clear(&events->path);
	events->truncated = false;
	strbuf_adds(&events->path, head->path);
	strbuf_addf(text, "{\"seq\":%" PRIu64 ",\"time\":\"%s\",\"mono\":%" PRIu64,
	            events->next_seq, clock_format(clock_wall_us(), 6, time),
	            clock_mono_ns());
	strbuf_adds(text, ",\"event\":");
	strbuf_add_json(text, head->event);
	strbuf_adds(text, ",\"path\":");
	strbuf_add_json(text, strbuf_str(&events->path));
	append_number(text, "incarnation", head->incarnation);
	append_number(text, "generation", head->generation);
	ASSERT(!text->failed);
}

/* A field was added from `mark` on: take it back if it made the event too long. */
static void
keep_or_drop(struct events *events, size_t mark)
{
	struct strbuf *text = &events->text;

	if (!text->failed && text->len <= EVENT_BYTES_MAX)
		return;
	text->failed = false;
	text->len = mark;
	text->data[mark] = '\0';
	events->truncated = true;
}

/* Add a text, or null for NULL. */
void
events_string(struct events *events, const char *key, const char *value)
{
	size_t mark = events->text.len;

	strbuf_addf(&events->text, ",\"%s\":", key);
	if (value != NULL)
		strbuf_add_json(&events->text, value);
	else
		strbuf_adds(&events->text, "null");
	keep_or_drop(events, mark);
}

/* Add a number. */
void
events_number(struct events *events, const char *key, int64_t value)
{
	size_t mark = events->text.len;

	append_number(&events->text, key, value);
	keep_or_drop(events, mark);
}

/* Add what is JSON already. */
void
events_raw(struct events *events, const char *key, const char *json)
{
	size_t mark = events->text.len;

	strbuf_addf(&events->text, ",\"%s\":", key);
	strbuf_adds(&events->text, json);
	keep_or_drop(events, mark);
}

/* The same from a buffer; null if there was no memory for all of it. */
void
events_buffer(struct events *events, const char *key, const struct strbuf *json)
{
	events_raw(events, key, json->failed ? "null" : strbuf_str(json));
}

static struct event_record *
record_of(const struct events *events, uint64_t seq)
{
	return &events->ring->records[seq % EVENTS_MAX];
}

/* Behind the newest record. */
static size_t
find_head(const struct events *events)
{
	const struct event_record *newest = record_of(events, events->next_seq - 1);

	if (events->first_seq == events->next_seq)
		return 0;
	return newest->offset + record_bytes(newest);
}

/* Find room for `need` bytes; the oldest records that are in the way go. */
static size_t
make_room(struct events *events, size_t need)
{
	const size_t head = find_head(events);
	bool wraps = head + need > EVENTS_BYTES_MAX;
	size_t at = wraps ? 0 : head;

	while (events->first_seq < events->next_seq) {
		const struct event_record *oldest = record_of(events, events->first_seq);
		bool behind = oldest->offset >= head;
		bool hit = oldest->offset < at + need &&
		           oldest->offset + record_bytes(oldest) > at;
		bool full = events->next_seq - events->first_seq == EVENTS_MAX;

		/* When it wraps, what lies behind the head is older than what is hit. */
		if (!hit && !full && !(wraps && behind))
			break;
		events->first_seq++;
	}
	/* What is overwritten must not be found any more. */
	atomic_store(&events->ring->first_seq, events->first_seq);
	return at;
}

/* End the event: it gets its number and is in the ring from now on. */
void
events_end(struct events *events)
{
	struct strbuf *text = &events->text;
	struct event_record *record;
	size_t at;

	if (events->truncated)
		strbuf_adds(text, ",\"truncated\":true");
	strbuf_addc(text, '}');
	ASSERT(!text->failed);
	at = make_room(events, text->len + 1 + events->path.len + 1);
	record = record_of(events, events->next_seq);
	*record = (struct event_record){
	    .seq = events->next_seq,
	    .by = events->by,
	    .offset = at,
	    .len = (uint32_t)text->len,
	    .path_len = (uint32_t)events->path.len,
	};
	memcpy(events->ring->data + at, text->data, text->len + 1);
	memcpy(events->ring->data + at + text->len + 1, strbuf_str(&events->path),
	       events->path.len + 1);
	events->next_seq++;
	atomic_store(&events->ring->next_seq, events->next_seq);
}

static const struct event_record *
find(const struct events *events, uint64_t seq)
{
	if (seq < events->first_seq || seq >= events->next_seq)
		return NULL;
	return record_of(events, seq);
}

/* The `by` of that event, the number of the event that brought it about; 0: none, or the
 * event is not in the ring. */
uint64_t
events_by(const struct events *events, uint64_t seq)
{
	const struct event_record *record = find(events, seq);

	return record == NULL ? 0 : record->by;
}

/* The JSON text of an event, valid until the next one is written. */
bool
events_get(const struct events *events, uint64_t seq, const char **ret_json,
           size_t *ret_len)
{
	const struct event_record *record = find(events, seq);

	if (record == NULL)
		return false;
	*ret_json = events->ring->data + record->offset;
	*ret_len = record->len;
	return true;
}

/* The path of the actor an event is about; valid until the next event is written. */
const char *
events_path(const struct events *events, uint64_t seq)
{
	const struct event_record *record = find(events, seq);

	return record != NULL ? events->ring->data + record->offset + record->len + 1
	                      : NULL;
}

/* Is the event still there, and does its path match?  See glob_filters(). */
bool
events_match(const struct events *events, uint64_t seq, const char *glob)
{
	const char *path = events_path(events, seq);

	return path != NULL && glob_filters(glob, path);
}
