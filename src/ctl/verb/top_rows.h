/* SPDX-License-Identifier: ISC */
/* top_rows.h - the figures of all actors at one moment, as rows in an order. */
#ifndef CTL_TOP_ROWS_H
#define CTL_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct ctl;

enum sort_key { SORT_CPU, SORT_MEMORY, SORT_RESTARTS, SORT_UPTIME, SORT_PATH, SORT_MAX };

struct row {
	uint32_t path; /* in texts, as the state */
	uint32_t state;
	uint32_t order; /* as supd told them */
	bool is_supervisor;
	int64_t pid;
	int64_t cpu_usec;  /* -1: not known, as for the others */
	int64_t cpu_milli; /* of one processor, in thousandths */
	int64_t memory;
	int64_t processes;
	int64_t uptime_ms;
	int64_t restarts;
};

/* The figures of all actors at one moment. */
struct snapshot {
	struct strbuf texts;
	struct row *rows;
	size_t n;
	size_t cap;
	uint64_t at_ms;
	bool failed;
};

struct top {
	struct ctl *ctl;
	enum sort_key sort;
	struct snapshot now;
	struct snapshot before; /* in the order of the pids */
	uint32_t running;
	uint32_t failed;
	size_t first; /* row on the page */
};

int top_look(struct top *top);
void top_sort(struct top *top);
const char *snapshot_text(const struct snapshot *seen, uint32_t at);
void snapshot_done(struct snapshot *seen);

#endif
