/* SPDX-License-Identifier: ISC */
/* explain.c - the story of an actor's last failure: the events that belong to it. */
#include "config.h"

#include "daemon/report/explain.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/report/view.h"
#include "daemon/state/shell.h"
#include "os/self/clock.h"

struct story {
	const struct shell *shell;
	struct ref ref;
	struct strbuf quoted; /* the path as it stands in an event */
	uint64_t failure_seq; /* 0: the stream does not know of a failure */
	json_t *failure;
	json_t *gave_up; /* NULL: the failure was not that of a supervisor that gave up */
	json_t *chain[EXPLAIN_STEPS_MAX];
	size_t n;
};

static bool
mentions(const char *json, size_t len, const char *text)
{
	return memmem(json, len, text, strlen(text)) != NULL;
}

static json_t *
load_event(const struct shell *shell, uint64_t seq)
{
	const char *json;
	size_t len;

	if (!events_get(&shell->events, seq, &json, &len))
		return NULL;
	return json_loadb(json, len, 0, NULL);
}

/* A text of an event; empty when it has none of that name. */
const char *
explain_field(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text != NULL ? text : "";
}

/* The last failure that concerns the actor: its own, a failure that it handled as a
 * supervisor, or a failure of a sibling with a strategy that included it. */
static void
find_failure(struct story *story)
{
	const struct events *events = &story->shell->events;

	for (uint64_t seq = events->next_seq; seq-- > events->first_seq;) {
		const char *json;
		size_t len;

		if (!events_get(events, seq, &json, &len) ||
		    !mentions(json, len, "\"event\":\"failure\"") ||
		    !mentions(json, len, strbuf_str(&story->quoted)))
			continue;
		story->failure = load_event(story->shell, seq);
		story->failure_seq = story->failure != NULL ? seq : 0;
		return;
	}
}

/* The last end of one that the actor watches, if it has not failed since. */
static json_t *
find_told(const struct story *story)
{
	const struct events *events = &story->shell->events;
	const char *watcher = shell_path(story->shell, story->ref);

	for (uint64_t seq = events->next_seq; seq-- > events->first_seq;) {
		const char *json;
		json_t *event;
		size_t len;

		if (seq <= story->failure_seq)
			return NULL;
		if (!events_get(events, seq, &json, &len) ||
		    !mentions(json, len, "\"event\":\"terminated\"") ||
		    !mentions(json, len, strbuf_str(&story->quoted)))
			continue;
		event = load_event(story->shell, seq);
		if (strcmp(explain_field(event, "watcher"), watcher) == 0 &&
		    json_is_true(json_object_get(event, "existence_confirmed")))
			return event;
		json_decref(event);
	}
	return NULL;
}

/* The newest event of this kind and path before `seq`, or 0.  An exit counts only if the
 * actor has neither started nor failed since: else it belongs to an older failure. */
