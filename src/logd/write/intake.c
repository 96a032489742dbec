/* SPDX-License-Identifier: ISC */
/* intake.c - messages of the guardian: which streams exist, and what changed. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "logd/write/logd_private.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How many messages are taken before the streams have their turn. */
#define TURN_MAX 1000

/* How many bytes of supd's own lines wait until all streams are known. */
#define KEPT_MAX 65536

/* When a message was lost the guardian is asked for all again, after so long. */
#define AGAIN_MS 1000

/* Begin anew: take a new instance number, and ask the guardian for all streams. */
void
intake_hello(struct logd *logd)
{
	struct feed_message *message = &logd->message;

	if (!logd->hello_owed) {
		logd->instance = ++logd->state.head->instance;
		logd->is_addressed = false;
		logd->again_ms = 0;
	}
	*message = (struct feed_message){.kind = FEED_HELLO, .instance = logd->instance};
	logd->hello_owed = feed_send(logd->feed, message, -1) == -EAGAIN;
	logd_watch_feed(logd);
}

static void
drop_sink(struct logd *logd, struct sink *sink)
{
	if (sink == NULL)
		return;
	trouble_leave(logd, sink);
	logd_unuse_sink(logd, sink);
	sink_free(sink);
}

/* Forget a stream and, if it was the last, its sink. */
void
intake_forget(struct logd *logd, struct stream *stream)
{
	flow_leave(logd, stream);
	if (stream->large)
		logd->n_large--;
	drop_sink(logd, stream_table_remove(&logd->table, stream));
}

/* A message cannot be taken now: ask for it again later. */
static void
ask_again(struct logd *logd)
{
	logd_close_sinks(logd, logd->n_used / 2);
	if (logd->again_ms == 0)
		logd->again_ms = clock_mono_ms() + AGAIN_MS;
}

/* Write the rest of the pipe to the sink and forget the stream; at once if writing fails.
 */
static void
drop(struct logd *logd, struct stream *stream)
{
	stream->dropped = true;
	stream->flush = true;
	if (stream->place != STREAM_WAITING)
		flow_make_ready(logd, stream);
}

static void
resume(struct logd *logd, const struct stream *stream)
{
	if (logd->pending && batch_resume(&logd->delivery.batch, &stream->source) == 1)
		logd->pending = false;
}

static void
add(struct logd *logd, int fd)
{
	struct stream *stream;

	if (stream_table_add(&logd->table, &logd->message, fd, &stream) < 0) {
		(void)close(fd);
		ask_again(logd);
		return;
	}
	resume(logd, stream);
	stream->round = (uint32_t)logd->instance;
	match_tell(logd, stream);
	flow_start(logd, stream);
}

static void
change(struct logd *logd, struct stream *stream)
{
	const struct feed_message *message = &logd->message;
	struct sink *unused;

	stream->round = (uint32_t)logd->instance;
	stream->dropped = false;
	if (stream->incarnation != message->incarnation ||
	    stream->generation != message->generation || stream->pid != message->pid)
		flow_deliver_all(logd, stream);
	flow_leave(logd, stream);
	if (stream_table_change(&logd->table, stream, message, &unused) < 0)
		ask_again(logd);
	else
		drop_sink(logd, unused);
	match_tell(logd, stream);
	flow_make_ready(logd, stream);
}

/* A stream that is new, or of which something has changed. */
static void
take_stream(struct logd *logd, int fd)
{
	struct stream *stream = stream_table_find(&logd->table, logd->message.key);
	struct stat st;

	if (stream != NULL && fd >= 0 &&
	    (fstat(fd, &st) < 0 || st.st_ino != stream->source.pipe)) {
		/* The same name with another pipe: what the old one holds comes first. */
		flow_deliver_all(logd, stream);
		intake_forget(logd, stream);
		stream = NULL;
	}
	if (stream != NULL) {
		fd_close(&fd);
		change(logd, stream);
	} else if (fd >= 0 && logd->message.key != 0) {
		add(logd, fd);
	} else {
		fd_close(&fd);
		ask_again(logd);
	}
}

/* Show the lines of supd's own that were kept, behind what the actors had written. */
void
intake_show_kept(struct logd *logd)
{
	const char *at = logd->kept.data;
	const char *behind = at + logd->kept.len;

	if (logd->kept.len > 0 && !logd->pending)
		flow_hurry(logd);
	for (; at < behind; at += strlen(at) + 1)
		display_say(&logd->delivery.display, at[0] - '0', at + 1);
	strbuf_clear(&logd->kept);
}

/* All streams were named: forget the others. */
static void
end(struct logd *logd)
{
	struct stream *stream = NULL;

	if (logd->pending)
		batch_give_up(&logd->delivery.batch);
	logd->pending = false;
	logd->complete = true;
	while ((stream = stream_table_next(&logd->table, stream)) != NULL) {
		if (stream->round != (uint32_t)logd->instance)
			drop(logd, stream);
	}
	intake_show_kept(logd);
}

/*
 * A line of supd's own.  What the actors had written by then goes before it: so it is
 * kept until all streams are known, as far as there is room.
 */
static void
say(struct logd *logd)
{
	strbuf_addc(&logd->kept, (char)('0' + logd->message.error));
	strbuf_adds(&logd->kept, feed_path(&logd->message));
	strbuf_add(&logd->kept, "", 1);
	if (logd->complete || logd->kept.len > KEPT_MAX)
		intake_show_kept(logd);
}

static void
take_message(struct logd *logd, int fd)
{
	const struct feed_message *message = &logd->message;
	const enum feed_kind kind = (enum feed_kind)message->kind;
	struct stream *stream = stream_table_find(&logd->table, message->key);

	if (kind == FEED_ASK) {
		logd->hello_owed = false;
		intake_hello(logd);
	} else if (kind == FEED_BEGIN) {
		logd->is_addressed = message->instance == logd->instance;
		logd->complete = false;
	} else if (kind == FEED_SHOW) {
		display_set(&logd->delivery.display, message->show, message->colour);
	} else if (kind == FEED_SAY) {
		say(logd);
	} else if (!logd->is_addressed) {
		/* Said to a predecessor. */
	} else if (kind == FEED_STREAM) {
		take_stream(logd, fd);
		return;
	} else if (kind == FEED_DROP && stream != NULL) {
		drop(logd, stream);
	} else if (kind == FEED_FLUSH && stream != NULL) {
		stream->flush = true;
		if (stream->place != STREAM_WAITING)
			flow_make_ready(logd, stream);
	} else if (kind == FEED_END) {
		end(logd);
	} else if (kind == FEED_REOPEN) {
		/* Each file is opened by its name again. */
		logd_close_sinks(logd, 0);
	}
	fd_close(&fd);
}

/* Heed what is in the feed. */
void
intake_read(struct logd *logd)
{
	for (unsigned int i = 0; i < TURN_MAX; i++) {
		int fd = -1;
		int r = feed_receive(logd->feed, &logd->message, &fd);

		if (r == -EAGAIN)
			return;
		if (r == 1) {
			take_message(logd, fd);
			continue;
		}
		if (r == -EBADMSG) {
			ask_again(logd);
			continue;
		}
		/* All other processes of supd are gone: write the rest, and end. */
		logd->alone = true;
		return;
	}
}
