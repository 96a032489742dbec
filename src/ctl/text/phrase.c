/* SPDX-License-Identifier: ISC */
/* phrase.c - an event of the stream, said in words. */
#include "config.h"

#include "ctl/text/phrase.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/wire/print.h"
#include "events/vocabulary.h"

struct phrase {
	struct strbuf *sb;
	const json_t *event;
	bool utf8;
};

/* A string of an object, "" where there is none. */
const char *
phrase_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* A number of an object, -1 where there is none. */
int64_t
phrase_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static report_value say_value;

static void
add(const struct phrase *phrase, const char *text)
{
	print_text(phrase->sb, text, strlen(text));
}

/* A text; false: it is empty. */
static bool
say_text(const struct phrase *phrase, const char *text)
{
	add(phrase, text);
	return text[0] != '\0';
}

static bool
say_cause(const struct phrase *phrase)
{
	return say_text(phrase,
	                phrase_text(json_object_get(phrase->event, "cause"), "text"));
}

static bool
say_cpu(const struct phrase *phrase)
{
	int64_t user_us = phrase_number(phrase->event, "utime_us");
	int64_t system_us = phrase_number(phrase->event, "stime_us");

	if (user_us < 0 || system_us < 0)
		return false;
	print_age(phrase->sb, (uint64_t)(user_us / 1000 + system_us / 1000));
	return true;
}

static bool
say_memory(const struct phrase *phrase)
{
	int64_t kib = phrase_number(phrase->event, "maxrss_kib");

	if (kib >= 0)
		print_bytes(phrase->sb, (uint64_t)kib * 1024);
	return kib >= 0;
}

/* Append the siblings that a strategy stops together with the failed actor, "b, c";
 * false: none. */
static bool
say_others(const struct phrase *phrase)
{
	const json_t *scope = json_object_get(phrase->event, "scope");
	const char *path = phrase_text(phrase->event, "path");
	const char *separator = "";
	const json_t *other;
	size_t i;

	json_array_foreach(scope, i, other)
	{
		const char *text = json_string_value(other);

		if (text == NULL || strcmp(text, path) == 0)
			continue;
		strbuf_adds(phrase->sb, separator);
		add(phrase, text);
		separator = ", ";
	}
	return separator[0] != '\0';
}

/* Append " of 5 within 1m", or " counted" where the event does not tell the bound. */
static bool
say_limits(const struct phrase *phrase)
{
	if (phrase_number(phrase->event, "limit") < 0)
		strbuf_adds(phrase->sb, " counted");
	else
		report_say(phrase->sb,
		           " of {limit}[ within {within_ms}][ within {within}]",
		           say_value, phrase);
	return true;
}

static bool
say_arrow(const struct phrase *phrase)
{
	strbuf_adds(phrase->sb, phrase->utf8 ? "\xe2\x86\x92" : "->");
	return true;
}

/* Append the step that failed before the program was executed, such as chdir; false:
 * there is none. */
static bool
say_failed_step(const struct phrase *phrase)
{
	const char *step = phrase_text(phrase->event, "step");

	return strcmp(step, "exec") != 0 && say_text(phrase, step);
}

static bool
say_elsewhere(const struct phrase *phrase)
{
	const char *origin = phrase_text(phrase->event, "origin");

	return strcmp(origin, phrase_text(phrase->event, "path")) != 0 &&
	       say_text(phrase, origin);
}

static bool
say_pause(const struct phrase *phrase)
{
	return phrase_number(phrase->event, "delay_ms") > 0 &&
	       say_value(phrase, phrase->sb, "delay_ms");
}

static bool
say_overruled(const struct phrase *phrase)
{
	const char *reason = report_overruled_by(phrase_text(phrase->event, "rule"),
	                                         phrase_text(phrase->event, "reason"));

	return reason != NULL && say_text(phrase, reason);
}

static bool
say_count(const struct phrase *phrase, const char *key, const char *one, const char *more)
{
	int64_t number = phrase_number(phrase->event, key);

	if (number >= 0)
		strbuf_addf(phrase->sb, "%lld %s", (long long)number,
		            number == 1 ? one : more);
	return number >= 0;
}

static bool
say_restarts(const struct phrase *phrase)
{
	return say_count(phrase, "intensity", "restart", "restarts");
}

static bool
say_processes(const struct phrase *phrase)
{
	return say_count(phrase, "processes", "process", "processes");
}

/* Append "root (uid 0)"; false: the event has no user. supctl looks the name up, as that
 * may take long. */
static bool
say_user(const struct phrase *phrase)
{
	const int64_t uid = phrase_number(phrase->event, "uid");
	const struct passwd *user = uid >= 0 ? getpwuid((uid_t)uid) : NULL;

	if (uid < 0)
		return false;
	if (user != NULL)
		add(phrase, user->pw_name);
	strbuf_addf(phrase->sb, user != NULL ? " (uid %lld)" : "uid %lld",
	            (long long)uid);
	return true;
}

