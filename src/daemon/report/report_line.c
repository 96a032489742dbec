/* SPDX-License-Identifier: ISC */
/* report_line.c - what the core reports, as a line of the log. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/strbuf.h"
#include "daemon/report/blame.h"
#include "daemon/report/explain.h"
#include "daemon/report/report_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"

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
	*ret = action->ruling.directive == DIRECTIVE_RESUME ? LOG_LEVEL_WARNING
	                                                    : LOG_LEVEL_ERROR;
	return action->ruling.directive != DIRECTIVE_ESCALATE;
}

static bool
level_of(const struct event_view *event, const struct action *action, enum log_level *ret)
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
	    [NOTICE_ADOPTED] = LOG_LEVEL_NOTICE,
	};

	if (event->record->kind == REPORT_FAILURE)
		return failure_level(action, ret);
	*ret = levels[event->record->kind];
	return report_sentences[event->record->kind].log != NULL;
}

/* A line of the log about an event. */
struct line {
	const struct reporter *reporter;
	const struct action *action; /* NULL: the core did not report it */
	const struct event_view *event;
};

/* What in the configuration asked for the step that failed. */
static bool
say_blame(const struct line *line, struct strbuf *sb)
{
	const struct action *action = line->action;

	return action->cause.kind == CAUSE_EXEC &&
	       blame_step(sb, line->reporter,
	                  actors_get(line->reporter->actors, action->origin),
	                  action->cause.key);
}

/* The strategy, if the failure concerns the whole group. */
static bool
say_group(const struct line *line, struct strbuf *sb)
{
	if (line->action->group)
		strbuf_adds(sb, event_text(line->event, FIELD_STRATEGY));
	return line->action->group;
}

/* A resume of a living process has no delay to report. */
static bool
say_pause(const struct line *line, struct strbuf *sb)
{
	const struct action *action = line->action;

	return (action->ruling.directive == DIRECTIVE_RESTART ||
	        (action->ruling.directive == DIRECTIVE_RESUME && action->delay_ms > 0)) &&
	       explain_value(line->event, sb, "delay_ms");
}

static bool
say_value(const void *user, struct strbuf *sb, const char *name)
{
	static const struct {
		const char *name;
		bool (*say)(const struct line *line, struct strbuf *sb);
	} values[] = {
	    {"blame", say_blame},
	    {"group", say_group},
	    {"pause", say_pause},
	};
	const struct line *line = user;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(values[i].name, name) == 0)
			return values[i].say(line, sb);
	return explain_value(line->event, sb, name);
}

/* Put the newest event into the log, at its level. */
void
report_line(const struct reporter *reporter, const struct action *action)
{
	struct event_view event;
	const struct line line = {
	    .reporter = reporter, .action = action, .event = &event};
	enum log_level level;
	struct strbuf sb;

	events_view_newest(reporter->events, &event);
	if (!level_of(&event, action, &level) || !log_wants(level))
		return;
	strbuf_init(&sb, LINE_BYTES_MAX);
	report_say(&sb, report_sentences[event.record->kind].log, say_value, &line);
	log_line(level, "%s: %s%s", event.path, report_names[event.record->kind],
	         strbuf_str(&sb));
	strbuf_done(&sb);
}
