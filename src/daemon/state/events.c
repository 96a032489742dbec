/* SPDX-License-Identifier: ISC */
/* events.c - the event stream: every change is a record with a gapless number. */
#include "config.h"

#include "daemon/state/events.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "conf/text/log_words.h"
#include "daemon/state/glob.h"
#include "os/self/clock.h"

/* Make a buffer as large as it will ever be, so that additions need no memory; false:
 * there is none. */
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

/* Take the memory to write events in; -ENOMEM.  Then events_attach(). */
int
events_init(struct events *events)
{
	*events = (struct events){.first_seq = 1, .next_seq = 1};
	return preallocate(&events->text, EVENT_BYTES_MAX) ? 0 : -ENOMEM;
}

static void
view_at(const struct event_record *record, const char *text, struct event_view *ret)
{
	const size_t path_bytes = strnlen(text, record->len) + 1;

	*ret = (struct event_view){.record = record, .path = text};
	if (path_bytes <= record->len) {
		ret->fields = text + path_bytes;
		ret->len = record->len - path_bytes;
	}
}

/* True if every record is where the index says, and can be read; a guardian that wrote
 * at random may have spoiled them. */
static bool
is_whole(const struct events_ring *ring)
{
	const uint64_t first = atomic_load(&ring->first_seq);
	const uint64_t next = atomic_load(&ring->next_seq);

	if (first == 0 || first > next || next - first > EVENTS_MAX)
		return false;
	for (uint64_t seq = first; seq < next; seq++) {
		const struct event_record *record = &ring->records[seq % EVENTS_MAX];
		struct event_view view;

		if (record->seq != seq || record->offset > EVENTS_BYTES_MAX ||
		    record->len > EVENTS_BYTES_MAX - record->offset ||
		    record->log_level > LOG_LEVEL_MAX)
			return false;
		view_at(record, ring->data + record->offset, &view);
		if (!event_is_whole(&view))
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
	*events = (struct events){0};
}

/* Begin the next event; its time is now.  Fields follow, events_end() ends it. */
void
events_begin(struct events *events, const struct event_head *head)
{
	ASSERT(head->kind < NOTICE_MAX);
	events->record = (struct event_record){
	    .seq = events->next_seq,
	    .wall_us = clock_wall_us(),
	    .mono_ns = clock_mono_ns(),
	    .incarnation = head->incarnation,
	    .generation = head->generation,
	    .kind = head->kind,
	};
	strbuf_clear(&events->text);
	strbuf_add(&events->text, head->path, strlen(head->path) + 1);
	ASSERT(!events->text.failed);
}

static void
begin_field(struct events *events, enum field field)
{
	const uint32_t head = (uint32_t)field << EVENT_LENGTH_BITS;

	events->mark = events->text.len;
	strbuf_add(&events->text, &head, sizeof(head));
}

/* The end of a field, or of an array: write down the length, or take the field back if
 * the event became too long. */
void
events_close(struct events *events)
{
	struct strbuf *text = &events->text;
	uint32_t head;

	if (text->failed) {
		text->failed = false;
		strbuf_truncate(text, events->mark);
		events->record.truncated = true;
		return;
	}
	memcpy(&head, text->data + events->mark, sizeof(head));
	head |= (uint32_t)(text->len - events->mark - sizeof(head));
	memcpy(text->data + events->mark, &head, sizeof(head));
}

static void
add_field(struct events *events, enum field field, const void *value, size_t len)
{
	begin_field(events, field);
	strbuf_add(&events->text, value, len);
	events_close(events);
}

/* Add a text. */
void
events_text(struct events *events, enum field field, const char *value)
{
	ASSERT(field_type(field) == VALUE_TEXT);
	add_field(events, field, value, strlen(value) + 1);
}

/* Add a number. */
void
events_number(struct events *events, enum field field, int64_t value)
{
	ASSERT(field_type(field) == VALUE_NUMBER);
	add_field(events, field, &value, sizeof(value));
}

/* Add a number that is not known: null. */
void
events_null(struct events *events, enum field field)
{
	ASSERT(field_type(field) == VALUE_NUMBER);
	add_field(events, field, "", 0);
}

/* Add what is true or false. */
void
events_flag(struct events *events, enum field field, bool value)
{
	ASSERT(field_type(field) == VALUE_FLAG);
	add_field(events, field, &value, sizeof(value));
}

/* Add the cause; `about` as cause_about() gave it, or NULL. */
void
events_cause(struct events *events, const struct cause *cause, const char *about)
{
	begin_field(events, FIELD_CAUSE);
	strbuf_add(&events->text, cause, sizeof(*cause));
	if (about != NULL)
		strbuf_add(&events->text, about, strlen(about) + 1);
	events_close(events);
}

/* Begin an array of texts, or of changes. */
void
events_open(struct events *events, enum field field)
{
	ASSERT(field_type(field) == VALUE_TEXTS || field_type(field) == VALUE_CHANGES);
	begin_field(events, field);
}

/* Add a text to the array; a NUL in it is told as U+FFFD. */
void
events_add(struct events *events, const char *text, size_t len)
{
	const char *nul;

	while ((nul = memchr(text, '\0', len)) != NULL) {
		strbuf_add(&events->text, text, (size_t)(nul - text));
		strbuf_adds(&events->text, "\xef\xbf\xbd");
		len -= (size_t)(nul - text) + 1;
		text = nul + 1;
	}
	strbuf_add(&events->text, text, len);
	strbuf_addc(&events->text, '\0');
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

	return events->first_seq == events->next_seq
	           ? 0
	           : (size_t)newest->offset + newest->len;
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
		           (size_t)oldest->offset + oldest->len > at;
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
	const struct strbuf *text = &events->text;
	struct event_record *record = &events->record;

	record->seq = events->next_seq;
	record->by = events->by;
	record->len = (uint32_t)text->len;
	record->offset = (uint32_t)make_room(events, text->len);
	*record_of(events, record->seq) = *record;
	memcpy(events->ring->data + record->offset, text->data, text->len);
	events->next_seq++;
	atomic_store(&events->ring->next_seq, events->next_seq);
}

static const struct event_record *
find_record(const struct events *events, uint64_t seq)
{
	return seq < events->first_seq || seq >= events->next_seq
	           ? NULL
	           : record_of(events, seq);
}

/* The `by` of that event, the number of the event that brought it about; 0: none, or the
 * event is not in the ring. */
uint64_t
events_by(const struct events *events, uint64_t seq)
{
	const struct event_record *record = find_record(events, seq);

	return record == NULL ? 0 : record->by;
}

/* An event to be read, until the next one is written; false: it is not in the ring. */
bool
events_view(const struct events *events, uint64_t seq, struct event_view *ret)
{
	const struct event_record *record = find_record(events, seq);

	if (record == NULL)
		return false;
	view_at(record, events->ring->data + record->offset, ret);
	return true;
}

uint64_t
events_behind(const struct events *events)
{
	const uint64_t next = atomic_load(&events->ring->next_line);

	/* A guardian that wrote at random may have spoiled it. */
	return events->next_seq - (next < events->first_seq || next > events->next_seq
	                               ? events->first_seq
	                               : next);
}

bool
events_find_line(struct events *events, struct event_view *ret)
{
	uint64_t seq = events->next_seq - events_behind(events);

	while (seq < events->next_seq && record_of(events, seq)->log_level == 0)
		seq++;
	atomic_store(&events->ring->next_line, seq);
	return events_view(events, seq, ret);
}

/* Call it when the line is written: a death in between makes supd write it twice, and
 * never lose it. */
void
events_pass_line(struct events *events)
{
	atomic_fetch_add(&events->ring->next_line, 1);
}

/* The event that was begun last, in the ring or not. */
void
events_view_newest(struct events *events, struct event_view *ret)
{
	events->record.len = (uint32_t)events->text.len;
	view_at(&events->record, events->text.data, ret);
}

/* True if the event is still there, and its path matches.  See glob_filters(). */
bool
events_match(const struct events *events, uint64_t seq, const char *glob)
{
	struct event_view view;

	return events_view(events, seq, &view) && glob_filters(glob, view.path);
}
