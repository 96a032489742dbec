/* SPDX-License-Identifier: ISC */
/* report.c - what the core reports, as events of the stream and as lines of the log. */
#include "config.h"

#include "daemon/report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "daemon/report/blame.h"
#include "daemon/state/cause.h"
#include "daemon/state/log.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/record.h"
#include "daemon/state/shell.h"
#include "daemon/state/system.h"
#include "daemon/processes/tasks.h"
#include "daemon/processes/unkillable.h"
#include "daemon/recovery/upgrade.h"
#include "daemon/state/words.h"
#include "ledger/link.h"
#include "os/clock.h"
#include "os/reap.h"

#define LINE_BYTES_MAX  2048
#define SCOPE_BYTES_MAX (32 * 1024)
#define WORDS_JSON_MAX  (6 * WORDS_BYTES_MAX + 64)

/* The actor that an event is about: for an end told to a watcher, the watched actor. */
static const char *
subject(const struct shell *shell, const struct action *action)
{
	const struct actor *actor = actors_get(&shell->actors, action->ref);

	if (action->report != REPORT_TERMINATED || action->watch == 0 || actor == NULL ||
	    action->watch > actor->conf->spec.n_watches)
		return shell_path(shell, action->ref);
	return actor->conf->watches[action->watch - 1].path;
}

static void
begin(struct shell *shell, const struct action *action)
{
	const struct event_head head = {
	    .event = report_names[action->report],
	    .path = subject(shell, action),
	    .incarnation = action->incarnation,
	    .generation = action->generation,
	};

	events_begin(&shell->events, &head);
}

/* The origin of a failure; for an end told to a watcher the watched actor itself. */
static struct ref
origin_of(const struct action *action)
{
	return action->report == REPORT_FAILURE || action->report == REPORT_ESCALATED
	           ? action->origin
	           : action->ref;
}

static void
add_cause(struct shell *shell, const struct cause *cause, struct ref origin)
{
	struct strbuf sb;

	strbuf_init(&sb, LINE_BYTES_MAX);
	cause_json(&sb, cause, cause_about(&shell->actors, cause, origin));
	events_buffer(&shell->events, "cause", &sb);
	strbuf_done(&sb);
}

static void
add_rule(struct shell *shell, const struct action *action)
{
	struct strbuf sb;

	strbuf_init(&sb, LINE_BYTES_MAX);
	rule_name(&sb, shell->conf, action->rule_preset, action->rule_place,
	          action->reason);
	events_string(&shell->events, "rule", strbuf_str(&sb));
	strbuf_done(&sb);
}

/* All actors that the directive concerns; of very many the first. */
static void
add_scope(struct shell *shell, const struct action *action)
{
	struct strbuf sb;
	struct ref ref = action->ref;

	strbuf_init(&sb, SCOPE_BYTES_MAX);
	strbuf_addc(&sb, '[');
	if (!action->group) {
		strbuf_add_json(&sb, shell_path(shell, ref));
	} else {
		const char *comma = "";

		ref = core_scope_next(shell->core, action->ref, REF_NONE);
		while (ref.slot != REF_NONE.slot && sb.len < SCOPE_BYTES_MAX - 4096) {
			strbuf_adds(&sb, comma);
			strbuf_add_json(&sb, shell_path(shell, ref));
			comma = ",";
			ref = core_scope_next(shell->core, action->ref, ref);
		}
	}
	strbuf_addc(&sb, ']');
	events_buffer(&shell->events, "scope", &sb);
	strbuf_done(&sb);
}

/* The last lines of the process before it failed, where supd captures its output. */
static void
add_last_words(struct shell *shell, struct ref origin)
{
	struct strbuf sb;

	strbuf_init(&sb, WORDS_JSON_MAX);
	if (words_of_actor(shell, origin, &sb))
		events_buffer(&shell->events, "last_words", &sb);
	strbuf_done(&sb);
}

static const char *
strategy_of(struct shell *shell, const struct action *action)
{
	struct ref parent = core_parent(shell->core, action->ref);
	struct node_view view;

	if (parent.slot == REF_NONE.slot)
		return strategy_names[STRATEGY_ONE_FOR_ONE];
	core_view(shell->core, parent, shell->now_ms, &view);
	return strategy_names[view.strategy];
}

