/* SPDX-License-Identifier: ISC */
/* stream.h - the streams that are known and the sinks they go to.
 *
 * A stream owns its read end; a sink lives as long as a stream goes to it.  Of both there
 * may be thousands that say nothing: so they are small.
 */
#ifndef LOGD_STREAM_H
#define LOGD_STREAM_H

#include "base/map.h"
#include "logd/write/batch.h"
#include "logd/write/feed.h"
#include "logd/write/sink.h"
#include "logd/write/state.h"

/* Where a stream is in the loop. */
enum stream_place {
	STREAM_ARMED,   /* epoll tells when something is there */
	STREAM_PAUSING, /* more is coming: wait until it is worth while */
	STREAM_READY,   /* a piece is to be written */
	STREAM_WAITING, /* for a sink with trouble */
	STREAM_PARTIAL, /* for the rest of a line */
	STREAM_ENDED,   /* nobody can write any more */
} ONE_BYTE;

struct stream {
	struct batch_source source;
	struct sink *sink;
	struct match *match; /* NULL: no line is waited for */
	struct strbuf *line; /* shown: an incomplete line, or NULL */
	uint64_t due_ns;
	TAILQ_ENTRY(stream) by_place;
	TAILQ_ENTRY(stream) by_sink;
	uint32_t round; /* number of the FEED_BEGIN in which the stream was named */
	uint32_t incarnation, generation;
	int32_t pid;
	uint32_t colour;
	uint32_t size; /* of its pipe; 0: not asked for yet */
	uint32_t owed; /* we are to end: what it held then and is not written */
	uint32_t left; /* STREAM_PARTIAL: what was in the pipe */
	enum feed_stream name;
	enum feed_shown shown;
	enum stream_place place;
	uint8_t pause;
	bool flush;      /* the last line needs no newline */
	bool dropped;    /* forget the stream when its pipe is empty */
	bool large;      /* its pipe was made larger */
	bool match_owed; /* a line matched, and that could not be told yet */
	bool done;       /* we are to end, and what it held then is written */
	char actor[];    /* path: of a key it is always the same */
};

struct stream_table {
	struct state *state;
	struct stream **by_entry; /* STATE_STREAMS_MAX of them */
	struct map sinks;         /* by path, into sink_at */
	struct sink **sink_at;
	uint32_t n_sinks, n_streams;
};

int stream_table_open(struct stream_table *table, struct state *state);
void stream_table_close(struct stream_table *table);
struct stream *stream_table_find(const struct stream_table *table, uint64_t key);
struct stream *stream_table_next(const struct stream_table *table,
                                 const struct stream *last);
int stream_table_add(struct stream_table *table, const struct feed_message *message,
                     int fd, struct stream **ret);
int stream_table_change(struct stream_table *table, struct stream *stream,
                        const struct feed_message *message, struct sink **ret_unused);
struct sink *stream_table_remove(struct stream_table *table, struct stream *stream);

#endif
