/* SPDX-License-Identifier: ISC */
/* deliver.c - one piece of a stream, brought to its file and taken out of its pipe. */
#include "config.h"

#include "logd/write/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "logd/write/format.h"
#include "logd/write/match.h"
#include "os/self/clock.h"

/* How often files are looked at for being too old, while something is written. */
#define AGE_MS 60000

/* A piece of which a part is in the file. */
struct piece {
	struct stream *stream;
	uint64_t base; /* size of the file before */
	uint64_t size; /* where the piece begins: behind what goes before it */
	size_t len;    /* that was looked at */
	bool is_begun; /* as a batch: a note is in the file already */
	struct format format;
};

/* The ring gets the end of what was just written as it is. */
static void
say_from_file(struct delivery *delivery, const struct piece *piece, size_t done)
{
	const size_t len = done < STATE_RING_BYTES ? done : STATE_RING_BYTES;
	const struct stream *stream = piece->stream;
	const off_t at = (off_t)(piece->size + done - len);
	struct state *state = delivery->batch.state;
	char last[STATE_RING_BYTES];

	if (pread(stream->sink->fd, last, len, at) == (ssize_t)len)
		state_say(state, stream->source.entry, done - len, last, len);
}

/* It could not be written: the file becomes as it was before.  Returns `error`. */
static int
undo(struct delivery *delivery, const struct piece *piece, int error)
{
	/* If not even that works, the next batch or the next log process does it. */
	if (sink_cut(piece->stream->sink, piece->base) == 0)
		batch_abandon(&delivery->batch);
	return error;
}

static int
begin_piece(struct delivery *delivery, const struct piece *piece)
{
	const struct sink *sink = piece->stream->sink;

	return piece->is_begun ? 0
	                       : batch_begin(&delivery->batch, sink->path, sink->device,
	                                     sink->inode, piece->base);
}

/*
 * The whole piece goes into the file as it is, without being copied through here.  What
 * a full disk takes of it counts.
 */
static ssize_t
move_piece(struct delivery *delivery, const struct piece *piece)
{
	struct batch *batch = &delivery->batch;
	struct sink *sink = piece->stream->sink;
	size_t done = 0;
	int r = begin_piece(delivery, piece);

	if (r < 0)
		return r;
	r = sink_splice(sink, piece->size, batch->scratch[0], piece->len, &done);
	if (r < 0 && done > 0)
		r = sink_cut(sink, piece->size + done);
	if (done == 0 || r < 0)
		return undo(delivery, piece, r);
	say_from_file(delivery, piece, done);
	batch_set_line(batch, 0, 0);
	r = batch_take(batch, &piece->stream->source, done);
	return r < 0 ? r : (ssize_t)done;
}

/* Make lines of the piece, which is in batch->data.  How many bytes of it were used. */
static size_t
make_lines(struct delivery *delivery, struct piece *piece)
{
	const struct feed_log *log = &piece->stream->sink->log;
	const char *data = delivery->batch.data;

	strbuf_clear(&delivery->text);
	piece->format.is_new = piece->size == 0;
	if (log->json)
		return format_json(&piece->format, data, piece->len);
	return log->timestamps ? format_text(&piece->format, data, piece->len)
	                       : format_plain(&piece->format, data, piece->len);
}

/*
 * Does the file end in the middle of a line of this stream?  If it is another's line it
 * is ended here, so that nothing is glued together.  1, 0 or -errno.
 */
static int
look_at_end(struct delivery *delivery, const struct piece *piece)
{
	const struct stream *stream = piece->stream;
	const struct state_entry *entry =
	    &delivery->batch.state->entries[stream->source.entry];
	int r = sink_ends_in_line(stream->sink, piece->size);

	if (r <= 0)
		return r;
	if (entry->line_end == piece->size && entry->line_inode == stream->sink->inode)
		return 1;
	/* In a log without times pieces follow each other as they come. */
	return stream->sink->log.json || stream->sink->log.timestamps ? 2 : 1;
}

/* How much the file may take now. */
static uint64_t
room_of(const struct sink *sink, uint64_t size)
{
	const uint64_t limit = sink_limit(sink);

	return size < limit ? limit - size : 0;
}

/*
 * Set the file aside and open a new one.  Where the former cannot be done the log goes
 * on in the file it has: better too long than lost.  Only the latter is an error.
 */
static int
next_file(struct delivery *delivery, struct piece *piece)
{
	struct sink *sink = piece->stream->sink;
	int r = sink_rotate(sink);

	/* The last one is still being compressed: that may wait, but not for ever. */
	if (r == -EBUSY && piece->size / 2 >= sink_limit(sink)) {
		sink_pack_stop(sink);
		r = sink_rotate(sink);
	}
	sink->rotate_error = (int16_t)(r == -EBUSY ? 0 : r);
	if (r < 0) {
		piece->format.room = UINT64_MAX;
		return 0;
	}
	/* A note stays at the end of the file that was set aside. */
	if (piece->is_begun)
		batch_abandon(&delivery->batch);
	piece->is_begun = false;
	r = sink_open(sink, &piece->size);
	piece->base = piece->size;
	piece->format.room = room_of(sink, piece->size);
	piece->format.in_line = false;
	piece->format.is_full = false;
	return r;
}

