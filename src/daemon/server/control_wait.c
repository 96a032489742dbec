/* SPDX-License-Identifier: ISC */
/* control_wait.c - calls that wait for actors: each target is a token that the core
 * answers once.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "daemon/server/control_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/post.h"
#include "helper/watchers.h"

/* ---- tokens ----------------------------------------------------------------------- */

_Static_assert(WAITERS_MAX < TOKEN_WAITER_MASK, "a token has room for them");
_Static_assert(CONTROL_TOKENS_MAX < TOKEN_KEPT >> TOKEN_MEMORY_SHIFT, "and for these");

/*
 * A token is the number of its waiter plus one, above that where its call is remembered,
 * and above that a serial number: a late answer never reaches a later call.
 */
static uint64_t
make_token(const struct served_call *call, uint32_t waiter, uint32_t serial)
{
	return (uint64_t)serial << 32 | (call->keeps != KEEP_NOT ? TOKEN_KEPT : 0) |
	       (uint64_t)call->memory << TOKEN_MEMORY_SHIFT | (waiter + 1);
}

static struct wait_entry *
find_waiter(struct control *control, uint64_t token)
{
	uint32_t i = ((uint32_t)token & TOKEN_WAITER_MASK) - 1;

	if (i >= control->waiters_cap)
		return NULL;
	struct wait_entry *waiter = &control->waiters[i];
	return waiter->conn == NULL || waiter->serial != (uint32_t)(token >> 32) ? NULL
	                                                                         : waiter;
}

static void
free_waiter(struct control *control, uint64_t token)
{
	struct wait_entry *waiter = find_waiter(control, token);

	ASSERT(waiter != NULL);
	waiter->conn = NULL;
	waiter->next_free = control->free_waiter;
	control->free_waiter = (uint32_t)(waiter - control->waiters);
	control->n_waiters--;
}

/* Have at least n free waiters; false: there is no memory. */
static bool
reserve_waiters(struct control *control, size_t n)
{
	uint32_t cap = control->waiters_cap == 0 ? 64 : control->waiters_cap;

	while (cap < control->n_waiters + n)
		cap *= 2;
	if (cap == control->waiters_cap)
		return true;
	if (!ARRAY_RESIZE(control->waiters, cap))
		return false;
	for (uint32_t i = cap; i-- > control->waiters_cap;) {
		control->waiters[i] =
		    (struct wait_entry){.next_free = control->free_waiter};
		control->free_waiter = i;
	}
	control->waiters_cap = cap;
	return true;
}

/* ---- waiting ---------------------------------------------------------------------- */

/*
 * Make room for the targets of a call before anything is done; false: there is none, and
 * the error is replied.
 */
bool
wait_prepare(struct conn *conn, size_t n_targets)
{
	struct served_call *call = &conn->call;

	ASSERT(call->targets == NULL);
	ASSERT(n_targets > 0);
	if (!share_has_waiters(conn, n_targets) ||
	    !reserve_waiters(conn->control, n_targets))
		return reply_limit(conn, call->method->name,
		                   conn->observes ? CONTROL_WAITERS_UID : WAITERS_MAX);
	call->targets = calloc(n_targets, sizeof(*call->targets));
	call->answers = calloc(n_targets, sizeof(*call->answers));
	if (call->targets == NULL || call->answers == NULL)
		return reply_limit(conn, call->method->name, 0);
	call->n_targets = n_targets;
	return true;
}

/* Post an event that the core answers, on behalf of a target. */
void
wait_post(struct conn *conn, size_t target, const struct event *event)
{
	struct control *control = conn->control;
	uint32_t i = control->free_waiter;
	struct wait_entry *waiter = &control->waiters[i];
	struct event with_token = *event;

	ASSERT(i != UINT32_MAX);
	control->free_waiter = waiter->next_free;
	control->n_waiters++;
	*waiter = (struct wait_entry){
	    .conn = conn,
	    .target = (uint32_t)target,
	    .serial = ++control->waiter_serial,
	};
	with_token.token = make_token(&conn->call, i, waiter->serial);
	conn->call.targets[target].ref = event->ref;
	conn->call.targets[target].token = with_token.token;
	conn->call.n_open++;
	if (!post_event(control->uses.post, &with_token))
		control_on_reply(control, &(struct action){
		                              .kind = ACTION_REPLY,
		                              .ref = with_token.ref,
		                              .token = with_token.token,
		                              .result = REPLY_BUSY,
		                          });
}

