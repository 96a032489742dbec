/* SPDX-License-Identifier: ISC */
/* history.h - how often each actor was started anew, for each of the last minutes. */
#ifndef CTL_HISTORY_H
#define CTL_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/page/rows.h"

#define HISTORY_MINUTES 10

/* Of one actor; the newest minute is the last. */
struct history_entry {
	int64_t generation;
	uint16_t starts[HISTORY_MINUTES];
};

/* In the order in which supd told the actors. */
struct history {
	struct history_entry *entries;
	size_t n;
	uint64_t minute; /* CLOCK_MONOTONIC, of the newest */
};

void history_done(struct history *history);
int history_load(struct history *history, struct top *top);
int history_update(struct history *history, const struct top *top);
void history_draw(const struct history *history, const struct row *row, bool utf8,
                  struct strbuf *sb);

#endif
