/* SPDX-License-Identifier: ISC */
/* control_stream.c - methods with many replies: Status with `more`, Events, Watch.
 *
 * Nothing is queued for a client that does not read: a stream is a place in the tree or
 * in the ring of events, and moves on when the client has taken what was sent.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "daemon/control/handlers.h"
#include "daemon/report/view.h"
#include "daemon/state/actors.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/glob.h"
#include "daemon/state/post.h"

/* ---- Status with `more` ----------------------------------------------------------- */

/* Up to so many bytes a reply in brief gets another actor: each reply costs both sides
 * some of what an actor does. */
#define BRIEF_BYTES (8 * 1024)

/* The next actor of the list, from `at` on, that is still there. */
static size_t
next_valid(const struct conn *conn, size_t at)
{
	const struct ref_list *list = &conn->call.list;

	while (at < list->n &&
	       !core_valid(conn->control->uses.engine->core, list->at[at]))
		at++;
	return at;
}

static void
list_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	size_t at = next_valid(conn, call->position);
	struct view_clock clock = view_clock_now();
	const size_t most = (call->wanted & VIEW_BRIEF) != 0 ? BRIEF_BYTES : 1;

	clock.wanted = call->wanted;
	while (conn->busy && conn_unsent(conn) < CONTROL_OUT_PIECE) {
		struct strbuf *out = reply_begin(conn);

		strbuf_adds(out, "{\"actors\":[");
		/* The list may be empty now: its last actors went away since the reply
		 * before. */
		for (const size_t start = out->len;
		     at < call->list.n && out->len < start + most;
		     at = next_valid(conn, at + 1)) {
			if (out->len > start)
				strbuf_addc(out, ',');
			view_actor_json(out, conn->control->uses.reporter, &clock,
			                call->list.at[at]);
		}
		strbuf_adds(out, "]}");
		reply_end(conn, at < call->list.n);
		call->position = at;
		if (at == call->list.n)
			call_finish(conn);
	}
}

/* ---- Events ----------------------------------------------------------------------- */

/* The next event from `seq` on that is to be sent, or until_seq. */
static uint64_t
next_match(const struct conn *conn, uint64_t seq)
{
	const struct events *events = conn->control->uses.events;
	const struct served_call *call = &conn->call;
	uint64_t end =
	    call->until_seq < events->next_seq ? call->until_seq : events->next_seq;

	while (seq < end && !events_match(events, seq, call->pattern))
		seq++;
	return seq;
}

static void
send_event(struct conn *conn, uint64_t seq, bool continues)
{
	struct strbuf *out = reply_begin(conn);
	struct event_view event;

	strbuf_adds(out, "{\"event\":");
	if (events_view(conn->control->uses.events, seq, &event))
		event_json(out, &event);
	else
		strbuf_adds(out, "{}");
	strbuf_addc(out, '}');
	reply_end(conn, continues);
}

/* True, and the error is replied, if the client was so slow that its next event was
 * overwritten. */
static bool
has_lost(struct conn *conn)
{
	const struct events *events = conn->control->uses.events;
	const struct served_call *call = &conn->call;

	if (call->next_seq >= events->first_seq)
		return false;
	reply_error(conn, CONTROL_INTERFACE ".SlowConsumer",
	            json_pack("{s:I}", "dropped",
	                      (json_int_t)(events->first_seq - call->next_seq)));
	return true;
}

/* What is there up to until_seq; the last one ends the call. */
static void
replay_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	uint64_t seq = next_match(conn, call->next_seq);
	bool last = false;

	while (!last && conn_unsent(conn) < CONTROL_OUT_STREAM) {
		uint64_t next = seq < call->until_seq ? next_match(conn, seq + 1) : seq;

		last = next == call->until_seq;
		/* A call gets one reply at least: an empty object if nothing matched. */
		send_event(conn, seq, !last);
		seq = next;
	}
	call->next_seq = seq;
}

static void
follow_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	const uint64_t end = conn->control->uses.events->next_seq;

	while (conn_unsent(conn) < CONTROL_OUT_STREAM) {
		call->next_seq = next_match(conn, call->next_seq);
		if (call->next_seq >= end)
			break;
		send_event(conn, call->next_seq, true);
		call->next_seq++;
	}
}

