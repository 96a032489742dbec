/* SPDX-License-Identifier: ISC */
/* report_line.c - what the core reports, as a line of the log. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "daemon/report/blame.h"
#include "daemon/report/explain.h"
#include "daemon/report/report_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"

/* The lines of so many events are put off at most. */
#define PUT_OFF_MAX 64

/* How loud a failure is: the rule's own level, else Akka's by directive (L-01). */
static enum log_level
failure_level(const struct action *action)
{
	static const enum log_level levels[RULE_LOG_MAX] = {
	    [RULE_LOG_ERROR] = LOG_LEVEL_ERROR,
	    [RULE_LOG_WARNING] = LOG_LEVEL_WARNING,
	    [RULE_LOG_INFO] = LOG_LEVEL_INFO,
	    [RULE_LOG_OFF] = LOG_LEVEL_MAX,
	};
	if (action->log != RULE_LOG_AS_DIRECTIVE)
		return levels[action->log];
	if (action->ruling.directive == DIRECTIVE_ESCALATE)
		return LOG_LEVEL_MAX;
	return action->ruling.directive == DIRECTIVE_RESUME ? LOG_LEVEL_WARNING
	                                                    : LOG_LEVEL_ERROR;
}

/* The level of its line in the log; LOG_LEVEL_MAX: it has none. */
static enum log_level
level_of(uint8_t kind, const struct action *action)
{
	static const enum log_level levels[NOTICE_MAX] = {
	    [REPORT_STARTED] = LOG_LEVEL_INFO,
	    [REPORT_READY] = LOG_LEVEL_INFO,
	    [REPORT_EXITED] = LOG_LEVEL_INFO,
	    [REPORT_BACKOFF] = LOG_LEVEL_INFO,
	    [REPORT_STOPPING] = LOG_LEVEL_INFO,
	    [REPORT_STOPPED] = LOG_LEVEL_INFO,
	    [REPORT_KILLED_AFTER_TIMEOUT] = LOG_LEVEL_WARNING,
	    [REPORT_UNKILLABLE] = LOG_LEVEL_ERROR,
	    [REPORT_TERMINATED] = LOG_LEVEL_INFO,
	    [REPORT_GAVE_UP] = LOG_LEVEL_ERROR,
	    [REPORT_HOOK_FAILED] = LOG_LEVEL_WARNING,
	    [REPORT_SUSPENDED] = LOG_LEVEL_INFO,
	    [REPORT_SHORTAGE] = LOG_LEVEL_WARNING,
	    [REPORT_RESUMED] = LOG_LEVEL_INFO,
	    [NOTICE_COMMAND] = LOG_LEVEL_NOTICE,
	    [NOTICE_ADOPTED] = LOG_LEVEL_NOTICE,
	};

	if (kind == REPORT_FAILURE)
		return failure_level(action);
	return report_sentences[kind].log != NULL ? levels[kind] : LOG_LEVEL_MAX;
}

/* A line of the log about an event. */
struct line {
	const struct reporter *reporter;
	const struct event_view *event;
};

/* Append what in the configuration asked for the step that failed; false: nothing did. */
static bool
say_blame(const struct line *line, struct strbuf *sb)
{
	struct actors *actors = line->reporter->actors;
	const char *about;
	struct cause cause;

	return event_cause(line->event, &cause, &about) && cause.kind == CAUSE_EXEC &&
	       blame_step(
	           sb, line->reporter,
	           actors_get(actors,
	                      actors_find(actors, event_text(line->event, FIELD_ORIGIN))),
	           cause.key);
}

/* Append the strategy if the failure concerns the whole group; else false. */
static bool
say_group(const struct line *line, struct strbuf *sb)
{
	if (line->event->record->tells_group)
		strbuf_adds(sb, event_text(line->event, FIELD_STRATEGY));
	return line->event->record->tells_group;
}

/* Append the delay; false: there is none, as for a resume of a living process. */
static bool
say_pause(const struct line *line, struct strbuf *sb)
{
	const int directive = names_find(directive_names, DIRECTIVE_MAX,
	                                 event_text(line->event, FIELD_DIRECTIVE));

	return (directive == DIRECTIVE_RESTART ||
	        (directive == DIRECTIVE_RESUME &&
	         event_number(line->event, FIELD_DELAY) > 0)) &&
	       explain_value(line->event, sb, "delay_ms");
}

static bool
say_value(const void *user, struct strbuf *sb, const char *name)
{
	const struct line *line = user;

	if (strcmp(name, "blame") == 0)
		return say_blame(line, sb);
	if (strcmp(name, "group") == 0)
		return say_group(line, sb);
	if (strcmp(name, "pause") == 0)
		return say_pause(line, sb);
	return explain_value(line->event, sb, name);
}

static void
write_line(const struct reporter *reporter, const struct event_view *event)
{
	const uint8_t kind = event->record->kind;

	CLEANUP(strbuf_done) struct strbuf sb = STRBUF(LINE_BYTES_MAX);
	/* A guardian that wrote at random may have spoiled what is in the ring. */
	if (report_sentences[kind].log != NULL)
		report_say(&sb, report_sentences[kind].log, say_value,
		           &(const struct line){.reporter = reporter, .event = event});
	log_line(event->record->log_level - 1U, "%s: %s%s", event->path,
	         report_names[kind], strbuf_str(&sb));
}

void
report_lines(void *user)
{
	const struct reporter *reporter = user;
	struct event_view event;

	/* The first lines are written before there is a ledger. */
	while (reporter->events->ring != NULL &&
	       events_find_line(reporter->events, &event)) {
		write_line(reporter, &event);
		events_pass_line(reporter->events);
	}
}

/*
 * End the event: put it into the stream, and its line into the log when nothing is more
 * urgent.  Lines that a guardian has not written when it dies are written by the next.
 */
void
report_end(const struct reporter *reporter, const struct action *action,
           bool is_for_stream)
{
	struct events *events = reporter->events;
	const enum log_level level = level_of(events->record.kind, action);
	struct event_view event;

	if (level != LOG_LEVEL_MAX && log_wants(level))
		events->record.log_level = (uint8_t)(level + 1);
	events->record.tells_group = action != NULL && action->group;
	if (is_for_stream) {
		events_end(events);
	} else if (events->record.log_level > 0) {
		log_flush();
		events_view_newest(events, &event);
		write_line(reporter, &event);
	}
	/* The line about a start that failed names a key of the configuration, which may
	 * be removed before the turn is over. */
	if ((action != NULL && action->cause.kind == CAUSE_EXEC) ||
	    events_behind(events) >= PUT_OFF_MAX)
		log_flush();
}
