/* SPDX-License-Identifier: ISC */
/* rows.h - the figures of all actors at one moment, as rows in an order. */
#ifndef CTL_ROWS_H
#define CTL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* The figures of a row that are columns, too. */
enum figure {
	FIGURE_NONE,
	FIGURE_PID,
	FIGURE_CPU,
	FIGURE_MEMORY,
	FIGURE_PROCS,
	FIGURE_UPTIME,
	FIGURE_RESTARTS,
	FIGURE_MAX,
};

enum sort_key { SORT_CPU, SORT_MEMORY, SORT_RESTARTS, SORT_UPTIME, SORT_PATH, SORT_MAX };

struct row {
	uint32_t path; /* in texts, as the state and the remark */
	uint32_t state, remark;
	uint32_t order; /* as supd told them */
	uint32_t depth; /* parts of the path */
	/* -1: not known.  The share of time is of one processor, in thousandths. */
	int64_t figures[FIGURE_MAX];
	int64_t cpu_usec, generation;
};

/* The figures of all actors at one moment. */
struct snapshot {
	struct strbuf texts;
	struct row *rows;
	size_t n, cap;
	uint64_t at_ms;
	uint32_t running, down;
	bool failed;
};

struct top {
	struct ctl *ctl;
	enum sort_key sort;
	struct snapshot now;
	struct snapshot before; /* in the order of the pids */
	uint32_t answer_ms;     /* how long supd may take, without --timeout */
};

extern const char *const rows_sort_names[SORT_MAX];

void rows_add_share(struct strbuf *sb, int64_t milli);
void rows_add_figure(struct strbuf *sb, const struct row *row, enum figure figure);

int top_look(struct top *top);
void top_sort(struct top *top);
const char *snapshot_text(const struct snapshot *seen, uint32_t at);
void snapshot_done(struct snapshot *seen);

#endif
