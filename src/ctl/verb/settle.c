/* SPDX-License-Identifier: ISC */
/* settle.c - actors that were started have to live for a while before that is a success.
 */
#include "config.h"

#include "ctl/verb/settle.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/bounds.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/units.h"

#define DEFAULT_MS 1000
/* Pauses between two looks; not more than a tenth of the time is spent on looking. */
#define PAUSE_MS   50
#define LOOKS_PART 10
#define TOLD_MAX   10
#define LINES      10
#define BYTES_MAX  ((size_t)1 << 20)

struct settle_entry {
	char *path; /* owned */
	int64_t
	    generation;   /* of a process that is newer than the command; -1: none yet */
	bool is_below;    /* actors below this supervisor count, too */
	bool is_expected; /* such a process is to come */
	bool is_removed;  /* it has to be gone */
	bool is_there;    /* while looking */
	bool has_failed;
	char *why; /* owned; NULL: it ended and was started again */
};

/* Ready to take actors in.  CTL_USAGE if the option is wrong. */
int
settle_init(struct settle *settle, struct ctl *ctl)
{
	const struct options *options = &ctl->options;

	*settle = (struct settle){.ctl = ctl,
	                          .ms = DEFAULT_MS,
	                          .begin_ms = client_now_ms(),
	                          /* Times of supd have milliseconds. */
	                          .begin_us = moment_now() / 1000 * 1000};
	if ((options->given & OPTION_SETTLE) != 0 && strcmp(options->settle, "0") == 0)
		settle->ms = 0;
	else if ((options->given & OPTION_SETTLE) != 0 &&
	         (duration_parse(options->settle, &settle->ms) < 0 ||
	          settle->ms > DURATION_MS_MAX)) {
		return complain_of(ctl, CTL_USAGE, NULL,
		                   "--settle '%s': write a duration, as 500ms or 5s",
		                   options->settle);
	}
	if ((options->given & OPTION_NO_WAIT) != 0)
		settle->ms = 0;
	return 0;
}

/* Give back the memory. */
void
settle_done(struct settle *settle)
{
	for (size_t i = 0; i < settle->n; i++) {
		free(settle->entries[i].path);
		free(settle->entries[i].why);
	}
	free(settle->entries);
	map_done(&settle->by_path);
}

static struct settle_entry *
find_settle_entry(const struct settle *settle, const char *path)
{
	uint32_t i;

	return map_get_name(&settle->by_path, path, &i) ? &settle->entries[i] : NULL;
}

static struct settle_entry *
add(struct settle *settle, const char *path)
{
	struct settle_entry *entry = find_settle_entry(settle, path);

	if (entry != NULL)
		return entry;
	if (!ARRAY_RESERVE(settle->entries, settle->n, settle->cap)) {
		settle->failed = true;
		return NULL;
	}
	entry = &settle->entries[settle->n];
	*entry = (struct settle_entry){.path = strdup(path), .generation = -1};
	if (entry->path == NULL ||
	    map_put_name(&settle->by_path, entry->path, (uint32_t)settle->n) < 0) {
		free(entry->path);
		settle->failed = true;
		return NULL;
	}
	settle->n++;
	return entry;
}

/* True if the process has lived for long enough, or there is none to wait for. */
static bool
is_settled(const struct settle *settle, const struct actor_view *actor)
{
	return actor->uptime_ms < 0 || (uint64_t)actor->uptime_ms >= settle->ms;
}

/* True if it has failed after the command was given. */
static bool
has_failed_since(const struct settle *settle, const struct actor_view *actor)
{
	uint64_t us;

	if (actor->failure.at.at == NULL)
		return false;
	CLEANUP_FREE char *at = span_copy(actor->failure.at);
	return at != NULL && moment_parse(at, &us) == 0 && us >= settle->begin_us;
}