static uint64_t
find_before(const struct story *story, uint64_t seq, const char *quoted_kind,
            const char *path)
{
	const struct events *events = &story->shell->events;

	while (seq-- > events->first_seq) {
		const char *json;
		size_t len;

		if (strcmp(events_path(events, seq), path) != 0 ||
		    !events_get(events, seq, &json, &len))
			continue;
		if (mentions(json, len, quoted_kind))
			return seq;
		if (mentions(json, len, "\"event\":\"failure\"") ||
		    mentions(json, len, "\"event\":\"started\""))
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
	const char *origin = explain_field(story->failure, "origin");
	uint64_t seq = story->failure_seq;
	uint64_t gave_up = find_before(story, seq, "\"event\":\"gave_up\"", origin);
	uint64_t found, hook;

	if (gave_up > 0)
		story->gave_up = load_event(story->shell, gave_up);
	if (story->gave_up != NULL) {
		origin = explain_field(story->gave_up, "offender");
		found = find_before(story, gave_up, "\"event\":\"failure\"", origin);
		seq = found > 0 ? found : gave_up;
	}
	found = find_before(story, seq, "\"event\":\"exited\"", origin);
	hook = find_before(story, seq, "\"event\":\"hook_failed\"", origin);
	if (hook > 0 && (found == 0 || hook < found))
		return hook;
	return found > 0 ? found : seq;
}

/* Does this event belong to the story? */
static bool
belongs(const struct story *story, uint64_t seq)
{
	const struct events *events = &story->shell->events;
	const char *path = events_path(events, seq);
	const char *json;
	size_t len;

	if (seq == story->failure_seq ||
	    strcmp(path, shell_path(story->shell, story->ref)) == 0 ||
	    strcmp(path, explain_field(story->failure, "origin")) == 0 ||
	    strcmp(path, explain_field(story->failure, "path")) == 0)
		return true;
	if (seq < story->failure_seq &&
	    strcmp(path, explain_field(story->gave_up, "offender")) == 0)
		return true;
	return events_get(events, seq, &json, &len) &&
	       mentions(json, len, strbuf_str(&story->quoted));
}

/* Up again: what happens later is another story. */
static bool
is_end(const struct story *story, const json_t *event)
{
	return strcmp(explain_field(event, "path"),
	              shell_path(story->shell, story->ref)) == 0 &&
	       strcmp(explain_field(event, "event"), "ready") == 0;
}

static void
collect_chain(struct story *story)
{
	const uint64_t end = story->shell->events.next_seq;

	for (uint64_t seq = find_beginning(story); seq < end; seq++) {
		json_t *event;

		if (!belongs(story, seq))
			continue;
		event = load_event(story->shell, seq);
		if (event == NULL)
			continue;
		if (story->n == EXPLAIN_STEPS_MAX) {
			/* Of a long story the end matters more than the middle. */
			json_decref(story->chain[EXPLAIN_STEPS_MAX / 2]);
			memmove(&story->chain[EXPLAIN_STEPS_MAX / 2],
			        &story->chain[EXPLAIN_STEPS_MAX / 2 + 1],
			        (EXPLAIN_STEPS_MAX / 2 - 1) * sizeof(story->chain[0]));
			story->n--;
		}
		story->chain[story->n++] = event;
		if (seq > story->failure_seq && is_end(story, event))
			break;
	}
}

static void
add_step(struct strbuf *out, const json_t *event)
{
	struct strbuf text;

	strbuf_init(&text, EVENT_BYTES_MAX);
	explain_step(&text, event);
	strbuf_adds(out, "{\"at\":");
	strbuf_add_json(out, explain_field(event, "time"));
	strbuf_adds(out, ",\"event\":");
	strbuf_add_json(out, explain_field(event, "event"));
	strbuf_adds(out, ",\"path\":");
	strbuf_add_json(out, explain_field(event, "path"));
	strbuf_adds(out, ",\"text\":");
	strbuf_add_json(out, strbuf_str(&text));
	strbuf_addc(out, '}');
	strbuf_done(&text);
}

/* What the process wrote before it failed; none where that is not known. */
static void
add_last_words(struct strbuf *out, const json_t *failure)
{
	const json_t *words = json_object_get(failure, "last_words");

	strbuf_addc(out, '[');
	for (size_t i = 0; i < json_array_size(words); i++) {
		const json_t *line = json_array_get(words, i);

		if (i > 0)
			strbuf_addc(out, ',');
		strbuf_add_json_bytes(out, json_string_value(line),
		                      json_string_length(line));
	}
	strbuf_addc(out, ']');
}

void
explain_json(struct strbuf *out, const struct shell *shell, struct ref ref)
{
	struct story story = {.shell = shell, .ref = ref};
	struct explained explained;
	struct strbuf text;
	json_t *told;

	strbuf_init(&story.quoted, EVENT_PATH_MAX);
	strbuf_add_json(&story.quoted, shell_path(shell, ref));
	find_failure(&story);
	if (story.failure != NULL)
		collect_chain(&story);
	told = find_told(&story);
	explained = (struct explained){
	    .failure = story.failure,
	    .told = told,
	    .chain = (const json_t *const *)story.chain,
	    .n_chain = story.n,
	};
	strbuf_init(&text, 4 * EVENT_BYTES_MAX);
	explain_text(&text, shell, ref, &explained);
	strbuf_addf(out, "{\"path\":%s,\"chain\":[", strbuf_str(&story.quoted));
	for (size_t i = 0; i < story.n; i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		add_step(out, story.chain[i]);
		json_decref(story.chain[i]);
	}
	strbuf_adds(out, "],\"last_words\":");
	add_last_words(out, story.failure);
	strbuf_adds(out, ",\"text\":");
	strbuf_add_json(out, strbuf_str(&text));
	strbuf_addc(out, '}');
	strbuf_done(&text);
	strbuf_done(&story.quoted);
	json_decref(told);
	json_decref(story.failure);
	json_decref(story.gave_up);
}
