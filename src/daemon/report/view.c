/* SPDX-License-Identifier: ISC */
/* view.c - an actor as a reader sees it: the core's view joined with what the guardian
 * knows besides, as JSON.
 *
 * Written by hand, because ten thousand actors are to be shown in a few milliseconds.
 */
#include "config.h"

#include "daemon/report/view.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/report/report.h"
#include "daemon/report/waiting.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "os/process/usage.h"
#include "os/self/clock.h"

/* Append a string that is known when compiling. */
#define ADD(sb, text) strbuf_add_fixed(sb, text, sizeof(text) - 1)
/* Append a key and the value. */
#define ADD_BOOL(sb, key, value) \
	((value) ? ADD(sb, ",\"" key "\":true") : ADD(sb, ",\"" key "\":false"))
/* Append a key of what is true. */
#define ADD_IF(sb, key, value)                        \
	do {                                          \
		if (value)                            \
			ADD(sb, ",\"" key "\":true"); \
	} while (0)
#define ADD_NUMBER(sb, key, value) \
	(ADD(sb, ",\"" key "\":"), strbuf_add_number(sb, value))

/* Read both clocks. */
struct view_clock
view_clock_now(void)
{
	return (struct view_clock){.mono_ms = clock_mono_ms(),
	                           .wall_us = clock_wall_us()};
}

/* The wall clock's time, in µs, of a moment of the monotonic clock, in ms. */
uint64_t
view_wall_us(const struct view_clock *clock, uint64_t at_ms)
{
	uint64_t ago_ms = clock->mono_ms > at_ms ? clock->mono_ms - at_ms : 0;

	return clock->wall_us - ago_ms * 1000;
}

static void
add_string(struct strbuf *sb, const char *text)
{
	if (text == NULL)
		ADD(sb, "null");
	else
		strbuf_add_json(sb, text);
}

static void
add_time(struct strbuf *sb, uint64_t wall_us)
{
	char text[CLOCK_TEXT_MAX];

	strbuf_addc(sb, '"');
	strbuf_adds(sb, clock_format(wall_us, 3, text));
	strbuf_addc(sb, '"');
}

/* Time until the start that is due: never more than the delay, however the clocks round.
 */
static uint64_t
left_ms(const struct node_view *view, uint64_t now_ms)
{
	uint64_t ms = view->backoff.due_ms > now_ms ? view->backoff.due_ms - now_ms : 0;

	return ms < view->backoff.delay_ms ? ms : view->backoff.delay_ms;
}

/* Type Backoff, or null. */
static void
add_backoff(struct strbuf *sb, const struct node_view *view, uint64_t now_ms)
{
	if (view->backoff.failures == 0) {
		ADD(sb, "null");
		return;
	}
	ADD(sb, "{\"failures\":");
	strbuf_add_number(sb, view->backoff.failures);
	ADD_NUMBER(sb, "delay_ms", view->backoff.delay_ms);
	ADD(sb, ",\"due_in_ms\":");
	if (view->backoff.due_ms == 0)
		ADD(sb, "null");
	else
		strbuf_add_number(sb, left_ms(view, now_ms));
	strbuf_addc(sb, '}');
}

/* Type Failure, or null. */
static void
add_failure(struct strbuf *sb, const struct reporter *reporter,
            const struct view_clock *clock, const struct actor *actor,
            const struct node_view *view)
{
	if (!view->has_failure) {
		ADD(sb, "null");
		return;
	}
	ADD(sb, "{\"cause\":");
	cause_json(
	    sb, &view->failure.cause,
	    cause_about(reporter->actors, &view->failure.cause, view->failure.origin));
	ADD(sb, ",\"origin\":");
	strbuf_add_json(sb, actors_path(reporter->actors, view->failure.origin));
	ADD(sb, ",\"directive\":\"");
	strbuf_adds(sb, directive_names[view->failure.ruling.directive]);
	ADD(sb, "\",\"rule\":");
	CLEANUP(strbuf_done) struct strbuf rule = STRBUF(4096);
	rule_name(&rule, reporter->actors->conf, view->failure.ruling.preset,
	          view->failure.ruling.place, view->failure.ruling.reason);
	strbuf_add_json(sb, strbuf_str(&rule));
	ADD(sb, ",\"at\":");
	if (actor != NULL && actor->failed_at_wall_us != 0)
		add_time(sb, actor->failed_at_wall_us);
	else
		add_time(sb, view_wall_us(clock, view->failure.at_ms));
	strbuf_addc(sb, '}');
}

static bool
has_uptime(const struct node_view *view)
{
	return view->state == STATE_RUNNING || view->state == STATE_SUSPENDED;
}