static void
add_failure(struct shell *shell, const struct action *action)
{
	struct events *events = &shell->events;

	add_cause(shell, &action->cause, origin_of(action));
	events_string(events, "origin", shell_path(shell, action->origin));
	events_string(events, "directive", directive_names[action->directive]);
	add_rule(shell, action);
	events_string(events, "reason", decision_reason_names[action->reason]);
	events_string(events, "strategy", strategy_of(shell, action));
	add_scope(shell, action);
	events_number(events, "window", action->window);
	events_number(events, "limit", action->limit);
	events_number(events, "delay_ms", (int64_t)action->delay_ms);
	if (action->cause.kind == CAUSE_EXEC)
		events_string(events, "step",
		              procs_failed_step(shell->procs, action->origin));
	else
		add_last_words(shell, action->origin);
}

static void
add_exited(struct shell *shell, const struct action *action)
{
	const struct reap *end = procs_last_end(shell->procs, action->ref);
	struct events *events = &shell->events;

	add_cause(shell, &action->cause, origin_of(action));
	if (end == NULL)
		return;
	if (end->pid != 0)
		events_number(events, "pid", end->pid);
	events_number(events, "utime_us", (int64_t)end->utime_us);
	events_number(events, "stime_us", (int64_t)end->stime_us);
	events_number(events, "maxrss_kib", (int64_t)end->maxrss_kib);
}

static void
add_gave_up(struct shell *shell, const struct action *action)
{
	struct events *events = &shell->events;

	events_number(events, "intensity", action->limit);
	events_number(events, "within", (int64_t)action->delay_ms);
	events_string(events, "offender", shell_path(shell, action->origin));
}

/* A helper process of an actor that did not do what it was for. */
struct hook_failure {
	const char *hook; /* as in the configuration */
	const char *reason;
	bool timed_out;
	struct cause cause;
	const char *step; /* what failed when it was to be started, or "" */
};

static void
hook_failure_of(const struct shell *shell, const struct action *action,
                struct hook_failure *ret)
{
	const bool is_run = action->watch != 0;

	*ret = (struct hook_failure){
	    .hook = is_run ? task_kind_names[TASK_RUN] : hook_names[action->hook],
	    .reason = is_run ? task_reason_names[TASK_ON_TERMINATED]
	                     : hook_reason_names[action->hook_reason],
	    .timed_out = action->timed_out,
	    .cause = action->cause,
	    .step = tasks_failed_step(shell->tasks, action->ref,
	                              is_run ? TASK_RUN : TASK_HOOK),
	};
}

static void
add_hook_failure(struct shell *shell, const struct hook_failure *failure)
{
	struct events *events = &shell->events;

	events_string(events, "hook", failure->hook);
	events_string(events, "reason", failure->reason);
	events_raw(events, "timed_out", failure->timed_out ? "true" : "false");
	add_cause(shell, &failure->cause, REF_NONE);
	if (failure->step[0] != '\0')
		events_string(events, "step", failure->step);
}

static void
add_hook_text(struct strbuf *sb, const struct hook_failure *failure)
{
	strbuf_addf(sb, ": %s: ", failure->hook);
	if (failure->timed_out)
		strbuf_adds(sb, "timed out, ");
	cause_text(sb, &failure->cause, NULL);
}

/* The end of an actor; with a watcher, that the watcher is told. */
static void
add_terminated(struct shell *shell, const struct action *action)
{
	struct events *events = &shell->events;
	bool is_told = action->watch != 0;

	if (!is_told || action->child_failed)
		add_cause(shell, &action->cause, origin_of(action));
	events_raw(events, "existence_confirmed",
	           is_told && !action->confirmed ? "false" : "true");
	if (!is_told)
		return;
	events_string(events, "watcher", shell_path(shell, action->ref));
	events_string(events, "reaction", reaction_names[action->reaction]);
	if (action->child_failed)
		events_raw(events, "child_failed", "true");
}

/* Which of its processes could not be killed, and why. */
static void
add_unkillable(struct shell *shell, const struct action *action)
{
	struct events *events = &shell->events;
	struct strbuf why;

	if (procs_pid(shell->procs, action->ref) != 0)
		events_number(events, "pid", procs_pid(shell->procs, action->ref));
	strbuf_init(&why, LINE_BYTES_MAX);
	unkillable_text(&why, shell, action->ref);
	events_string(events, "text", strbuf_str(&why));
	strbuf_done(&why);
}

