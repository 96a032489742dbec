/* SPDX-License-Identifier: ISC */
/* event_text.c - events of the stream, a line each. */
#include "config.h"

#include "ctl/text/event_text.h"

#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/text/phrase.h"

#define PATH_WIDTH_MIN 16
#define PATH_WIDTH_MAX 48
#define PATH_BYTES_MAX 4096
#define EVENT_WIDTH    9
static enum colour
event_colour(const char *event)
{
	static const struct {
		const char *event;
		enum colour colour;
	} colours[] = {
	    {"ready", COLOUR_GOOD},
	    {"failure", COLOUR_BAD},
	    {"gave_up", COLOUR_BAD},
	    {"escalated", COLOUR_BAD},
	    {"killed_after_timeout", COLOUR_BUSY},
	    {"unkillable", COLOUR_BAD},
	    {"backoff", COLOUR_BUSY},
	    {"shortage", COLOUR_BUSY},
	    {"command", COLOUR_BOLD},
	    {"supd", COLOUR_BOLD},
	    {"applied", COLOUR_BOLD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		if (strcmp(colours[i].event, event) == 0)
			return colours[i].colour;
	return COLOUR_NONE;
}

/* What follows the path stands below each other: tell of an event before it is printed.
 */
void
event_text_make_room(struct event_text *text, const json_t *event)
{
	const char *path = phrase_text(event, "path");
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF(PATH_BYTES_MAX);

	print_text(&shown, path, strlen(path));
	size_t width = print_width(strbuf_str(&shown), shown.len);
	if (width > text->path_width && width <= PATH_WIDTH_MAX)
		text->path_width = width;
}

/* The head of each line: time, path and name of the event. */
static void
print_head(struct event_text *text, struct out *out, const char *when, const char *path,
           const char *name)
{
	if (text->path_width < PATH_WIDTH_MIN)
		text->path_width = PATH_WIDTH_MIN;
	print_when(&out->buf, when, true);
	strbuf_adds(&out->buf, "  ");
	size_t start = out->buf.len;
	print_text(&out->buf, path, strlen(path));
	size_t width = print_width(strbuf_str(&out->buf) + start, out->buf.len - start);
	print_pad(&out->buf, width, text->path_width);
	/* Names of events are supd's own, but that is for supd to say. */
	start = out->buf.len;
	print_text(&out->buf, name, strlen(name));
	width = out->buf.len - start;
	if (event_colour(name) != COLOUR_NONE) {
		out->buf.len = start;
		print_colour(out, event_colour(name), name);
	}
	print_pad(&out->buf, width, EVENT_WIDTH);
}

static void
print_line(struct event_text *text, struct out *out, const json_t *event)
{
	event_text_make_room(text, event);
	print_head(text, out, phrase_text(event, "time"), phrase_text(event, "path"),
	           phrase_text(event, "event"));
	phrase_print(&out->buf, event, out->utf8);
	while (out->buf.len > 0 && out->buf.data[out->buf.len - 1] == ' ')
		out->buf.len--;
	strbuf_addc(&out->buf, '\n');
}

/* Print a line: time, actor, event, and its meaning in words.  Adoptions in a row wait
 * for what follows them. */
void
event_text_print(struct event_text *text, struct out *out, const json_t *event)
{
	if (text->each || strcmp(phrase_text(event, "event"), "adopted") != 0) {
		event_text_flush(text, out);
		print_line(text, out, event);
		return;
	}
	if (text->n_adopted < EVENT_TEXT_ADOPTED)
		text->adopted[text->n_adopted] = json_deep_copy(event);
	text->n_adopted++;
}

/* Print the adoptions that wait: a line each, or one for all if they are many. */
void
event_text_flush(struct event_text *text, struct out *out)
{
	const int64_t n = text->n_adopted;

	text->n_adopted = 0;
	if (n > EVENT_TEXT_ADOPTED) {
		print_head(text, out, phrase_text(text->adopted[0], "time"), "/",
		           "adopted");
		strbuf_addf(&out->buf, "the processes of %lld actors, which run on\n",
		            (long long)n);
	}
	for (int64_t i = 0; i < n && i < EVENT_TEXT_ADOPTED; i++) {
		if (n <= EVENT_TEXT_ADOPTED)
			print_line(text, out, text->adopted[i]);
		json_decref(text->adopted[i]);
	}
}