static void
add_uptime(struct strbuf *sb, const struct actor *actor, const struct node_view *view,
           uint64_t now_ms)
{
	uint64_t since_ms = view->since_ms;

	if (!has_uptime(view)) {
		ADD(sb, "null");
		return;
	}
	if (actor != NULL && actor->pid != 0)
		since_ms = actor->process_started_ms;
	strbuf_add_number(sb, now_ms > since_ms ? now_ms - since_ms : 0);
}

static void
add_identity(struct strbuf *sb, const struct reporter *reporter,
             const struct actor *actor, const struct node_view *view)
{
	ADD(sb, "{\"path\":");
	strbuf_add_json(sb, actors_path(reporter->actors, view->ref));
	ADD(sb, ",\"kind\":\"");
	strbuf_adds(sb, node_kind_names[view->kind]);
	ADD(sb, "\",\"state\":\"");
	strbuf_adds(sb, node_state_names[view->state]);
	ADD(sb, "\",\"pid\":");
	if (actor != NULL && actor->pid != 0)
		strbuf_add_number(sb, (uint64_t)actor->pid);
	else
		ADD(sb, "null");
	ADD_NUMBER(sb, "incarnation", view->run.incarnation);
	ADD_NUMBER(sb, "generation", view->run.generation);
	ADD_BOOL(sb, "ready", view->ready);
	ADD_BOOL(sb, "held", view->held);
	ADD_NUMBER(sb, "suspended", view->suspended);
	ADD_BOOL(sb, "sigstopped", actor != NULL && actor->sigstopped);
}

/* True unless the actor has failed or waits for a restart, does not pass its health
 * check, was stopped by a signal, cannot be killed, cannot write its log, or is above an
 * actor that has failed. */
bool
view_is_well(const struct node_view *view, bool is_blocked)
{
	return view->state != STATE_FAILED && view->state != STATE_BACKOFF &&
	       !view->process.unkillable && !view->degraded &&
	       !view->process.sigstopped && !(view->has_health && view->is_unwell) &&
	       !is_blocked;
}

/* In words why the output of an actor cannot be written, for this errno; 0: NULL. */
const char *
view_output_trouble(const struct reporter *reporter, struct ref ref, int error)
{
	const struct actor *actor = actors_get(reporter->actors, ref);

	if (error == 0)
		return NULL;
	if ((error == ENOENT || error == ECONNREFUSED) && actor != NULL &&
	    (actor->conf->process->output.out.kind == OUTPUT_JOURNAL ||
	     actor->conf->process->output.err.kind == OUTPUT_JOURNAL))
		return "there is no journal";
	return strerror(error);
}

/* What keeps the log files of an actor from being written, and what was dropped. */
static void
add_output(struct strbuf *sb, const struct reporter *reporter,
           const struct node_view *view)
{
	uint64_t lost = 0;
	int error = 0;

	error = output_blocked(reporter->messages->output,
	                       actors_path(reporter->actors, view->ref), &lost);
	ADD(sb, ",\"output_blocked\":");
	add_string(sb, view_output_trouble(reporter, view->ref, error));
	ADD_NUMBER(sb, "output_lost", lost);
	ADD(sb, ",\"health\":");
	if (!view->has_health)
		ADD(sb, "null");
	else
		add_string(sb, view->is_unwell ? "bad" : "good");
	ADD_BOOL(sb, "healthy", view_is_well(view, error != 0));
}

static void
add_policy(struct strbuf *sb, const struct reporter *reporter, const struct actor *actor,
           const struct node_view *view)
{
	ADD(sb, ",\"strategy\":");
	add_string(sb, view->kind != NODE_WORKER ? strategy_names[view->strategy] : NULL);
	ADD(sb, ",\"restart\":\"");
	strbuf_adds(sb, restart_type_names[view->restart]);
	ADD(sb, "\",\"description\":");
	add_string(sb, actor != NULL && actor->conf != NULL ? actor->conf->description
	                                                    : NULL);
	ADD_NUMBER(sb, "dead_letters", actor != NULL ? actor->dead_letters : 0);
	add_output(sb, reporter, view);
	ADD(sb, ",\"status\":");
	add_string(sb, actor != NULL ? actor->status : NULL);
	ADD(sb, ",\"waits_for\":");
	waiting_json(sb, reporter, view);
}

/* What the processes take of the machine; null without processes.  A field that few
 * kernels count is present only where it is counted. */
