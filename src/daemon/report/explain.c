/* SPDX-License-Identifier: ISC */
/* explain.c - the story of an actor's last failure: the events that belong to it. */
#include "config.h"

#include "daemon/report/explain.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/report/report.h"
#include "daemon/report/view.h"
#include "daemon/state/actors.h"
#include "os/self/clock.h"

struct story {
	const struct reporter *reporter;
	const char *path;
	uint64_t failure_seq;      /* 0: the stream does not know of a failure */
	struct event_view gave_up; /* record NULL: no supervisor gave up before it */
	struct explained explained;
};

static bool
is_kind(const struct event_view *event, enum report kind)
{
	return event->record != NULL && event->record->kind == kind;
}

/* True if the directive restarted or stopped a supervisor above the actor. */
static bool
is_below_scope(const struct event_view *failure, const char *path)
{
	const char *directive = event_text(failure, FIELD_DIRECTIVE);
	const char *member = NULL;

	if (strcmp(directive, "restart") != 0 && strcmp(directive, "stop") != 0)
		return false;
	while ((member = event_next(failure, FIELD_SCOPE, member)) != NULL)
		if (explain_is_above(member, path))
			return true;
	return false;
}

static bool
concerns(const struct event_view *failure, const char *path)
{
	const char *member = NULL;

	if (strcmp(failure->path, path) == 0 ||
	    strcmp(event_text(failure, FIELD_ORIGIN), path) == 0)
		return true;
	while ((member = event_next(failure, FIELD_SCOPE, member)) != NULL)
		if (strcmp(member, path) == 0)
			return true;
	return is_below_scope(failure, path);
}

/* The last failure that concerns the actor: its own, one of its group, or one for which a
 * supervisor above was restarted or stopped. */
static void
find_failure(struct story *story)
{
	const struct events *events = story->reporter->events;
	struct event_view event;

	for (uint64_t seq = events->next_seq; seq-- > events->first_seq;) {
		if (events_view(events, seq, &event) && is_kind(&event, REPORT_FAILURE) &&
		    concerns(&event, story->path)) {
			story->explained.failure = event;
			story->failure_seq = seq;
			return;
		}
	}
}

/* The newest end of an actor that this actor watches, unless this actor failed later. */
static void
find_told(struct story *story)
{
	const struct events *events = story->reporter->events;
	struct event_view event;

	for (uint64_t seq = events->next_seq; seq-- > events->first_seq;) {
		if (seq <= story->failure_seq)
			return;
		if (events_view(events, seq, &event) &&
		    is_kind(&event, REPORT_TERMINATED) &&
		    strcmp(event_text(&event, FIELD_WATCHER), story->path) == 0 &&
		    event_flag(&event, FIELD_CONFIRMED)) {
			story->explained.told = event;
			return;
		}
	}
}

/* The command that sent the signal of which a process of `path` died, as the event of
 * this number tells, a failure or a normal end.
 */
static void
find_signal(struct story *story, uint64_t seq, const char *path)
{
	const struct events *events = story->reporter->events;
	struct event_view event;
	struct cause cause;
	const char *about;

	if (!events_view(events, seq, &event) || !event_cause(&event, &cause, &about) ||
	    cause.signal == 0)
		return;
	while (seq-- > events->first_seq) {
		if (!events_view(events, seq, &event) || strcmp(event.path, path) != 0)
			continue;
		if (is_kind(&event, REPORT_STARTED))
			return;
		if (event.record->kind == NOTICE_COMMAND &&
		    signal_parse(event_text(&event, FIELD_SIGNAL)) == cause.signal) {
			story->explained.signal = event;
			return;
		}
	}
}

/* The last event since the failure that tells what was done to the actor. */
static void
find_change(struct story *story)
{
	const struct events *events = story->reporter->events;
	struct event_view event;

	for (uint64_t seq = events->next_seq;
	     seq-- > events->first_seq && seq > story->failure_seq;) {
		if (events_view(events, seq, &event) &&
		    explain_is_change(events, seq, &event, story->path)) {
			story->explained.change = event;
			if (is_kind(&event, REPORT_EXITED))
				find_signal(story, seq, story->path);
			return;
		}
	}
}

/* The newest event of this kind and path before `seq`, or 0.  An exit counts only if the
 * actor has neither started nor failed since: else it belongs to an older failure. */
static uint64_t
find_before(const struct story *story, uint64_t seq, enum report kind, const char *path)
{
	const struct events *events = story->reporter->events;
	struct event_view event;

	while (seq-- > events->first_seq) {
		if (!events_view(events, seq, &event) || strcmp(event.path, path) != 0)
			continue;
		if (is_kind(&event, kind))
			return seq;
		if (is_kind(&event, REPORT_FAILURE) || is_kind(&event, REPORT_STARTED))
			break;
	}
	return 0;
}

/* Where the story begins: the exit that was the failure, or the hook that failed first,
 * if there was one; of a supervisor that gave up, the failure of the child that was one
 * too many. */
