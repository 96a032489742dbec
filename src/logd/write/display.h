/* SPDX-License-Identifier: ISC */
/* display.h - what actors print and supd says, on standard output as well: `name | line`.
 *
 * It never waits for the terminal or pipe there.  What is not taken in time is kept, up
 * to a bound; then streams that are shown without fail wait, and lines of the others are
 * left out and counted.
 */
#ifndef LOGD_DISPLAY_H
#define LOGD_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct stream;

/* A longer line is shown in parts. */
#define DISPLAY_LINE_MAX (16 * 1024)

struct display {
	int fd;              /* -1: nothing is shown, or no more */
	bool must_poll;      /* a write could block: write little, and after poll(2) */
	bool is_watched;     /* epoll tells when there is room */
	uint32_t look;       /* set of enum feed_look */
	uint32_t width;      /* columns of the names */
	struct strbuf out;   /* what is to be written */
	struct strbuf text;  /* for a line that is made */
	uint64_t n_left_out; /* lines, since the last that was shown */
};

void display_init(struct display *display);
void display_set(struct display *display, uint32_t look, uint32_t width);
void display_take(struct display *display, struct stream *stream, const char *data,
                  size_t len);
void display_end_line(struct display *display, struct stream *stream);
void display_forget_line(struct stream *stream);
void display_say(struct display *display, int priority, const char *text);
bool display_is_full(const struct display *display);
bool display_flush(struct display *display);
void display_finish(struct display *display);
void display_close(struct display *display);

#endif
