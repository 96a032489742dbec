/* SPDX-License-Identifier: ISC */
/* report_fields.c - what the core reports, as the fields of an event. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/messages/words.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/tasks.h"
#include "daemon/processes/unkillable_text.h"
#include "daemon/report/report_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/proctable.h"
#include "os/process/reap.h"

/* Of the paths of a scope: there are more fields behind it. */
#define SCOPE_BYTES_MAX (28 * 1024)

/* The actor that an event is about: for an end told to a watcher, the watched actor. */
const char *
report_subject(const struct reporter *reporter, const struct action *action)
{
	const struct actor *actor = actors_get(reporter->actors, action->ref);

	if (action->report != REPORT_TERMINATED || action->death.watch == 0 ||
	    actor == NULL || action->death.watch > actor->conf->spec->core.n_watches)
		return actors_path(reporter->actors, action->ref);
	return actor->conf->spec->watches[action->death.watch - 1].path;
}

/* The origin of a failure; for an end told to a watcher the watched actor itself. */
static struct ref
report_origin(const struct action *action)
{
	return action->report == REPORT_FAILURE || action->report == REPORT_ESCALATED
	           ? action->origin
	           : action->ref;
}

static void
add_cause(const struct reporter *reporter, const struct cause *cause, struct ref origin)
{
	events_cause(reporter->events, cause,
	             cause_about(reporter->actors, cause, origin));
}

static void
add_rule(const struct reporter *reporter, const struct action *action)
{
	char memory[LINE_BYTES_MAX];
	struct strbuf sb;

	strbuf_borrow(&sb, memory, sizeof(memory));
	rule_name(&sb, reporter->actors->conf, action->ruling.preset,
	          action->ruling.place, action->ruling.reason);
	events_text(reporter->events, FIELD_RULE, strbuf_str(&sb));
}

/* All actors that the directive concerns; of very many the first. */
static void
add_scope(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;
	struct ref ref =
	    action->group ? core_scope_next(reporter->engine->core, action->ref, REF_NONE)
	                  : action->ref;
	size_t bytes = 0;

	events_open(events, FIELD_SCOPE);
	while (ref.slot != REF_NONE.slot && bytes < SCOPE_BYTES_MAX) {
		const char *path = actors_path(reporter->actors, ref);

		bytes += strlen(path) + strlen("\"\",");
		events_add(events, path, strlen(path));
		ref = action->group
		          ? core_scope_next(reporter->engine->core, action->ref, ref)
		          : REF_NONE;
	}
	events_close(events);
}

/* The strategy of the supervisor of the actor that the action is about. */
static const char *
report_strategy(const struct reporter *reporter, const struct action *action)
{
	struct ref parent = core_parent(reporter->engine->core, action->ref);
	struct node_view view;

	if (parent.slot == REF_NONE.slot)
		return strategy_names[STRATEGY_ONE_FOR_ONE];
	core_view(reporter->engine->core, parent, reporter->engine->now_ms, &view);
	return strategy_names[view.strategy];
}

static void
add_failure(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;

	add_cause(reporter, &action->cause, report_origin(action));
	events_text(events, FIELD_ORIGIN, actors_path(reporter->actors, action->origin));
	events_text(events, FIELD_DIRECTIVE, directive_names[action->ruling.directive]);
	add_rule(reporter, action);
	events_text(events, FIELD_REASON, decision_reason_names[action->ruling.reason]);
	events_text(events, FIELD_STRATEGY, report_strategy(reporter, action));
	add_scope(reporter, action);
	events_number(events, FIELD_WINDOW, action->window);
	events_number(events, FIELD_LIMIT, action->limit);
	events_number(events, FIELD_DELAY, (int64_t)action->delay_ms);
	if (action->cause.kind == CAUSE_EXEC)
		events_text(events, FIELD_STEP,
		            proctable_failed_step(reporter->proctable, action->origin));
	else
		words_of_actor(reporter->messages, action->origin, events);
}

static void
add_exited(const struct reporter *reporter, const struct action *action)
{
	const struct reap *end = proctable_last_end(reporter->proctable, action->ref);
	struct events *events = reporter->events;

	add_cause(reporter, &action->cause, report_origin(action));
	if (end == NULL)
		return;
	if (end->pid != 0)
		events_number(events, FIELD_PID, end->pid);
	events_number(events, FIELD_UTIME, (int64_t)end->utime_us);
	events_number(events, FIELD_STIME, (int64_t)end->stime_us);
	if (os_reap_is_own_memory(end))
		events_number(events, FIELD_MAXRSS, (int64_t)end->maxrss_kib);
	if (proctable_has_left(reporter->proctable, action->ref))
		events_flag(events, FIELD_LEFT, true);
}

static void
add_gave_up(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;

	events_number(events, FIELD_INTENSITY, action->limit);
	events_number(events, FIELD_WITHIN, (int64_t)action->delay_ms);
	events_text(events, FIELD_OFFENDER,
	            actors_path(reporter->actors, action->origin));
}

