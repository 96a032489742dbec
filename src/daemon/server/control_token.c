/* SPDX-License-Identifier: ISC */
/* control_token.c - a command that is repeated with its token gets its answer again.
 *
 * A client that lost its connection cannot know whether its command was carried out; with
 * a token it may ask again, and nothing is done twice.  That holds across the death of a
 * guardian at any instruction: what is remembered is in the ledger.  A call is begun
 * before its events are posted; it counts as done once the core was given one of them,
 * and that is repeated with the journal: so a call that is begun and not done after a
 * replay was never carried out.
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "daemon/server/control_private.h"

/* True if the token is too long, or was that of another method.  Then that is replied. */
static bool
is_wrong(struct conn *conn, const char *token, const struct remembered *memory)
{
	if (strlen(token) <= CONTROL_TOKEN_LEN &&
	    (memory == NULL || strcmp(memory->method, conn->call.method->name) == 0))
		return false;
	reply_invalid_parameter(conn, "token");
	return true;
}

/*
 * The command is about to be carried out, and token_resumes() was false: remember it, and
 * what becomes of it, whether its caller is still there then or not.
 */
void
token_keep(struct conn *conn, enum call_keep keeps)
{
	const char *token = param_string(conn, "token");

	if (token == NULL)
		return;
	conn->call.keeps = keeps;
	memory_use(conn, memory_add(conn, token));
}

/* True if the call was begun, with this token, under a guardian before this one. */
bool
token_is_orphaned(struct conn *conn)
{
	const char *token = param_string(conn, "token");
	const struct remembered *memory =
	    token == NULL ? NULL : memory_find(conn->control, conn->peer.uid, token);

	return memory != NULL && memory->is_orphaned;
}

/*
 * The call that was made before with this token, used by this one from now on; NULL:
 * there is none, or *ret_replied.
 */
static struct remembered *
find_call(struct conn *conn, bool *ret_replied)
{
	const char *token = param_string(conn, "token");

	*ret_replied = false;
	if (token == NULL)
		return NULL;
	struct remembered *memory = memory_find(conn->control, conn->peer.uid, token);
	*ret_replied = is_wrong(conn, token, memory);
	if (memory == NULL || *ret_replied)
		return NULL;
	if (atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
		*ret_replied = true;
		return NULL;
	}
	memory_use(conn, memory);
	return memory;
}

/*
 * Called when all is checked and the command is about to be carried out.
 *
 * false: it was answered here, with the answer that it had before, or because the token
 * is too long or was that of another method.  Else *ret_state says whether it was begun
 * before and has no answer yet that could be given again.
 */
bool
token_begin(struct conn *conn, enum token_state *ret_state)
{
	bool replied;
	const struct remembered *memory = find_call(conn, &replied);

	*ret_state = memory != NULL ? TOKEN_WAITING : TOKEN_NEW;
	if (memory == NULL && !replied)
		token_keep(conn, KEEP_FOR_CLIENT);
	return !replied;
}

/* ---- what became of it ------------------------------------------------------------- */

static uint32_t
count_answered(const struct remembered *memory)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < memory->n_done; i++)
		n += memory->answered[i / 8] >> i % 8 & 1;
	return n;
}

/* Answer a call that was made before, once all is known; false: something is not. */
static bool
progress(struct conn *conn)
{
	struct remembered *memory = token_memory(conn);
	struct served_call *call = &conn->call;

	if (memory == NULL) {
		reply_outcome_unknown(conn);
	} else if (atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
	} else if (memory->is_orphaned && memory->n_done < memory->n_targets) {
		/* More targets than the journal takes at once, or its caller went away
		 * before that guardian did. */
		reply_outcome_unknown(conn);
	} else if (count_answered(memory) < memory->n_targets) {
		return false;
	} else if (memory->failed == memory->n_targets) {
		call->finish(conn);
	} else {
		const struct target target = {.ref = memory->ref,
		                              .answered = true,
		                              .result = memory->result,
		                              .cause = memory->cause,
		                              .state = memory->node_state,
		                              .path = call->base_path};

		if (call->fail != NULL)
			call->fail(conn, &target);
		else
			reply_target_error(conn, &target);
	}
	call_finish(conn);
	return true;
}

/*
 * True if this call was made before.  Then it is answered as that one: here, or when all
 * has come that it began, by these as in struct served_call.  Ask before looking at what
 * the call would change: it may be changed.
 */
bool
token_resumes(struct conn *conn, void (*finish)(struct conn *conn),
              void (*fail)(struct conn *conn, const struct target *target))
{
	bool replied;

	if (find_call(conn, &replied) == NULL)
		return replied;
	conn->call.finish = finish;
	conn->call.fail = fail;
	conn->call.state = CALL_AGAIN;
	conn->call.progress = progress;
	return true;
}

/* True if the core refused a target, rather than that it did not come to its goal. */
static bool
is_refused(const struct remembered *memory)
{
	return memory->failed < memory->n_targets && memory->result != REPLY_FAILED &&
	       memory->result != REPLY_SUPERSEDED;
}

/*
 * As token_resumes(), for a call with `timeout_ms` and `wait`.  If it is not to wait, it
 * is answered when all its events were posted, and none was refused.
 */
bool
token_waits_again(struct conn *conn, void (*finish)(struct conn *conn))
{
	if (!token_resumes(conn, finish, NULL))
		return false;
	if (conn->call.state != CALL_AGAIN)
		return true;
	const struct remembered *memory = token_memory(conn);
	if (param_bool(conn, "wait", true)) {
		wait_start_timer(conn);
	} else if (memory->n_done == memory->n_targets && !is_refused(memory)) {
		finish(conn);
		conn->call.state = CALL_FINISHED;
	}
	return true;
}

/* ---- signals: no event of the core, but done here and now -------------------------- */

/*
 * The call, made before or now, as far as it got: `n_tried` targets were about to be
 * signalled, `n_done` were.  NULL: nothing is remembered, or *ret_replied.
 */
struct remembered *
token_find(struct conn *conn, bool *ret_replied)
{
	struct remembered *memory = find_call(conn, ret_replied);

	if (memory == NULL && !*ret_replied) {
		token_keep(conn, KEEP_ALWAYS);
		memory = token_memory(conn);
	}
	return memory;
}
