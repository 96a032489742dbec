/* SPDX-License-Identifier: ISC */
/* forecast_world.c - the calm world of a forecast: every process starts, becomes ready,
 * and answers a stop, at once.
 */
#include "config.h"

#include "daemon/forecast/forecast_world.h"

#include <signal.h>

#include "base/array.h"
#include "base/units.h"

static bool
is_target(const struct forecast *forecast, struct ref ref)
{
	return ref.slot == forecast->target.slot && ref.tenant == forecast->target.tenant;
}

static void
world_answer(struct forecast *forecast, const struct event *event)
{
	if (ARRAY_RESERVE(forecast->events, forecast->n_events, forecast->cap))
		forecast->events[forecast->n_events++] = *event;
	else
		forecast->no_memory = true;
}

static void
answer_kind(struct forecast *forecast, enum event_kind kind, struct ref ref,
            uint32_t life)
{
	world_answer(forecast,
	             &(struct event){.kind = kind, .ref = ref, .life = life, .code = -1});
}

static void
answer_end(struct forecast *forecast, struct ref ref, uint32_t life, int32_t code,
           int32_t signal)
{
	world_answer(forecast, &(struct event){
	                           .kind = EVENT_EXITED,
	                           .ref = ref,
	                           .life = life,
	                           .code = code,
	                           .signal = signal,
	                           .gone = true,
	                       });
}

/* A command that an action asked for has done its work. */
static void
answer_command(struct forecast *forecast, enum event_kind kind,
               const struct action *action)
{
	world_answer(forecast, &(struct event){
	                           .kind = kind,
	                           .ref = action->ref,
	                           .serial = action->serial,
	                       });
}

/*
 * Readiness probes succeed unless the forecast assumes a failing start.  Health probes
 * are not simulated: they would always succeed.
 */
static void
answer_probe(struct forecast *forecast, struct ref ref)
{
	struct action probe;

	if (core_probe(forecast->core, ref, &probe) && probe.is_start &&
	    (!is_target(forecast, ref) || probe.life != forecast->late_life))
		world_answer(forecast, &(struct event){
		                           .kind = EVENT_PROBED,
		                           .ref = ref,
		                           .life = probe.life,
		                           .serial = probe.serial,
		                           .code = PROBED_GOOD,
		                       });
}

/* It was started, and comes as far as it can. */
static void
answer_spawn(struct forecast *forecast, struct ref ref, uint32_t life)
{
	struct node_view view;

	core_view(forecast->core, ref, forecast->now_ms, &view);
	answer_kind(forecast, EVENT_SPAWNED, ref, life);
	/* A process that always reports in time needs no watchdog here. */
	answer_kind(forecast, EVENT_WATCHDOG_EVERY, ref, life);
	if (view.ready_mode == READY_TOLD)
		answer_kind(forecast, EVENT_READY, ref, life);
	else if (view.ready_mode == READY_EXIT &&
	         (forecast->left == 0 || !is_target(forecast, ref)))
		answer_end(forecast, ref, life, 0, 0);
}

/* True if this start fails.  Then how is settled in the next turn, by fail_start(). */
static bool
start_fails(const struct forecast *forecast, struct ref ref)
{
	return forecast->in_starts && forecast->left > 0 && is_target(forecast, ref);
}

static void
world_perform_one(struct forecast *forecast, const struct action *action)
{
	const enum action_kind kind = action->kind;

	if (kind == ACTION_SPAWN && !start_fails(forecast, action->ref))
		answer_spawn(forecast, action->ref, action->life);
	else if (kind == ACTION_STOP || kind == ACTION_KILL)
		answer_end(forecast, action->ref, action->life, -1,
		           kind == ACTION_STOP ? SIGTERM : SIGKILL);
	else if (kind == ACTION_HOOK || kind == ACTION_REACT)
		answer_command(forecast,
		               kind == ACTION_HOOK ? EVENT_HOOK_DONE : EVENT_REACT_DONE,
		               action);
	else if (kind == ACTION_PROBE)
		answer_probe(forecast, action->ref);
}

static void
world_perform(struct forecast *forecast)
{
	for (uint32_t i = 0; i < forecast->actions.n; i++) {
		const struct action *action = &forecast->actions.at[i];

		world_perform_one(forecast, action);
		if (forecast->watch != NULL)
			forecast->watch->tell(forecast->watch->user,
			                      forecast->now_ms - forecast->from_ms,
			                      forecast->core, action);
	}
	forecast->actions.n = 0;
}