static void
add_resources(struct strbuf *sb, const struct reporter *reporter,
              const struct actor *actor)
{
	struct usage usage;

	ADD(sb, ",\"resources\":");
	if (actor == NULL ||
	    !procs_usage(reporter->processes->procs, actor->ref, &usage)) {
		ADD(sb, "null");
		return;
	}
	ADD(sb, "{\"memory_bytes\":");
	strbuf_add_number(sb, usage.memory_bytes);
	ADD_NUMBER(sb, "cpu_usec", usage.cpu_usec);
	ADD_NUMBER(sb, "processes", usage.processes);
	ADD_NUMBER(sb, "descriptors", usage.descriptors);
	if (usage.has_io) {
		ADD_NUMBER(sb, "read_bytes", usage.read_bytes);
		ADD_NUMBER(sb, "write_bytes", usage.write_bytes);
	}
	strbuf_addc(sb, '}');
}

#define AS_KEY(symbol, name)  [symbol] = ",\"" name "\":",
#define AS_ZERO(symbol, name) ",\"" name "\":0"

/* Type Restarts. */
static void
add_restarts_by(struct strbuf *sb, const struct node_view *view)
{
	static const char *const keys[] = {RESTART_KIND_MAP(AS_KEY)};
	static const char none[] = RESTART_KIND_MAP(AS_ZERO) "}";
	uint32_t all = 0;

	for (size_t kind = 0; kind < RESTART_KIND_MAX; kind++)
		all |= view->run.restarts_by[kind];
	ADD(sb, ",\"restarts_by\":{");
	/* Of most actors. */
	if (all == 0) {
		strbuf_add_fixed(sb, none + 1, sizeof(none) - 2);
		return;
	}
	for (size_t kind = 0; kind < RESTART_KIND_MAX; kind++) {
		strbuf_adds(sb, keys[kind] + (kind == 0 ? 1 : 0));
		strbuf_add_number(sb, view->run.restarts_by[kind]);
	}
	strbuf_addc(sb, '}');
}

/* Type Exit, or null. */
static void
add_last_exit(struct strbuf *sb, const struct view_clock *clock,
              const struct actor *actor, const struct node_view *view)
{
	const struct last_end *end = &view->process.last_end;
	const struct cause cause = {.kind = end->kind,
	                            .core = end->core,
	                            .signal = end->signal,
	                            .code = end->code};

	ADD(sb, ",\"last_exit\":");
	if (!end->is_known) {
		ADD(sb, "null");
		return;
	}
	ADD(sb, "{\"cause\":");
	cause_json(sb, &cause, NULL);
	ADD(sb, ",\"at\":");
	add_time(sb, view_wall_us(clock, end->at_ms));
	ADD(sb, ",\"killed_after_ms\":");
	if (end->overdue && actor != NULL && actor->conf != NULL)
		strbuf_add_number(sb, actor->conf->spec->core.stop.shutdown_ms);
	else
		ADD(sb, "null");
	strbuf_addc(sb, '}');
}

/* Of what is counted in `window`: how many there may be, and for how long one counts. */
static void
add_bounds(struct strbuf *sb, const struct node_view *view)
{
	const bool is_timed =
	    view->counted.has_limit && view->counted.within_ms != DURATION_INFINITE;

	ADD(sb, ",\"limit\":");
	if (view->counted.has_limit)
		strbuf_add_number(sb, view->counted.limit);
	else
		ADD(sb, "null");
	ADD(sb, ",\"within_ms\":");
	if (is_timed)
		strbuf_add_number(sb, view->counted.within_ms);
	else
		ADD(sb, "null");
}

/* What a line says of how the actor fares, where there is something to be said. */
static void
add_brief_remarks(struct strbuf *sb, const struct reporter *reporter,
                  const struct actor *actor, const struct node_view *view,
                  uint64_t now_ms)
{
	const struct cause *cause = &view->failure.cause;

	if (view->backoff.failures > 0 && view->backoff.due_ms != 0) {
		ADD(sb, ",\"backoff\":");
		add_backoff(sb, view, now_ms);
	}
	if (view->has_failure) {
		ADD(sb, ",\"last_failure\":{\"cause\":{\"text\":");
		cause_text_json(
		    sb, cause,
		    cause_about(reporter->actors, cause, view->failure.origin));
		ADD(sb, "}}");
	}
	if (view->process.last_end.is_known && view->process.last_end.overdue &&
	    actor != NULL && actor->conf != NULL) {
		ADD(sb, ",\"last_exit\":{\"killed_after_ms\":");
		strbuf_add_number(sb, actor->conf->spec->core.stop.shutdown_ms);
		strbuf_addc(sb, '}');
	}
	if (actor != NULL && actor->status != NULL) {
		ADD(sb, ",\"status\":");
		strbuf_add_json(sb, actor->status);
	}
	if (!ref_is_none(view->waits_for) || view->unmet != 0) {
		ADD(sb, ",\"waits_for\":");
		waiting_json(sb, reporter, view);
	}
}

