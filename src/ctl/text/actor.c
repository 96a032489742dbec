/* SPDX-License-Identifier: ISC */
/* actor.c - the Actor of io.supd.Control and its words for people. */
#include "config.h"

#include "ctl/text/actor.h"

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"

#define CAUSE(type, member)    SCAN_FIELD(type, struct cause_view, member)
#define FAILURE(type, member)  SCAN_FIELD(type, struct failure_view, member)
#define EXIT(type, member)     SCAN_FIELD(type, struct exit_view, member)
#define BACKOFF(member)        SCAN_FIELD(SCAN_INT, struct backoff_view, member)
#define RESOURCE(member)       SCAN_FIELD(SCAN_INT, struct resources_view, member)
#define DETAIL(type, member)   SCAN_FIELD(type, struct details_view, member)
#define ACTOR(type, member)    SCAN_FIELD(type, struct actor_view, member)
#define PART(name, type, part) SCAN_MEMBER(name, type, offsetof(struct actor_view, part))

/* In the order in which supd sends them: so each is found at once. */
static const struct scan_field cause_fields[] = {
    CAUSE(SCAN_STRING, kind), SCAN_OTHER("code"),  SCAN_OTHER("signal"),
    SCAN_OTHER("core"),       SCAN_OTHER("errno"), SCAN_OTHER("key"),
    CAUSE(SCAN_STRING, text),
};

static const struct scan_field failure_fields[] = {
    SCAN_INNER("cause", offsetof(struct failure_view, cause), cause_fields),
    FAILURE(SCAN_STRING, origin),
    FAILURE(SCAN_STRING, directive),
    FAILURE(SCAN_STRING, rule),
    FAILURE(SCAN_STRING, at),
};

static const struct scan_field exit_fields[] = {
    SCAN_INNER("cause", offsetof(struct exit_view, cause), cause_fields),
    EXIT(SCAN_STRING, at),
    EXIT(SCAN_INT, killed_after_ms),
};

static const struct scan_field backoff_fields[] = {
    BACKOFF(failures),
    BACKOFF(delay_ms),
    BACKOFF(due_in_ms),
};

static const struct scan_field resource_fields[] = {
    RESOURCE(memory_bytes), RESOURCE(cpu_usec),   RESOURCE(processes),
    RESOURCE(descriptors),  RESOURCE(read_bytes), RESOURCE(write_bytes),
};

static const struct scan_field details_fields[] = {
    DETAIL(SCAN_RAW, command), DETAIL(SCAN_STRING, file), DETAIL(SCAN_INT, line),
    DETAIL(SCAN_RAW, sockets), DETAIL(SCAN_STRING, log),
};

static const struct scan_field actor_fields[] = {
    ACTOR(SCAN_STRING, path),
    ACTOR(SCAN_STRING, kind),
    ACTOR(SCAN_STRING, state),
    ACTOR(SCAN_INT, pid),
    ACTOR(SCAN_INT, incarnation),
    ACTOR(SCAN_INT, generation),
    ACTOR(SCAN_BOOL, ready),
    ACTOR(SCAN_BOOL, held),
    ACTOR(SCAN_INT, suspended),
    ACTOR(SCAN_BOOL, sigstopped),
    ACTOR(SCAN_STRING, since),
    ACTOR(SCAN_INT, uptime_ms),
    ACTOR(SCAN_INT, restarts),
    PART("restarts_by", SCAN_RAW, raw_restarts_by),
    PART("window", SCAN_INT, window.n),
    PART("limit", SCAN_INT, window.limit),
    PART("within_ms", SCAN_INT, window.within_ms),
    ACTOR(SCAN_BOOL, degraded),
    SCAN_INNER("backoff", offsetof(struct actor_view, backoff), backoff_fields),
    SCAN_INNER("last_failure", offsetof(struct actor_view, failure), failure_fields),
    SCAN_INNER("last_exit", offsetof(struct actor_view, last_exit), exit_fields),
    ACTOR(SCAN_STRING, strategy),
    ACTOR(SCAN_STRING, restart),
    ACTOR(SCAN_STRING, description),
    PART("dead_letters", SCAN_INT, missed.dead_letters),
    PART("output_blocked", SCAN_STRING, missed.blocked),
    PART("output_lost", SCAN_INT, missed.lost),
    ACTOR(SCAN_STRING, health),
    ACTOR(SCAN_BOOL, healthy),
    ACTOR(SCAN_STRING, status),
    PART("waits_for", SCAN_RAW, raw_waits_for),
    SCAN_INNER("resources", offsetof(struct actor_view, resources), resource_fields),
    SCAN_INNER("details", offsetof(struct actor_view, details), details_fields),
};

