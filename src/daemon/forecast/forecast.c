/* SPDX-License-Identifier: ISC */
/* forecast.c - what the policy will do: the real core, copied, in a world that is calm.
 */
#include "config.h"

#include "daemon/forecast/forecast.h"

#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* After this many turns there is no end in sight: something repeats that the question was
 * not about. */
#define TURNS_MAX 100000

struct forecast {
	struct core *core;
	uint64_t now_ms;
	struct action_list actions;

	struct event *events; /* what the world answered, oldest first */
	size_t n_events;
	size_t cap;
	bool no_memory;

	struct ref target;
	struct cause cause;
	uint32_t left;      /* failures that are still to come */
	bool in_starts;     /* it is the starts that fail, from now on */
	uint32_t late_life; /* of the process that is not ready in time; 0: none is */
	bool is_watched;    /* whoever asked is told */
	uint64_t from_ms;   /* when that began */
	forecast_tell *tell;
	void *user;
};

static bool
is_target(const struct forecast *forecast, struct ref ref)
{
	return ref.slot == forecast->target.slot && ref.tenant == forecast->target.tenant;
}

static bool
is_of_starts(const struct cause *cause)
{
	return cause->kind == CAUSE_EXEC || cause->kind == CAUSE_START_TIMEOUT ||
	       cause->kind == CAUSE_EARLY_EXIT;
}

/* ---- the world -------------------------------------------------------------------- */

static void
answer(struct forecast *forecast, const struct event *event)
{
	if (forecast->n_events == forecast->cap) {
		size_t cap = forecast->cap == 0 ? 256 : 2 * forecast->cap;
		struct event *grown = reallocarray(forecast->events, cap, sizeof(*grown));

		if (grown == NULL) {
			forecast->no_memory = true;
			return;
		}
		forecast->events = grown;
		forecast->cap = cap;
	}
	forecast->events[forecast->n_events++] = *event;
}

static void
answer_kind(struct forecast *forecast, enum event_kind kind, struct ref ref,
            uint32_t life)
{
	answer(forecast,
	       &(struct event){.kind = kind, .ref = ref, .life = life, .code = -1});
}