static void
add_fields(struct shell *shell, const struct action *action)
{
	struct events *events = &shell->events;
	struct hook_failure failure;

	switch (action->report) {
	case REPORT_STARTED:
		if (procs_pid(shell->procs, action->ref) != 0)
			events_number(events, "pid",
			              procs_pid(shell->procs, action->ref));
		else
			events_raw(events, "pid", "null");
		if (action->window > 0)
			events_number(events, "shortages", action->window);
		break;
	case REPORT_SHORTAGE:
		add_cause(shell, &action->cause, action->ref);
		events_string(events, "step",
		              procs_failed_step(shell->procs, action->ref));
		events_number(events, "delay_ms", (int64_t)action->delay_ms);
		break;
	case REPORT_EXITED:
		add_exited(shell, action);
		break;
	case REPORT_FAILURE:
		add_failure(shell, action);
		break;
	case REPORT_BACKOFF:
		events_number(events, "delay_ms", (int64_t)action->delay_ms);
		break;
	case REPORT_TERMINATED:
		add_terminated(shell, action);
		break;
	case REPORT_GAVE_UP:
		add_gave_up(shell, action);
		break;
	case REPORT_ESCALATED:
		events_string(events, "to", shell_path(shell, action->to));
		add_cause(shell, &action->cause, origin_of(action));
		events_string(events, "origin", shell_path(shell, action->origin));
		break;
	case REPORT_HOOK_FAILED:
		hook_failure_of(shell, action, &failure);
		add_hook_failure(shell, &failure);
		break;
	case REPORT_UNKILLABLE:
		add_unkillable(shell, action);
		break;
	case REPORT_READY:
	case REPORT_STOPPING:
	case REPORT_STOPPED:
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
	case REPORT_MAX:
		break;
	}
}

/* ---- the log --------------------------------------------------------------------------
 */

/* How loud a failure is: the rule's own level, else Akka's by directive (L-01). */
static bool
failure_level(const struct action *action, enum log_level *ret)
{
	switch (action->log) {
	case RULE_LOG_ERROR:
		*ret = LOG_LEVEL_ERROR;
		return true;
	case RULE_LOG_WARNING:
		*ret = LOG_LEVEL_WARNING;
		return true;
	case RULE_LOG_INFO:
		*ret = LOG_LEVEL_INFO;
		return true;
	case RULE_LOG_OFF:
		return false;
	case RULE_LOG_AS_DIRECTIVE:
	case RULE_LOG_MAX:
		break;
	}
	*ret =
	    action->directive == DIRECTIVE_RESUME ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR;
	return action->directive != DIRECTIVE_ESCALATE;
}

/* Escalations are told in the stream only; the rest as CONTROL.md has it. */
static bool
level_of(const struct action *action, enum log_level *ret)
{
	*ret = LOG_LEVEL_INFO;
	switch (action->report) {
	case REPORT_FAILURE:
		return failure_level(action, ret);
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_HOOK_FAILED:
	case REPORT_SHORTAGE:
		*ret = LOG_LEVEL_WARNING;
		return true;
	case REPORT_GAVE_UP:
	case REPORT_UNKILLABLE:
		*ret = LOG_LEVEL_ERROR;
		return true;
	case REPORT_ESCALATED:
		return false;
	case REPORT_STARTED:
	case REPORT_READY:
	case REPORT_EXITED:
	case REPORT_BACKOFF:
	case REPORT_STOPPING:
	case REPORT_STOPPED:
	case REPORT_TERMINATED:
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
	case REPORT_MAX:
		break;
	}
	return true;
}

/* What in the configuration asked for the step that failed. */
static void
add_blame(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	struct strbuf blame;

	strbuf_init(&blame, LINE_BYTES_MAX);
	if (blame_step(&blame, shell, actors_get(&shell->actors, action->origin),
	               action->cause.key))
		strbuf_addf(sb, " (%s)", strbuf_str(&blame));
	strbuf_done(&blame);
}