/* Read one Actor; false when it is malformed or has no path or no state. */
bool
actor_read(struct scan *scan, struct actor_view *ret)
{
	*ret = (struct actor_view){
	    .healthy = true,
	    .last_exit = {.killed_after_ms = -1},
	    .uptime_ms = -1,
	    .window = {.limit = -1, .within_ms = -1},
	    .backoff = {.due_in_ms = -1},
	    .resources = {false, -1, -1, -1, -1, -1, -1},
	};

	ret->raw.at = scan->p;
	scan_fields(scan, actor_fields, ARRAY_SIZE(actor_fields), ret);
	ret->raw.len = (size_t)(scan->p - ret->raw.at);
	return !scan->bad && ret->path.at != NULL && ret->state.at != NULL;
}

/*
 * Visit every actor of a reply that has `actors` (or one `actor`).  When the reply is
 * malformed this is said, and CTL_FAILED returned.
 */
int
actors_each(struct ctl *ctl, const struct call *call, const struct reply *reply,
            on_actor visit, void *user)
{
	struct span name;
	struct scan scan;
	bool good = true;

	if (reply->parameters.at == NULL)
		return 0;
	scan_init(&scan, reply->parameters);
	scan_object(&scan);
	while (good && scan_member(&scan, &name)) {
		struct actor_view actor;

		if (span_is(name, "actor")) {
			good = actor_read(&scan, &actor);
			if (good)
				visit(user, &actor);
		} else if (span_is(name, "actors")) {
			scan_array(&scan);
			while (good && scan_element(&scan)) {
				good = actor_read(&scan, &actor);
				if (good)
					visit(user, &actor);
			}
		} else {
			(void)scan_value(&scan);
		}
	}
	if (good && !scan.bad)
		return 0;
	return complain_of(ctl, CTL_FAILED, call->target, "supd's answer is malformed");
}

static json_t *
status_parameters(const char *name, enum actors_depth depth)
{
	const bool is_deep = depth == ACTORS_WITH_RESOURCES;

	/* The details of all actors are too many. */
	return json_pack("{s:o*, s:o*, s:o*, s:o*}", "names",
	                 name != NULL ? json_pack("[s]", name) : NULL, "brief",
	                 depth == ACTORS_BRIEF ? json_true() : NULL, "details",
	                 is_deep && name != NULL ? json_true() : NULL, "resources",
	                 is_deep ? json_true() : NULL);
}

/* Visit the actors that a name selects (NULL: all), as they come from supd. */
int
actors_status(struct ctl *ctl, const char *name, enum actors_depth depth, on_actor visit,
              void *user)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Status",
	                    .target = name,
	                    .parameters = status_parameters(name, depth),
	                    .more = true,
	                    .repeat = true,
	                    .dispensable = "brief"};
	struct reply reply;
	struct err err;
	int r = ctl_call(ctl, &call, &reply);

	while (r == 0) {
		r = actors_each(ctl, &call, &reply, visit, user);
		if (r != 0 || !reply.continues)
			break;
		r = client_next(&ctl->client, &reply, &err);
		if (r < 0)
			r = ctl_give_up(ctl, &call, r, &err);
		else if (reply.error.at != NULL)
			r = complain_refusal(ctl, &call, &reply);
	}
	return r;
}

