/* SPDX-License-Identifier: ISC */
/* families.h - the families of figures, in the text form of OpenMetrics. */
#ifndef DAEMON_FAMILIES_H
#define DAEMON_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "daemon/state/actors.h"
#include "os/process/usage.h"

struct scraped;

/* The figures that an actor has without a label of their own, in the order in which their
 * families are written. */
enum figure {
	FIGURE_UP,
	FIGURE_READY,
	FIGURE_FAILED,
	FIGURE_RESTARTS,
	FIGURE_STARTS,
	FIGURE_WINDOW,
	FIGURE_CONSECUTIVE_FAILURES,
	FIGURE_BACKOFF_DELAY,
	FIGURE_DEAD_LETTERS,
	FIGURE_OUTPUT_BLOCKED,
	FIGURE_OUTPUT_LOST,
	FIGURE_UPTIME,
	FIGURE_MEMORY,
	FIGURE_CPU,
	FIGURE_PROCESSES,
	FIGURE_DESCRIPTORS,
	FIGURE_READ,
	FIGURE_WRITTEN,
	FIGURE_WINDOW_LIMIT,
	FIGURE_HEALTHY,
	FIGURE_EXIT_CODE,
	FIGURE_MAX
};

/* What was found out about an actor. */
struct observation {
	struct node_view view;
	const struct tally *tally; /* NULL: there were no failures */
	uint64_t failed_at_us;     /* of the last failure, since the Epoch; 0: none */
	uint64_t dead_letters;
	bool is_blocked;    /* its log files cannot be written */
	uint64_t lost;      /* bytes of output dropped meanwhile */
	uint64_t uptime_ms; /* of its process */
	bool has_uptime;
	bool has_usage;
	struct usage usage;
};

/* The figures of an actor. */
struct sample {
	size_t labels; /* offset of its labels in `sampled.labels` */
	enum node_state state;
	bool is_well;
	bool has_process;        /* it is no mere supervisor */
	uint64_t failed_at_us;   /* 0: it did not */
	enum cause_kind failure; /* the last */
	uint64_t figures[FIGURE_MAX];
	uint32_t failures[CAUSE_KIND_MAX];
	uint32_t restarts_by[RESTART_KIND_MAX];
};

struct sampled {
	const struct sample *samples;
	const char *labels; /* of all actors, each ended by a NUL */
};

void families_measure(struct sample *sample, const struct observation *found);
void families_add_labels(struct strbuf *sb, const struct actors *actors,
                         const struct node_view *view);
void families_write_own(struct strbuf *sb, const struct scraped *about,
                        const struct sample *samples, size_t n_samples);
bool families_write(struct strbuf *sb, size_t place, bool is_first,
                    const struct sampled *sampled, size_t n);

#endif
