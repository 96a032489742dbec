/* SPDX-License-Identifier: ISC */
/* forecast_world.h - the calm world of a forecast: it answers what the core asks for.
 *
 *	forecast.c        the actor that fails, and how often
 *	forecast_world.c  all that happens around it
 */
#ifndef DAEMON_FORECAST_WORLD_H
#define DAEMON_FORECAST_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/forecast/forecast.h"

struct forecast {
	struct core *core;
	uint64_t now_ms;
	struct action_list actions;

	struct event *events; /* what the world answered, oldest first */
	size_t n_events, cap;
	bool no_memory;

	struct ref target;
	struct cause cause;
	uint32_t left;      /* failures that are still to come */
	bool in_starts;     /* it is the starts that fail, from now on */
	uint32_t late_life; /* of the process that is not ready in time; 0: none is */
	const struct forecast_watch *watch; /* NULL: nothing is told */
	uint64_t from_ms;                   /* when that began */
};

void world_settle(struct forecast *forecast);
void world_post(struct forecast *forecast, const struct event *event);
void world_go_on(struct forecast *forecast);
void world_catch_up(struct forecast *forecast);
bool world_pass_time(struct forecast *forecast);
bool world_meet_needs(struct forecast *forecast);

#endif