/* The members of type Actor that a line of a list is made of; those that would be null,
 * false or 0 are left out. */
static void
add_brief(struct strbuf *sb, const struct reporter *reporter, const struct actor *actor,
          const struct node_view *view, uint64_t now_ms)
{
	const char *path = actors_path(reporter->actors, view->ref);
	uint64_t lost = 0;
	const int error = output_blocked(reporter->messages->output, path, &lost);

	ADD(sb, "{\"path\":");
	strbuf_add_json(sb, path);
	ADD(sb, ",\"kind\":\"");
	strbuf_adds(sb, node_kind_names[view->kind]);
	ADD(sb, "\",\"state\":\"");
	strbuf_adds(sb, node_state_names[view->state]);
	strbuf_addc(sb, '"');
	if (actor != NULL && actor->pid != 0)
		ADD_NUMBER(sb, "pid", (uint64_t)actor->pid);
	ADD_IF(sb, "ready", view->ready);
	ADD_IF(sb, "held", view->held);
	ADD_IF(sb, "sigstopped", actor != NULL && actor->sigstopped);
	if (has_uptime(view)) {
		ADD(sb, ",\"uptime_ms\":");
		add_uptime(sb, actor, view, now_ms);
	}
	if (view->run.restarts > 0)
		ADD_NUMBER(sb, "restarts", view->run.restarts);
	ADD_IF(sb, "degraded", view->degraded);
	add_brief_remarks(sb, reporter, actor, view, now_ms);
	if (error != 0) {
		ADD(sb, ",\"output_blocked\":");
		add_string(sb, view_output_trouble(reporter, view->ref, error));
	}
	if (view->has_health)
		view->is_unwell ? ADD(sb, ",\"health\":\"bad\"")
		                : ADD(sb, ",\"health\":\"good\"");
	ADD_BOOL(sb, "healthy", view_is_well(view, error != 0));
	strbuf_addc(sb, '}');
}

/* An object of type Actor, every field of it unless it is to be brief; the actor must be
 * there. */
void
view_actor_json(struct strbuf *sb, const struct reporter *reporter,
                const struct view_clock *clock, struct ref ref)
{
	const struct actor *actor = actors_get(reporter->actors, ref);
	struct node_view view;

	core_view(reporter->engine->core, ref, clock->mono_ms, &view);
	if ((clock->wanted & VIEW_BRIEF) != 0) {
		add_brief(sb, reporter, actor, &view, clock->mono_ms);
		return;
	}
	add_identity(sb, reporter, actor, &view);
	ADD(sb, ",\"since\":");
	add_time(sb, view_wall_us(clock, view.since_ms));
	ADD(sb, ",\"uptime_ms\":");
	add_uptime(sb, actor, &view, clock->mono_ms);
	ADD_NUMBER(sb, "restarts", view.run.restarts);
	add_restarts_by(sb, &view);
	ADD_NUMBER(sb, "window", view.counted.window);
	add_bounds(sb, &view);
	ADD_BOOL(sb, "degraded", view.degraded);
	ADD(sb, ",\"backoff\":");
	add_backoff(sb, &view, clock->mono_ms);
	ADD(sb, ",\"last_failure\":");
	add_failure(sb, reporter, clock, actor, &view);
	add_last_exit(sb, clock, actor, &view);
	add_policy(sb, reporter, actor, &view);
	add_resources(sb, reporter, (clock->wanted & VIEW_RESOURCES) != 0 ? actor : NULL);
	ADD(sb, ",\"details\":");
	view_details_json(sb, reporter,
	                  (clock->wanted & VIEW_DETAILS) != 0 ? actor : NULL);
	strbuf_addc(sb, '}');
}

/* An array of the actors of the list that still exist. */
void
view_actors_json(struct strbuf *sb, const struct reporter *reporter,
                 const struct ref_list *list, unsigned int wanted)
{
	struct view_clock clock = view_clock_now();
	bool any = false;

	clock.wanted = wanted;
	strbuf_addc(sb, '[');
	for (size_t i = 0; i < list->n; i++) {
		if (!core_valid(reporter->engine->core, list->at[i]))
			continue;
		if (any)
			strbuf_addc(sb, ',');
		view_actor_json(sb, reporter, &clock, list->at[i]);
		any = true;
	}
	strbuf_addc(sb, ']');
}
