/* SPDX-License-Identifier: ISC */
/* verb_query.c - the verbs that ask one thing: is-active, is-failed, is-ready, pid, ping,
 * version, metrics, explain.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "ctl/text/actor.h"
#include "ctl/text/phrase.h"
#include "ctl/text/story.h"
#include "ctl/verb/verb.h"

/* What is asked about each actor, and how many said yes and no. */
struct state_question {
	bool (*is)(const struct actor_view *actor);
	uint32_t yes, no;
};

static bool
is_active(const struct actor_view *actor)
{
	return span_is(actor->state, "running");
}

static bool
is_failed(const struct actor_view *actor)
{
	return span_is(actor->state, "failed");
}

static bool
is_ready(const struct actor_view *actor)
{
	return actor->ready;
}

static void
ask_actor(void *user, const struct actor_view *actor)
{
	struct state_question *question = user;

	if (question->is(actor))
		question->yes++;
	else
		question->no++;
}

/* 0 if the question holds for an actor that the names select, or for all of them, else 3.
 */
static int
ask(struct ctl *ctl, char **names, uint32_t n, bool (*is)(const struct actor_view *actor),
    bool of_all)
{
	struct state_question question = {.is = is};
	int status = actors_named(ctl, names, n, ask_actor, &question);
	const bool holds = of_all ? question.no == 0 : question.yes > 0;

	return status == 0 && !holds ? CTL_NOT_RUNNING : status;
}

/* 0 if all of them run, else 3. */
int
verb_is_active(struct ctl *ctl, char **names, uint32_t n)
{
	return ask(ctl, names, n, is_active, true);
}

/* Exit status 0 if an actor of them failed, else 3. */
int
verb_is_failed(struct ctl *ctl, char **names, uint32_t n)
{
	return ask(ctl, names, n, is_failed, false);
}

/* 0 if all of them are ready, else 3. */
int
verb_is_ready(struct ctl *ctl, char **names, uint32_t n)
{
	return ask(ctl, names, n, is_ready, true);
}

/* Of the actors of a name, and all below them: is one not healthy? */
struct health_question {
	struct strbuf tops; /* paths, each ended by a NUL */
	bool is_bad;
};

static void
ask_health(void *user, const struct actor_view *actor)
{
	struct health_question *question = user;
	const struct strbuf *tops = &question->tops;

	for (size_t at = 0; at < tops->len; at += strlen(tops->data + at) + 1)
		if (actor_is_within(actor->path, tops->data + at) && !actor->healthy)
			question->is_bad = true;
}

/* 0 if these actors, or all of them, and all below them are healthy, else 3. */
int
verb_is_healthy(struct ctl *ctl, char **names, uint32_t n)
{
	struct health_question question = {.tops = STRBUF(PATHS_BYTES_MAX)};
	int status = actors_named(ctl, names, n, actor_note_path, &question.tops);

	if (n == 0)
		strbuf_add(&question.tops, "/", sizeof("/"));
	if (status == 0)
		status = actors_status(ctl, NULL, ACTORS_BRIEF, ask_health, &question);
	if (status == 0 && question.tops.failed)
		status = ctl_no_memory(ctl);
	strbuf_done(&question.tops);
	return status == 0 && question.is_bad ? CTL_NOT_RUNNING : status;
}

struct pids {
	struct ctl *ctl;
	bool missing;
};

static void
print_pid(void *user, const struct actor_view *actor)
{
	struct pids *pids = user;
	struct ctl *ctl = pids->ctl;
	char text[24];

	if (actor->pid <= 0) {
		complain(ctl, NULL, "%.*s has no process (%.*s)", (int)actor->path.len,
		         actor->path.at, (int)actor->state.len, actor->state.at);
		pids->missing = true;
		return;
	}
	int len = snprintf(text, sizeof(text), "%lld", (long long)actor->pid);
	if (ctl->options.json)
		ctl_array_add(ctl, (struct span){text, (size_t)len});
	else
		strbuf_addf(&ctl->out.buf, "%s\n", text);
}