static void
events_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	bool last = has_lost(conn);

	if (!last && call->until_seq == UINT64_MAX) {
		follow_progress(conn);
	} else if (!last) {
		replay_progress(conn);
		last = call->next_seq == call->until_seq;
	}
	if (last)
		call_finish(conn);
}

/* Send more of a stream; false: the client has to read first, or there is nothing. */
static bool
stream_progress(struct conn *conn)
{
	size_t before = conn_unsent(conn);

	if (before >= CONTROL_OUT_STREAM)
		return false;
	if (conn->call.state == CALL_LIST)
		list_progress(conn);
	else
		events_progress(conn);
	return !conn->busy || conn_unsent(conn) != before;
}

/* One reply for each actor of the call. */
void
list_begin(struct conn *conn)
{
	conn->call.state = CALL_LIST;
	conn->call.progress = stream_progress;
}

/* Where a client that has seen `since` goes on.  Numbers that were never given out are
 * those of a supd before this one: it gets everything. */
static uint64_t
first_wanted(const struct events *events, int64_t since)
{
	if (since < 0 || (uint64_t)since >= events->next_seq ||
	    (uint64_t)since + 1 < events->first_seq)
		return events->first_seq;
	return (uint64_t)since + 1;
}

/* It follows no more. */
static void
forget_follower(struct conn *conn)
{
	conn->control->n_followers--;
}

/* The ring, and with `follow` all that comes later. */
void
handle_events(struct conn *conn)
{
	const struct events *events = conn->control->uses.events;
	struct served_call *call = &conn->call;

	if (!share_has_stream(conn, CALL_EVENTS, CONTROL_FOLLOWERS_UID)) {
		reply_limit(conn, call->method->name, CONTROL_FOLLOWERS_UID);
		return;
	}
	call->pattern = param_string(conn, "pattern");
	call->next_seq = first_wanted(events, param_int(conn, "since", -1));
	call->until_seq = events->next_seq;
	if (param_bool(conn, "follow", false))
		call->until_seq = UINT64_MAX;
	call->state = CALL_EVENTS;
	call->progress = stream_progress;
	call->release = forget_follower;
	conn->control->n_followers++;
}

/* ---- Watch ------------------------------------------------------------------------ */

static bool
is_final(enum node_state state)
{
	return state == STATE_STOPPED || state == STATE_DONE || state == STATE_FAILED;
}

/* The state in which the target ended.  By now the actor may be gone, or exist anew. */
static enum node_state
final_state(const struct target *target)
{
	if (is_final(target->state))
		return target->state;
	return cause_is_failure(&target->cause) ? STATE_FAILED : STATE_DONE;
}

static void
send_terminated(struct conn *conn, const struct target *target, bool continues)
{
	struct strbuf *out = reply_begin(conn);
	const char *state = "unknown";

	if (target->confirmed)
		state = node_state_names[final_state(target)];
	else if (!ref_is_none(target->ref))
		state = node_state_names[target->state];
	strbuf_adds(out, "{\"path\":");
	strbuf_add_json(out, target->path);
	strbuf_addf(out,
	            ",\"incarnation\":%u,\"cause\":", (unsigned int)target->incarnation);
	/* How the process took the signal of a stop does not matter. */
	if (!target->confirmed)
		strbuf_adds(out, "null");
	else if (target->state == STATE_STOPPED)
		cause_json(out, &(const struct cause){.kind = CAUSE_STOPPED, .code = -1},
		           NULL);
	else
		cause_json(
		    out, &target->cause,
		    cause_about(conn->control->uses.actors, &target->cause, target->ref));
	strbuf_addf(out, ",\"state\":\"%s\",\"existence_confirmed\":%s}", state,
	            target->confirmed ? "true" : "false");
	reply_end(conn, continues);
}

/* Send those that ended, in the order in which they did; false: the others live, or the
 * client has to read first. */
static bool
watch_progress(struct conn *conn)
{
	struct served_call *call = &conn->call;
	bool any = false;

	while (call->n_sent < call->n_answers) {
		struct target *target = &call->targets[call->answers[call->n_sent]];

		if (conn_unsent(conn) >= CONTROL_OUT_STREAM)
			return any;
		if (target->token != 0 && target->result == REPLY_BUSY) {
			reply_target_error(conn, target);
			call_finish(conn);
			return true;
		}
		if (target->token != 0)
			target->confirmed = target->result == REPLY_DONE;
		call->n_sent++;
		any = true;
		send_terminated(conn, target, call->n_sent < call->n_targets);
	}
	if (call->n_sent < call->n_targets)
		return any;
	call_finish(conn);
	return true;
}