static uint64_t
find_beginning(struct story *story)
{
	const char *origin = event_text(&story->explained.failure, FIELD_ORIGIN);
	uint64_t seq = story->failure_seq;
	uint64_t gave_up = find_before(story, seq, REPORT_GAVE_UP, origin);
	uint64_t found;

	if (events_view(story->reporter->events, gave_up, &story->gave_up)) {
		origin = event_text(&story->gave_up, FIELD_OFFENDER);
		found = find_before(story, gave_up, REPORT_FAILURE, origin);
		seq = found > 0 ? found : gave_up;
	}
	found = find_before(story, seq, REPORT_EXITED, origin);
	uint64_t hook = find_before(story, seq, REPORT_HOOK_FAILED, origin);
	if (hook > 0 && (found == 0 || hook < found))
		return hook;
	return found > 0 ? found : seq;
}

/* True if this event belongs to the story. */
static bool
belongs(const struct story *story, uint64_t seq, const struct event_view *event)
{
	const struct event_view *failure = &story->explained.failure;

	if (seq == story->failure_seq ||
	    strcmp(event->path, event_text(failure, FIELD_ORIGIN)) == 0 ||
	    strcmp(event->path, failure->path) == 0)
		return true;
	if (seq < story->failure_seq && story->gave_up.record != NULL &&
	    strcmp(event->path, event_text(&story->gave_up, FIELD_OFFENDER)) == 0)
		return true;
	return event_mentions(event, story->path);
}

static void
collect_chain(struct story *story)
{
	const uint64_t end = story->reporter->events->next_seq;
	struct event_view *chain = story->explained.chain;
	size_t n = 0;

	for (uint64_t seq = find_beginning(story); seq < end; seq++) {
		struct event_view event;

		if (!events_view(story->reporter->events, seq, &event) ||
		    !belongs(story, seq, &event))
			continue;
		if (n == EXPLAIN_STEPS_MAX) {
			/* Of a long story the end matters more than the middle. */
			memmove(&chain[EXPLAIN_STEPS_MAX / 2],
			        &chain[EXPLAIN_STEPS_MAX / 2 + 1],
			        (EXPLAIN_STEPS_MAX / 2 - 1) * sizeof(chain[0]));
			n--;
		}
		chain[n++] = event;
		/* Up again: what happens later is another story. */
		if (seq > story->failure_seq && is_kind(&event, REPORT_READY) &&
		    strcmp(event.path, story->path) == 0)
			break;
	}
	story->explained.n_chain = n;
}

static void
add_step(struct strbuf *out, const struct event_view *event)
{
	char time[CLOCK_TEXT_MAX];

	CLEANUP(strbuf_done) struct strbuf text = STRBUF(EVENT_BYTES_MAX);
	explain_step(&text, event);
	strbuf_addf(out, "{\"at\":\"%s\",\"event\":\"%s\",\"path\":",
	            clock_format(event->record->wall_us, 6, time),
	            report_names[event->record->kind]);
	strbuf_add_json(out, event->path);
	strbuf_adds(out, ",\"text\":");
	strbuf_add_json(out, strbuf_str(&text));
	strbuf_addc(out, '}');
}

/* What the process wrote before it failed; none where that is not known. */
static void
add_last_words(struct strbuf *out, const struct event_view *failure)
{
	const char *line = NULL, *comma = "";

	strbuf_addc(out, '[');
	while ((line = event_next(failure, FIELD_LAST_WORDS, line)) != NULL) {
		strbuf_adds(out, comma);
		strbuf_add_json(out, line);
		comma = ",";
	}
	strbuf_addc(out, ']');
}

void
explain_json(struct strbuf *out, const struct reporter *reporter, struct ref ref,
             const struct event_view *gone)
{
	struct story story = {
	    .reporter = reporter,
	    .path = ref_is_none(ref) ? gone->path : actors_path(reporter->actors, ref),
	    .explained.gone = *gone,
	};
	const struct explained *explained = &story.explained;

	find_failure(&story);
	if (story.failure_seq != 0)
		collect_chain(&story);
	find_told(&story);
	find_change(&story);
	if (story.failure_seq != 0 && !explain_is_end(&explained->change))
		find_signal(&story, story.failure_seq,
		            event_text(&explained->failure, FIELD_ORIGIN));
	CLEANUP(strbuf_done) struct strbuf text = STRBUF(4 * EVENT_BYTES_MAX);
	explain_text(&text, reporter, ref, explained);
	strbuf_adds(out, "{\"path\":");
	strbuf_add_json(out, story.path);
	strbuf_adds(out, ",\"chain\":[");
	for (size_t i = 0; i < explained->n_chain; i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		add_step(out, &explained->chain[i]);
	}
	strbuf_adds(out, "],\"last_words\":");
	add_last_words(out, &explained->failure);
	strbuf_adds(out, ",\"text\":");
	strbuf_add_json(out, strbuf_str(&text));
	strbuf_addc(out, '}');
}