/* What Ping says; the caller owns the tree. */
static int
ping(struct ctl *ctl, struct reply *ret_reply, json_t **ret)
{
	const struct call call = {.method = "Ping", .repeat = true};

	return ctl_ask(ctl, &call, ret_reply, ret);
}

static long long
number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int
print_own_pid(struct ctl *ctl)
{
	struct reply reply;
	json_auto_t *pong = NULL;
	int status = ping(ctl, &reply, &pong);

	if (status == 0)
		strbuf_addf(&ctl->out.buf, ctl->options.json ? "[%lld]\n" : "%lld\n",
		            number_of(pong, "pid"));
	return status;
}

/* The process of each actor, 3 if one has none; without names that of supd. */
int
verb_pid(struct ctl *ctl, char **names, uint32_t n)
{
	struct pids pids = {.ctl = ctl};
	int status = 0;

	if (n == 0)
		return print_own_pid(ctl);
	if (ctl->options.json)
		ctl_array_begin(ctl);
	for (uint32_t i = 0; i < n && ctl_may_go_on(ctl); i++) {
		int r = actors_status(ctl, names[i], ACTORS_BRIEF, print_pid, &pids);

		status = r > status ? r : status;
	}
	if (ctl->options.json)
		ctl_array_end(ctl);
	return status == 0 && pids.missing ? CTL_NOT_RUNNING : status;
}

/* Does supd answer? */
int
verb_ping(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct reply reply;
	json_auto_t *pong = NULL;
	int status = ping(ctl, &reply, &pong);

	if (status != 0)
		return status;
	if (ctl->options.json) {
		print_json(&ctl->out, reply.parameters);
	} else {
		const char *version = phrase_text(pong, "version");

		strbuf_adds(&ctl->out.buf, "supd ");
		print_text(&ctl->out.buf, version, strlen(version));
		strbuf_addf(&ctl->out.buf, ", pid %lld, up ", number_of(pong, "pid"));
		print_age(&ctl->out.buf, (uint64_t)number_of(pong, "uptime_ms"));
	}
	strbuf_addc(&ctl->out.buf, '\n');
	return 0;
}

struct metrics_text {
	struct ctl *ctl;
	struct strbuf text;
};

/* Take the next lines. */
static int
take_figures(void *user, const struct call *call, const struct reply *reply)
{
	static const struct scan_field fields[] = {
	    SCAN_MEMBER("openmetrics", SCAN_STRING, 0),
	};
	struct metrics_text *figures = user;
	struct span text = {NULL, 0};

	if (!scan_read(reply->parameters, fields, ARRAY_SIZE(fields), &text))
		return complain_of(figures->ctl, CTL_FAILED, call->target,
		                   "supd's answer is malformed");
	span_decode(text, &figures->text);
	return figures->text.failed ? ctl_no_memory(figures->ctl) : 0;
}

/* Have all of them, anew from a supd that came back; an exit status. */
static int
fetch_figures(struct ctl *ctl, struct metrics_text *figures)
{
	const struct call call = {.method = "Metrics", .more = true, .repeat = true};
	struct stream_end end;
	const int status = ctl_connect(ctl);
	int r;

	if (status != 0)
		return status;
	do {
		strbuf_clear(&figures->text);
		r = ctl_stream(ctl, &call, take_figures, figures, &end);
		if (r == -ECONNRESET)
			r = client_reconnect(&ctl->client, &end.err) < 0 ? r : -EAGAIN;
	} while (r == -EAGAIN);
	if (r < 0)
		return ctl_give_up(ctl, &call, r, &end.err);
	return r > 0 ? complain_refusal(ctl, &call, &end.reply) : end.status;
}

/* The figures as they are served by HTTP. */
int
verb_metrics(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct metrics_text figures = {.ctl = ctl, .text = STRBUF(OUT_BYTES_MAX)};
	struct strbuf *sb = &ctl->out.buf;
	int status = fetch_figures(ctl, &figures);

	if (status == 0 && ctl->options.json) {
		strbuf_adds(sb, "{\"openmetrics\":");
		print_quoted(&ctl->out, strbuf_str(&figures.text));
		strbuf_adds(sb, "}\n");
	} else if (status == 0 && ctl->out.terminal) {
		print_lines(sb, strbuf_str(&figures.text), figures.text.len, "");
	} else if (status == 0) {
		strbuf_add(sb, strbuf_str(&figures.text), figures.text.len);
	}
	strbuf_done(&figures.text);
	return status;
}

