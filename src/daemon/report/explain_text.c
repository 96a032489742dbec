/* SPDX-License-Identifier: ISC */
/* explain_text.c - the story of a failure in sentences, for readers new to supd. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/report/blame.h"
#include "daemon/report/explain.h"
#include "daemon/report/report.h"
#include "daemon/report/view.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "os/self/clock.h"

/* What is known of the failure, from either source; all texts are borrowed. */
struct facts {
	const char *path;   /* the failed child, as the level that decided saw it */
	const char *origin; /* where it began */
	const char *at, *cause;
	const char *step; /* of a start that failed; NULL: there was none */
	const struct cause *why;
	const char *directive, *rule, *reason;
	const struct event_view *event; /* NULL: it is not in the ring any more */
	int64_t delay_ms;
	int64_t window; /* -1: not known any more */
};

/* The actor itself has not failed: it went with a supervisor above, or with its group. */
static void
say_affected(struct strbuf *sb, const struct facts *facts, const char *me)
{
	const char *done =
	    strcmp(facts->directive, "stop") == 0 ? "stopped" : "restarted";
	const char *member = NULL;

	strbuf_addf(sb, "%s did not fail itself", me);
	while (facts->event != NULL &&
	       (member = event_next(facts->event, FIELD_SCOPE, member)) != NULL) {
		if (strcmp(member, me) != 0 && explain_is_above(member, me)) {
			strbuf_addf(sb, ": %s with %s, a supervisor above.\n", done,
			            member);
			return;
		}
	}
	strbuf_addf(sb, ": %s with the group of %s.\n", done, facts->path);
}

static void
say_what(struct strbuf *sb, const struct facts *facts, const char *me)
{
	strbuf_addf(sb, "%s failed at %s: %s.\n", facts->origin, facts->at, facts->cause);
	if (facts->step != NULL && strcmp(facts->step, "exec") != 0)
		strbuf_addf(sb,
		            "The step that failed was %s, before its program was "
		            "executed.\n",
		            facts->step);
	if (strcmp(facts->reason, decision_reason_names[DECIDED_NEED]) == 0)
		strbuf_addf(sb, "%s waits for what will not come by itself.\n",
		            facts->path);
	else if (strcmp(facts->path, facts->origin) != 0)
		strbuf_addf(sb, "The failure escalated to %s.\n", facts->path);
	if (strcmp(me, facts->path) != 0 && strcmp(me, facts->origin) != 0)
		say_affected(sb, facts, me);
}

/* What could not be executed, or entered, if the actor still is there. */
static void
say_program(struct strbuf *sb, const struct reporter *reporter, const struct facts *facts)
{
	const struct actor *actor =
	    actors_get(reporter->actors, actors_find(reporter->actors, facts->origin));
	const char *name = NULL;

	if (actor == NULL || actor->conf == NULL || facts->step == NULL)
		return;
	if (strcmp(facts->step, "exec") == 0 && actor->conf->argv != NULL)
		name = actor->conf->argv[0];
	else if (strcmp(facts->step, "chdir") == 0)
		name = actor->conf->process->world.directory;
	if (name == NULL)
		return;
	strbuf_adds(sb, facts->step[0] == 'e' ? "Its program is " : "Its directory is ");
	strbuf_add_visible(sb, name, strlen(name));
	strbuf_adds(sb, ".\n");
}

/* Which line of the file asked for what could not be done. */
static void
say_blame(struct strbuf *sb, const struct reporter *reporter, const struct facts *facts)
{
	const struct actor *actor =
	    actors_get(reporter->actors, actors_find(reporter->actors, facts->origin));

	if (facts->step == NULL)
		return;
	CLEANUP(strbuf_done) struct strbuf blame = STRBUF(EVENT_BYTES_MAX);
	if (blame_step(&blame, reporter, actor, facts->step))
		strbuf_addf(sb, "That is %s.\n", strbuf_str(&blame));
}

static const char *
meaning(const char *directive)
{
	if (strcmp(directive, "restart") == 0)
		return "restart: start it again with nothing kept";
	if (strcmp(directive, "resume") == 0)
		return "resume: let it go on, its state is kept";
	return strcmp(directive, "stop") == 0 ? "stop: do not start it again"
	                                      : "escalate: let the next level decide";
}