static void
add_started(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;

	if (proctable_pid(reporter->proctable, action->ref) != 0)
		events_number(events, FIELD_PID,
		              proctable_pid(reporter->proctable, action->ref));
	else
		events_null(events, FIELD_PID);
	if (action->window > 0)
		events_number(events, FIELD_SHORTAGES, action->window);
}

static void
add_delay(const struct reporter *reporter, const struct action *action)
{
	events_number(reporter->events, FIELD_DELAY, (int64_t)action->delay_ms);
}

static void
add_shortage(const struct reporter *reporter, const struct action *action)
{
	add_cause(reporter, &action->cause, action->ref);
	events_text(reporter->events, FIELD_STEP,
	            proctable_failed_step(reporter->proctable, action->ref));
	add_delay(reporter, action);
}

static void
add_timeout(const struct reporter *reporter, const struct action *action)
{
	events_number(reporter->events, FIELD_WITHIN, (int64_t)action->delay_ms);
}

/* The fields of an event about it. */
void
report_hook_fields(const struct reporter *reporter, const struct hook_failure *failure)
{
	struct events *events = reporter->events;

	events_text(events, FIELD_HOOK, failure->hook);
	events_text(events, FIELD_REASON, failure->reason);
	events_flag(events, FIELD_TIMED_OUT, failure->timed_out);
	add_cause(reporter, &failure->cause, REF_NONE);
	if (failure->step[0] != '\0')
		events_text(events, FIELD_STEP, failure->step);
}

/* What an action says of a hook, or a command, that failed. */
static void
add_hook_failure(const struct reporter *reporter, const struct action *action)
{
	const bool is_run = action->death.watch != 0;

	report_hook_fields(
	    reporter,
	    &(const struct hook_failure){
	        .hook =
	            is_run ? task_kind_names[TASK_RUN] : hook_names[action->call.hook],
	        .reason = is_run ? task_reason_names[TASK_ON_TERMINATED]
	                         : hook_reason_names[action->call.reason],
	        .timed_out = action->timed_out,
	        .cause = action->cause,
	        .step = tasks_failed_step(reporter->processes->tasks, action->ref,
	                                  is_run ? TASK_RUN : TASK_HOOK),
	    });
}

/* The end of an actor; with a watcher, that the watcher is told. */
static void
add_terminated(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;
	bool is_told = action->death.watch != 0;

	if (!is_told || action->death.child_failed)
		add_cause(reporter, &action->cause, report_origin(action));
	events_flag(events, FIELD_CONFIRMED, !is_told || action->death.confirmed);
	if (!is_told)
		return;
	events_text(events, FIELD_WATCHER, actors_path(reporter->actors, action->ref));
	events_text(events, FIELD_REACTION, reaction_names[action->death.reaction]);
	if (action->death.child_failed)
		events_flag(events, FIELD_CHILD_FAILED, true);
}

/* Which of its processes could not be killed, and why. */
static void
add_unkillable(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;

	if (proctable_pid(reporter->proctable, action->ref) != 0)
		events_number(events, FIELD_PID,
		              proctable_pid(reporter->proctable, action->ref));
	CLEANUP(strbuf_done) struct strbuf why = STRBUF(LINE_BYTES_MAX);
	unkillable_text(&why, reporter->actors, action->ref);
	events_text(events, FIELD_TEXT, strbuf_str(&why));
}

/* Which level passed the failure on, by which rule. */
static void
add_escalated(const struct reporter *reporter, const struct action *action)
{
	struct events *events = reporter->events;

	events_text(events, FIELD_TO, actors_path(reporter->actors, action->to));
	add_rule(reporter, action);
	events_text(events, FIELD_REASON, decision_reason_names[action->ruling.reason]);
	add_cause(reporter, &action->cause, report_origin(action));
	events_text(events, FIELD_ORIGIN, actors_path(reporter->actors, action->origin));
}

typedef void add_fields(const struct reporter *reporter, const struct action *action);

static add_fields *const adders[REPORT_MAX] = {
    [REPORT_STARTED] = add_started,
    [REPORT_SHORTAGE] = add_shortage,
    [REPORT_EXITED] = add_exited,
    [REPORT_FAILURE] = add_failure,
    [REPORT_BACKOFF] = add_delay,
    [REPORT_TERMINATED] = add_terminated,
    [REPORT_GAVE_UP] = add_gave_up,
    [REPORT_ESCALATED] = add_escalated,
    [REPORT_HOOK_FAILED] = add_hook_failure,
    [REPORT_UNKILLABLE] = add_unkillable,
    [REPORT_KILLED_AFTER_TIMEOUT] = add_timeout,
};

/* The fields of the event that has begun, besides its head. */
void
report_fields(const struct reporter *reporter, const struct action *action)
{
	if (adders[action->report] != NULL)
		adders[action->report](reporter, action);
}