/* Let the core do what can be done now, and answer. */
void
world_settle(struct forecast *forecast)
{
	bool more;

	do {
		more = core_settle(forecast->core, forecast->now_ms, &forecast->actions);
		world_perform(forecast);
	} while (more);
}

/* Tell the core of an event, and let it do what follows. */
void
world_post(struct forecast *forecast, const struct event *event)
{
	core_post(forecast->core, forecast->now_ms, event, &forecast->actions);
	world_settle(forecast);
}

/* Tell the core what the world answered, and what comes of that, until all is quiet. */
void
world_go_on(struct forecast *forecast)
{
	for (size_t i = 0; i < forecast->n_events; i++) {
		const struct event event = forecast->events[i];

		world_post(forecast, &event);
	}
	forecast->n_events = 0;
}

/* The copy may be in the midst of something: what it waits for comes now. */
void
world_catch_up(struct forecast *forecast)
{
	struct core *core = forecast->core;
	const struct ref top = core_ref(core, CORE_ROOT);

	CORE_FOREACH (ref, core, top) {
		struct node_view view;
		struct action command;

		if (core_hook(core, ref, &command))
			answer_command(forecast, EVENT_HOOK_DONE, &command);
		if (core_react(core, ref, &command))
			answer_command(forecast, EVENT_REACT_DONE, &command);
		core_view(core, ref, forecast->now_ms, &view);
		if (!view.process.alive)
			continue;
		if (view.process.spawned && view.process.watchdog)
			answer_kind(forecast, EVENT_WATCHDOG_EVERY, ref,
			            view.process.life);
		answer_probe(forecast, ref);
		if (!view.process.spawned)
			answer_spawn(forecast, ref, view.process.life);
		else if (!view.process.main_alive)
			answer_kind(forecast, EVENT_GONE, ref, view.process.life);
		else if (view.state == STATE_STOPPING)
			answer_end(forecast, ref, view.process.life, -1, SIGTERM);
		else if (view.state == STATE_STARTING && view.ready_mode == READY_EXIT)
			answer_end(forecast, ref, view.process.life, 0, 0);
		else if (view.state == STATE_STARTING)
			answer_kind(forecast, EVENT_READY, ref, view.process.life);
	}
	world_go_on(forecast);
}

/* Until the next thing that is due; false: nothing ever is. */
bool
world_pass_time(struct forecast *forecast)
{
	uint64_t due = core_deadline(forecast->core);

	if (due == DURATION_INFINITE)
		return false;
	if (due > forecast->now_ms)
		forecast->now_ms = due;
	world_post(forecast, &(const struct event){
	                         .kind = EVENT_TICK, .ref = REF_NONE, .code = -1});
	world_go_on(forecast);
	return true;
}

/* Let a needed actor come: start an actor that is down, complete a running one-shot;
 * false: it is neither. */
static bool
come_as_far(struct forecast *forecast, struct ref needed)
{
	struct event event = {.kind = EVENT_START, .ref = needed, .code = -1};
	struct node_view view;

	core_view(forecast->core, needed, forecast->now_ms, &view);
	if (view.state == STATE_RUNNING && view.process.main_alive)
		event = (struct event){.kind = EVENT_EXITED,
		                       .ref = needed,
		                       .life = view.process.life,
		                       .gone = true};
	else if (view.state != STATE_STOPPED && view.state != STATE_DONE &&
	         view.state != STATE_FAILED)
		return false;
	world_post(forecast, &event);
	world_go_on(forecast);
	return true;
}

/* Nothing is due, but an actor waits for others: let them come.  false: they do not. */
bool
world_meet_needs(struct forecast *forecast)
{
	const struct core *core = forecast->core;
	const struct ref top = core_ref(core, CORE_ROOT);

	CORE_FOREACH (ref, core, top) {
		struct node_view view;

		core_view(core, ref, forecast->now_ms, &view);
		for (uint32_t need = 0; view.unmet >> need != 0; need++) {
			struct ref needed = core_unmet_next(core, ref, need, REF_NONE);

			if (needed.slot != REF_NONE.slot &&
			    needed.slot != forecast->target.slot &&
			    come_as_far(forecast, needed))
				return true;
			if (need == SPEC_NEEDS_MAX - 1)
				break;
		}
	}
	return false;
}
