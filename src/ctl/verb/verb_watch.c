/* SPDX-License-Identifier: ISC */
/* verb_watch.c - watch and wait: until actors have ended for good, or come so far. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "ctl/text/actor.h"
#include "ctl/text/phrase.h"
#include "ctl/verb/verb.h"

#define TARGETS_MAX (1024 * 1024)

/* An actor that is waited for, with its incarnation. */
struct watch_target {
	char *path;          /* owned */
	int64_t incarnation; /* 0: no actor has that name */
	bool done;
};

struct targets {
	struct ctl *ctl;
	struct watch_target *at;
	size_t n, cap;
	bool failed;
};

static void
add_target(struct targets *targets, char *take_path, int64_t incarnation)
{
	if (take_path == NULL || targets->n == TARGETS_MAX ||
	    !ARRAY_RESERVE(targets->at, targets->n, targets->cap)) {
		targets->failed = true;
		free(take_path);
		return;
	}
	targets->at[targets->n++] =
	    (struct watch_target){.path = take_path, .incarnation = incarnation};
}

static void
add_actor(void *user, const struct actor_view *actor)
{
	struct targets *targets = user;

	add_target(targets, span_copy(actor->path), actor->incarnation);
}

static void
targets_done(struct targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		free(targets->at[i].path);
	free(targets->at);
}

/*
 * Which actors does a name mean, and which incarnations of them?  A watch of what does
 * not exist is answered by supd, so for it (`unknown_too`) the name is kept as it is.
 */
static int
resolve(struct targets *targets, const char *name, bool unknown_too)
{
	CLEANUP(ctl_call_done)
	struct call call = {
	    .method = "Status", .target = name, .more = true, .repeat = true};
	struct ctl *ctl = targets->ctl;
	struct reply reply;
	struct err err;
	bool again;

	if (!unknown_too)
		return actors_status(ctl, name, ACTORS_WHOLE, add_actor, targets);
	call.parameters = json_pack("{s:[s]}", "names", name);
	int r = ctl_connect(ctl);
	if (r != 0)
		return r;
	/* No target is answered yet: the guardian that takes over is asked again. */
	do {
		r = client_send(&ctl->client, call.method, json_incref(call.parameters),
		                call.more, &err);
		if (r == 0)
			r = client_next(&ctl->client, &reply, &err);
		again = r == -ECONNRESET;
		if (again)
			r = client_reconnect(&ctl->client, &err);
	} while (again && r == 0);
	while (r == 0) {
		if (span_is(reply.error, "io.supd.Control.NoSuchActor"))
			add_target(targets, strdup(name), 0);
		else if (reply.error.at != NULL)
			r = complain_refusal(ctl, &call, &reply);
		else
			r = actors_each(ctl, &call, &reply, add_actor, targets);
		if (r != 0 || reply.error.at != NULL || !reply.continues)
			break;
		r = client_next(&ctl->client, &reply, &err);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &err) : r;
}

static int
resolve_all(struct targets *targets, char **names, uint32_t n, bool unknown_too)
{
	int status = 0;

	for (uint32_t i = 0; i < n && status == 0; i++)
		status = resolve(targets, names[i], unknown_too);
	if (status == 0 && targets->failed)
		status = ctl_no_memory(targets->ctl);
	return status;
}

/* The targets without an answer yet. */
static json_t *
watch_parameters(const struct targets *targets)
{
	json_t *names = json_array(), *since = json_array();

	for (size_t i = 0; i < targets->n; i++) {
		const struct watch_target *target = &targets->at[i];

		if (target->done)
			continue;
		(void)json_array_append_new(names, json_string(target->path));
		(void)json_array_append_new(since, json_integer(target->incarnation));
	}
	return json_pack("{s:o, s:o}", "names", names, "since", since);
}

/* True if the path is that of this name.  Of an actor that was unknown only the name is
 * known. */
static bool
is_answer(const struct watch_target *target, const char *path)
{
	size_t len = strlen(target->path), path_len = strlen(path);

	if (target->incarnation > 0 || path_len <= len)
		return strcmp(target->path, path) == 0;
	return path[path_len - len - 1] == '/' &&
	       strcmp(path + path_len - len, target->path) == 0;
}

static void
mark_done(struct targets *targets, const char *path)
{
	for (size_t i = 0; i < targets->n; i++) {
		if (!targets->at[i].done && is_answer(&targets->at[i], path)) {
			targets->at[i].done = true;
			return;
		}
	}
}

static bool
all_done(const struct targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		if (!targets->at[i].done)
			return false;
	return true;
}