/* "The rule at supd.yaml:12", "The built-in rule (preset default)"; else nothing. */
static void
say_rule(struct strbuf *sb, const struct facts *facts)
{
	const char *reason = report_overruled_by(facts->rule, facts->reason);
	const char *colon = strrchr(facts->rule, ':');
	const char *verb = "was";

	if (strncmp(facts->rule, "preset ", 7) == 0) {
		strbuf_addf(sb, "The built-in rules (%s)", facts->rule);
		verb = "were";
	} else if (colon != NULL)
		strbuf_addf(sb, "The rule at %s", facts->rule);
	else
		strbuf_addf(sb, "No rule (%s)", facts->rule);
	if (reason != NULL)
		strbuf_addf(sb, " %s overruled (%s): it became", verb, reason);
	else
		strbuf_adds(sb, " decided");
	strbuf_addf(sb, " %s.\n", meaning(facts->directive));
}

/* "/user/a, /user/b and 3 more" */
static size_t
add_others(struct strbuf *sb, const struct facts *facts)
{
	const size_t shown_max = 5;
	const char *path = NULL;
	size_t n = 0;

	if (facts->event == NULL)
		return 0;
	while ((path = event_next(facts->event, FIELD_SCOPE, path)) != NULL) {
		if (strcmp(path, facts->path) == 0)
			continue;
		if (n < shown_max)
			strbuf_addf(sb, "%s%s", n > 0 ? ", " : "", path);
		n++;
	}
	if (n > shown_max)
		strbuf_addf(sb, " and %zu more", n - shown_max);
	return n;
}

/* The supervisor of the actor that failed; NULL: the actor is gone, or is /user. */
static const struct conf_actor *
supervisor_of(const struct reporter *reporter, const char *path, struct ref *ret)
{
	struct ref ref = actors_find(reporter->actors, path);

	if (ref_is_none(ref) || !core_valid(reporter->engine->core, ref) ||
	    ref.slot == CORE_USER)
		return NULL;
	*ret = core_parent(reporter->engine->core, ref);
	const struct actor *actor = actors_get(reporter->actors, *ret);
	return actor != NULL ? actor->conf : NULL;
}

static void
say_scope(struct strbuf *sb, const struct reporter *reporter, const struct facts *facts)
{
	struct ref ref;
	const struct conf_actor *supervisor = supervisor_of(reporter, facts->path, &ref);

	if (supervisor == NULL)
		return;
	CLEANUP(strbuf_done) struct strbuf others = STRBUF(EVENT_BYTES_MAX);
	size_t n = add_others(&others, facts);
	strbuf_addf(
	    sb, "Its supervisor is %s, strategy %s: ", actors_path(reporter->actors, ref),
	    strategy_names[supervisor->spec->core.policy.strategy]);
	if (n > 0)
		strbuf_addf(sb, "taken along: %s.\n", strbuf_str(&others));
	else
		strbuf_adds(sb, "no other actor was taken along.\n");
}

/* The limit that was exceeded. */
static void
say_limit(struct strbuf *sb, const struct reporter *reporter, const struct facts *facts)
{
	struct ref ref;
	const struct conf_actor *supervisor = supervisor_of(reporter, facts->path, &ref);

	if (supervisor == NULL ||
	    strcmp(facts->reason, decision_reason_names[DECIDED_LIMIT]) != 0 ||
	    !supervisor->spec->core.policy.limit.on)
		return;
	strbuf_addf(sb, "The limit of each child of %s is %u restart%s",
	            actors_path(reporter->actors, ref),
	            supervisor->spec->core.policy.limit.restarts,
	            supervisor->spec->core.policy.limit.restarts == 1 ? "" : "s");
	if (supervisor->spec->core.policy.limit.within_ms != DURATION_INFINITE) {
		strbuf_adds(sb, " within ");
		explain_add_duration(
		    sb, (int64_t)supervisor->spec->core.policy.limit.within_ms);
	}
	strbuf_adds(sb, ".\n");
}

