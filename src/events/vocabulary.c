/* SPDX-License-Identifier: ISC */
/* vocabulary.c - the vocabulary of the event stream. */
#include "config.h"

#include "events/vocabulary.h"

#include <string.h>

#include "base/assert.h"

#define NAME_MAX_LEN 32

#define FIELD_AS_NAME(symbol, name, type) [symbol] = (name),
#define FIELD_AS_TYPE(symbol, name, type) [symbol] = (type),

const char *const report_names[NOTICE_MAX] = {REPORT_MAP(AS_NAME) NOTICE_MAP(AS_NAME)};
const char *const field_names[FIELD_MAX] = {FIELD_MAP(FIELD_AS_NAME)};

/* In the form of report_say(). */
const struct report_sentences report_sentences[NOTICE_MAX] = {
    [REPORT_STARTED] = {"[, pid {pid}][, after {shortages} starts for which the machine "
                        "had no room]",
                        "started[ as process {pid}]",
                        "[pid {pid}][, after {shortages} starts without room]"},
    [REPORT_READY] = {"", "ready", ""},
    [REPORT_EXITED] = {": {cause}", "{cause}", "{cause}[; cpu {cpu}][, memory {memory}]"},
    [REPORT_FAILURE] = {": {cause}[ ({blame})][ in {elsewhere}]; {directive}"
                        "[ of its group ({group})][ in {pause}], by {rule}"
                        "[ ({overruled})][; {window} of {limit} restarts]",
                        "failed ({cause}): {directive}, decided by {rule}"
                        "[ ({overruled})]",
                        "{cause}[ in {failed_step}][, began in {elsewhere}] {arrow} "
                        "{directive}[ with {others}][ in {pause}] ({rule}"
                        "[ ({overruled})][, {window}{limits}])"},
    [REPORT_BACKOFF] = {": next start in {delay_ms}",
                        "waits {delay_ms} before it starts again",
                        "[start in {delay_ms}]"},
    [REPORT_STOPPING] = {"", "is being stopped", ""},
    [REPORT_STOPPED] = {"", "is gone", ""},
    [REPORT_KILLED_AFTER_TIMEOUT] = {"[: it did not stop within {within}]",
                                     "did not stop[ within {within}] and was killed",
                                     "did not stop in time[, {within}], killed"},
    [REPORT_UNKILLABLE] = {": it {text}", "{text}", "{text}"},
    [REPORT_TERMINATED] = {"[, told to {watcher}: {reaction}]",
                           "ended for good ({cause|failed})",
                           "ended for good[, told to {watcher}][: {cause}]"},
    [REPORT_GAVE_UP] = {": more than {intensity} restarts within {within}, the last of "
                        "{offender}",
                        "gave up: one more restart would be more than {intensity} within "
                        "{within}, the last to fail was {offender}",
                        "[more than {restarts}][ within {within}][ within {within_ms}]"
                        "[, the last of {offender}]"},
    [REPORT_ESCALATED] = {NULL, "passed the failure on to {to}[, decided by {rule}]",
                          "[to {to}: ]{cause}[, began in {elsewhere}][ ({rule}"
                          "[ ({overruled})])]"},
    [REPORT_HOOK_FAILED] = {": {hook}: [{timed_out}timed out, ]{cause}",
                            "{hook} failed ([{timed_out}timed out, ]{cause})", NULL},
    [REPORT_SUSPENDED] = {"", NULL, NULL},
    [REPORT_SHORTAGE] = {": {cause}; the machine has no room for it now, the start is "
                         "tried again until there is room",
                         "{cause}", "{cause}; tried again until there is room"},
    [REPORT_RESUMED] = {"", NULL, NULL},
    [NOTICE_COMMAND] = {": {verb}[ {signal}] by user {uid}, pid {pid}[ ({program})]",
                        "command {verb}[ {signal}] of user {uid} (process {pid})",
                        "{verb}[ {signal}][ by {user}][, pid {pid}][ ({program})]"},
    [NOTICE_APPLIED] = {NULL, NULL, "{plan}"},
    [NOTICE_ADOPTED] = {", pid {pid}", NULL, "[pid {pid}]"},
    [NOTICE_SUPD] = {NULL, NULL,
                     "{what}[ ({after})][ from {from}][ to {to}]"
                     "[, no guardian for {outage_ms}][, {processes}]"},
};

/* What the values of a field are. */
enum value_type
field_type(enum field field)
{
	static const enum value_type types[FIELD_MAX] = {FIELD_MAP(FIELD_AS_TYPE)};

	return types[field];
}

struct teller {
	struct strbuf *sb;
	report_value *value;
	const void *user;
};

/* What stands in braces, from behind the brace to behind the other; false: no value. */
static bool
say_value(const struct teller *teller, const char **at)
{
	const size_t len = strcspn(*at, "|}");
	char name[NAME_MAX_LEN];
	const char *instead = NULL;

	ASSERT(len < sizeof(name));
	memcpy(name, *at, len);
	name[len] = '\0';
	*at += len;
	if (**at == '|')
		instead = ++*at;
	bool said = teller->value(teller->user, teller->sb, name);
	*at += strcspn(*at, "}");
	if (!said && instead != NULL)
		strbuf_add(teller->sb, instead, (size_t)(*at - instead));
	++*at;
	return said || instead != NULL;
}

/* What goes up to the end, or to behind the closing bracket; false: a value is missing.
 */
static bool
say_part(const struct teller *teller, const char **at)
{
	bool whole = true;

	while (**at != '\0') {
		const size_t len = strcspn(*at, "[]{");

		strbuf_add(teller->sb, *at, len);
		size_t mark = teller->sb->len;
		*at += len;
		if (**at == '\0')
			break;
		switch (*(*at)++) {
		case ']':
			return whole;
		case '{':
			whole &= say_value(teller, at);
			break;
		default:
			if (!say_part(teller, at))
				strbuf_truncate(teller->sb, mark);
			break;
		}
	}
	return whole;
}

/*
 * Append a sentence.  {name} is the value of that name, or what follows a |; a part in
 * brackets is left out where a value in it is missing.
 */
void
report_say(struct strbuf *sb, const char *sentence, report_value *value, const void *user)
{
	const struct teller teller = {.sb = sb, .value = value, .user = user};

	(void)say_part(&teller, &sentence);
}

/* What overruled the rule; NULL: nothing, or no rule had part in it. */
const char *
report_overruled_by(const char *rule, const char *reason)
{
	const bool by_rule =
	    strcmp(reason, "rule") == 0 || strcmp(reason, "on_failure") == 0;

	return by_rule || reason[0] == '\0' || strcmp(rule, reason) == 0 ? NULL : reason;
}
