/* SPDX-License-Identifier: ISC */
/* phrase.c - an event of the stream, said in words. */
#include "config.h"

#include "ctl/text/phrase.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "ctl/wire/print.h"

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

static void
add(const struct phrase *phrase, const char *text)
{
	print_text(phrase->sb, text, strlen(text));
}

static void
add_field(const struct phrase *phrase, const char *before, const char *key,
          const char *after)
{
	const char *text = phrase_text(phrase->event, key);

	if (text[0] == '\0')
		return;
	strbuf_adds(phrase->sb, before);
	add(phrase, text);
	strbuf_adds(phrase->sb, after);
}

/* A number of milliseconds as a duration. */
static void
add_delay(const struct phrase *phrase, const char *before, const char *key)
{
	int64_t ms = phrase_number(phrase->event, key);

	if (ms < 0)
		return;
	strbuf_adds(phrase->sb, before);
	print_age(phrase->sb, (uint64_t)ms);
}

static void
add_cause(const struct phrase *phrase)
{
	const json_t *cause = json_object_get(phrase->event, "cause");

	add(phrase, phrase_text(cause, "text"));
}

static void
say_started(const struct phrase *phrase)
{
	int64_t pid = phrase_number(phrase->event, "pid");
	int64_t shortages = phrase_number(phrase->event, "shortages");

	/* A supervisor has none of its own. */
	if (pid > 0)
		strbuf_addf(phrase->sb, "pid %lld", (long long)pid);
	if (shortages > 0)
		strbuf_addf(phrase->sb, ", after %lld starts without room",
		            (long long)shortages);
}

static void
say_exited(const struct phrase *phrase)
{
	int64_t user_us = phrase_number(phrase->event, "utime_us");
	int64_t system_us = phrase_number(phrase->event, "stime_us");
	int64_t kib = phrase_number(phrase->event, "maxrss_kib");

	add_cause(phrase);
	if (user_us < 0 || system_us < 0 || kib < 0)
		return;
	strbuf_adds(phrase->sb, "; cpu ");
	print_age(phrase->sb, (uint64_t)(user_us / 1000 + system_us / 1000));
	strbuf_adds(phrase->sb, ", memory ");
	print_bytes(phrase->sb, (uint64_t)kib * 1024);
}

/* "with b, c": the siblings that a strategy stops together with the failed actor. */
static void
add_scope(const struct phrase *phrase)
{
	const json_t *scope = json_object_get(phrase->event, "scope");
	const char *path = phrase_text(phrase->event, "path");
	const char *separator = " with ";
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
}

/* "2 of 5 within 1m", or "2 counted" where the bound is not told. */
static void
add_window(const struct phrase *phrase)
{
	int64_t window = phrase_number(phrase->event, "window");
	int64_t limit = phrase_number(phrase->event, "limit");

	if (window <= 0)
		return;
	strbuf_addf(phrase->sb, ", %lld", (long long)window);
	if (limit < 0) {
		strbuf_adds(phrase->sb, " counted");
		return;
	}
	strbuf_addf(phrase->sb, " of %lld", (long long)limit);
	add_delay(phrase, " within ", "within_ms");
	add_field(phrase, " within ", "within", "");
}

static void
say_failure(const struct phrase *phrase)
{
	const char *origin = phrase_text(phrase->event, "origin");
	const char *step = phrase_text(phrase->event, "step");
	const char *rule = phrase_text(phrase->event, "rule");
	const char *reason = phrase_text(phrase->event, "reason");

	add_cause(phrase);
	/* What went wrong before the program was executed, such as chdir. */
	if (step[0] != '\0' && strcmp(step, "exec") != 0)
		add_field(phrase, " in ", "step", "");
	if (strcmp(origin, phrase_text(phrase->event, "path")) != 0)
		add_field(phrase, ", began in ", "origin", "");
	strbuf_adds(phrase->sb, phrase->utf8 ? " \xe2\x86\x92 " : " -> ");
	add(phrase, phrase_text(phrase->event, "directive"));
	add_scope(phrase);
	if (phrase_number(phrase->event, "delay_ms") > 0)
		add_delay(phrase, " in ", "delay_ms");
	strbuf_adds(phrase->sb, " (");
	add(phrase, rule);
	/* The reason that overruled the rule, or that no rule had a part in the decision.
	 */
	if (reason[0] != '\0' && strcmp(reason, "rule") != 0 &&
	    strcmp(reason, "on_failure") != 0 && strcmp(reason, rule) != 0)
		add_field(phrase, " (", "reason", ")");
	add_window(phrase);
	strbuf_addc(phrase->sb, ')');
}

static void
say_shortage(const struct phrase *phrase)
{
	add_cause(phrase);
	strbuf_adds(phrase->sb, "; tried again until there is room");
}

static void
say_backoff(const struct phrase *phrase)
{
	add_delay(phrase, "start in ", "delay_ms");
}

static void
say_killed_after_timeout(const struct phrase *phrase)
{
	strbuf_adds(phrase->sb, "did not stop in time, killed");
}

static void
say_unkillable(const struct phrase *phrase)
{
	strbuf_adds(phrase->sb, phrase_text(phrase->event, "text"));
}

static void
say_terminated(const struct phrase *phrase)
{
	const json_t *cause = json_object_get(phrase->event, "cause");
	const char *watcher = phrase_text(phrase->event, "watcher");

	strbuf_adds(phrase->sb, "ended for good");
	if (watcher[0] != '\0')
		strbuf_addf(phrase->sb, ", told to %s", watcher);
	if (phrase_text(cause, "text")[0] == '\0')
		return;
	strbuf_adds(phrase->sb, ": ");
	add_cause(phrase);
}