static void
say_counters(struct strbuf *sb, const struct reporter *reporter,
             const struct facts *facts)
{
	struct ref ref;
	const struct conf_actor *supervisor = supervisor_of(reporter, facts->path, &ref);

	if (supervisor == NULL || facts->window < 0 ||
	    strcmp(facts->directive, "restart") != 0)
		return;
	const struct intensity_spec *intensity = &supervisor->spec->core.policy.intensity;
	if (intensity->unlimited)
		return;
	strbuf_addf(sb, "That made %lld of at most %u restarts below %s within ",
	            (long long)facts->window, (unsigned int)intensity->restarts,
	            actors_path(reporter->actors, ref));
	explain_add_duration(sb, (int64_t)intensity->within_ms);
	strbuf_adds(sb, ".\n");
}

static void
say_delay(struct strbuf *sb, const struct facts *facts)
{
	if (facts->delay_ms <= 0)
		return;
	strbuf_adds(sb, "The backoff put the next start off by ");
	explain_add_duration(sb, facts->delay_ms);
	strbuf_adds(sb, ".\n");
}

/* The last lines that the process wrote, which often say more than all the rest. */
static void
say_last_words(struct strbuf *sb, const struct event_view *failure)
{
	const char *line = event_next(failure, FIELD_LAST_WORDS, NULL);

	if (line == NULL)
		return;
	strbuf_addf(sb, "The last lines of %s:\n", event_text(failure, FIELD_ORIGIN));
	for (; line != NULL; line = event_next(failure, FIELD_LAST_WORDS, line)) {
		strbuf_adds(sb, "  | ");
		strbuf_add_visible(sb, line, strlen(line));
		strbuf_addc(sb, '\n');
	}
}

/* Hooks that failed, giving up and escalating, in the order in which they happened. */
static void
say_consequences(struct strbuf *sb, const struct event_view *chain, size_t n)
{
	static const bool is_one[NOTICE_MAX] = {
	    [REPORT_GAVE_UP] = true,
	    [REPORT_ESCALATED] = true,
	    [REPORT_KILLED_AFTER_TIMEOUT] = true,
	    [REPORT_UNKILLABLE] = true,
	    [REPORT_HOOK_FAILED] = true,
	};

	for (size_t i = 0; i < n; i++) {
		if (is_one[chain[i].record->kind]) {
			strbuf_addf(sb, "%s ", chain[i].path);
			explain_step(sb, &chain[i]);
			strbuf_adds(sb, ".\n");
		}
	}
}

static void
say_facts(struct strbuf *sb, const struct reporter *reporter, const char *me,
          const struct facts *facts)
{
	say_what(sb, facts, me);
	say_program(sb, reporter, facts);
	say_blame(sb, reporter, facts);
	explain_numbers(sb, reporter, facts->why, facts->origin);
	say_rule(sb, facts);
	say_limit(sb, reporter, facts);
	say_scope(sb, reporter, facts);
	say_counters(sb, reporter, facts);
	say_delay(sb, facts);
}

/* Which step of a start failed, as the cause has it: nothing of the last one, the exec.
 */
static const char *
step_of(const char *key)
{
	return key[0] != '\0' ? key : "exec";
}

static void
say_from_event(struct strbuf *sb, const struct reporter *reporter, const char *me,
               const struct event_view *failure)
{
	struct cause cause = {.kind = CAUSE_NORMAL};
	char at[CLOCK_TEXT_MAX];
	const char *about;

	CLEANUP(strbuf_done) struct strbuf text = STRBUF(4096);
	(void)event_cause(failure, &cause, &about);
	(void)explain_cause(&text, failure);
	const struct facts facts = {
	    .path = failure->path,
	    .origin = event_text(failure, FIELD_ORIGIN),
	    .at = clock_format(failure->record->wall_us, 6, at),
	    .cause = strbuf_str(&text),
	    .why = &cause,
	    .step = cause.kind == CAUSE_EXEC ? step_of(cause.key) : NULL,
	    .directive = event_text(failure, FIELD_DIRECTIVE),
	    .rule = event_text(failure, FIELD_RULE),
	    .reason = event_text(failure, FIELD_REASON),
	    .event = failure,
	    .delay_ms = event_number(failure, FIELD_DELAY),
	    .window = event_number(failure, FIELD_WINDOW),
	};

	say_facts(sb, reporter, me, &facts);
}