/* Watch one actor; `since` is the incarnation that the caller knew, or -1. */
static void
watch_actor(struct conn *conn, size_t i, struct ref ref, int64_t since)
{
	const struct control_uses *uses = &conn->control->uses;
	struct target *target = &conn->call.targets[i];
	const struct node_view view = engine_view(uses->engine, ref);

	target->ref = ref;
	target->incarnation = view.run.incarnation;
	target->state = view.state;
	if (is_final(view.state) ||
	    (since >= 0 && since != (int64_t)view.run.incarnation))
		wait_answered(conn, i);
	else
		wait_post(conn, i,
		          &(const struct event){.kind = EVENT_WAIT,
		                                .ref = ref,
		                                .wait_for = WAIT_TERMINATED});
}

/* A watch before it is registered: an actor, or a name without an actor. */
struct watch_request {
	struct ref ref;
	const char *path; /* borrowed */
	int64_t since;
};

struct watch_requests {
	size_t n;
	struct watch_request at[WAITERS_MAX + CONTROL_NAMES_MAX];
};

static bool
register_watches(struct conn *conn, const struct watch_requests *watches)
{
	const size_t n = watches->n;
	struct served_call *call = &conn->call;

	if (!wait_prepare(conn, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		struct target *target = &call->targets[i];

		target->path = strdup(watches->at[i].path);
		if (target->path == NULL)
			return reply_limit(conn, call->method->name, 0);
	}
	for (size_t i = 0; i < n; i++) {
		if (ref_is_none(watches->at[i].ref)) {
			call->targets[i].ref = REF_NONE;
			wait_answered(conn, i);
		} else {
			watch_actor(conn, i, watches->at[i].ref, watches->at[i].since);
		}
	}
	call->state = CALL_WATCH;
	call->progress = watch_progress;
	return true;
}

/* Append what a name means; how many, -ENOTUNIQ, -ENOMEM or -E2BIG. */
static int
add_watches(const struct control_uses *uses, const char *name, int64_t since,
            struct watch_requests *watches, struct candidates *candidates)
{
	CLEANUP(ref_list_done) struct ref_list list = {0};

	int r = resolve_name(uses->reporter, name, &list, candidates);
	if (r == -ENOENT) {
		watches->at[watches->n++] = (struct watch_request){REF_NONE, name, since};
		return 1;
	}
	if (r > 0 && watches->n + list.n > WAITERS_MAX)
		return -E2BIG;
	for (size_t i = 0; r > 0 && i < list.n; i++)
		watches->at[watches->n++] = (struct watch_request){
		    list.at[i], actors_path(uses->actors, list.at[i]), since};
	return r;
}

static void
watch_names(struct conn *conn, const json_t *names, const json_t *since,
            struct watch_requests *watches)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		const json_t *known = json_array_get(since, i);
		struct candidates candidates;
		int r = add_watches(&conn->control->uses, name,
		                    known != NULL ? json_integer_value(known) : -1,
		                    watches, &candidates);

		if (r == -ENOTUNIQ) {
			reply_no_such_actor(conn, name, &candidates);
			return;
		}
		if (r < 0) {
			reply_limit(conn, name, WAITERS_MAX);
			return;
		}
	}
	(void)register_watches(conn, watches);
}

/* Death watch: one reply for each actor, at its final end or at once if it is over. */
void
handle_watch(struct conn *conn)
{
	const json_t *names = param_get(conn, "names");
	const json_t *since = param_get(conn, "since");

	if (json_array_size(names) == 0) {
		reply_invalid_parameter(conn, "names");
	} else if (since != NULL && json_array_size(since) != json_array_size(names)) {
		reply_invalid_parameter(conn, "since");
	} else if (share_may_search(conn, names)) {
		CLEANUP_FREE struct watch_requests *watches = calloc(1, sizeof(*watches));

		if (watches == NULL)
			reply_limit(conn, conn->call.method->name, 0);
		else
			watch_names(conn, names, since, watches);
	}
}