static void
failure_line(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, " ");
	cause_text(sb, &action->cause,
	           cause_about(&shell->actors, &action->cause, origin_of(action)));
	if (action->cause.kind == CAUSE_EXEC)
		add_blame(shell, action, sb);
	if (memcmp(&action->origin, &action->ref, sizeof(action->ref)) != 0)
		strbuf_addf(sb, " in %s", shell_path(shell, action->origin));
	strbuf_addf(sb, "; %s", directive_names[action->directive]);
	if (action->group)
		strbuf_addf(sb, " of its group (%s)", strategy_of(shell, action));
	/* A resume of a living process has no delay to report. */
	if (action->directive == DIRECTIVE_RESTART ||
	    (action->directive == DIRECTIVE_RESUME && action->delay_ms > 0))
		strbuf_addf(sb, " in %s", duration_format(action->delay_ms, text));
	strbuf_adds(sb, ", by ");
	rule_text(sb, shell->conf, action->rule_preset, action->rule_place,
	          action->reason);
	if (action->limit > 0)
		strbuf_addf(sb, "; %u of %u restarts", action->window, action->limit);
}

static void
started_line(const struct shell *shell, const struct action *action, struct strbuf *sb)
{
	if (procs_pid(shell->procs, action->ref) != 0)
		strbuf_addf(sb, ", pid %d", (int)procs_pid(shell->procs, action->ref));
	if (action->window > 0)
		strbuf_addf(sb, ", after %u starts for which the machine had no room",
		            action->window);
}

static void
shortage_line(const struct action *action, struct strbuf *sb)
{
	strbuf_adds(sb, ": ");
	cause_text(sb, &action->cause, NULL);
	strbuf_adds(sb, "; the machine has no room for it now, the start is tried again "
	                "until there is room");
}

static void
line_text(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];
	struct hook_failure failure;

	strbuf_addf(sb, "%s: %s", subject(shell, action), report_names[action->report]);
	switch (action->report) {
	case REPORT_STARTED:
		started_line(shell, action, sb);
		break;
	case REPORT_SHORTAGE:
		shortage_line(action, sb);
		break;
	case REPORT_EXITED:
		strbuf_adds(sb, ": ");
		cause_text(
		    sb, &action->cause,
		    cause_about(&shell->actors, &action->cause, origin_of(action)));
		break;
	case REPORT_FAILURE:
		strbuf_adds(sb, ":");
		failure_line(shell, action, sb);
		break;
	case REPORT_BACKOFF:
		strbuf_addf(sb, ": next start in %s",
		            duration_format(action->delay_ms, text));
		break;
	case REPORT_GAVE_UP:
		strbuf_addf(sb, ": more than %u restarts within %s, the last of %s",
		            action->limit, duration_format(action->delay_ms, text),
		            shell_path(shell, action->origin));
		break;
	case REPORT_HOOK_FAILED:
		hook_failure_of(shell, action, &failure);
		add_hook_text(sb, &failure);
		break;
	case REPORT_UNKILLABLE:
		strbuf_adds(sb, ": it ");
		unkillable_text(sb, shell, action->ref);
		break;
	case REPORT_READY:
	case REPORT_STOPPING:
	case REPORT_STOPPED:
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_ESCALATED:
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
	case REPORT_MAX:
		break;
	case REPORT_TERMINATED:
		if (action->watch != 0)
			strbuf_addf(sb, ", told to %s: %s",
			            shell_path(shell, action->ref),
			            reaction_names[action->reaction]);
		break;
	}
}

static void
write_line(struct shell *shell, const struct action *action)
{
	enum log_level level;
	struct strbuf sb;

	if (!level_of(action, &level) || !log_wants(level))
		return;
	strbuf_init(&sb, LINE_BYTES_MAX);
	line_text(shell, action, &sb);
	log_line(level, "%s", strbuf_str(&sb));
	strbuf_done(&sb);
}

/*
 * Is it for the stream?  That tells of what `status` lists: everything below /user.  Of
 * supd's own actors the failures are told as well, so that they can be explained.
 */
static bool
is_for_stream(struct shell *shell, struct ref ref, enum report what)
{
	const struct actor *actor = actors_get(&shell->actors, ref);

	return actor == NULL || !system_has(actor) || what == REPORT_FAILURE;
}

/* Put one report into the stream and, at its level, into the log. */
void
report(struct shell *shell, const struct action *action)
{
	/* The root is outside of what people see. */
	if (action->ref.slot == CORE_ROOT)
		return;
	if (action->report == REPORT_FAILURE) {
		struct actor *actor = actors_get(&shell->actors, action->ref);

		if (actor != NULL)
			actor->failed_at_wall_us = clock_wall_us();
		if (actor != NULL)
			record_slot(shell, action->ref.slot);
	}
	if (is_for_stream(shell, action->ref, action->report)) {
		begin(shell, action);
		add_fields(shell, action);
		events_end(&shell->events);
	}
	write_line(shell, action);
}

