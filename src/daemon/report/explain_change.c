/* SPDX-License-Identifier: ISC */
/* explain_change.c - what was done to an actor without a failure of any: by command, by
 * another configuration, or by its own normal end; and which actors wait for it.
 */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "daemon/report/explain.h"
#include "daemon/report/report.h"
#include "daemon/report/waiting.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "os/self/clock.h"

/* True for a command that may start or end a process of the actors that it is about. */
static bool
is_about_processes(const char *verb)
{
	static const char *const verbs[] = {"start",  "stop",    "restart", "suspend",
	                                    "resume", "add",     "delete",  "scale",
	                                    "reset",  "shutdown"};

	return names_find(verbs, ARRAY_SIZE(verbs), verb) >= 0;
}

/* True if the path is that of the actor, or of a supervisor above it. */
bool
explain_is_above(const char *top, const char *path)
{
	const size_t len = strlen(top);

	return strcmp(top, "/") == 0 ||
	       (strncmp(top, path, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* What the plan of an event did to the actor, or to a supervisor above; NULL: nothing. */
static const char *
planned(const struct event_view *event, const char *path)
{
	const char *text = NULL, *found = NULL;

	while ((text = event_next(event, FIELD_PLAN, text)) != NULL) {
		const bool is_it = explain_is_above(text, path);

		text = event_next(event, FIELD_PLAN, text);
		if (text == NULL)
			break;
		if (is_it)
			found = text;
	}
	return found;
}

/* True if the process ended normally, without having been told to stop. */
static bool
ended_by_itself(const struct events *events, uint64_t seq,
                const struct event_view *exited)
{
	struct event_view event;
	struct cause cause;
	const char *about;

	if (!event_cause(exited, &cause, &about) || cause.kind != CAUSE_NORMAL)
		return false;
	while (seq-- > events->first_seq) {
		if (!events_view(events, seq, &event) ||
		    strcmp(event.path, exited->path) != 0)
			continue;
		if (event.record->kind == REPORT_STOPPING)
			return false;
		if (event.record->kind == REPORT_STARTED)
			break;
	}
	return true;
}

/* True if the event was something that was done to the actor of this path. */
bool
explain_is_change(const struct events *events, uint64_t seq,
                  const struct event_view *event, const char *path)
{
	switch (event->record->kind) {
	case NOTICE_COMMAND:
		return is_about_processes(event_text(event, FIELD_VERB)) &&
		       explain_is_above(event->path, path);
	case NOTICE_APPLIED:
		return planned(event, path) != NULL;
	case REPORT_EXITED:
		return strcmp(event->path, path) == 0 &&
		       ended_by_itself(events, seq, event);
	default:
		return false;
	}
}

/* True if what was done is a normal end of the process. */
bool
explain_is_end(const struct event_view *change)
{
	return change->record != NULL && change->record->kind == REPORT_EXITED;
}

/* The command may have been refused: what came of it is told by the rest. */
static void
say_command(struct strbuf *sb, const struct event_view *event, const char *at)
{
	strbuf_addf(sb, "Command at %s: %s %s", at, event_text(event, FIELD_VERB),
	            event->path);
	report_say(sb, "[ {signal}], given by uid {uid} ([{program}, ]process {pid}).\n",
	           explain_value, event);
}

static void
say_end(struct strbuf *sb, const struct reporter *reporter,
        const struct event_view *event, const char *at)
{
	const struct actor *actor =
	    actors_get(reporter->actors, actors_find(reporter->actors, event->path));
	struct cause cause;
	const char *about;

	strbuf_addf(
	    sb, "%s ended%s at %s, which is no failure: ", event->path,
	    event_cause(event, &cause, &about) && cause.signal != 0 ? "" : " by itself",
	    at);
	(void)explain_cause(sb, event);
	strbuf_adds(sb, ".\n");
	if (event_flag(event, FIELD_LEFT))
		strbuf_adds(sb, "It left processes behind: it put itself into the "
		                "background, where supd does not supervise it.  Give it "
		                "its option to stay in the foreground.\n");
	if (actor == NULL || actor->conf == NULL)
		return;
	if (actor->conf->spec->core.restart == RESTART_PERMANENT)
		strbuf_adds(sb, "Its `restart` is permanent: it is started again after "
		                "any end; write transient if it may end.\n");
	else
		strbuf_addf(sb, "Its `restart` is %s: no start follows.\n",
		            restart_type_names[actor->conf->spec->core.restart]);
}

/* Say what was done. */
void
explain_change(struct strbuf *sb, const struct reporter *reporter, const char *me,
               const struct event_view *event)
{
	char text[CLOCK_TEXT_MAX];
	const char *at = clock_format(event->record->wall_us, 3, text);

	switch (event->record->kind) {
	case NOTICE_COMMAND:
		say_command(sb, event, at);
		break;
	case NOTICE_APPLIED:
		strbuf_addf(sb, "%s was %s at %s: another configuration was applied.\n",
		            me, planned(event, me), at);
		break;
	default:
		say_end(sb, reporter, event, at);
		break;
	}
}

static void
add_probe(struct strbuf *sb, const struct conf_probe *probe)
{
	strbuf_adds(sb, probe_kind_names[probe->kind]);
	if (probe->kind == PROBE_EXEC) {
		strbuf_addc(sb, ' ');
		strbuf_add_visible(sb, probe->command[0], strlen(probe->command[0]));
		return;
	}
	strbuf_addf(sb, " %s", probe->address);
	if (probe->kind != PROBE_UNIX)
		strbuf_addf(sb, ":%u", (unsigned int)probe->port);
	if (probe->kind == PROBE_HTTP && probe->resource != NULL)
		strbuf_adds(sb, probe->resource);
}

/* What makes the actor ready: "tcp 127.0.0.1:5432". */
static void
add_awaited(struct strbuf *sb, const struct conf_actor *conf)
{
	static const char *const ready_sign_text[READY_SIGN_MAX] = {
	    [READY_BY_NOTIFY] = "READY=1 of sd_notify(3)",
	    [READY_BY_FD] = "a newline on descriptor",
	    [READY_BY_LOG] = "a line like",
	};

	switch (conf->spec->core.start.ready) {
	case READY_TOLD:
		strbuf_adds(sb, ready_sign_text[conf->process->readiness.sign]);
		if (conf->process->readiness.sign == READY_BY_LOG)
			strbuf_addf(sb, " %s", conf->process->readiness.pattern);
		if (conf->process->readiness.sign == READY_BY_FD)
			strbuf_addf(sb, " %d", conf->process->readiness.fd);
		break;
	case READY_PROBED:
		add_probe(sb, &conf->process->readiness.probe);
		break;
	case READY_EXIT:
		strbuf_adds(sb, "its end");
		break;
	case READY_EXEC:
	case READY_AFTER:
		strbuf_adds(sb, "its start");
		break;
	}
}

/* Say the time that was over, and what was to happen within it. */
void
explain_numbers(struct strbuf *sb, const struct reporter *reporter,
                const struct cause *cause, const char *origin)
{
	const struct actor *actor =
	    actors_get(reporter->actors, actors_find(reporter->actors, origin));
	const struct conf_actor *conf = actor == NULL ? NULL : actor->conf;

	if (conf == NULL)
		return;
	if (cause->kind == CAUSE_START_TIMEOUT) {
		strbuf_adds(sb, "Its start_timeout is ");
		explain_add_duration(sb, (int64_t)conf->spec->core.start.timeout_ms);
		strbuf_adds(sb, "; it waited for ");
		add_awaited(sb, conf);
		strbuf_adds(sb, ".\n");
	} else if (cause->kind == CAUSE_WATCHDOG && conf->spec->core.watchdog_ms > 0) {
		strbuf_adds(sb, "Its watchdog is ");
		explain_add_duration(sb, (int64_t)conf->spec->core.watchdog_ms);
		strbuf_adds(sb, ".\n");
	} else if (cause->kind == CAUSE_HEALTH) {
		strbuf_addf(sb,
		            "%u bad answers in a row are a failure; it was asked for ",
		            (unsigned int)conf->spec->core.health.failures);
		add_probe(sb, &conf->process->health);
		strbuf_adds(sb, ".\n");
	}
}

/* Name the actors that wait for `ref`. */
void
explain_impact(struct strbuf *sb, const struct reporter *reporter, struct ref ref)
{
	const size_t shown_max = 10;
	const struct ref top = core_ref(reporter->engine->core, CORE_USER);
	size_t n = 0;

	CORE_FOREACH (at, reporter->engine->core, top) {
		const struct node_view view = engine_view(reporter->engine, at);

		if (view.state != STATE_WAITING ||
		    !waiting_has(reporter, &view, actors_path(reporter->actors, ref)))
			continue;
		if (n++ < shown_max)
			strbuf_addf(sb, "%s%s", n == 1 ? "Waiting for it: " : ", ",
			            actors_path(reporter->actors, at));
	}
	if (n > shown_max)
		strbuf_addf(sb, " and %zu more", n - shown_max);
	strbuf_adds(sb, n > 0 ? ".\n" : "");
}
