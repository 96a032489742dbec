/* SPDX-License-Identifier: ISC */
/* history.c - how often each actor was started anew, for each of the last minutes. */
#include "config.h"

#include "ctl/page/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "ctl/wire/ctl.h"

#define MINUTE_MS 60000
#define MINUTE_NS UINT64_C(60000000000)

/* Free the samples; the history is empty then. */
void
history_done(struct history *history)
{
	free(history->entries);
	*history = (struct history){0};
}

static void
add_starts(struct history_entry *entry, uint64_t minutes_ago, int64_t n)
{
	if (minutes_ago >= HISTORY_MINUTES || n <= 0)
		return;
	uint16_t *starts = &entry->starts[HISTORY_MINUTES - 1 - minutes_ago];
	*starts = n < UINT16_MAX - *starts ? (uint16_t)(*starts + n) : UINT16_MAX;
}

/* Where the actor of each path is among the rows; the map borrows the paths. */
static int
map_paths(struct map *map, const struct snapshot *seen)
{
	if (map_reserve(map, seen->n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < seen->n; i++)
		if (map_put_name(map, snapshot_text(seen, seen->rows[i].path),
		                 seen->rows[i].order) < 0)
			return -ENOMEM;
	return 0;
}

/* An actor as it was, `passed` minutes later. */
static void
carry_on(struct history_entry *entry, const struct history_entry *old, uint64_t passed)
{
	for (uint64_t i = passed; i < HISTORY_MINUTES; i++)
		entry->starts[i - passed] = old->starts[i];
	/* It is smaller with another supd. */
	add_starts(entry, 0, entry->generation - old->generation);
}

/* After a look: what was started since the look before.  0 or -ENOMEM. */
int
history_update(struct history *history, const struct top *top)
{
	const struct snapshot *now = &top->now;
	struct history next = {.n = now->n, .minute = client_now_ms() / MINUTE_MS};
	CLEANUP(map_done) struct map map = {0};
	uint32_t at;
	int r = map_paths(&map, &top->before);

	next.entries = calloc(now->n + 1, sizeof(*next.entries));
	if (next.entries == NULL)
		r = -ENOMEM;
	for (size_t i = 0; i < now->n && r == 0; i++) {
		const struct row *row = &now->rows[i];
		struct history_entry *entry = &next.entries[row->order];

		entry->generation = row->generation;
		if (map_get_name(&map, snapshot_text(now, row->path), &at) &&
		    at < history->n)
			carry_on(entry, &history->entries[at],
			         next.minute - history->minute);
	}
	free(history->entries);
	*history = next;
	return r;
}

/* An event of the stream, as far as it is wanted. */
struct started {
	struct span event, path;
	int64_t generation, mono;
};

struct loading {
	struct history *history;
	struct map map;
};

static void
take_event(const struct loading *loading, struct span text)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_INT, struct started, mono),
	    SCAN_FIELD(SCAN_STRING, struct started, event),
	    SCAN_FIELD(SCAN_STRING, struct started, path),
	    SCAN_FIELD(SCAN_INT, struct started, generation),
	};
	struct started started = {0};
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(OUT_BYTES_MAX);
	uint32_t at;

	if (!scan_read(text, fields, sizeof(fields) / sizeof(fields[0]), &started) ||
	    !span_is(started.event, "started") || started.generation < 2)
		return;
	uint64_t minute = (uint64_t)started.mono / MINUTE_NS;
	print_span(&path, started.path);
	if (minute <= loading->history->minute &&
	    map_get_name(&loading->map, strbuf_str(&path), &at) &&
	    at < loading->history->n)
		add_starts(&loading->history->entries[at],
		           loading->history->minute - minute, 1);
}

static int
take_reply(void *user, const struct call *call UNUSED, const struct reply *reply)
{
	struct scan scan;
	struct span name;

	scan_init(&scan, reply->parameters);
	scan_object(&scan);
	while (scan_member(&scan, &name)) {
		const struct span value = scan_value(&scan);

		if (span_is(name, "event") && span_is_object(value))
			take_event(user, value);
	}
	return 0;
}

/*
 * After the first look: what supd still knows of the last minutes.  A client that may not
 * hear the events has a history that begins now.  0 or -ENOMEM.
 */
int
history_load(struct history *history, struct top *top)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Events",
	                    .parameters = json_pack("{s:i}", "since", 0),
	                    .more = true,
	                    .repeat = true};
	struct loading loading = {.history = history};
	struct stream_end end;
	int r = history_update(history, top);

	if (r == 0)
		r = map_paths(&loading.map, &top->now);
	if (r == 0 && ctl_stream(top->ctl, &call, take_reply, &loading, &end) != 0)
		/* What of it is still to come is not wanted. */
		client_done(&top->ctl->client);
	map_done(&loading.map);
	return r;
}

/* The column of an actor: a bar for each minute, one step higher for twice as many. */
void
history_draw(const struct history *history, const struct row *row, bool utf8,
             struct strbuf *sb)
{
	static const char *const bars[] = {" ",
	                                   "\xe2\x96\x81",
	                                   "\xe2\x96\x82",
	                                   "\xe2\x96\x83",
	                                   "\xe2\x96\x84",
	                                   "\xe2\x96\x85",
	                                   "\xe2\x96\x86",
	                                   "\xe2\x96\x87",
	                                   "\xe2\x96\x88"};
	static const char *const digits[] = {" ", "1", "2", "3", "4", "5", "6", "7", "8"};

	if (row->order >= history->n)
		return;
	for (size_t i = 0; i < HISTORY_MINUTES; i++) {
		uint32_t starts = history->entries[row->order].starts[i];
		uint32_t height = 0;

		/* One, two, up to four, up to eight … */
		while (height < 8 &&
		       starts > (height == 0 ? 0 : UINT32_C(1) << (height - 1)))
			height++;
		strbuf_adds(sb, utf8 ? bars[height] : digits[height]);
	}
}
