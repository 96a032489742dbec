/* SPDX-License-Identifier: ISC */
/* match.c - lines that are awaited: `ready: {log: ...}`.
 *
 * The end of the newest match is recorded before the piece that contains it is written,
 * and so before the piece is taken out of the pipe: a successor tells of the match again,
 * or finds it again.  Only awaited matches are told, also a match that came before the
 * wait.
 */
#include "config.h"

#include "logd/write/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "logd/write/logd_private.h"

/* Parts of a line come where it could not wait for its end: when a life was over, as it
 * seemed, or its pipe was full. */
#define PARTS_MAX 4

struct match_begun {
	size_t len, n_parts;
	size_t parts[PARTS_MAX]; /* where they begin */
	char text[PATTERN_LINE_MAX];
};

struct match {
	struct pattern pattern;
	struct match_begun *begun; /* an incomplete line, or NULL */
};

/* Was what is awaited said?  Then that is to be told. */
static void
look(const struct state *state, struct stream *stream)
{
	const struct state_entry *entry = &state->entries[stream->source.entry];

	stream->match_owed = stream->match != NULL && entry->match_from != 0 &&
	                     entry->matched >= entry->match_from;
}

/*
 * How much of what is in the pipe is whole lines: a part of one waits for the rest where
 * lines are matched.  All of it where they are not, or nothing more will come.
 */
size_t
match_trim(const struct stream *stream, const char *data, size_t len)
{
	if (stream->match == NULL || stream->flush)
		return len;
	while (len > 0 && data[len - 1] != '\n')
		len--;
	return len;
}

/* Keep a part of a line; without memory, or beyond its bounds, it does not count. */
static void
keep_part(struct match *match, const char *data, size_t len)
{
	struct match_begun *begun = match->begun;

	if (begun == NULL)
		begun = match->begun = calloc(1, sizeof(*begun));
	if (begun == NULL || begun->n_parts == PARTS_MAX)
		return;
	if (len > PATTERN_LINE_MAX - begun->len)
		len = PATTERN_LINE_MAX - begun->len;
	begun->parts[begun->n_parts++] = begun->len;
	memcpy(begun->text + begun->len, data, len);
	begun->len += len;
}

/*
 * True if the end of a line completes one that matches.  Where a process ended in the
 * midst of a line its successor's begins at one of the parts.
 */
static bool
completes(struct match *match, const char *data, size_t len)
{
	struct match_begun *begun = match->begun;
	bool found = pattern_matches(&match->pattern, data, len);

	if (begun == NULL)
		return found;
	keep_part(match, data, len);
	for (size_t i = 0; i < begun->n_parts; i++)
		found = found ||
		        pattern_matches(&match->pattern, begun->text + begun->parts[i],
		                        begun->len - begun->parts[i]);
	free(begun);
	match->begun = NULL;
	return found;
}

/* Look through what is about to be written: `len` bytes of the stream. */
void
match_lines(const struct state *state, struct stream *stream, const char *data,
            size_t len)
{
	struct state_entry *entry = &state->entries[stream->source.entry];
	size_t at = 0;

	while (stream->match != NULL && at < len) {
		const char *newline = memchr(data + at, '\n', len - at);
		const size_t end = newline == NULL ? len : (size_t)(newline - data);

		if (newline == NULL)
			keep_part(stream->match, data + at, end - at);
		else if (completes(stream->match, data + at, end - at))
			entry->matched = entry->total + end + 1;
		at = end + 1;
	}
	look(state, stream);
}

/* It was compiled before, when the configuration was read; NULL: without memory. */
static struct match *
match_new(const char *pattern)
{
	struct match *match = calloc(1, sizeof(*match));
	struct err err;

	if (match == NULL || pattern_compile(&match->pattern, pattern, &err) == 0)
		return match;
	free(match);
	return NULL;
}

/* Take over what a message says of the stream: its pattern, and from where on a match is
 * awaited. */
void
match_take(const struct state *state, struct stream *stream,
           const struct feed_message *message)
{
	struct state_entry *entry = &state->entries[stream->source.entry];
	const char *text = feed_pattern(message);

	if (text == NULL || stream->match == NULL ||
	    strcmp(text, stream->match->pattern.text) != 0) {
		match_done(stream);
		if (text != NULL)
			stream->match = match_new(text);
	}
	if (message->match_from != FEED_AS_BEFORE)
		entry->match_from = message->match_from;
	look(state, stream);
}

/* Nobody waits for anything here. */
void
match_done(struct stream *stream)
{
	if (stream->match != NULL) {
		pattern_done(&stream->match->pattern);
		free(stream->match->begun);
	}
	free(stream->match);
	stream->match = NULL;
	stream->match_owed = false;
}

/* Tell that the line came which is waited for, if it did; or later, when that can be. */
void
match_tell(struct logd *logd, struct stream *stream)
{
	const struct state_entry *entry = &logd->state.entries[stream->source.entry];
	/* Not in logd->message: what was said last may be needed still. */
	const struct feed_message message = {
	    .kind = FEED_MATCH, .key = entry->key, .match_from = entry->match_from};

	if (!stream->match_owed)
		return;
	if (feed_send(logd->feed, &message, -1) == -EAGAIN) {
		logd->match_owed = true;
		logd_watch_feed(logd);
	} else {
		stream->match_owed = false;
	}
}

/* The feed takes messages again. */
void
match_tell_all(struct logd *logd)
{
	struct stream *stream = NULL;

	logd->match_owed = false;
	while ((stream = stream_table_next(&logd->table, stream)) != NULL)
		match_tell(logd, stream);
	logd_watch_feed(logd);
}
