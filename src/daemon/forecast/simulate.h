/* SPDX-License-Identifier: ISC */
/* simulate.h - what the policy will do if an actor keeps failing: steps, for people and
 * as JSON.
 */
#ifndef DAEMON_SIMULATE_H
#define DAEMON_SIMULATE_H

#include "base/strbuf.h"
#include "conf/text/conf.h"
#include "core/core.h"

/* Failures, unless something else is asked for; and at most. */
#define SIMULATE_TIMES     10
#define SIMULATE_TIMES_MAX 1000
/* Workers of one question, and bytes of its answer. */
#define SIMULATE_ACTORS_MAX 100
#define SIMULATE_BYTES_MAX  (4 * 1024 * 1024)

/* Where the names of actors come from. */
typedef const char *simulate_path(const void *user, struct ref ref);

struct simulation {
	const struct core *core;
	const struct conf *conf; /* rules are named after its files */
	uint64_t now_ms;
	struct cause cause;
	uint32_t times;
	simulate_path *path;
	const void *user;
	bool json;    /* else a line a step */
	bool is_part; /* one of several that are asked about */
};

/* "exit:3", "signal:SEGV", "exec:ENOENT", "watchdog", …; false: that is none. */
bool simulate_parse_cause(const char *text, struct cause *ret);

/* True if a worker with this kind of readiness can fail with this cause. */
bool simulate_can_fail(const struct cause *cause, enum ready_mode ready);

/*
 * Append the steps of this worker to `out`: objects of type SimulatedStep, each with a
 * comma before it unless `out` is empty, or lines.  Errors of forecast_fail(); -E2BIG:
 * more than fits.  To `summaries` goes, in the same form, a last step that says what
 * becomes of the worker; of several, also that a worker cannot be started now.
 */
int simulate(const struct simulation *simulation, struct ref worker, struct strbuf *out,
             struct strbuf *summaries);

/* `supd --simulate`: each worker of the file; returns the exit status. */
int simulate_file(const char *file, uint64_t seed);

#endif
