/* SPDX-License-Identifier: ISC */
/* print.c - standard output: buffered, coloured where that is wanted, and safe. */
#include "config.h"

#include "ctl/wire/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"

/* True if the locale's name says UTF-8.  Read by hand: setlocale() would load files. */
static bool
locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && value[0] != '\0')
			return strcasestr(value, "utf-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

/* Print to fd, which is borrowed; colours only on a terminal and without NO_COLOR. */
void
print_init(struct out *out, int fd)
{
	const char *no_color = getenv("NO_COLOR");

	*out = (struct out){
	    .fd = fd,
	    .buf = STRBUF(OUT_BYTES_MAX),
	    .terminal = isatty(fd) == 1,
	    .utf8 = locale_is_utf8(),
	};
	out->colour = out->terminal && (no_color == NULL || no_color[0] == '\0');
}

/* Write everything printed up to now. */
void
print_flush(struct out *out)
{
	const char *data = strbuf_str(&out->buf);
	size_t left = out->buf.len;

	if (out->buf.failed && out->error == 0)
		out->error = ENOMEM;
	while (left > 0 && !out->closed && out->error == 0) {
		ssize_t n = write(out->fd, data, left);

		if (n >= 0) {
			data += n;
			left -= (size_t)n;
		} else if (errno == EPIPE) {
			out->closed = true;
		} else if (errno != EINTR) {
			out->error = errno;
		}
	}
	strbuf_clear(&out->buf);
}

/* Write when enough has come together that it is worth a system call. */
void
print_flush_if_full(struct out *out)
{
	if (out->buf.len >= OUT_FLUSH_BYTES)
		print_flush(out);
}

/* Print text that is printable already in a colour. */
void
print_coloured(struct out *out, enum colour colour, const char *text, size_t len)
{
	static const char *const codes[] = {
	    [COLOUR_NONE] = "",        [COLOUR_GOOD] = "\x1b[32m",
	    [COLOUR_BAD] = "\x1b[31m", [COLOUR_BUSY] = "\x1b[33m",
	    [COLOUR_DIM] = "\x1b[2m",  [COLOUR_BOLD] = "\x1b[1m",
	};
	bool coloured = out->colour && colour != COLOUR_NONE;

	if (coloured)
		strbuf_adds(&out->buf, codes[colour]);
	strbuf_add(&out->buf, text, len);
	if (coloured)
		strbuf_adds(&out->buf, "\x1b[0m");
}

/* Print trusted text in a colour. */
void
print_colour(struct out *out, enum colour colour, const char *text)
{
	print_coloured(out, colour, text, strlen(text));
}

/* Spaces from `used` columns to `width`, and two more that part it from the next. */
void
print_pad(struct strbuf *sb, size_t used, size_t width)
{
	static const char spaces[] = "                                ";
	size_t left = (used < width ? width - used : 0) + 2;

	while (left > 0) {
		size_t n = left < sizeof(spaces) - 1 ? left : sizeof(spaces) - 1;

		strbuf_add(sb, spaces, n);
		left -= n;
	}
}

/* Columns that UTF-8 text takes, each character counted as one. */
size_t
print_width(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

/* Append text from outside on one line: control characters are written as escapes. */
void
print_text(struct strbuf *sb, const char *text, size_t len)
{
	strbuf_add_visible(sb, text, len);
}

/* Append text from outside that may have several lines, each indented and ended. */
void
print_lines(struct strbuf *sb, const char *text, size_t len, const char *indent)
{
	const char *end = text + len;

	while (text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		if (line_end == NULL)
			line_end = end;
		strbuf_adds(sb, indent);
		print_text(sb, text, (size_t)(line_end - text));
		strbuf_addc(sb, '\n');
		text = line_end + 1;
	}
}

/* Append a JSON string on one line. */
void
print_span(struct strbuf *sb, struct span span)
{
	if (span.at == NULL)
		return;
	if (memchr(span.at, '\\', span.len) == NULL) {
		print_text(sb, span.at, span.len);
		return;
	}
	CLEANUP(strbuf_done) struct strbuf decoded = STRBUF(2 * span.len);
	span_decode(span, &decoded);
	print_text(sb, strbuf_str(&decoded), decoded.len);
}

/* A duration for people. */
void
print_age(struct strbuf *sb, uint64_t ms)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, age_format(ms, text));
}

/* A size as people want it: "812K", "3.4M". */
void
print_bytes(struct strbuf *sb, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	uint64_t tenths = bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		strbuf_addf(sb, "%u", (unsigned int)bytes);
		return;
	}
	while (tenths >= UINT64_C(1024) * 1024) {
		tenths /= 1024;
		unit++;
	}
	tenths = tenths * 10 / 1024;
	strbuf_addf(sb, "%u.%u%c", (unsigned int)(tenths / 10),
	            (unsigned int)(tenths % 10), units[unit]);
}

/*
 * A time of RFC 3339 in the time zone of the user, with its date unless it is today's.
 * What cannot be read is printed as it is.
 */
void
print_when(struct strbuf *sb, const char *rfc3339, bool with_ms)
{
	time_t now = time(NULL);
	struct tm today, tm;
	char text[32];
	uint64_t us;

	if (moment_parse(rfc3339, &us) < 0) {
		print_text(sb, rfc3339, strlen(rfc3339));
		return;
	}
	time_t t = (time_t)(us / 1000000);
	if (localtime_r(&t, &tm) == NULL || localtime_r(&now, &today) == NULL) {
		print_text(sb, rfc3339, strlen(rfc3339));
		return;
	}
	if (tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year)
		(void)strftime(text, sizeof(text), "%H:%M:%S", &tm);
	else
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	strbuf_adds(sb, text);
	if (with_ms && strchr(rfc3339, '.') != NULL)
		strbuf_addf(sb, ".%03u", (unsigned int)(us / 1000 % 1000));
}

/* JSON as it was received; for a terminal, DEL and C1 become escapes of JSON. */
void
print_json(struct out *out, struct span json)
{
	const char *p = json.at;
	const char *end = json.at + json.len;

	if (!out->terminal) {
		strbuf_add(&out->buf, json.at, json.len);
		return;
	}
	for (; p < end; p++) {
		size_t control = strbuf_control_length(p, end);

		if (control == 0)
			strbuf_addc(&out->buf, *p);
		else if (*p == '\n' || *p == '\t' || *p == '\r')
			strbuf_addc(&out->buf, ' ');
		else
			strbuf_addf(&out->buf, "\\u%04x", (unsigned char)p[control - 1]);
		p += control == 2;
	}
}

/* The same, as a line. */
void
print_json_line(struct out *out, struct span json)
{
	print_json(out, json);
	strbuf_addc(&out->buf, '\n');
}

/* Text from outside as a string of JSON, quotes included. */
void
print_quoted(struct out *out, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF(OUT_BYTES_MAX);

	strbuf_add_json(&quoted, text);
	print_json(out, (struct span){strbuf_str(&quoted), quoted.len});
}