/* True if the actor has children. */
bool
actor_is_supervisor(const struct actor_view *actor)
{
	return span_is(actor->kind, "supervisor") || span_is(actor->kind, "both");
}

/* True if the path is that of this actor, or of an actor below it. */
bool
actor_is_within(struct span path, const char *top)
{
	size_t len = strlen(top);

	/* Below "/" is everything. */
	return len == 1 || (path.len >= len && memcmp(path.at, top, len) == 0 &&
	                    (path.len == len || path.at[len] == '/'));
}

/* True if something is wrong with the actor itself, not only with those below it. */
bool
actor_is_unwell(const struct actor_view *actor)
{
	const bool is_above_only = actor->degraded && span_is(actor->state, "running") &&
	                           !actor->sigstopped && !span_is(actor->health, "bad") &&
	                           actor->missed.blocked.at == NULL;

	return !actor->healthy && !is_above_only;
}

/* Its state for people: of a supervisor that runs, if all below it is well. */
struct span
actor_state(const struct actor_view *actor)
{
	return actor->degraded && span_is(actor->state, "running")
	           ? (struct span){"degraded", 8}
	           : actor->state;
}

/* The last part of its path. */
struct span
actor_name(const struct actor_view *actor)
{
	struct span path = actor->path;
	const char *slash = memrchr(path.at, '/', path.len);
	const size_t before = slash != NULL ? (size_t)(slash + 1 - path.at) : 0;

	return path.len > before ? (struct span){path.at + before, path.len - before}
	                         : path;
}

