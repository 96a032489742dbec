/* SPDX-License-Identifier: ISC */
/* forecast.h - what the policy will do: the real core, copied, in a world that is calm.
 *
 * In that world time passes at once, every process starts, becomes ready, answers a stop
 * and lets nothing behind; only one actor fails, again and again.
 */
#ifndef DAEMON_FORECAST_H
#define DAEMON_FORECAST_H

#include "core/core.h"

/* One action of the core, so long after the first failure. */
typedef void forecast_tell(void *user, uint64_t at_ms, const struct core *core,
                           const struct action *action);

/* What a forecast tells, and the callback that is told. */
struct forecast_watch {
	forecast_tell *tell;
	void *user;
};

/* A copy of this core, which may run on; NULL: no memory. */
struct forecast *forecast_new(const struct core *core, uint64_t now_ms);
void forecast_free(struct forecast *forecast);

/* Let everything start that is to start; false: no memory. */
bool forecast_boot(struct forecast *forecast);

/*
 * Let this worker fail with `cause`, as soon as it runs, `times` times, and then come to
 * rest.  A cause of a failing start comes after a SIGKILL; an actor that is down is
 * started first. -EINVAL: the worker cannot be started where it is. -EOVERFLOW: no end
 * was in sight.
 */
int forecast_fail(struct forecast *forecast, struct ref target, const struct cause *cause,
                  uint32_t times, const struct forecast_watch *watch);

/* Where it has come to: the state, and the time. */
const struct core *forecast_core(const struct forecast *forecast);
uint64_t forecast_now(const struct forecast *forecast);

#endif
