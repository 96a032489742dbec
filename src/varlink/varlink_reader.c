/* SPDX-License-Identifier: ISC */
/* varlink_reader.c - from a stream of bytes to Varlink messages. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "varlink/varlink.h"

/* An empty reader that accepts messages of up to `max` bytes, their NUL not counted. */
void
varlink_reader_init(struct varlink_reader *reader, size_t max)
{
	*reader = (struct varlink_reader){.max = max};
	/* The messages that wait, a growing message, and the most that a feed may bring.
	 */
	strbuf_init(&reader->buf, 2 * max + 2 * VARLINK_FEED_MAX);
}

/* Forget all bytes and give back the memory. */
void
varlink_reader_done(struct varlink_reader *reader)
{
	size_t max = reader->max;

	strbuf_done(&reader->buf);
	varlink_reader_init(reader, max);
}

/* Nothing waits: keep a small buffer for the next message, give a large one back. */
static void
forget(struct varlink_reader *reader)
{
	if (reader->buf.cap > VARLINK_FEED_MAX)
		strbuf_done(&reader->buf);
	strbuf_clear(&reader->buf);
	reader->start = 0;
	reader->tail = 0;
}

/* Free the room of messages that were taken out, for those that come. */
static void
compact(struct varlink_reader *reader)
{
	if (reader->start == 0)
		return;
	/* Moving only what is shorter than what it replaces keeps the cost linear. */
	if (reader->buf.len - reader->start > reader->start)
		return;
	strbuf_consume(&reader->buf, reader->start);
	reader->tail -= reader->start;
	reader->start = 0;
}

/* Look for the ends of messages among the bytes from `from` on. */
static int
count_messages(struct varlink_reader *reader, size_t from)
{
	const char *data = reader->buf.data;

	while (from < reader->buf.len) {
		const char *nul = memchr(data + from, '\0', reader->buf.len - from);

		if (nul == NULL)
			break;
		from = (size_t)(nul - data) + 1;
		if (from - 1 - reader->tail > reader->max)
			return -EMSGSIZE;
		reader->tail = from;
		reader->messages++;
	}
	return reader->buf.len - reader->tail > reader->max ? -EMSGSIZE : 0;
}

/*
 * Take in bytes as they came, VARLINK_FEED_MAX at most, cut anywhere.
 *
 * -EMSGSIZE: a message is longer than allowed, or the caller does not take messages out
 * before it feeds more; -ENOMEM.  Each byte is looked at once, however small the pieces.
 */
int
varlink_reader_feed(struct varlink_reader *reader, const void *data, size_t len)
{
	ASSERT(len <= VARLINK_FEED_MAX);
	if (len == 0)
		return 0;
	compact(reader);
	size_t from = reader->buf.len;
	strbuf_add(&reader->buf, data, len);
	if (reader->buf.failed)
		return len > reader->buf.limit - from ? -EMSGSIZE : -ENOMEM;
	return count_messages(reader, from);
}

/*
 * True if the levels are too many: the parser of jansson recurses at each, and a message
 * is not to decide how much stack is used.  Brackets inside strings do not count; what is
 * not JSON is found later.
 */
static bool
is_too_deep(const char *text, size_t len)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			depth++;
		else if (!in_string && (c == '}' || c == ']') && depth > 0)
			depth--;
		if (depth > VARLINK_DEPTH_MAX)
			return true;
	}
	return false;
}

static int
decode(const char *text, size_t len, json_t **ret, struct err *err)
{
	json_error_t problem;

	if (is_too_deep(text, len))
		return err_say(err, -EBADMSG,
		               "a message that is nested deeper than %d levels",
		               VARLINK_DEPTH_MAX);
	json_t *message = json_loadb(text, len, 0, &problem);
	/* Of some shortages jansson says nothing at all. */
	if (message == NULL && (problem.text[0] == '\0' ||
	                        json_error_code(&problem) == json_error_out_of_memory))
		return err_set(err, ENOMEM, "message");
	if (message == NULL)
		return err_say(err, -EBADMSG, "malformed message: %s at byte %d",
		               problem.text, problem.position);
	if (!json_is_object(message)) {
		json_decref(message);
		return err_say(err, -EBADMSG, "a message that is not an object");
	}
	*ret = message;
	return 1;
}

/*
 * The next whole message as it came, without its NUL: 1, or 0 when none is there.
 *
 * For readers that look at a part only.  The text lives until the next call of any
 * function of this reader.
 */
int
varlink_reader_next_text(struct varlink_reader *reader, const char **ret_text,
                         size_t *ret_len)
{
	if (reader->messages == 0)
		return 0;
	const char *text = reader->buf.data + reader->start;
	size_t len = strlen(text);
	ASSERT(reader->start + len < reader->buf.len);
	reader->start += len + 1;
	reader->messages--;
	*ret_text = text;
	*ret_len = len;
	return 1;
}

/*
 * The next whole message: 1 and an object that the caller owns, or 0 when none is there.
 *
 * -EBADMSG, and a sentence: not a JSON object in UTF-8, or nested too deep.  Where a key
 * occurs twice the last one counts.
 */
int
varlink_reader_next(struct varlink_reader *reader, json_t **ret, struct err *err)
{
	const char *text;
	size_t len;
	int r = varlink_reader_next_text(reader, &text, &len);

	if (r > 0)
		r = decode(text, len, ret, err);
	if (r != 0 && reader->start == reader->buf.len)
		forget(reader);
	return r;
}

/* How many bytes were fed and belong to no message that was taken out. */
size_t
varlink_reader_waiting(const struct varlink_reader *reader)
{
	return reader->buf.len - reader->start;
}