/* How a state is shown. */
enum colour
actor_state_colour(struct span state)
{
	static const struct {
		const char *state;
		enum colour colour;
	} colours[] = {
	    {"running", COLOUR_GOOD},   {"failed", COLOUR_BAD},
	    {"backoff", COLOUR_BUSY},   {"degraded", COLOUR_BUSY},
	    {"starting", COLOUR_BUSY},  {"stopping", COLOUR_BUSY},
	    {"waiting", COLOUR_BUSY},   {"suspended", COLOUR_BUSY},
	    {"stopped", COLOUR_DIM},    {"done", COLOUR_DIM},
	    {"unkillable", COLOUR_BAD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		if (span_is(state, colours[i].state))
			return colours[i].colour;
	return COLOUR_NONE;
}

static bool
waits_for_others(const struct actor_view *actor)
{
	struct scan scan;

	if (actor->raw_waits_for.at == NULL || actor->raw_waits_for.at[0] != '[')
		return false;
	scan_init(&scan, actor->raw_waits_for);
	scan_array(&scan);
	return scan_element(&scan);
}

/* True if the actor waits for others, or, as ready as can be, for a client. */
bool
actor_waits(const struct actor_view *actor)
{
	return waits_for_others(actor) ||
	       (actor->ready && span_is(actor->state, "waiting"));
}

/* What it waits for: "/user/db, /user/cache", or "a client". */
void
actor_print_waits_for(struct strbuf *sb, const struct actor_view *actor)
{
	const char *separator = "";
	struct scan scan;

	if (!actor_waits(actor))
		return;
	if (!waits_for_others(actor)) {
		strbuf_adds(sb, "a client");
		return;
	}
	scan_init(&scan, actor->raw_waits_for);
	scan_array(&scan);
	while (scan_element(&scan)) {
		struct span path = scan_string(&scan);

		strbuf_adds(sb, path.at != NULL ? separator : "");
		print_span(sb, path);
		separator = ", ";
	}
}

/* The restarts that count now: "2 of at most 5 within 1m". */
void
actor_print_window(struct strbuf *sb, const struct actor_view *actor)
{
	strbuf_add_number(sb, (uint64_t)actor->window.n);
	if (actor->window.limit < 0)
		return;
	strbuf_adds(sb, " of at most ");
	strbuf_add_number(sb, (uint64_t)actor->window.limit);
	if (actor->window.within_ms >= 0) {
		strbuf_adds(sb, " within ");
		print_age(sb, (uint64_t)actor->window.within_ms);
	}
}

static void
begin_part(struct strbuf *sb, size_t start, const char *text)
{
	if (sb->len > start)
		strbuf_adds(sb, "; ");
	strbuf_adds(sb, text);
}

/* All that is remarkable about an actor, on one line; often nothing. */
void
actor_print_remark(struct strbuf *sb, const struct actor_view *actor)
{
	bool down = !span_is(actor->state, "running");
	size_t start = sb->len;

	if (actor->held)
		begin_part(sb, start, "held");
	if (actor->sigstopped)
		begin_part(sb, start, "stopped by a signal");
	if (span_is(actor->health, "bad"))
		begin_part(sb, start, "does not pass its health check");
	if (actor->missed.blocked.at != NULL) {
		begin_part(sb, start, "its log cannot be written: ");
		print_span(sb, actor->missed.blocked);
	}
	if (!down && !actor->ready && !span_is(actor->kind, "supervisor"))
		begin_part(sb, start, "not ready");
	if (actor_waits(actor)) {
		begin_part(sb, start, "waits for ");
		actor_print_waits_for(sb, actor);
	}
	if (actor->backoff.is_there && actor->backoff.due_in_ms >= 0) {
		begin_part(sb, start, "restart in ");
		print_age(sb, (uint64_t)actor->backoff.due_in_ms);
	}
	if (down && actor->last_exit.killed_after_ms >= 0) {
		begin_part(sb, start, "did not stop within ");
		print_age(sb, (uint64_t)actor->last_exit.killed_after_ms);
		strbuf_adds(sb, ", killed");
	}
	if (actor->failure.is_there && actor->failure.cause.text.at != NULL) {
		begin_part(sb, start, down ? "" : "last: ");
		print_span(sb, actor->failure.cause.text);
	}
	if (actor->status.at != NULL && actor->status.len > 0) {
		begin_part(sb, start, "\"");
		print_span(sb, actor->status);
		strbuf_addc(sb, '"');
	}
}

/* Visit the actors that the names select, in brief; 0, or the first status that is not.
 */
int
actors_named(struct ctl *ctl, char **names, uint32_t n, on_actor visit, void *user)
{
	int status = 0;

	for (uint32_t i = 0; i < n && status == 0; i++)
		status = actors_status(ctl, names[i], ACTORS_BRIEF, visit, user);
	return status;
}

/* Add the actor's path to a list, a strbuf, ended by a NUL. */
void
actor_note_path(void *user, const struct actor_view *actor)
{
	struct strbuf *paths = user;

	span_decode(actor->path, paths);
	strbuf_add(paths, "", 1);
}

/*
 * As ctl_each(), for methods that take one actor a call: a pattern stands for all that it
 * matches, in start order.
 */
int
actors_act(struct ctl *ctl, char **names, uint32_t n,
           int (*act)(struct ctl *ctl, const char *name))
{
	int combined = 0;

	for (uint32_t i = 0; i < n && ctl_may_go_on(ctl); i++) {
		CLEANUP(strbuf_done) struct strbuf paths = STRBUF(PATHS_BYTES_MAX);
		int status = 0;

		if (strpbrk(names[i], "*?[") == NULL)
			strbuf_add(&paths, names[i], strlen(names[i]) + 1);
		else
			status = actors_named(ctl, &names[i], 1, actor_note_path, &paths);
		if (paths.failed)
			status = ctl_no_memory(ctl);
		for (size_t at = 0; status == 0 && at < paths.len && ctl_may_go_on(ctl);
		     at += strlen(paths.data + at) + 1)
			status = act(ctl, paths.data + at);
		if (i == 0)
			combined = status;
		else if (status != combined)
			combined = CTL_FAILED;
	}
	return combined;
}
