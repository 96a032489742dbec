/* SPDX-License-Identifier: ISC */
/* stream_table.c - the streams that are known and the sinks they go to. */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "logd/write/display.h"
#include "logd/write/match.h"
#include "logd/write/stream.h"
#include "os/self/fd.h"

/* A table without streams.  0 or -ENOMEM. */
int
stream_table_open(struct stream_table *table, struct state *state)
{
	*table = (struct stream_table){.state = state};
	/* Only the pages that are used become memory. */
	table->by_entry = calloc(STATE_STREAMS_MAX, sizeof(struct stream *));
	table->sink_at = calloc(STATE_STREAMS_MAX, sizeof(struct sink *));
	if (table->by_entry == NULL || table->sink_at == NULL) {
		stream_table_close(table);
		return -ENOMEM;
	}
	return 0;
}

static void
stream_free(struct stream *stream)
{
	match_done(stream);
	display_forget_line(stream);
	fd_close(&stream->source.fd);
	free(stream);
}

/* Forget everything; what is in the pipes stays there. */
void
stream_table_close(struct stream_table *table)
{
	struct stream *stream;

	/* The state keeps what it knows of the streams. */
	while ((stream = stream_table_next(table, NULL)) != NULL) {
		table->by_entry[stream->source.entry] = NULL;
		stream_free(stream);
	}
	for (uint32_t i = 0; i < table->n_sinks; i++)
		sink_free(table->sink_at[i]);
	free(table->by_entry);
	free(table->sink_at);
	map_done(&table->sinks);
	*table = (struct stream_table){0};
}

/* The stream with this key, or NULL. */
struct stream *
stream_table_find(const struct stream_table *table, uint64_t key)
{
	uint32_t entry;

	return map_get(&table->state->by_key, key, &entry) ? table->by_entry[entry]
	                                                   : NULL;
}

/* The stream behind the last that was looked at; NULL: the first one, or there is none.
 */
struct stream *
stream_table_next(const struct stream_table *table, const struct stream *last)
{
	const uint32_t n = table->by_entry == NULL ? 0 : table->state->head->used;
	uint32_t entry = last == NULL ? 0 : last->source.entry + 1;

	while (entry < n && table->by_entry[entry] == NULL)
		entry++;
	return entry < n ? table->by_entry[entry] : NULL;
}

/* The sink that a message names; a new one where there is none.  0 or -errno. */
static int
find_sink(struct stream_table *table, const struct feed_message *message,
          struct sink **ret)
{
	const char *path = feed_path(message);
	struct sink *sink;
	uint32_t at;

	if (map_get_name(&table->sinks, path, &at)) {
		sink = table->sink_at[at];
		if (sink->target != message->target)
			return -EINVAL;
		sink->log = message->log;
		*ret = sink;
		return 0;
	}
	if (table->n_sinks == STATE_STREAMS_MAX)
		return -ENOSPC;
	sink = sink_new((enum feed_target)message->target, path, &message->log);
	if (sink == NULL || map_put_name(&table->sinks, sink->path, table->n_sinks) < 0) {
		sink_free(sink);
		return -ENOMEM;
	}
	/* A log process that was killed may have left a file half packed: end that. */
	sink->pack_due = sink->log.compress;
	if (sink->log.compress && sink->target == FEED_TO_FILE)
		sink_tidy(sink);
	table->sink_at[table->n_sinks++] = sink;
	*ret = sink;
	return 0;
}

/* A stream leaves its sink: the sink if no other goes to it, taken out, else NULL. */
static struct sink *
leave_sink(struct stream_table *table, struct stream *stream)
{
	struct sink *sink = stream->sink;
	uint32_t at;

	TAILQ_REMOVE(&sink->streams, stream, by_sink);
	stream->sink = NULL;
	if (!TAILQ_EMPTY(&sink->streams))
		return NULL;
	ASSERT(map_get_name(&table->sinks, sink->path, &at));
	map_remove_name(&table->sinks, sink->path);
	struct sink *last = table->sink_at[--table->n_sinks];
	table->sink_at[at] = last;
	/* The name is in the map already, so this cannot fail. */
	if (last != sink)
		ASSERT(map_put_name(&table->sinks, last->path, at) == 0);
	return sink;
}

static void
set_life(const struct stream_table *table, struct stream *stream,
         const struct feed_message *message)
{
	stream->incarnation = message->incarnation;
	stream->generation = message->generation;
	stream->pid = message->pid;
	stream->name = (enum feed_stream)message->stream;
	stream->shown = (enum feed_shown)message->show;
	stream->colour = message->colour;
	match_take(table->state, stream, message);
}

/* A new stream; `fd`, its read end, is the table's if this succeeds.  0 or -errno. */
int
stream_table_add(struct stream_table *table, const struct feed_message *message, int fd,
                 struct stream **ret)
{
	const char *actor = feed_actor(message);
	struct stream *stream =
	    calloc(1, offsetof(struct stream, actor) + strlen(actor) + 1);
	struct sink *sink;
	struct stat st;

	if (stream == NULL)
		return -ENOMEM;
	int r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0)
		r = state_find(table->state, message->key, &stream->source.entry);
	if (r == 0)
		r = find_sink(table, message, &sink);
	if (r < 0) {
		free(stream);
		return r;
	}
	stream->source.fd = fd;
	stream->source.pipe = st.st_ino;
	stream->sink = sink;
	memcpy(stream->actor, actor, strlen(actor) + 1);
	set_life(table, stream, message);
	TAILQ_INSERT_TAIL(&sink->streams, stream, by_sink);
	table->by_entry[stream->source.entry] = stream;
	table->n_streams++;
	*ret = stream;
	return 0;
}

/*
 * What is known of a stream has changed.  *ret_unused is its former sink if no stream
 * goes there any more: the caller frees it; else NULL.  On -errno nothing has changed.
 */
int
stream_table_change(struct stream_table *table, struct stream *stream,
                    const struct feed_message *message, struct sink **ret_unused)
{
	struct sink *sink;

	*ret_unused = NULL;
	int r = find_sink(table, message, &sink);
	if (r < 0)
		return r;
	if (sink != stream->sink) {
		*ret_unused = leave_sink(table, stream);
		stream->sink = sink;
		TAILQ_INSERT_TAIL(&sink->streams, stream, by_sink);
	}
	set_life(table, stream, message);
	return 0;
}

/*
 * Forget a stream, also in the state.  Returns its sink if no stream goes there any
 * more: the caller frees it; else NULL.
 */
struct sink *
stream_table_remove(struct stream_table *table, struct stream *stream)
{
	struct sink *unused = leave_sink(table, stream);

	table->by_entry[stream->source.entry] = NULL;
	table->n_streams--;
	state_drop(table->state, table->state->entries[stream->source.entry].key);
	stream_free(stream);
	return unused;
}