/* Both versions; that no supd runs is an answer too. */
int
verb_version(struct ctl *ctl, char **names UNUSED, uint32_t n UNUSED)
{
	struct call call = {.method = "Ping"};
	struct strbuf *sb = &ctl->out.buf;
	json_auto_t *pong = NULL;
	const char *running = NULL;
	struct reply reply;

	if (client_connect(&ctl->client, NULL) == 0 &&
	    client_send(&ctl->client, call.method, NULL, false, NULL) == 0 &&
	    client_next(&ctl->client, &reply, NULL) == 0 && reply.error.at == NULL &&
	    ctl_load(ctl, &call, &reply, &pong) == 0)
		running = json_string_value(json_object_get(pong, "version"));
	if (ctl->options.json) {
		strbuf_adds(sb, "{\"supctl\": \"" PACKAGE_VERSION "\", \"supd\": ");
		if (running != NULL)
			print_quoted(&ctl->out, running);
		else
			strbuf_adds(sb, "null");
		strbuf_adds(sb, "}\n");
	} else {
		strbuf_adds(sb, "supctl " PACKAGE_VERSION "\nsupd   ");
		if (running != NULL)
			print_text(sb, running, strlen(running));
		else
			strbuf_addf(sb, "does not answer at %s", ctl->socket);
		strbuf_addc(sb, '\n');
	}
	return 0;
}

static int
explain(struct ctl *ctl, const char *name)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Explain",
	                    .target = name,
	                    .parameters = json_pack("{s:s}", "name", name),
	                    .repeat = true};
	struct reply reply;
	json_auto_t *story = NULL;
	int status = ctl_call(ctl, &call, &reply);

	if (status == 0 && ctl->options.json) {
		print_json_line(&ctl->out, reply.parameters);
		return 0;
	}
	if (status == 0)
		status = ctl_load(ctl, &call, &reply, &story);
	if (status != 0)
		return status;
	const char *text = json_string_value(json_object_get(story, "text"));
	if (ctl->shown++ > 0)
		strbuf_addc(&ctl->out.buf, '\n');
	if (text != NULL)
		story_print(&ctl->out.buf, text, strlen(text));
	return 0;
}

/* Of all actors: the paths of those that are not well. */
struct sick_list {
	struct strbuf paths; /* each ended by a NUL */
	size_t n_actors;
};

static void
note_sick(void *user, const struct actor_view *actor)
{
	struct sick_list *list = user;

	list->n_actors++;
	if (actor_is_unwell(actor))
		actor_note_path(&list->paths, actor);
}

/* The story of each actor that is not well. */
static int
explain_all(struct ctl *ctl)
{
	struct sick_list list = {.paths = STRBUF(PATHS_BYTES_MAX)};
	int combined = actors_status(ctl, NULL, ACTORS_BRIEF, note_sick, &list);

	if (combined == 0 && list.paths.failed)
		combined = ctl_no_memory(ctl);
	if (combined == 0 && list.paths.len == 0 && !ctl->options.json)
		strbuf_addf(&ctl->out.buf,
		            "Nothing is wrong with any of the %zu actors.\n",
		            list.n_actors);
	for (size_t at = 0; at < list.paths.len && ctl_may_go_on(ctl);
	     at += strlen(list.paths.data + at) + 1) {
		int status = explain(ctl, list.paths.data + at);

		/* That an actor has gone meanwhile is no error. */
		if (status != CTL_NO_SUCH_ACTOR && status > combined)
			combined = status;
	}
	strbuf_done(&list.paths);
	return combined;
}

/* Why each actor is as it is; without names, each actor that is not well. */
int
verb_explain(struct ctl *ctl, char **names, uint32_t n)
{
	return n == 0 ? explain_all(ctl) : actors_act(ctl, names, n, explain);
}