/* Write the lines that were made: `used` bytes of the piece. */
static ssize_t
write_lines(struct delivery *delivery, struct piece *piece, size_t used)
{
	const struct feed_log *log = &piece->stream->sink->log;
	const bool is_plain = !log->json && !log->timestamps;
	struct batch *batch = &delivery->batch;
	const struct sink *sink = piece->stream->sink;
	const char *data = is_plain ? batch->data : delivery->text.data;
	const size_t len = is_plain ? used : delivery->text.len;
	const size_t tail = used < STATE_RING_BYTES ? used : STATE_RING_BYTES;
	int r = begin_piece(delivery, piece);

	if (r < 0)
		return r;
	r = sink_write(sink, piece->size, data, len);
	if (r < 0)
		return undo(delivery, piece, r);
	state_say(batch->state, piece->stream->source.entry, used - tail,
	          batch->data + used - tail, tail);
	if (piece->format.in_line)
		batch_set_line(batch, sink->inode, piece->size + len);
	r = batch_take(batch, &piece->stream->source, used);
	return r < 0 ? r : (ssize_t)used;
}

/* Where the piece will be in the file, and what that means for its lines. */
static int
find_place(struct delivery *delivery, struct piece *piece)
{
	struct sink *sink = piece->stream->sink;
	int r = look_at_end(delivery, piece);

	if (r < 0)
		return r;
	piece->format.in_line = r == 1;
	if (r == 2) {
		r = sink_write(sink, piece->size, "\n", 1);
		if (r < 0)
			return r;
		piece->size++;
	}
	piece->format.room = room_of(sink, piece->size);
	/* A line that makes a file twice too long is cut after all. */
	if (piece->format.in_line && piece->size / 2 >= sink_limit(sink))
		return next_file(delivery, piece);
	return 0;
}

/* Make lines of the piece, in the next file where this one is full.  How many bytes of
 * the piece were used, or -errno. */
static ssize_t
place_lines(struct delivery *delivery, struct piece *piece)
{
	char now[CLOCK_TEXT_MAX];

	piece->format = (struct format){
	    .out = &delivery->text,
	    .time = clock_format(clock_wall_us(), 3, now),
	    .stream = feed_stream_names[piece->stream->name],
	    .flush = piece->stream->flush,
	};
	int r = find_place(delivery, piece);
	if (r < 0)
		return r;
	size_t used = make_lines(delivery, piece);
	if (used == 0 && piece->format.is_full) {
		r = next_file(delivery, piece);
		if (r < 0)
			return r;
		used = make_lines(delivery, piece);
	}
	return delivery->text.failed ? -ENOMEM : (ssize_t)used;
}

/* As move_piece(), where lines must be made, or the file may not take all of it. */
static ssize_t
make_piece(struct delivery *delivery, struct piece *piece)
{
	ssize_t used = batch_load(&delivery->batch, piece->len);

	if (used < 0)
		return used;
	piece->len = match_trim(piece->stream, delivery->batch.data, piece->len);
	if (piece->len == 0)
		return 0;
	used = place_lines(delivery, piece);
	if (used <= 0)
		return used;
	match_lines(delivery->batch.state, piece->stream, delivery->batch.data,
	            (size_t)used);
	return write_lines(delivery, piece, (size_t)used);
}

/* ---- what a full disk does not take ------------------------------------------------ */

/* How much of it is lines with their ends. */
static size_t
whole_lines(const char *data, size_t len)
{
	const char *last = memrchr(data, '\n', len);

	return last != NULL ? (size_t)(last - data) + 1 : 0;
}

/* True if something of the stream was dropped that its file has no line about. */
bool
deliver_owes(const struct delivery *delivery, const struct stream *stream)
{
	const struct state_entry *entry =
	    &delivery->batch.state->entries[stream->source.entry];

	return entry->lost != entry->lost_noted;
}

/*
 * Drop the next piece of a stream, whose file cannot be written: its last words are
 * known, and its lines are looked at, as if it were written.
 *
 * Returns how many bytes were taken out of its pipe: whole lines, 0 where there is only a
 * part of one; or -errno: then they are in it as before.
 */
