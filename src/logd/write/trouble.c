/* SPDX-License-Identifier: ISC */
/* trouble.c - sinks that do not take what comes: told once, tried again ever later. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "logd/write/logd_private.h"
#include "os/self/clock.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000

/* A socket that is full is no news: its reader is slow. */
#define PAUSE_FULL_MS 20

/* A trouble is over when the sink was written for so long: a sink that fails and works by
 * turns has one. */
#define CALM_MS 1000

static void
enter(struct logd *logd, struct sink *sink)
{
	if (!sink->in_trouble)
		TAILQ_INSERT_TAIL(&logd->troubled, sink, by_trouble);
	sink->in_trouble = true;
}

/* Forget that the sink had trouble: the sink is not needed any more. */
void
trouble_leave(struct logd *logd, struct sink *sink)
{
	if (sink->in_trouble)
		TAILQ_REMOVE(&logd->troubled, sink, by_trouble);
	sink->in_trouble = false;
}

/* The sink did not take a piece: leave it alone for a while. */
void
trouble_begin(struct logd *logd, struct sink *sink, int error)
{
	uint32_t pause_ms = SMALLER(sink->pause_ms * 2, PAUSE_MAX_MS);

	ASSERT(error > 0);
	if (pause_ms < PAUSE_MIN_MS || sink->error == 0)
		pause_ms = PAUSE_MIN_MS;
	if (error == EAGAIN)
		pause_ms = PAUSE_FULL_MS;
	sink->pause_ms = pause_ms;
	sink->due_ms = clock_mono_ms() + pause_ms;
	sink->error = (int16_t)error;
	enter(logd, sink);
	trouble_tell(logd);
}

/* What outlives us of the stream. */
static struct state_entry *
entry_of(const struct logd *logd, const struct stream *stream)
{
	return &logd->state.entries[stream->source.entry];
}

/* A piece of the stream was written: if there was trouble, in this life of the log
 * process or in the one before, all streams of the sink go on. */
void
trouble_end(struct logd *logd, struct sink *sink, const struct stream *written)
{
	struct stream *stream;
	const bool is_told = entry_of(logd, written)->blocked != 0;

	if (sink->error == 0 && (!is_told || sink->in_trouble))
		return;
	sink->due_ms = 0;
	if (sink->told != 0 || is_told)
		sink->due_ms = clock_mono_ms() + CALM_MS;
	enter(logd, sink);
	sink->error = 0;
	sink->pause_ms = 0;
	TAILQ_FOREACH (stream, &sink->streams, by_sink) {
		if (stream->place == STREAM_WAITING)
			flow_make_ready(logd, stream);
	}
	trouble_tell(logd);
}

/* Say something about a sink, and of a stream of it if the key is not 0.  0 or -errno. */
static int
say(struct logd *logd, const struct sink *sink, uint64_t key, int error,
    const char *sentence)
{
	struct feed_message *message = &logd->message;

	*message =
	    (struct feed_message){.kind = FEED_TROUBLE, .key = key, .error = error};
	return feed_set_text(message, sentence, sink->path) < 0
	           ? 0
	           : feed_send(logd->feed, message, -1);
}

/* The sentence for the log of supd. */
static void
make_sentence(const struct sink *sink, char *ret, size_t size)
{
	const bool is_file = sink->target == FEED_TO_FILE;
	const char *writers =
	    is_file ? "the writers of that file wait" : "its writers wait";

	if (is_file && sink->log.drop)
		writers = "output is dropped";
	if (sink->error == 0)
		(void)snprintf(ret, size, "%s is written again", sink->path);
	else if (sink->error == ENOSPC || sink->error == EDQUOT)
		(void)snprintf(ret, size, "disk full: %s: %s", sink->path, writers);
	else
		(void)snprintf(ret, size, "cannot write %s: %s: %s", sink->path,
		               strerror(sink->error), writers);
}