void
report_helper_failed(struct shell *shell, const struct task_order *order,
                     const struct task_result *result)
{
	const struct hook_failure failure = {
	    .hook = task_name(order),
	    .reason = task_reason_names[order->reason],
	    .timed_out = result->is_late,
	    .cause = task_cause(result),
	    .step = result->error != 0 ? spawn_step_names[result->step] : "",
	};
	struct event_head head = {.event = report_names[REPORT_HOOK_FAILED],
	                          .path = shell_path(shell, order->ref)};
	const uint64_t by = tasks_tell_by(shell->tasks, order);
	struct node_view view;
	struct strbuf sb;

	if (by == 0)
		return;
	if (core_valid(shell->core, order->ref)) {
		core_view(shell->core, order->ref, shell->now_ms, &view);
		head.incarnation = view.incarnation;
		head.generation = view.generation;
	}
	events_begin(&shell->events, &head);
	add_hook_failure(shell, &failure);
	shell->events.by = by;
	events_end(&shell->events);
	shell->events.by = 0;
	strbuf_init(&sb, LINE_BYTES_MAX);
	add_hook_text(&sb, &failure);
	log_line(LOG_LEVEL_WARNING, "%s: %s%s", head.path, head.event, strbuf_str(&sb));
	strbuf_done(&sb);
}

void
report_process_adopted(struct shell *shell, const struct node_view *view, pid_t pid)
{
	const struct event_head head = {
	    .event = "adopted",
	    .path = shell_path(shell, view->ref),
	    .incarnation = view->incarnation,
	    .generation = view->generation,
	};

	if (is_for_stream(shell, view->ref, REPORT_STARTED)) {
		events_begin(&shell->events, &head);
		events_number(&shell->events, "pid", pid);
		events_end(&shell->events);
	}
	log_line(LOG_LEVEL_NOTICE, "%s: adopted, pid %d", head.path, (int)pid);
}

static void
log_taken_over(const struct upgrade_story *story, const char *end)
{
	const unsigned long long outage_ms = story->outage_ms;

	if (story->is_upgrade)
		log_line(LOG_LEVEL_NOTICE,
		         "supd %s: upgraded from %s, no guardian for %llu ms",
		         PACKAGE_VERSION, story->from, outage_ms);
	else if (story->fell_back)
		log_line(LOG_LEVEL_ERROR,
		         "supd %s: is back, because the binary that it was upgraded to "
		         "failed (%s), no guardian for %llu ms",
		         PACKAGE_VERSION, end, outage_ms);
	else
		log_line(LOG_LEVEL_WARNING,
		         "supd %s: took over after a crash (%s), no guardian for %llu ms",
		         PACKAGE_VERSION, end, outage_ms);
}

void
report_taken_over(struct shell *shell, const struct upgrade_story *story,
                  const struct reap *reap)
{
	const struct event_head head = {.event = "supd", .path = "/"};
	struct events *events = &shell->events;
	char end[REAP_TEXT_MAX];

	(void)os_reap_text(reap, end);
	events_begin(events, &head);
	if (story->is_upgrade) {
		events_string(events, "what", "upgraded");
		events_string(events, "from", story->from);
		events_string(events, "to", PACKAGE_VERSION);
	} else {
		events_string(events, "what",
		              story->fell_back ? "upgrade_failed" : "started");
		events_string(events, "after", end);
	}
	events_number(events, "outage_ms", (int64_t)story->outage_ms);
	events_end(events);
	log_taken_over(story, end);
}

void
report_supd(struct shell *shell, const char *what)
{
	const struct event_head head = {.event = "supd", .path = "/"};

	events_begin(&shell->events, &head);
	events_string(&shell->events, "what", what);
	events_end(&shell->events);
	log_line(LOG_LEVEL_NOTICE, "supd %s: %s", PACKAGE_VERSION, what);
}

void
report_leftovers(struct shell *shell, size_t n)
{
	const struct event_head head = {.event = "supd", .path = "/"};

	events_begin(&shell->events, &head);
	events_string(&shell->events, "what", "leftovers_killed");
	events_number(&shell->events, "processes", (int64_t)n);
	events_end(&shell->events);
	log_line(LOG_LEVEL_WARNING,
	         "%zu processes of a supd that died were still there and were killed", n);
}
