/* SPDX-License-Identifier: ISC */
/* explain_step.c - an event in words: its values, and it as a phrase about its actor. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "daemon/report/explain.h"
#include "daemon/state/cause.h"

/* Milliseconds for people. */
void
explain_add_duration(struct strbuf *sb, int64_t ms)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, age_format(ms > 0 ? (uint64_t)ms : 0, text));
}

static bool
say_text(struct strbuf *sb, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return false;
	strbuf_adds(sb, text);
	return true;
}

/* Append a number; false: there is nothing to tell, no process or a count of 0. */
static bool
say_number(const struct event_view *event, struct strbuf *sb, enum field field)
{
	const int64_t number = event_number(event, field);

	if (field == FIELD_DELAY || field == FIELD_WITHIN) {
		explain_add_duration(sb, number);
		return true;
	}
	if (number <= 0 &&
	    (field == FIELD_PID || field == FIELD_SHORTAGES || field == FIELD_LIMIT))
		return false;
	if (number < 0)
		strbuf_addc(sb, '-');
	strbuf_add_number(sb, number < 0 ? -(uint64_t)number : (uint64_t)number);
	return true;
}

/* The cause of a failure, in words; false: the event has none. */
bool
explain_cause(struct strbuf *sb, const struct event_view *event)
{
	struct cause cause;
	const char *about;

	if (!event_cause(event, &cause, &about))
		return false;
	cause_text(sb, &cause, about);
	return true;
}

/* Append a value of an event for people, by the name of its field: see report_say(). */
bool
explain_value(const void *user, struct strbuf *sb, const char *name)
{
	const struct event_view *event = user;

	if (name[0] == 'e' && strcmp(name, "elsewhere") == 0)
		return strcmp(event_text(event, FIELD_ORIGIN), event->path) != 0 &&
		       say_text(sb, event_text(event, FIELD_ORIGIN));
	if (name[0] == 'o' && strcmp(name, "overruled") == 0)
		return say_text(sb, report_overruled_by(event_text(event, FIELD_RULE),
		                                        event_text(event, FIELD_REASON)));
	int field = names_find(field_names, FIELD_MAX, name);
	if (field < 0)
		return false;
	switch (field_type((enum field)field)) {
	case VALUE_NUMBER:
		return say_number(event, sb, (enum field)field);
	case VALUE_CAUSE:
		return explain_cause(sb, event);
	case VALUE_FLAG:
		return event_flag(event, (enum field)field);
	case VALUE_TEXT:
	case VALUE_TEXTS:
	case VALUE_CHANGES:
		break;
	}
	return say_text(sb, event_text(event, (enum field)field));
}

/* An event as a phrase about its actor. */
void
explain_step(struct strbuf *sb, const struct event_view *event)
{
	const uint8_t kind = event->record->kind;
	const char *sentence = report_sentences[kind].story;

	if (sentence != NULL)
		report_say(sb, sentence, explain_value, event);
	else
		strbuf_adds(sb, report_names[kind]);
}
