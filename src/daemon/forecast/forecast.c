/* SPDX-License-Identifier: ISC */
/* forecast.c - what the policy will do: the real core, copied, in a world that is calm.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "daemon/forecast/forecast_world.h"

/* After this many turns there is no end in sight: something repeats that the question was
 * not about. */
#define TURNS_MAX 100000

static bool
is_of_starts(const struct cause *cause)
{
	return cause->kind == CAUSE_EXEC || cause->kind == CAUSE_START_TIMEOUT ||
	       cause->kind == CAUSE_EARLY_EXIT;
}

/* ---- the actor that fails ---------------------------------------------------------- */

static void
forecast_suppose(struct forecast *forecast, const struct cause *cause)
{
	(void)core_suppose(forecast->core, forecast->now_ms, forecast->target, cause,
	                   &forecast->actions);
	world_settle(forecast);
	world_go_on(forecast);
}

/* The core asked for this start, a start that has to fail. */
static void
fail_start(struct forecast *forecast, const struct node_view *view)
{
	forecast->left--;
	/* A late start: the core's own clock ends it. */
	if (forecast->cause.kind == CAUSE_START_TIMEOUT &&
	    view->ready_mode != READY_EXEC) {
		forecast->late_life = view->process.life;
		world_post(forecast, &(const struct event){.kind = EVENT_SPAWNED,
		                                           .ref = forecast->target,
		                                           .life = view->process.life,
		                                           .code = -1});
	} else {
		forecast_suppose(forecast, &forecast->cause);
	}
}

static void
fail_target(struct forecast *forecast)
{
	static const struct cause killed = {
	    .kind = CAUSE_SIGNAL, .code = -1, .signal = SIGKILL};

	if (is_of_starts(&forecast->cause)) {
		forecast->in_starts = true;
		forecast_suppose(forecast, &killed);
	} else {
		forecast->left--;
		forecast_suppose(forecast, &forecast->cause);
	}
}

/* True if the actor is where the forecast lets it fail: ready, or, if it is a one-shot,
 * at work. */
static bool
is_at_work(const struct node_view *view)
{
	return view->state == STATE_RUNNING ||
	       (view->state == STATE_STARTING && view->process.spawned &&
	        view->ready_mode == READY_EXIT);
}

static bool
state_is_over(enum node_state state)
{
	return state == STATE_DONE || state == STATE_FAILED || state == STATE_STOPPED;
}

/* True if a supervisor above is stopping or starting, and will include this actor. */
static bool
is_below_a_change(const struct forecast *forecast, struct ref ref)
{
	CORE_FOREACH_FROM (above, core_parent(forecast->core, ref),
	                   core_parent(forecast->core, above)) {
		struct node_view view;

		core_view(forecast->core, above, forecast->now_ms, &view);
		if (view.state != STATE_RUNNING && !state_is_over(view.state))
			return true;
	}
	return false;
}

/* True if all is over that was to be shown. */
static bool
is_at_rest(const struct forecast *forecast, const struct node_view *view)
{
	int32_t status;

	if (core_exited(forecast->core, &status))
		return true;
	if (view->state == STATE_RUNNING)
		return forecast->left == 0;
	return state_is_over(view->state) && !is_below_a_change(forecast, view->ref);
}

/* Let the next thing happen; false: nothing is left to happen. */
static bool
forecast_step(struct forecast *forecast, const struct node_view *view)
{
	if (view->process.alive && !view->process.spawned) {
		fail_start(forecast, view);
		return true;
	}
	if (is_at_work(view) && forecast->left > 0 && !forecast->in_starts) {
		fail_target(forecast);
		return true;
	}
	return world_pass_time(forecast) || world_meet_needs(forecast);
}

/* Start an actor that is down; end the wait of a backoff. */
static int
bring_up(struct forecast *forecast)
{
	struct node_view view;

	world_post(forecast, &(const struct event){.kind = EVENT_START,
	                                           .ref = forecast->target,
	                                           .code = -1});
	world_go_on(forecast);
	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		if (!core_valid(forecast->core, forecast->target))
			break;
		core_view(forecast->core, forecast->target, forecast->now_ms, &view);
		if (is_at_work(&view))
			return 0;
		if (!world_pass_time(forecast) && !world_meet_needs(forecast))
			break;
	}
	return -EINVAL;
}

int
forecast_fail(struct forecast *forecast, struct ref target, const struct cause *cause,
              uint32_t times, const struct forecast_watch *watch)
{
	struct node_view view;

	forecast->target = target;
	forecast->cause = *cause;
	forecast->left = times;
	int r = bring_up(forecast);
	forecast->watch = watch;
	forecast->from_ms = forecast->now_ms;
	for (uint32_t i = 0; r == 0 && !forecast->no_memory; i++) {
		if (!core_valid(forecast->core, target))
			break;
		core_view(forecast->core, target, forecast->now_ms, &view);
		if (is_at_rest(forecast, &view) || !forecast_step(forecast, &view))
			break;
		if (i == TURNS_MAX)
			r = -EOVERFLOW;
	}
	forecast->watch = NULL;
	return forecast->no_memory ? -ENOMEM : r;
}

bool
forecast_boot(struct forecast *forecast)
{
	struct node_view view;

	world_post(forecast, &(const struct event){
	                         .kind = EVENT_BOOT, .ref = REF_NONE, .code = -1});
	world_go_on(forecast);
	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		core_view(forecast->core, core_ref(forecast->core, CORE_USER),
		          forecast->now_ms, &view);
		if (view.state != STATE_STARTING || !world_pass_time(forecast))
			break;
	}
	return !forecast->no_memory;
}

/* ---- the copy ---------------------------------------------------------------------- */

struct forecast *
forecast_new(const struct core *core, uint64_t now_ms)
{
	struct forecast *forecast = calloc(1, sizeof(*forecast));
	struct core_size size;

	if (forecast == NULL)
		return NULL;
	core_size(core, &size);
	void *memory = malloc(core_bytes(&size));
	if (memory == NULL) {
		free(forecast);
		return NULL;
	}
	forecast->core = core_move(memory, &size, core);
	forecast->now_ms = now_ms;
	forecast->target = REF_NONE;
	world_post(forecast, &(const struct event){.kind = EVENT_UNWAIT,
	                                           .ref = REF_NONE,
	                                           .token = TOKEN_ALL,
	                                           .code = -1});
	world_catch_up(forecast);
	return forecast;
}

void
forecast_free(struct forecast *forecast)
{
	if (forecast == NULL)
		return;
	free(forecast->core);
	free(forecast->events);
	free(forecast);
}

const struct core *
forecast_core(const struct forecast *forecast)
{
	return forecast->core;
}

uint64_t
forecast_now(const struct forecast *forecast)
{
	return forecast->now_ms;
}