/* Tell of a stream what the guardian does not know yet; the first time in words. */
static int
tell_stream(struct logd *logd, struct sink *sink, const struct stream *stream)
{
	struct state_entry *entry = entry_of(logd, stream);
	char sentence[PATH_MAX + 128] = "";

	if (entry->blocked == sink->error && sink->told == sink->error)
		return 0;
	if (sink->told != sink->error)
		make_sentence(sink, sentence, sizeof(sentence));
	/* Of what a log process before this told the words alone are new. */
	int r = say(logd, sink, entry->blocked != sink->error ? entry->key : 0,
	            sink->error, sentence);
	if (r == 0)
		entry->blocked = sink->told = sink->error;
	return r;
}

/* True if the sink is written again, and not for long. */
static bool
is_calming(const struct sink *sink)
{
	return sink->error == 0 && clock_mono_ms() < sink->due_ms;
}

/* Tell of all streams of a sink.  A socket that is full is no news. */
static int
tell_sink(struct logd *logd, struct sink *sink)
{
	const struct stream *stream;
	int r = 0;

	if (sink->error == EAGAIN || is_calming(sink))
		return 0;
	TAILQ_FOREACH (stream, &sink->streams, by_sink) {
		r = tell_stream(logd, sink, stream);
		if (r < 0)
			break;
	}
	return r;
}

static int
say_rotation(struct logd *logd, const struct sink *sink)
{
	char sentence[PATH_MAX + 128];

	if (sink->rotate_error == 0)
		(void)snprintf(sentence, sizeof(sentence), "%s is set aside again",
		               sink->path);
	else
		(void)snprintf(sentence, sizeof(sentence),
		               "cannot set %s aside: %s: it grows on", sink->path,
		               strerror(-sink->rotate_error));
	return say(logd, sink, 0, -sink->rotate_error, sentence);
}

/* Tell the guardian what it does not know yet; what does not fit is told later. */
void
trouble_tell(struct logd *logd)
{
	struct sink *sink = TAILQ_FIRST(&logd->troubled);

	logd->trouble_owed = false;
	while (sink != NULL) {
		struct sink *next = TAILQ_NEXT(sink, by_trouble);

		if (tell_sink(logd, sink) == -EAGAIN) {
			logd->trouble_owed = true;
			break;
		}
		if (sink->error == 0 && !is_calming(sink))
			trouble_leave(logd, sink);
		sink = next;
	}
	logd_watch_feed(logd);
}

/* Setting files aside has failed, or succeeds again: told once. */
void
trouble_rotation(struct logd *logd, struct sink *sink)
{
	if (sink->rotate_error == sink->rotate_told)
		return;
	if (say_rotation(logd, sink) == 0)
		sink->rotate_told = sink->rotate_error;
}

/* Compressing has failed (errno, or EIO for a failure of its process), or succeeded. */
void
trouble_packed(struct logd *logd, struct sink *sink, int error)
{
	char sentence[PATH_MAX + 128];

	if (error != 0 && sink->pack_told != error) {
		(void)snprintf(
		    sentence, sizeof(sentence),
		    "cannot compress a rotated file of %s: it stays uncompressed",
		    sink->path);
		if (say(logd, sink, 0, error, sentence) < 0)
			return;
	}
	sink->pack_told = (int16_t)error;
}

/* The streams of a sink try again; also those that have only to write how much of their
 * output was dropped. */
static void
wake_streams(struct logd *logd, struct sink *sink)
{
	struct stream *stream;

	TAILQ_FOREACH (stream, &sink->streams, by_sink) {
		if (stream->place == STREAM_WAITING ||
		    (stream->place != STREAM_ENDED &&
		     deliver_owes(&logd->delivery, stream)))
			flow_make_ready(logd, stream);
	}
}

/*
 * Let streams try again when the pause of their sink is over.  Returns the next end of a
 * pause, in milliseconds; UINT64_MAX: none.
 */
uint64_t
trouble_wake(struct logd *logd, uint64_t now_ms)
{
	uint64_t next = UINT64_MAX;
	struct sink *sink;
	bool is_over = false;

	TAILQ_FOREACH (sink, &logd->troubled, by_trouble) {
		if (sink->due_ms > now_ms)
			next = sink->due_ms < next ? sink->due_ms : next;
		else if (sink->error == 0)
			is_over = true;
		else
			wake_streams(logd, sink);
	}
	/* What the feed has no room for is told when it has. */
	if (is_over && !logd->trouble_owed)
		trouble_tell(logd);
	return next;
}
