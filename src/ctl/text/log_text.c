/* SPDX-License-Identifier: ISC */
/* log_text.c - a line that an actor wrote, as it is printed. */
#include "config.h"

#include "ctl/text/log_text.h"

#include <string.h>

#include "base/ansi.h"
#include "base/cleanup.h"

#define TEXT_MAX   (8 * 1024 * 1024)
#define NAME_WIDTH 32

static const char *
short_name(const char *path)
{
	return strncmp(path, "/user/", 6) == 0 ? path + 6 : path;
}

/* Names stand above each other: tell of each actor before its first line. */
void
log_make_room(struct log_style *style, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF(TEXT_MAX);

	print_text(&name, short_name(path), strlen(short_name(path)));
	size_t width = print_width(strbuf_str(&name), name.len);
	if (width > style->width && width <= NAME_WIDTH)
		style->width = width;
}

/* In a colour of its own, as wide as the longest of those that were told of. */
static void
print_name(struct out *out, const struct log_style *style, const char *path)
{
	const char *name = short_name(path);

	if (out->colour)
		strbuf_adds(&out->buf, ansi_of_name(name));
	size_t start = out->buf.len;
	print_text(&out->buf, name, strlen(name));
	size_t width = print_width(strbuf_str(&out->buf) + start, out->buf.len - start);
	for (; width < style->width; width++)
		strbuf_addc(&out->buf, ' ');
	strbuf_adds(&out->buf, " |");
	if (out->colour)
		strbuf_adds(&out->buf, ANSI_RESET);
	strbuf_addc(&out->buf, ' ');
}

/* When it came, in the zone of the user; a line of a log without times has none. */
static void
print_time(struct out *out, struct span time)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(TEXT_MAX);
	CLEANUP(strbuf_done) struct strbuf when = STRBUF(TEXT_MAX);

	span_decode(time, &text);
	print_when(&when, time.at != NULL ? strbuf_str(&text) : "-", true);
	print_coloured(out, COLOUR_DIM, strbuf_str(&when), when.len);
	strbuf_addc(&out->buf, ' ');
}

/* As the actor wrote it; to a terminal only colours pass, and no other control sequence.
 */
static void
print_output(struct out *out, const char *text, size_t len)
{
	if (out->terminal)
		ansi_add_output(&out->buf, text, len, out->colour);
	else
		strbuf_add(&out->buf, text, len);
}

static void
add_member(struct strbuf *sb, const char *name, struct span value)
{
	strbuf_adds(sb, name);
	if (value.at == NULL) {
		strbuf_adds(sb, "null");
		return;
	}
	strbuf_addc(sb, '"');
	strbuf_add(sb, value.at, value.len);
	strbuf_addc(sb, '"');
}

static void
print_object(struct out *out, struct strbuf *text, const struct log_line *line)
{
	add_member(text, "{\"path\": ", line->path);
	add_member(text, ", \"time\": ", line->time);
	add_member(text, ", \"stream\": ", line->stream);
	add_member(text, ", \"text\": ", line->text);
	if (line->bytes.at != NULL)
		add_member(text, ", \"bytes\": ", line->bytes);
	strbuf_addc(text, '}');
	print_json(out, (struct span){strbuf_str(text), text->len});
}

/* Print a line, with a newline behind it. */
void
log_print(struct out *out, const struct log_style *style, const struct log_line *line)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(TEXT_MAX);

	if (style->json) {
		print_object(out, &text, line);
	} else {
		if (style->timed)
			print_time(out, line->time);
		span_decode(line->path, &text);
		if (style->named)
			print_name(out, style, strbuf_str(&text));
		strbuf_clear(&text);
		if (line->bytes.at != NULL && !out->terminal)
			span_decode_base64(line->bytes, &text);
		else
			span_decode(line->text, &text);
		print_output(out, strbuf_str(&text), text.len);
	}
	strbuf_addc(&out->buf, '\n');
}