static void
answer_end(struct forecast *forecast, struct ref ref, uint32_t life, int32_t code,
           int32_t signal)
{
	answer(forecast, &(struct event){
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
	answer(forecast, &(struct event){
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

	if (!core_probe(forecast->core, ref, &probe) || !probe.is_start ||
	    (is_target(forecast, ref) && probe.life == forecast->late_life))
		return;
	answer(forecast, &(struct event){
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

/* Does this start fail?  Then how is settled in the next turn, by fail_start(). */
static bool
start_fails(const struct forecast *forecast, struct ref ref)
{
	return forecast->in_starts && forecast->left > 0 && is_target(forecast, ref);
}

static void
perform_one(struct forecast *forecast, const struct action *action)
{
	switch (action->kind) {
	case ACTION_SPAWN:
		if (!start_fails(forecast, action->ref))
			answer_spawn(forecast, action->ref, action->life);
		break;
	case ACTION_STOP:
		answer_end(forecast, action->ref, action->life, -1, SIGTERM);
		break;
	case ACTION_KILL:
		answer_end(forecast, action->ref, action->life, -1, SIGKILL);
		break;
	case ACTION_HOOK:
		answer_command(forecast, EVENT_HOOK_DONE, action);
		break;
	case ACTION_REACT:
		answer_command(forecast, EVENT_REACT_DONE, action);
		break;
	case ACTION_PROBE:
		answer_probe(forecast, action->ref);
		break;
	case ACTION_CONTINUE:
	case ACTION_HOOK_KILL:
	case ACTION_LISTEN:
	case ACTION_ADDED:
	case ACTION_SIGNAL:
	case ACTION_CLEAR:
	case ACTION_FREEZE:
	case ACTION_THAW:
	case ACTION_REMOVED:
	case ACTION_REPLY:
	case ACTION_EXIT:
	case ACTION_REPORT:
	case ACTION_KIND_MAX:
		break;
	}
}

static void
perform(struct forecast *forecast)
{
	for (uint32_t i = 0; i < forecast->actions.n; i++) {
		const struct action *action = &forecast->actions.at[i];

		perform_one(forecast, action);
		if (forecast->is_watched)
			forecast->tell(forecast->user,
			               forecast->now_ms - forecast->from_ms,
			               forecast->core, action);
	}
	forecast->actions.n = 0;
}

static void
settle(struct forecast *forecast)
{
	bool more;

	do {
		more = core_settle(forecast->core, forecast->now_ms, &forecast->actions);
		perform(forecast);
	} while (more);
}

static void
post(struct forecast *forecast, const struct event *event)
{
	core_post(forecast->core, forecast->now_ms, event, &forecast->actions);
	settle(forecast);
}

/* Tell the core what the world answered, and what comes of that, until all is quiet. */
static void
go_on(struct forecast *forecast)
{
	for (size_t i = 0; i < forecast->n_events; i++) {
		const struct event event = forecast->events[i];

		post(forecast, &event);
	}
	forecast->n_events = 0;
}

/* The copy may be in the midst of something: what it waits for comes now. */
static void
catch_up(struct forecast *forecast)
{
	struct core *core = forecast->core;
	const struct ref top = core_ref(core, CORE_ROOT);

	for (struct ref ref = top; ref.slot != REF_NONE.slot;
	     ref = core_next(core, top, ref)) {
		struct node_view view;
		struct action command;

		if (core_hook(core, ref, &command))
			answer_command(forecast, EVENT_HOOK_DONE, &command);
		if (core_react(core, ref, &command))
			answer_command(forecast, EVENT_REACT_DONE, &command);
		core_view(core, ref, forecast->now_ms, &view);
		if (!view.alive)
			continue;
		if (view.spawned && view.watchdog)
			answer_kind(forecast, EVENT_WATCHDOG_EVERY, ref, view.life);
		answer_probe(forecast, ref);
		if (!view.spawned)
			answer_spawn(forecast, ref, view.life);
		else if (!view.main_alive)
			answer_kind(forecast, EVENT_GONE, ref, view.life);
		else if (view.state == STATE_STOPPING)
			answer_end(forecast, ref, view.life, -1, SIGTERM);
		else if (view.state == STATE_STARTING && view.ready_mode == READY_EXIT)
			answer_end(forecast, ref, view.life, 0, 0);
		else if (view.state == STATE_STARTING)
			answer_kind(forecast, EVENT_READY, ref, view.life);
	}
	go_on(forecast);
}

/* Until the next thing that is due; false: nothing ever is. */
static bool
pass_time(struct forecast *forecast)
{
	const struct event tick = {.kind = EVENT_TICK, .ref = REF_NONE, .code = -1};
	uint64_t due = core_deadline(forecast->core);

	if (due == DURATION_INFINITE)
		return false;
	if (due > forecast->now_ms)
		forecast->now_ms = due;
	post(forecast, &tick);
	go_on(forecast);
	return true;
}

/* Let a needed actor come: start a stopped actor, complete a running one-shot. */
static bool
come_as_far(struct forecast *forecast, struct ref needed)
{
	struct event event = {.kind = EVENT_START, .ref = needed, .code = -1};
	struct node_view view;

	core_view(forecast->core, needed, forecast->now_ms, &view);
	if (view.state == STATE_RUNNING && view.main_alive)
		event = (struct event){.kind = EVENT_EXITED,
		                       .ref = needed,
		                       .life = view.life,
		                       .gone = true};
	else if (view.state != STATE_STOPPED && view.state != STATE_DONE &&
	         view.state != STATE_FAILED)
		return false;
	post(forecast, &event);
	go_on(forecast);
	return true;
}

/* Nothing is due, but an actor waits for others: let them come.  false: they do not. */
static bool
meet_needs(struct forecast *forecast)
{
	const struct core *core = forecast->core;
	const struct ref top = core_ref(core, CORE_ROOT);

	for (struct ref ref = top; ref.slot != REF_NONE.slot;
	     ref = core_next(core, top, ref)) {
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

/* ---- the one that fails ------------------------------------------------------------ */

static void
suppose(struct forecast *forecast, const struct cause *cause)
{
	(void)core_suppose(forecast->core, forecast->now_ms, forecast->target, cause,
	                   &forecast->actions);
	settle(forecast);
	go_on(forecast);
}

/* The core asked for this start, a start that has to fail. */
static void
fail_start(struct forecast *forecast, const struct node_view *view)
{
	const struct event spawned = {.kind = EVENT_SPAWNED,
	                              .ref = forecast->target,
	                              .life = view->life,
	                              .code = -1};

	forecast->left--;
	/* A late start: the core's own clock ends it. */
	if (forecast->cause.kind == CAUSE_START_TIMEOUT &&
	    view->ready_mode != READY_EXEC) {
		forecast->late_life = view->life;
		post(forecast, &spawned);
		return;
	}
	suppose(forecast, &forecast->cause);
}

static void
fail(struct forecast *forecast)
{
	static const struct cause killed = {
	    .kind = CAUSE_SIGNAL, .code = -1, .signal = SIGKILL};

	if (is_of_starts(&forecast->cause)) {
		forecast->in_starts = true;
		suppose(forecast, &killed);
		return;
	}
	forecast->left--;
	suppose(forecast, &forecast->cause);
}

/* It is where it may fail: ready, or, a one-shot, at work. */
static bool
is_at_work(const struct node_view *view)
{
	return view->state == STATE_RUNNING ||
	       (view->state == STATE_STARTING && view->spawned &&
	        view->ready_mode == READY_EXIT);
}

static bool
is_over(enum node_state state)
{
	return state == STATE_DONE || state == STATE_FAILED || state == STATE_STOPPED;
}

/* True if a supervisor above is stopping or starting, and will include this actor. */
static bool
is_below_a_change(const struct forecast *forecast, struct ref ref)
{
	for (ref = core_parent(forecast->core, ref); ref.slot != REF_NONE.slot;
	     ref = core_parent(forecast->core, ref)) {
		struct node_view view;

		core_view(forecast->core, ref, forecast->now_ms, &view);
		if (view.state != STATE_RUNNING && !is_over(view.state))
			return true;
	}
	return false;
}

/* Is all over that was to be shown? */
static bool
is_at_rest(const struct forecast *forecast, const struct node_view *view)
{
	int32_t status;

	if (core_exited(forecast->core, &status))
		return true;
	if (view->state == STATE_RUNNING)
		return forecast->left == 0;
	return is_over(view->state) && !is_below_a_change(forecast, view->ref);
}

/* Let the next thing happen; false: nothing is left to happen. */
static bool
step(struct forecast *forecast, const struct node_view *view)
{
	if (view->alive && !view->spawned) {
		fail_start(forecast, view);
		return true;
	}
	if (is_at_work(view) && forecast->left > 0 && !forecast->in_starts) {
		fail(forecast);
		return true;
	}
	return pass_time(forecast) || meet_needs(forecast);
}

/* Start an actor that is down; end the wait of a backoff. */
static int
bring_up(struct forecast *forecast)
{
	const struct event start = {
	    .kind = EVENT_START, .ref = forecast->target, .code = -1};
	struct node_view view;

	post(forecast, &start);
	go_on(forecast);
	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		if (!core_valid(forecast->core, forecast->target))
			break;
		core_view(forecast->core, forecast->target, forecast->now_ms, &view);
		if (is_at_work(&view))
			return 0;
		if (!pass_time(forecast) && !meet_needs(forecast))
			break;
	}
	return -EINVAL;
}

int
forecast_fail(struct forecast *forecast, struct ref target, const struct cause *cause,
              uint32_t times, forecast_tell *tell, void *user)
{
	struct node_view view;
	int r;

	forecast->target = target;
	forecast->cause = *cause;
	forecast->left = times;
	r = bring_up(forecast);
	forecast->tell = tell;
	forecast->user = user;
	forecast->from_ms = forecast->now_ms;
	forecast->is_watched = true;
	for (uint32_t i = 0; r == 0 && !forecast->no_memory; i++) {
		if (!core_valid(forecast->core, target))
			break;
		core_view(forecast->core, target, forecast->now_ms, &view);
		if (is_at_rest(forecast, &view) || !step(forecast, &view))
			break;
		if (i == TURNS_MAX)
			r = -EOVERFLOW;
	}
	forecast->is_watched = false;
	return forecast->no_memory ? -ENOMEM : r;
}

bool
forecast_boot(struct forecast *forecast)
{
	const struct event boot = {.kind = EVENT_BOOT, .ref = REF_NONE, .code = -1};
	struct node_view view;

	post(forecast, &boot);
	go_on(forecast);
	for (uint32_t i = 0; i < TURNS_MAX; i++) {
		core_view(forecast->core, core_ref(forecast->core, CORE_USER),
		          forecast->now_ms, &view);
		if (view.state != STATE_STARTING || !pass_time(forecast))
			break;
	}
	return !forecast->no_memory;
}

/* ---- the copy ---------------------------------------------------------------------- */

struct forecast *
forecast_new(const struct core *core, uint64_t now_ms)
{
	const struct event unwait = {
	    .kind = EVENT_UNWAIT, .ref = REF_NONE, .token = TOKEN_ALL, .code = -1};
	struct forecast *forecast = calloc(1, sizeof(*forecast));
	struct core_size size;
	void *memory;

	if (forecast == NULL)
		return NULL;
	core_size(core, &size);
	memory = malloc(core_bytes(&size));
	if (memory == NULL) {
		free(forecast);
		return NULL;
	}
	forecast->core = core_move(memory, &size, core);
	forecast->now_ms = now_ms;
	forecast->target = REF_NONE;
	post(forecast, &unwait);
	catch_up(forecast);
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