ssize_t
deliver_drop(struct delivery *delivery, struct stream *stream)
{
	struct batch *batch = &delivery->batch;
	const uint32_t entry = stream->source.entry;
	ssize_t n = batch_peek(batch, stream->source.fd);
	size_t len = n > 0 ? (size_t)n : 0;
	int r = len > 0 ? batch_load(batch, len) : (int)n;

	if (r == 0 && !stream->flush)
		len = whole_lines(batch->data, len);
	if (r == 0 && len > 0) {
		const size_t tail = len < STATE_RING_BYTES ? len : STATE_RING_BYTES;

		match_lines(batch->state, stream, batch->data, len);
		state_say(batch->state, entry, len - tail, batch->data + len - tail,
		          tail);
		r = batch_drop(batch, &stream->source, len);
		if (r == 0)
			display_take(&delivery->display, stream, batch->data, len);
	}
	batch_discard(batch);
	return r < 0 ? r : (ssize_t)len;
}

/*
 * Begin a piece with a line that says what the file lacks in this place, where output of
 * the stream was dropped.  The line stands if the piece does, or where there is none.  0
 * or -errno.
 */
static int
add_note(struct delivery *delivery, struct piece *piece)
{
	struct batch *batch = &delivery->batch;
	const struct sink *sink = piece->stream->sink;
	const struct state_entry *entry =
	    &batch->state->entries[piece->stream->source.entry];
	struct strbuf *text = &delivery->text;
	char now[CLOCK_TEXT_MAX], sentence[96];
	struct format format = {
	    .out = text,
	    .room = UINT64_MAX,
	    .time = clock_format(clock_wall_us(), 3, now),
	    .stream = feed_stream_names[piece->stream->name],
	};
	/* A line of output that the file cuts off is ended in the file. */
	int r = sink_ends_in_line(sink, piece->size);

	strbuf_clear(text);
	if (r > 0)
		strbuf_addc(text, '\n');
	if (r >= 0)
		r = begin_piece(delivery, piece);
	if (r < 0)
		return r;
	piece->is_begun = true;
	(void)snprintf(sentence, sizeof(sentence),
	               "supd: %" PRIu64
	               " bytes are missing here: they could not be written\n",
	               entry->lost - entry->lost_noted);
	if (sink->log.json)
		(void)format_json(&format, sentence, strlen(sentence));
	else if (sink->log.timestamps)
		(void)format_text(&format, sentence, strlen(sentence));
	else
		strbuf_adds(text, sentence);
	r = text->failed ? -ENOMEM : sink_write(sink, piece->size, text->data, text->len);
	if (r == 0)
		piece->size += text->len;
	return r;
}

/* ---- a piece ----------------------------------------------------------------------- */

/* The piece as it is where that may be, else as lines.  As deliver(). */
static ssize_t
deliver_piece(struct delivery *delivery, struct piece *piece)
{
	const struct stream *stream = piece->stream;
	const struct feed_log *log = &stream->sink->log;
	ssize_t n = -EINVAL;

	if (!log->timestamps && !log->json && stream->match == NULL &&
	    stream->shown == FEED_SHOWN_NOT &&
	    piece->len <= room_of(stream->sink, piece->size))
		n = move_piece(delivery, piece);
	/* A file system without splice(2) says so before it takes anything. */
	return n == -EINVAL ? make_piece(delivery, piece) : n;
}

/* deliver() for a stream that goes to a file. */
static ssize_t
deliver_file(struct delivery *delivery, struct stream *stream)
{
	struct batch *batch = &delivery->batch;
	struct sink *sink = stream->sink;
	struct piece piece = {.stream = stream};
	int r = sink_open(sink, &piece.size);

	if (r < 0)
		return r;
	if (sink->log.max_age_ms > 0 && clock_mono_ms() - sink->aged_ms >= AGE_MS)
		sink_tidy(sink);
	ssize_t n = batch_peek(batch, stream->source.fd);
	batch->notes = n >= 0 && deliver_owes(delivery, stream);
	if (n < 0 || (n == 0 && !batch->notes))
		return n;
	piece.len = (size_t)n;
	piece.base = piece.size;
	r = batch->notes ? add_note(delivery, &piece) : 0;
	if (r == 0 && piece.len > 0)
		n = deliver_piece(delivery, &piece);
	if (r < 0)
		n = r;
	if (n < 0 && piece.is_begun)
		n = undo(delivery, &piece, (int)n);
	else if (n == 0 && piece.is_begun)
		n = batch_take(batch, &stream->source, 0);
	batch->notes = false;
	batch_discard(batch);
	return n;
}

/*
 * Bring the next piece of a stream to its sink.
 *
 * Returns how many bytes were taken out of its pipe; 0 where there is nothing, or only a
 * part of a line where lines must be complete; -errno where the sink does not take it:
 * then it is in the pipe as before.
 */
ssize_t
deliver(struct delivery *delivery, struct stream *stream)
{
	ssize_t n = stream->sink->target == FEED_TO_FILE
	                ? deliver_file(delivery, stream)
	                : deliver_lines(delivery, stream);

	if (n > 0)
		display_take(&delivery->display, stream, delivery->batch.data, (size_t)n);
	return n;
}