static void
say_gave_up(const struct phrase *phrase)
{
	int64_t intensity = phrase_number(phrase->event, "intensity");

	if (intensity >= 0)
		strbuf_addf(phrase->sb, "more than %lld restart%s", (long long)intensity,
		            intensity == 1 ? "" : "s");
	add_delay(phrase, " within ", "within");
	add_delay(phrase, " within ", "within_ms");
	add_field(phrase, " within ", "within", "");
	add_field(phrase, ", the last of ", "offender", "");
}

static void
say_escalated(const struct phrase *phrase)
{
	add_field(phrase, "to ", "to", ": ");
	add_cause(phrase);
	if (strcmp(phrase_text(phrase->event, "origin"),
	           phrase_text(phrase->event, "path")) != 0)
		add_field(phrase, ", began in ", "origin", "");
}

static void
say_command(const struct phrase *phrase)
{
	int64_t uid = phrase_number(phrase->event, "uid");
	int64_t pid = phrase_number(phrase->event, "pid");

	add(phrase, phrase_text(phrase->event, "verb"));
	if (uid >= 0)
		strbuf_addf(phrase->sb, " by uid %lld", (long long)uid);
	if (pid > 0)
		strbuf_addf(phrase->sb, ", pid %lld", (long long)pid);
}

/* How many actors of a plan are in for what: "2 updated, 1 added, 12 unchanged". */
void
phrase_print_plan(struct strbuf *sb, const json_t *plan)
{
	static const char *const kinds[] = {"updated", "restarted", "added", "removed",
	                                    "unchanged"};
	size_t counts[ARRAY_SIZE(kinds)] = {0};
	const char *separator = "";
	const json_t *change;
	size_t i;

	json_array_foreach(plan, i, change)
	{
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
			counts[k] += strcmp(phrase_text(change, "change"), kinds[k]) == 0;
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (counts[k] == 0)
			continue;
		strbuf_addf(sb, "%s%zu %s", separator, counts[k], kinds[k]);
		separator = ", ";
	}
	if (separator[0] == '\0')
		strbuf_adds(sb, "nothing to do");
}

static void
say_applied(const struct phrase *phrase)
{
	phrase_print_plan(phrase->sb, json_object_get(phrase->event, "plan"));
}

/* What happened to supd itself, in words; what has none as it is. */
static void
say_supd(const struct phrase *phrase)
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
	const char *after = phrase_text(phrase->event, "after");
	int64_t processes = phrase_number(phrase->event, "processes");

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(known[i].what, what) == 0)
			what = known[i].words;
	if (after[0] != '\0' && strcmp(what, "started") == 0)
		what = "took over after a crash";
	add(phrase, what);
	add_field(phrase, " (", "after", ")");
	add_field(phrase, " from ", "from", "");
	add_field(phrase, " to ", "to", "");
	add_delay(phrase, ", no guardian for ", "outage_ms");
	if (processes >= 0)
		strbuf_addf(phrase->sb, ", %lld process%s", (long long)processes,
		            processes == 1 ? "" : "es");
}

/* Is it a member that every event has, and that is printed elsewhere? */
static bool
is_common(const char *key)
{
	static const char *const common[] = {"seq",  "time",        "mono",      "event",
	                                     "path", "incarnation", "generation"};

	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (strcmp(key, common[i]) == 0)
			return true;
	return false;
}

/* An event that is not known here: its own fields as they are; strings speak alone. */
static void
say_fields(const struct phrase *phrase)
{
	const char *separator = "";
	/* jansson's iterators want to write; nothing is written here. */
	json_t *event = json_incref((json_t *)(uintptr_t)phrase->event);
	json_t *value;
	const char *key;

	json_object_foreach(event, key, value)
	{
		char *text;

		if (is_common(key))
			continue;
		strbuf_adds(phrase->sb, separator);
		separator = ", ";
		if (json_is_string(value)) {
			add(phrase, json_string_value(value));
			continue;
		}
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		add(phrase, key);
		strbuf_addc(phrase->sb, '=');
		add(phrase, text != NULL ? text : "?");
		free(text);
	}
	json_decref(event);
}

static void
say_nothing(const struct phrase *phrase)
{
	(void)phrase;
}

static const struct {
	const char *event;
	void (*say)(const struct phrase *phrase);
} phrases[] = {
    {"started", say_started},
    {"ready", say_nothing},
    {"exited", say_exited},
    {"failure", say_failure},
    {"shortage", say_shortage},
    {"backoff", say_backoff},
    {"stopping", say_nothing},
    {"stopped", say_nothing},
    {"killed_after_timeout", say_killed_after_timeout},
    {"unkillable", say_unkillable},
    {"terminated", say_terminated},
    {"gave_up", say_gave_up},
    {"escalated", say_escalated},
    {"command", say_command},
    {"applied", say_applied},
    {"adopted", say_started},
    {"supd", say_supd},
};

/* Say what happened, on one line, without time, path and name of the event. */
void
phrase_print(struct strbuf *sb, const json_t *event, bool utf8)
{
	struct phrase phrase = {.sb = sb, .event = event, .utf8 = utf8};
	const char *name = phrase_text(event, "event");

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		if (strcmp(phrases[i].event, name) == 0) {
			phrases[i].say(&phrase);
			return;
		}
	}
	say_fields(&phrase);
}