/* How many actors of a plan are in for what: "2 updated, 1 added, 12 unchanged". */
static bool
say_plan(const struct phrase *phrase)
{
	static const char *const kinds[] = {"updated", "restarted", "added", "removed",
	                                    "unchanged"};
	const json_t *plan = json_object_get(phrase->event, "plan");
	size_t counts[ARRAY_SIZE(kinds)] = {0};
	const char *separator = "";
	const json_t *change;
	size_t i;

	json_array_foreach(plan, i, change)
	{
		int kind =
		    names_find(kinds, ARRAY_SIZE(kinds), phrase_text(change, "change"));

		if (kind >= 0)
			counts[kind]++;
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (counts[k] == 0)
			continue;
		strbuf_addf(phrase->sb, "%s%zu %s", separator, counts[k], kinds[k]);
		separator = ", ";
	}
	if (separator[0] == '\0')
		strbuf_adds(phrase->sb, "nothing to do");
	return true;
}

/* Append what happened to supd itself, in words where there are some. */
static bool
say_what(const struct phrase *phrase)
{
	static const struct {
		const char *what, *words;
	} known[] = {
	    {"started", "started"},
	    {"upgraded", "upgraded"},
	    {"upgrade_failed", "the upgrade failed, the binary before is back"},
	    {"shutting_down", "shutting down"},
	    {"ledger_lost", "its state was lost: all actors begin anew"},
	    {"actors_killed", "all actors were killed and begin anew"},
	    {"files_lost",
	     "its runtime directory, lock or control socket was removed, and "
	     "made anew"},
	    {"leftovers_killed", "killed what a supd before had left"},
	};
	const char *what = phrase_text(phrase->event, "what");

	if (phrase_text(phrase->event, "after")[0] != '\0' &&
	    strcmp(what, "started") == 0)
		return say_text(phrase, "took over after a crash");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].what, what) == 0)
			what = known[i].words;
	return say_text(phrase, what);
}

/* An event that is not known here: its own fields as they are; strings speak alone. */
static void
say_fields(const struct phrase *phrase)
{
	/* Members of every event, which are printed elsewhere. */
	static const char *const common[] = {"seq",  "time",        "mono",      "event",
	                                     "path", "incarnation", "generation"};
	const char *separator = "";
	/* jansson's iterators want to write; nothing is written here. */
	json_auto_t *event = json_incref((json_t *)(uintptr_t)phrase->event);
	json_t *value;
	const char *key;

	json_object_foreach(event, key, value)
	{
		if (names_find(common, ARRAY_SIZE(common), key) >= 0)
			continue;
		strbuf_adds(phrase->sb, separator);
		separator = ", ";
		if (json_is_string(value)) {
			add(phrase, json_string_value(value));
			continue;
		}
		CLEANUP_FREE char *text =
		    json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		add(phrase, key);
		strbuf_addc(phrase->sb, '=');
		add(phrase, text != NULL ? text : "?");
	}
}

/* A field as it is; false: it is not there, or says nothing. */
static bool
say_field(const struct phrase *phrase, const char *name)
{
	static const char *const durations[] = {"delay_ms", "within", "within_ms",
	                                        "outage_ms"};
	static const char *const positive[] = {"pid", "shortages", "window"};
	const int64_t number = phrase_number(phrase->event, name);

	if (number < 0)
		return say_text(phrase, phrase_text(phrase->event, name));
	if (names_find(durations, ARRAY_SIZE(durations), name) >= 0) {
		print_age(phrase->sb, (uint64_t)number);
		return true;
	}
	if (number == 0 && names_find(positive, ARRAY_SIZE(positive), name) >= 0)
		return false;
	strbuf_addf(phrase->sb, "%lld", (long long)number);
	return true;
}

static bool
say_value(const void *user, struct strbuf *sb UNUSED, const char *name)
{
	static const struct {
		const char *name;
		bool (*say)(const struct phrase *phrase);
	} values[] = {
	    {"arrow", say_arrow},
	    {"cause", say_cause},
	    {"cpu", say_cpu},
	    {"elsewhere", say_elsewhere},
	    {"failed_step", say_failed_step},
	    {"limits", say_limits},
	    {"memory", say_memory},
	    {"others", say_others},
	    {"overruled", say_overruled},
	    {"pause", say_pause},
	    {"plan", say_plan},
	    {"processes", say_processes},
	    {"restarts", say_restarts},
	    {"user", say_user},
	    {"what", say_what},
	};
	const struct phrase *phrase = user;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(values[i].name, name) == 0)
			return values[i].say(phrase);
	return say_field(phrase, name);
}

/* Say what happened, on one line, without time, path and name of the event. */
void
phrase_print(struct strbuf *sb, const json_t *event, bool utf8)
{
	const struct phrase phrase = {.sb = sb, .event = event, .utf8 = utf8};
	const int kind =
	    names_find(report_names, NOTICE_MAX, phrase_text(event, "event"));

	if (kind >= 0 && report_sentences[kind].line != NULL)
		report_say(sb, report_sentences[kind].line, say_value, &phrase);
	else
		say_fields(&phrase);
}