/* Take in an actor that was started, from supd's answer. */
void
settle_add(struct settle *settle, const struct actor_view *actor)
{
	const bool is_below = actor_is_supervisor(actor);

	if (settle->ms == 0)
		return;
	/* It may have failed before the answer was written: then it has no process. */
	if (!is_below && is_settled(settle, actor) && !has_failed_since(settle, actor))
		return;
	CLEANUP_FREE char *path = span_copy(actor->path);
	struct settle_entry *entry = path != NULL ? add(settle, path) : NULL;
	settle->failed = settle->failed || entry == NULL;
	if (entry != NULL) {
		entry->is_below = is_below;
		entry->generation = is_below ? -1 : actor->generation;
	}
}

/* An actor that is going to be started anew, or is to go. */
void
settle_expect(struct settle *settle, const char *path, bool is_removed)
{
	struct settle_entry *entry = add(settle, path);

	if (entry == NULL)
		return;
	entry->is_removed = is_removed;
	entry->is_expected = !is_removed;
	entry->is_below = !is_removed;
}

/* ---- looking ----------------------------------------------------------------------- */

static void
wait_for(struct settle *settle, uint64_t ms)
{
	if (!settle->pending || ms < settle->in_ms)
		settle->in_ms = ms;
	settle->pending = true;
}

static void
mark_failed(struct settle_entry *entry, const struct actor_view *actor)
{
	if (entry->has_failed)
		return;
	entry->has_failed = true;
	if (actor->failure.at.at != NULL)
		entry->why = span_copy(actor->failure.cause.text);
}

/* True if it comes up or goes down; a restart by the command has a backoff without a
 * delay in between. */
static bool
is_moving(const struct actor_view *actor)
{
	return span_is(actor->state, "starting") || span_is(actor->state, "stopping") ||
	       (span_is(actor->state, "backoff") && actor->backoff.due_in_ms <= 0);
}

/* True if the process, or the supervisor, was started after the command was given. */
static bool
is_new(const struct settle *settle, const struct actor_view *actor)
{
	return actor->uptime_ms >= 0 && span_is(actor->state, "running") &&
	       (uint64_t)actor->uptime_ms <= client_now_ms() - settle->begin_ms;
}

static void
look_at(struct settle *settle, struct settle_entry *entry, const struct actor_view *actor)
{
	entry->is_there = true;
	if (entry->is_removed) {
		wait_for(settle, PAUSE_MS);
		return;
	}
	if (has_failed_since(settle, actor) ||
	    (span_is(actor->state, "backoff") && !is_moving(actor) &&
	     (entry->generation >= 0 || entry->is_expected)) ||
	    (entry->generation >= 0 && actor->generation > entry->generation)) {
		mark_failed(entry, actor);
		return;
	}
	if (is_new(settle, actor)) {
		entry->generation = actor->generation;
		entry->is_expected = false;
	}
	if (is_moving(actor) ||
	    (span_is(actor->state, "running") && (entry->is_expected || !actor->ready)))
		wait_for(settle, PAUSE_MS);
	else if (!is_settled(settle, actor))
		wait_for(settle, settle->ms - (uint64_t)actor->uptime_ms);
}

/* The entry of an actor; actors below a supervisor that counts get a new entry. */
static struct settle_entry *
entry_of(struct settle *settle, char *path)
{
	struct settle_entry *entry = find_settle_entry(settle, path);

	for (char *slash = strrchr(path, '/');
	     entry == NULL && slash != NULL && slash != path;) {
		*slash = '\0';
		const struct settle_entry *above = find_settle_entry(settle, path);
		*slash = '/';
		if (above != NULL && above->is_below)
			entry = add(settle, path);
		for (slash--; slash > path && *slash != '/';)
			slash--;
	}
	return entry;
}

static void
take_actor(void *user, const struct actor_view *actor)
{
	struct settle *settle = user;
	CLEANUP_FREE char *path = span_copy(actor->path);
	struct settle_entry *entry = path != NULL ? entry_of(settle, path) : NULL;

	if (path == NULL)
		settle->failed = true;
	if (entry != NULL)
		look_at(settle, entry, actor);
}

static int
look(struct settle *settle)
{
	settle->pending = false;
	settle->in_ms = 0;
	for (size_t i = 0; i < settle->n; i++)
		settle->entries[i].is_there = false;
	return actors_status(settle->ctl, NULL, ACTORS_WHOLE, take_actor, settle);
}

