/* SPDX-License-Identifier: ISC */
/* trouble.c - sinks that do not take what comes: told once, tried again ever later. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "logd/write/loop.h"
#include "os/self/clock.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000

/* A socket that is full is no news: its reader is slow. */
#define PAUSE_FULL_MS 20

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
	uint32_t pause_ms = sink->pause_ms * 2;

	ASSERT(error > 0);
	if (pause_ms < PAUSE_MIN_MS || sink->error == 0)
		pause_ms = PAUSE_MIN_MS;
	if (pause_ms > PAUSE_MAX_MS)
		pause_ms = PAUSE_MAX_MS;
	if (error == EAGAIN)
		pause_ms = PAUSE_FULL_MS;
	sink->pause_ms = pause_ms;
	sink->retry_ms = clock_mono_ms() + pause_ms;
	sink->error = error;
	enter(logd, sink);
	trouble_tell(logd);
}

/* The sink takes data again: let all its streams go on. */
void
trouble_end(struct logd *logd, struct sink *sink)
{
	struct stream *stream;

	sink->error = 0;
	sink->retry_ms = 0;
	sink->pause_ms = 0;
	TAILQ_FOREACH (stream, &sink->streams, by_sink) {
		if (stream->place == STREAM_WAITING)
			flow_make_ready(logd, stream);
	}
	trouble_tell(logd);
}

/* True if there is a change that the guardian was not told. */
static bool
is_news(const struct sink *sink)
{
	if (sink->error == EAGAIN)
		return false;
	return sink->error != sink->told;
}

/* Say one thing about a sink.  0 or -errno. */
static int
say(struct logd *logd, const struct sink *sink, int error, const char *sentence)
{
	struct feed_message *message = &logd->message;
	int r;

	*message = (struct feed_message){.kind = FEED_TROUBLE, .error = error};
	r = feed_set_text(message, sentence, sink->path);
	return r < 0 ? 0 : feed_send(logd->feed, message, -1);
}

static int
say_state(struct logd *logd, const struct sink *sink)
{
	char sentence[PATH_MAX + 128];
	const char *why = strerror(sink->error);
	const char *who = sink->target == FEED_TO_FILE ? "the writers of that file wait"
	                                               : "its writers wait";
	const char *what = "cannot write";

	if (sink->error == ENOSPC || sink->error == EDQUOT)
		what = "disk full";
	if (sink->error == 0)
		(void)snprintf(sentence, sizeof(sentence), "%s is written again",
		               sink->path);
	else if (sink->error == ENOSPC || sink->error == EDQUOT)
		(void)snprintf(sentence, sizeof(sentence), "%s: %s: %s", what, sink->path,
		               who);
	else
		(void)snprintf(sentence, sizeof(sentence), "%s %s: %s: %s", what,
		               sink->path, why, who);
	return say(logd, sink, sink->error, sentence);
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
	return say(logd, sink, -sink->rotate_error, sentence);
}

/* Tell the guardian what it does not know yet; what does not fit is told later. */
void
trouble_tell(struct logd *logd)
{
	struct sink *sink = TAILQ_FIRST(&logd->troubled);

	logd->trouble_owed = false;
	while (sink != NULL) {
		struct sink *next = TAILQ_NEXT(sink, by_trouble);
		int r = 0;

		if (is_news(sink))
			r = say_state(logd, sink);
		if (r == -EAGAIN) {
			logd->trouble_owed = true;
			break;
		}
		if (is_news(sink))
			sink->told = sink->error;
		if (sink->error == 0)
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
		if (say(logd, sink, error, sentence) < 0)
			return;
	}
	sink->pack_told = error;
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

	TAILQ_FOREACH (sink, &logd->troubled, by_trouble) {
		struct stream *stream;

		if (sink->error == 0)
			continue;
		if (sink->retry_ms > now_ms) {
			next = sink->retry_ms < next ? sink->retry_ms : next;
			continue;
		}
		TAILQ_FOREACH (stream, &sink->streams, by_sink) {
			if (stream->place == STREAM_WAITING)
				flow_make_ready(logd, stream);
		}
	}
	return next;
}