/* The event is not in the ring any more: the core remembers the most important. */
static void
say_from_view(struct strbuf *sb, const struct reporter *reporter,
              const struct node_view *view)
{
	const struct actor *actor = actors_get(reporter->actors, view->ref);
	struct view_clock clock = view_clock_now();
	char at[CLOCK_TEXT_MAX];

	uint64_t at_us = view_wall_us(&clock, view->failure.at_ms);
	if (actor != NULL && actor->failed_at_wall_us != 0)
		at_us = actor->failed_at_wall_us;
	(void)clock_format(at_us, 3, at);
	CLEANUP(strbuf_done) struct strbuf cause = STRBUF(4096);
	CLEANUP(strbuf_done) struct strbuf rule = STRBUF(4096);
	cause_text(
	    &cause, &view->failure.cause,
	    cause_about(reporter->actors, &view->failure.cause, view->failure.origin));
	rule_name(&rule, reporter->actors->conf, view->failure.ruling.preset,
	          view->failure.ruling.place, view->failure.ruling.reason);
	const struct facts facts = {
	    .path = actors_path(reporter->actors, view->ref),
	    .origin = actors_path(reporter->actors, view->failure.origin),
	    .at = at,
	    .cause = strbuf_str(&cause),
	    .why = &view->failure.cause,
	    .step = view->failure.cause.kind == CAUSE_EXEC
	                ? step_of(view->failure.cause.key)
	                : NULL,
	    .directive = directive_names[view->failure.ruling.directive],
	    .rule = strbuf_str(&rule),
	    .reason = decision_reason_names[view->failure.ruling.reason],
	    .window = -1,
	};
	say_facts(sb, reporter, actors_path(reporter->actors, view->ref), &facts);
}

/* The actor's reaction to the end of a watched actor; a death pact is a failure. */
static void
say_told(struct strbuf *sb, const char *me, const struct event_view *told)
{
	static const char *const effects[REACTION_MAX] = {
	    [REACTION_SIGNAL] = "got a signal",
	    [REACTION_RUN] = "ran a command",
	    [REACTION_RESTART] = "was restarted",
	    [REACTION_STOP] = "was stopped",
	};
	const int reaction =
	    names_find(reaction_names, REACTION_MAX, event_text(told, FIELD_REACTION));
	char at[CLOCK_TEXT_MAX];

	if (reaction >= 0 && effects[reaction] != NULL)
		strbuf_addf(sb, "%s watches %s, which ended for good at %s: %s %s.\n", me,
		            told->path, clock_format(told->record->wall_us, 6, at), me,
		            effects[reaction]);
}

/* No event tells of a failure. */
static void
say_remembered(struct strbuf *sb, const struct reporter *reporter, struct ref ref)
{
	const struct node_view view = engine_view(reporter->engine, ref);

	if (view.has_failure)
		say_from_view(sb, reporter, &view);
	else
		strbuf_addf(sb, "%s has not failed since it was added.\n",
		            actors_path(reporter->actors, ref));
}

/* The reporter is asked for what is true now. */
void
explain_text(struct strbuf *sb, const struct reporter *reporter, struct ref ref,
             const struct explained *explained)
{
	const bool is_gone = ref_is_none(ref);
	const char *me =
	    is_gone ? explained->gone.path : actors_path(reporter->actors, ref);

	if (explained->change.record != NULL)
		explain_change(sb, reporter, me, &explained->change);
	if (explain_is_end(&explained->change) && explained->signal.record != NULL)
		explain_change(sb, reporter, me, &explained->signal);
	if (explained->change.record != NULL && explained->failure.record != NULL)
		strbuf_adds(sb, "Before that: ");
	if (explained->failure.record != NULL)
		say_from_event(sb, reporter, me, &explained->failure);
	else if (is_gone)
		strbuf_addf(sb, "No event tells of a failure of %s.\n", me);
	else
		say_remembered(sb, reporter, ref);
	say_last_words(sb, &explained->failure);
	say_consequences(sb, explained->chain, explained->n_chain);
	if (explained->told.record != NULL)
		say_told(sb, me, &explained->told);
	if (!explain_is_end(&explained->change) && explained->signal.record != NULL)
		explain_change(sb, reporter, me, &explained->signal);
	if (is_gone) {
		explain_gone(sb, &explained->gone);
		return;
	}
	explain_impact(sb, reporter, ref);
	explain_below(sb, reporter, ref);
	explain_now(sb, reporter, ref);
}
