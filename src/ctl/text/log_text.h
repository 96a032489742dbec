/* SPDX-License-Identifier: ISC */
/* log_text.h - a line that an actor wrote, as it is printed. */
#ifndef CTL_LOG_TEXT_H
#define CTL_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/wire/print.h"

/* As supd has sent it. */
struct log_line {
	struct span path, time, stream, text;
	struct span bytes; /* in base64, where the text is not what was written */
};

/* How lines are printed. */
struct log_style {
	bool json;
	bool named;   /* names stand in front */
	bool timed;   /* … and before them the times */
	size_t width; /* of the longest name that log_make_room() was told */
};

void log_make_room(struct log_style *style, const char *path);
void log_print(struct out *out, const struct log_style *style,
               const struct log_line *line);

#endif