/* This target has its answer. */
void
wait_answered(struct conn *conn, size_t target)
{
	struct served_call *call = &conn->call;

	ASSERT(!call->targets[target].answered);
	call->targets[target].answered = true;
	call->answers[call->n_answers++] = (uint32_t)target;
}

/* The call is over: drop its open targets.  Nothing is undone. */
void
wait_forget(struct conn *conn)
{
	struct control *control = conn->control;
	struct served_call *call = &conn->call;
	struct remembered *memory =
	    call->keeps == KEEP_FOR_CLIENT ? token_memory(conn) : NULL;

	/* What is not waited for is not known to the next guardian. */
	if (memory != NULL && call->n_open > 0 && !control->closing)
		memory->n_done = 0;
	for (size_t i = 0; i < call->n_targets; i++) {
		struct target *target = &call->targets[i];

		if (target->token == 0 || target->answered)
			continue;
		free_waiter(control, target->token);
		target->answered = true;
		call->n_open--;
		/* A kept one is answered to the memory of its call. */
		if (!control->closing && call->keeps != KEEP_ALWAYS)
			post_event(control->uses.post,
			           &(const struct event){.kind = EVENT_UNWAIT,
			                                 .token = target->token});
	}
}

/* The core has answered a call.  The answer is noted while actions are performed, and
 * sent after the turn, when all states are settled. */
void
control_on_reply(struct control *control, const struct action *action)
{
	struct wait_entry *waiter = find_waiter(control, action->token);

	if (waiter == NULL)
		return;
	struct conn *conn = waiter->conn;
	struct target *target = &conn->call.targets[waiter->target];
	wait_answered(conn, waiter->target);
	free_waiter(control, action->token);
	wait_target(control->uses.engine, target, action);
	conn->call.n_open--;
	control_attend(conn);
}

static void
on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct conn *conn = timer->data;
	const struct control_uses *uses = &conn->control->uses;
	const struct served_call *call = &conn->call;
	const struct target *target = call->targets;
	struct ref ref = call->list.n > 0 ? call->list.at[0] : REF_NONE;

	if (call->state != CALL_AGAIN) {
		/* The last answer came in this very turn. */
		if (call->n_open == 0)
			return;
		while (target->answered)
			target++;
		ref = target->ref;
	}
	reply_error(conn, CONTROL_INTERFACE ".Timeout",
	            json_pack("{s:s,s:s}", "name", actors_path(uses->actors, ref),
	                      "state", control_state_of(uses->engine, ref)));
	call_finish(conn);
	conn_run(conn);
}

/* Start the clock of `timeout_ms`, if the call has one. */
void
wait_start_timer(struct conn *conn)
{
	ev_timer *timer = &conn->call.timer;
	struct ev_loop *loop = conn->control->uses.loop;
	int64_t timeout_ms = param_int(conn, "timeout_ms", -1);

	if (timeout_ms < 0)
		return;
	timer_prepare(timer, on_timeout, conn);
	/* The loop's idea of now, which it counts from, may be as old as its last
	 * wakeup. */
	ev_now_update(loop);
	timer_begin(loop, timer, (double)timeout_ms / 1e3);
}

/* All that was waited for has come: reply, the first error before all else. */
void
wait_finish(struct conn *conn)
{
	struct served_call *call = &conn->call;
	const struct target *failed = NULL;

	for (size_t i = 0; failed == NULL && i < call->n_targets; i++) {
		const struct target *target = &call->targets[i];

		if (target->answered && target->result != REPLY_DONE)
			failed = target;
	}
	if (failed != NULL && call->fail != NULL)
		call->fail(conn, failed);
	else if (failed != NULL)
		reply_target_error(conn, failed);
	else
		call->finish(conn);
	call_finish(conn);
}
