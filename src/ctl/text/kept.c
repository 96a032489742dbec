/* SPDX-License-Identifier: ISC */
/* kept.c - lines that are kept back, to be printed later: the last ones, or backwards. */
#include "config.h"

#include "ctl/text/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept_line {
	struct kept_line *older, *newer, *newer_of_origin;
	struct kept_origin *origin;
	size_t len;
	char text[];
};

/* Drop the oldest line of its origin. */
static void
drop(struct kept_lines *kept, struct kept_line *line)
{
	struct kept_origin *origin = line->origin;

	if (line == kept->oldest)
		kept->oldest = line->newer;
	else
		line->older->newer = line->newer;
	if (line == kept->newest)
		kept->newest = line->older;
	else
		line->newer->older = line->older;
	origin->first = line->newer_of_origin;
	if (origin->first == NULL)
		origin->last = NULL;
	origin->n--;
	kept->bytes -= sizeof(*line) + line->len;
	free(line);
}

/* Keep a copy of what is printed for a line of this origin, of which the last `max` are
 * wanted, -1: all.  -ENOMEM. */
int
kept_add(struct kept_lines *kept, struct kept_origin *origin, int64_t max,
         const char *text, size_t len)
{
	if (max == 0)
		return 0;
	struct kept_line *line = malloc(sizeof(*line) + len);
	if (line == NULL)
		return -ENOMEM;
	*line = (struct kept_line){.older = kept->newest, .origin = origin, .len = len};
	memcpy(line->text, text, len);
	if (line->older != NULL)
		line->older->newer = line;
	else
		kept->oldest = line;
	kept->newest = line;
	if (origin->last != NULL)
		origin->last->newer_of_origin = line;
	else
		origin->first = line;
	origin->last = line;
	origin->n++;
	kept->bytes += sizeof(*line) + len;
	if (max > 0 && origin->n > max)
		drop(kept, origin->first);
	for (; kept->bytes > KEPT_BYTES_MAX && kept->oldest != kept->newest;
	     kept->left_out++)
		drop(kept, kept->oldest);
	return 0;
}

/* Hand each line that is kept to take(). */
void
kept_each(const struct kept_lines *kept, bool newest_first, kept_take *take, void *user)
{
	const struct kept_line *line = newest_first ? kept->newest : kept->oldest;

	for (; line != NULL; line = newest_first ? line->older : line->newer)
		take(user, line->text, line->len);
}

/* Forget all lines. */
void
kept_done(struct kept_lines *kept)
{
	while (kept->oldest != NULL)
		drop(kept, kept->oldest);
}
