/* SPDX-License-Identifier: ISC */
/* families.h - the families of figures, in the text form of OpenMetrics. */
#ifndef DAEMON_FAMILIES_H
#define DAEMON_FAMILIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "os/process/usage.h"

struct scraped;
struct strbuf;

/* The figures of an actor. */
struct sample {
	struct ref ref;
	struct node_view view;
	uint64_t failed_at_us; /* of the last failure, since the Epoch; 0: none */
	uint64_t dead_letters;
	bool is_blocked;    /* its log files cannot be written */
	uint64_t lost;      /* bytes of output dropped meanwhile */
	uint64_t uptime_ms; /* of its process */
	bool has_uptime;
	bool has_usage;
	struct usage usage;
};

void families_write_own(struct strbuf *sb, const struct scraped *about,
                        const struct sample *samples, size_t n_samples);
bool families_write(struct strbuf *sb, size_t place, bool is_first,
                    const struct scraped *about, const struct sample *sample);

#endif