static void
print_terminated(struct ctl *ctl, const json_t *end)
{
	struct strbuf *sb = &ctl->out.buf;
	const char *path = phrase_text(end, "path");
	const char *cause = phrase_text(json_object_get(end, "cause"), "text");
	const char *state = phrase_text(end, "state");

	strbuf_adds(sb, "terminated  ");
	print_text(sb, path, strlen(path));
	strbuf_adds(sb, "  ");
	print_text(sb, state, strlen(state));
	if (cause[0] != '\0') {
		strbuf_adds(sb, state[0] != '\0' ? ": " : "");
		print_text(sb, cause, strlen(cause));
	}
	if (!json_is_true(json_object_get(end, "existence_confirmed")))
		strbuf_adds(sb, state[0] != '\0' ? ", was not seen alive"
		                                 : "was not seen alive");
	strbuf_addc(sb, '\n');
}

static int
take_terminated(struct targets *targets, const struct call *call,
                const struct reply *reply)
{
	struct ctl *ctl = targets->ctl;
	json_auto_t *end = NULL;
	int status = ctl_load(ctl, call, reply, &end);

	if (status != 0)
		return status;
	mark_done(targets, phrase_text(end, "path"));
	if (ctl->options.json) {
		print_json_line(&ctl->out, reply->parameters);
	} else {
		print_terminated(ctl, end);
	}
	print_flush(&ctl->out);
	return 0;
}

/* One call of Watch, to its end: 0, or 0 and *again when the connection was lost. */
static int
watch_targets(struct targets *targets, bool *again)
{
	struct call call = {.method = "Watch", .more = true, .repeat = true};
	struct ctl *ctl = targets->ctl;
	struct reply reply;
	struct err err;
	int status = 0;

	*again = false;
	int r =
	    client_send(&ctl->client, call.method, watch_parameters(targets), true, &err);
	while (r == 0 && status == 0) {
		r = client_next(&ctl->client, &reply, &err);
		if (r < 0)
			break;
		if (reply.error.at != NULL)
			return complain_refusal(ctl, &call, &reply);
		status = take_terminated(targets, &call, &reply);
		if (!reply.continues || !ctl_may_go_on(ctl))
			return status;
	}
	if (status != 0)
		return status;
	if (r == -ECONNRESET) {
		r = client_reconnect(&ctl->client, &err);
		*again = r == 0 && !all_done(targets);
	}
	return r < 0 ? ctl_give_up(ctl, &call, r, &err) : 0;
}

/* Print one Terminated for each actor, also of those that are dead or unknown. */
int
verb_watch(struct ctl *ctl, char **names, uint32_t n)
{
	CLEANUP(targets_done) struct targets targets = {.ctl = ctl};
	bool again = true;
	int status = resolve_all(&targets, names, n, true);

	ctl->client.hangup_fd = ctl->out.fd;
	while (status == 0 && again)
		status = watch_targets(&targets, &again);
	return status;
}

static void
print_actor(void *user, const struct actor_view *actor)
{
	struct ctl *ctl = user;

	if (ctl->options.json)
		ctl_array_add(ctl, actor->raw);
}

/* Wait for one actor.  A goal that can no longer come is a failure, whatever error supd
 * gives. */
static int
wait_for(struct ctl *ctl, const struct watch_target *target)
{
	const int64_t left_ms = ctl_give_timeout_ms(ctl);
	CLEANUP(ctl_call_done)
	struct call call = {
	    .method = "Wait",
	    .target = target->path,
	    .parameters = json_pack("{s:s, s:s, s:I, s:o*}", "name", target->path, "for",
	                            ctl->options.for_state, "incarnation",
	                            (json_int_t)target->incarnation, "timeout_ms",
	                            left_ms >= 0 ? json_integer(left_ms) : NULL),
	    .repeat = true,
	};
	struct reply reply;
	int status = ctl_call(ctl, &call, &reply);

	if (status == 0)
		status = actors_each(ctl, &call, &reply, print_actor, ctl);
	return status == CTL_WRONG_STATE ? CTL_FAILED : status;
}

/* Wait until all that the names select have come so far; silent. */
int
verb_wait(struct ctl *ctl, char **names, uint32_t n)
{
	static const char *const states[] = {"ready", "stopped", "failed", "done"};
	CLEANUP(targets_done) struct targets targets = {.ctl = ctl};

	if ((ctl->options.given & OPTION_FOR) == 0)
		ctl->options.for_state = states[0];
	if (names_find(states, ARRAY_SIZE(states), ctl->options.for_state) < 0)
		return complain_of(
		    ctl, CTL_USAGE, NULL,
		    "write what to wait for: --for ready|stopped|failed|done");
	int status = resolve_all(&targets, names, n, false);
	if (ctl->options.json)
		ctl_array_begin(ctl);
	for (size_t i = 0; i < targets.n && status == 0; i++)
		status = wait_for(ctl, &targets.at[i]);
	if (ctl->options.json)
		ctl_array_end(ctl);
	return status;
}
