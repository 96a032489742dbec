/* SPDX-License-Identifier: ISC */
/* format.c - what a stream said, as lines of a log: pure, and given piece by piece. */
#include "config.h"

#include "logd/write/format.h"

#include <string.h>

/* The length of the first line, its newline included; `len` where none ends it. */
static size_t
line_length(const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);

	return newline != NULL ? (size_t)(newline - data) + 1 : len;
}

/*
 * How much of a piece may go into the file as it is: all lines that end within the room.
 *
 * A file does not end in the middle of a line: what is begun goes on to its newline,
 * also beyond the room, and a line that does not fit is for the next file, so 0 may be
 * the answer, but never for a file that is new.  A line that alone is longer than the
 * room is cut.
 */
size_t
format_plain(struct format *format, const char *data, size_t len)
{
	if (len <= format->room)
		return len;
	const char *last = memrchr(data, '\n', (size_t)format->room);
	if (last != NULL)
		return (size_t)(last - data) + 1;
	if (format->in_line && !format->is_new)
		return line_length(data, len);
	format->is_full = !format->is_new;
	return format->is_new ? (size_t)format->room : 0;
}

/*
 * Put the time in front of each line.  Where the file may end is as in format_plain(); a
 * line that goes on in a new file has the time once more.
 */
size_t
format_text(struct format *format, const char *data, size_t len)
{
	struct strbuf *out = format->out;
	const size_t prefix = strlen(format->time) + 1;
	size_t at = 0;

	while (at < len) {
		size_t line = line_length(data + at, len - at);
		size_t need = line + (format->in_line ? 0 : prefix);
		const bool is_empty = format->is_new && out->len == 0;

		if (need > out->limit - out->len)
			break;
		if (out->len + need > format->room && !format->in_line) {
			format->is_full = !is_empty;
			if (!is_empty)
				break;
			if (line > 1 && format->room > prefix + 1)
				line = (size_t)format->room - prefix;
		}
		if (!format->in_line) {
			strbuf_add(out, format->time, prefix - 1);
			strbuf_addc(out, ' ');
		}
		strbuf_add(out, data + at, line);
		at += line;
		format->in_line = data[at - 1] != '\n';
	}
	return at;
}

/*
 * Find a line: complete, or of FORMAT_LINE_MAX bytes, or the last one with `flush`.
 * Returns how many bytes it takes, 0 while there is none; *ret_text is its length
 * without the newline.
 */
size_t
format_line(const char *data, size_t len, bool flush, size_t *ret_text)
{
	const size_t most = len < FORMAT_LINE_MAX ? len : FORMAT_LINE_MAX;
	const char *newline = memchr(data, '\n', most);

	if (newline != NULL) {
		*ret_text = (size_t)(newline - data);
		return *ret_text + 1;
	}
	if (most < FORMAT_LINE_MAX && !flush)
		return 0;
	*ret_text = most;
	return most;
}

/* One JSON object a line; lines are found as format_line() finds them. */
size_t
format_json(struct format *format, const char *data, size_t len)
{
	struct strbuf *out = format->out;
	size_t at = 0;

	while (at < len) {
		const size_t before = out->len;
		size_t text = 0;
		size_t line = format_line(data + at, len - at, format->flush, &text);

		if (line == 0)
			break;
		strbuf_adds(out, "{\"time\":\"");
		strbuf_adds(out, format->time);
		strbuf_adds(out, "\",\"stream\":\"");
		strbuf_adds(out, format->stream);
		strbuf_adds(out, "\",\"text\":");
		strbuf_add_json_bytes(out, data + at, text);
		strbuf_adds(out, "}\n");
		if (out->failed)
			break;
		if (out->len > format->room && !(format->is_new && before == 0)) {
			format->is_full = true;
			out->len = before;
			break;
		}
		at += line;
		/* A longer line than there is room for would fail: stop before. */
		if (out->limit - out->len < 7 * FORMAT_LINE_MAX)
			break;
	}
	format->in_line = false;
	return at;
}
