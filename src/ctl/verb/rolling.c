/* SPDX-License-Identifier: ISC */
/* rolling.c - restart --rolling: an actor at a time, until one fails. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "ctl/text/actor.h"
#include "ctl/verb/settle.h"
#include "ctl/verb/verb.h"

#define TOLD_MAX 10

/* Paths here end with a NUL each. */
struct rolling {
	struct strbuf named; /* what the names select */
	struct map tops;     /* the same, to be found */
	struct strbuf paths; /* the actors to be restarted, in start order */
	size_t last;         /* where the last of them begins */
	struct strbuf path;  /* of the actor that is looked at */
};

/* True if a path stands for an actor below one that is named.  The path is cut at
 * that. */
static bool
is_below_named(const struct rolling *rolling, char *path)
{
	uint32_t value;

	for (char *slash = strrchr(path, '/'); slash != NULL && slash != path;
	     slash = strrchr(path, '/')) {
		*slash = '\0';
		if (map_get_name(&rolling->tops, path, &value))
			return true;
	}
	return false;
}

/*
 * A supervisor without a process stands for the actors below it; of these the ones that
 * are down stay down.  A supervisor with a process takes all below it along.
 */
static void
note_actor(void *user, const struct actor_view *actor)
{
	struct rolling *rolling = user;
	const bool is_down = span_is(actor->state, "stopped") ||
	                     span_is(actor->state, "done") ||
	                     span_is(actor->state, "failed");
	const size_t begin = rolling->paths.len;
	uint32_t value;

	if (span_is(actor->kind, "supervisor"))
		return;
	strbuf_clear(&rolling->path);
	span_decode(actor->path, &rolling->path);
	if (rolling->path.failed || rolling->path.len == 0 ||
	    (begin > 0 &&
	     actor_is_within((struct span){rolling->path.data, rolling->path.len},
	                     rolling->paths.data + rolling->last)))
		return;
	strbuf_add(&rolling->paths, rolling->path.data, rolling->path.len + 1);
	if (map_get_name(&rolling->tops, rolling->path.data, &value) ||
	    (!is_down && is_below_named(rolling, rolling->path.data)))
		rolling->last = begin;
	else
		strbuf_truncate(&rolling->paths, begin);
}

static int
find_actors(struct ctl *ctl, char **names, uint32_t n, struct rolling *rolling)
{
	int status = actors_named(ctl, names, n, actor_note_path, &rolling->named);

	for (size_t at = 0; status == 0 && at < rolling->named.len;
	     at += strlen(rolling->named.data + at) + 1)
		if (map_put_name(&rolling->tops, rolling->named.data + at, 0) < 0)
			return ctl_no_memory(ctl);
	if (status == 0)
		status = actors_status(ctl, NULL, ACTORS_BRIEF, note_actor, rolling);
	if (rolling->named.failed || rolling->path.failed || rolling->paths.failed)
		return ctl_no_memory(ctl);
	return status;
}

/* Print the actors that were not restarted, because an earlier actor failed. */
static void
tell_untouched(const struct ctl *ctl, const struct strbuf *paths, size_t at)
{
	CLEANUP(strbuf_done) struct strbuf list = STRBUF(PATHS_BYTES_MAX);
	size_t n = 0;

	for (; at < paths->len; at += strlen(paths->data + at) + 1)
		if (n++ < TOLD_MAX)
			strbuf_addf(&list, "%s%s", n > 1 ? ", " : "", paths->data + at);
	if (n > TOLD_MAX)
		strbuf_addf(&list, " and %zu more", n - TOLD_MAX);
	if (n > 0)
		complain(ctl, NULL, "not restarted: %s", strbuf_str(&list));
}

/* As verb_restart(), an actor after the other; each has settled before the next. */
int
verb_restart_rolling(struct ctl *ctl, char **names, uint32_t n,
                     int (*restart)(struct ctl *ctl, char *name))
{
	struct rolling rolling = {
	    .named = STRBUF(PATHS_BYTES_MAX),
	    .paths = STRBUF(PATHS_BYTES_MAX),
	    .path = STRBUF(PATHS_BYTES_MAX),
	};
	size_t at = 0;

	if ((ctl->options.given & OPTION_NO_WAIT) != 0)
		return complain_of(
		    ctl, CTL_USAGE, NULL,
		    "--no-wait does not go with --rolling, which waits for each");
	int status = find_actors(ctl, names, n, &rolling);
	if (ctl->options.json)
		ctl_array_begin(ctl);
	while (status == 0 && at < rolling.paths.len && ctl_may_go_on(ctl)) {
		char *path = rolling.paths.data + at;

		status = restart(ctl, path);
		at += strlen(path) + 1;
	}
	if (ctl->options.json)
		ctl_array_end(ctl);
	tell_untouched(ctl, &rolling.paths, at);
	strbuf_done(&rolling.path);
	strbuf_done(&rolling.paths);
	strbuf_done(&rolling.named);
	map_done(&rolling.tops);
	return status;
}