/* ---- what failed ------------------------------------------------------------------- */

struct tail_line {
	struct span stream, text;
};

static int
take_line(void *user, const struct call *call UNUSED, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    SCAN_FIELD(SCAN_STRING, struct tail_line, stream),
	    SCAN_FIELD(SCAN_STRING, struct tail_line, text),
	};
	struct tail_line line = {{NULL, 0}, {NULL, 0}};
	struct strbuf *sb = user;

	if (!scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &line) ||
	    line.stream.len == 0)
		return 0;
	strbuf_adds(sb, "  | ");
	print_span(sb, line.text);
	strbuf_addc(sb, '\n');
	return 0;
}

/* The last words of the process, as they were noted at its end; false: it has none. */
static bool
tell_last_words(struct ctl *ctl, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF(BYTES_MAX);
	struct reply reply;
	json_auto_t *story = NULL;
	const json_t *word;
	size_t i;

	if (ctl_connect(ctl) == 0 &&
	    client_send(&ctl->client, "Explain", json_pack("{s:s}", "name", path), false,
	                NULL) == 0 &&
	    client_next(&ctl->client, &reply, NULL) == 0 && reply.error.at == NULL)
		story = json_loadb(reply.parameters.at, reply.parameters.len, 0, NULL);
	const json_t *words = json_object_get(story, "last_words");
	json_array_foreach(words, i, word)
	{
		const char *text = json_string_value(word);

		if (text != NULL)
			print_lines(&lines, text, strlen(text), "  | ");
	}
	(void)fputs(strbuf_str(&lines), stderr);
	return lines.len > 0;
}

/* The last lines in the log of the actor, on standard error, where they can be had. */
static void
tell_last_lines(struct ctl *ctl, const char *path)
{
	CLEANUP(ctl_call_done)
	struct call call = {
	    .method = "Logs",
	    .target = path,
	    .parameters = json_pack("{s:[s], s:i}", "names", path, "lines", LINES),
	    .more = true,
	};
	struct stream_end end;
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF(BYTES_MAX);

	if (ctl_connect(ctl) == 0)
		(void)ctl_stream(ctl, &call, take_line, &lines, &end);
	(void)fputs(strbuf_str(&lines), stderr);
}

/* Print the actors that failed: CTL_FAILED if an actor did. */
static int
print_failed(struct settle *settle)
{
	size_t n_failed = 0;

	for (size_t i = 0; i < settle->n; i++) {
		const struct settle_entry *entry = &settle->entries[i];
		char duration[DURATION_TEXT_MAX];

		if (!entry->has_failed || ++n_failed > TOLD_MAX)
			continue;
		complain(settle->ctl, entry->path, "it did not live for %s: %s",
		         duration_format(settle->ms, duration),
		         entry->why != NULL ? entry->why
		                            : "it ended and was started again");
		if (!tell_last_words(settle->ctl, entry->path))
			tell_last_lines(settle->ctl, entry->path);
	}
	if (n_failed > TOLD_MAX)
		complain(settle->ctl, NULL, "%zu more did not", n_failed - TOLD_MAX);
	return n_failed > 0 ? CTL_FAILED : 0;
}

/*
 * Wait until all have lived for long enough, and what was to go is gone: 0, or the exit
 * status, after it was told which actors failed.
 */
int
settle_wait(struct settle *settle)
{
	int status = 0;

	if (settle->failed)
		return ctl_no_memory(settle->ctl);
	if (settle->n == 0)
		return 0;
	for (;;) {
		const uint64_t begin_ms = client_now_ms();
		bool failed = false;

		status = look(settle);
		uint64_t took_ms = client_now_ms() - begin_ms;
		for (size_t i = 0; i < settle->n; i++)
			failed = failed || settle->entries[i].has_failed;
		if (status != 0 || failed || !settle->pending)
			break;
		settle->in_ms =
		    LARGER(SMALLER(settle->in_ms, 2 * PAUSE_MS), LOOKS_PART * took_ms);
		(void)poll(NULL, 0, (int)settle->in_ms + 1);
	}
	return status != 0 ? status : print_failed(settle);
}
