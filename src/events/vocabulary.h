/* SPDX-License-Identifier: ISC */
/* vocabulary.h - the kinds of events of the stream, their fields, and what
 * is said of them.
 *
 * The names are those of doc/CONTROL.md.  A ring of events outlives the process that
 * wrote it: LEDGER_VERSION is raised when a kind, a field or a type changes its number.
 */
#ifndef EVENTS_VOCABULARY_H
#define EVENTS_VOCABULARY_H

#include "base/names.h"
#include "base/strbuf.h"

/* The kinds that the core knows of. */
#define REPORT_MAP(X)                                          \
	X(REPORT_STARTED, "started")                           \
	X(REPORT_READY, "ready")                               \
	X(REPORT_EXITED, "exited")                             \
	X(REPORT_FAILURE, "failure")                           \
	X(REPORT_BACKOFF, "backoff")                           \
	X(REPORT_STOPPING, "stopping")                         \
	X(REPORT_STOPPED, "stopped")                           \
	X(REPORT_KILLED_AFTER_TIMEOUT, "killed_after_timeout") \
	X(REPORT_UNKILLABLE, "unkillable")                     \
	X(REPORT_TERMINATED, "terminated")                     \
	X(REPORT_GAVE_UP, "gave_up")                           \
	X(REPORT_ESCALATED, "escalated")                       \
	X(REPORT_HOOK_FAILED, "hook_failed")                   \
	X(REPORT_SUSPENDED, "suspended")                       \
	X(REPORT_SHORTAGE, "shortage")                         \
	X(REPORT_RESUMED, "resumed")
enum report { REPORT_MAP(AS_ENUM) REPORT_MAX };

/* The kinds that only supd around it knows of; they are numbered on. */
#define NOTICE_MAP(X)                                  \
	X(NOTICE_DEAD_LETTER, "dead_letter")           \
	X(NOTICE_OUTPUT_BLOCKED, "output_blocked")     \
	X(NOTICE_OUTPUT_UNBLOCKED, "output_unblocked") \
	X(NOTICE_COMMAND, "command")                   \
	X(NOTICE_APPLIED, "applied")                   \
	X(NOTICE_ADOPTED, "adopted")                   \
	X(NOTICE_SUPD, "supd")
enum notice { NOTICE_FIRST = REPORT_MAX - 1, NOTICE_MAP(AS_ENUM) NOTICE_MAX };

/* What the value of a field is. */
enum value_type {
	VALUE_NUMBER,  /* or null */
	VALUE_FLAG,    /* true or false */
	VALUE_TEXT,    /* what is not UTF-8 in it is told as U+FFFD */
	VALUE_CAUSE,   /* an object of type Cause */
	VALUE_TEXTS,   /* an array of texts */
	VALUE_CHANGES, /* an array of objects with path and change */
};

/* The fields that an event may have besides those that all events have. */
#define FIELD_MAP(X)                                          \
	X(FIELD_PID, "pid", VALUE_NUMBER)                     \
	X(FIELD_SHORTAGES, "shortages", VALUE_NUMBER)         \
	X(FIELD_DELAY, "delay_ms", VALUE_NUMBER)              \
	X(FIELD_UTIME, "utime_us", VALUE_NUMBER)              \
	X(FIELD_STIME, "stime_us", VALUE_NUMBER)              \
	X(FIELD_MAXRSS, "maxrss_kib", VALUE_NUMBER)           \
	X(FIELD_WINDOW, "window", VALUE_NUMBER)               \
	X(FIELD_LIMIT, "limit", VALUE_NUMBER)                 \
	X(FIELD_INTENSITY, "intensity", VALUE_NUMBER)         \
	X(FIELD_WITHIN, "within", VALUE_NUMBER)               \
	X(FIELD_OUTAGE, "outage_ms", VALUE_NUMBER)            \
	X(FIELD_PROCESSES, "processes", VALUE_NUMBER)         \
	X(FIELD_COUNT, "count", VALUE_NUMBER)                 \
	X(FIELD_LOST, "lost", VALUE_NUMBER)                   \
	X(FIELD_UID, "uid", VALUE_NUMBER)                     \
	X(FIELD_TIMED_OUT, "timed_out", VALUE_FLAG)           \
	X(FIELD_CONFIRMED, "existence_confirmed", VALUE_FLAG) \
	X(FIELD_LEFT, "left_processes", VALUE_FLAG)           \
	X(FIELD_CHILD_FAILED, "child_failed", VALUE_FLAG)     \
	X(FIELD_CAUSE, "cause", VALUE_CAUSE)                  \
	X(FIELD_ORIGIN, "origin", VALUE_TEXT)                 \
	X(FIELD_DIRECTIVE, "directive", VALUE_TEXT)           \
	X(FIELD_RULE, "rule", VALUE_TEXT)                     \
	X(FIELD_REASON, "reason", VALUE_TEXT)                 \
	X(FIELD_STRATEGY, "strategy", VALUE_TEXT)             \
	X(FIELD_STEP, "step", VALUE_TEXT)                     \
	X(FIELD_OFFENDER, "offender", VALUE_TEXT)             \
	X(FIELD_TO, "to", VALUE_TEXT)                         \
	X(FIELD_FROM, "from", VALUE_TEXT)                     \
	X(FIELD_AFTER, "after", VALUE_TEXT)                   \
	X(FIELD_WHAT, "what", VALUE_TEXT)                     \
	X(FIELD_HOOK, "hook", VALUE_TEXT)                     \
	X(FIELD_WATCHER, "watcher", VALUE_TEXT)               \
	X(FIELD_REACTION, "reaction", VALUE_TEXT)             \
	X(FIELD_TEXT, "text", VALUE_TEXT)                     \
	X(FIELD_VERB, "verb", VALUE_TEXT)                     \
	X(FIELD_PROGRAM, "program", VALUE_TEXT)               \
	X(FIELD_SIGNAL, "signal", VALUE_TEXT)                 \
	X(FIELD_SOCKET, "socket", VALUE_TEXT)                 \
	X(FIELD_FILE, "file", VALUE_TEXT)                     \
	X(FIELD_SCOPE, "scope", VALUE_TEXTS)                  \
	X(FIELD_LAST_WORDS, "last_words", VALUE_TEXTS)        \
	X(FIELD_PLAN, "plan", VALUE_CHANGES)
#define FIELD_AS_ENUM(symbol, name, type) symbol,
enum field { FIELD_MAP(FIELD_AS_ENUM) FIELD_MAX };

/* By enum report and enum notice. */
extern const char *const report_names[NOTICE_MAX];
extern const char *const field_names[FIELD_MAX];

/* What is said of an event of this kind; NULL: nothing of its own. */
struct report_sentences {
	const char *log;   /* in supd's log, behind "PATH: KIND" */
	const char *story; /* a step of what Explain returns, about its actor */
	const char *line;  /* by supctl events, behind path and kind */
};
extern const struct report_sentences report_sentences[NOTICE_MAX];

/* Append the value of the field of that name; false: the event has no such field. */
typedef bool report_value(const void *user, struct strbuf *sb, const char *name);

/* What the values of a field are. */
enum value_type field_type(enum field field);
void report_say(struct strbuf *sb, const char *sentence, report_value *value,
                const void *user);
const char *report_overruled_by(const char *rule, const char *reason);

#endif
