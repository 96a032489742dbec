/* SPDX-License-Identifier: ISC */
/* event_text.h - events of the stream, a line each. */
#ifndef CTL_EVENT_TEXT_H
#define CTL_EVENT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctl/wire/print.h"

/* How many adoptions in a row have a line each; more are counted in one line. */
#define EVENT_TEXT_ADOPTED 3

/* Printing a stream; all zero at first. */
struct event_text {
	size_t path_width; /* of the longest path that event_text_make_room() was told */
	bool each;         /* also each adoption has its line */
	/* owned: the first adoptions that are not printed yet */
	json_t *adopted[EVENT_TEXT_ADOPTED];
	int64_t n_adopted; /* all of them */
};

void event_text_make_room(struct event_text *text, const json_t *event);
void event_text_print(struct event_text *text, struct out *out, const json_t *event);
void event_text_flush(struct event_text *text, struct out *out);

#endif
