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
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/control/control_private.h"
#include "daemon/state/shell.h"
#include "ledger/ledger.h"

_Static_assert(sizeof(struct remembered) * CONTROL_TOKENS_MAX <= LEDGER_TOKENS_BYTES,
               "the ledger has room for all tokens");

/* CONTROL_TOKENS_MAX of them, a ring, in the ledger of now; borrowed. */
static struct remembered *
memories(const struct control *control)
{
	return ledger_tokens(control->shell->ledger);
}

/*
 * Remember in the ledger's memory, which is zero or comes from the guardian before.  What
 * that one had begun, and the replayed journal does not have, was never carried out.
 */
void
tokens_init(struct control *control)
{
	for (size_t i = 0; i < CONTROL_TOKENS_MAX; i++) {
		struct remembered *memo = &memories(control)[i];
		uint32_t last = memo->first_serial + memo->n_targets;

		if (atomic_load(&memo->state) == REMEMBERED_BEGUN)
			atomic_store(&memo->state, REMEMBERED_FREE);
		memo->is_orphaned = true;
		/* A waiter's number of that guardian must not be given again by this
		 * guardian. */
		if (last > control->waiter_serial)
			control->waiter_serial = last;
		if (atomic_load(&memo->state) != REMEMBERED_FREE &&
		    memo->serial > control->next_remembered)
			control->next_remembered = memo->serial;
	}
}

static struct remembered *
find(struct control *control, uid_t uid, const char *token)
{
	for (size_t i = 0; i < CONTROL_TOKENS_MAX; i++) {
		struct remembered *memory = &memories(control)[i];

		if (atomic_load(&memory->state) != REMEMBERED_FREE &&
		    memory->uid == uid && strcmp(memory->token, token) == 0)
			return memory;
	}
	return NULL;
}

/* The oldest one makes room. */
static struct remembered *
add(struct conn *conn, const char *token)
{
	struct control *control = conn->control;
	struct remembered *memory =
	    &memories(control)[control->next_remembered % CONTROL_TOKENS_MAX];

	atomic_store(&memory->state, REMEMBERED_FREE);
	memory->serial = ++control->next_remembered;
	memory->uid = conn->peer.uid;
	memory->is_orphaned = false;
	memory->first_serial = control->waiter_serial + 1;
	memory->n_targets = (uint32_t)conn->call.n_targets;
	memory->n_tried = 0;
	memory->n_done = 0;
	memory->failed = memory->n_targets;
	memset(memory->answered, 0, sizeof(memory->answered));
	(void)strncpy(memory->method, conn->call.method->name,
	              sizeof(memory->method) - 1);
	(void)strncpy(memory->token, token, sizeof(memory->token) - 1);
	atomic_store(&memory->state, REMEMBERED_BEGUN);
	return memory;
}

static void
use(struct conn *conn, const struct remembered *memory)
{
	conn->call.memory = (uint32_t)(memory - memories(conn->control)) + 1;
	conn->call.memory_serial = memory->serial;
}

/* Where the call is remembered; NULL: nowhere, or no longer. */
static struct remembered *
token_memory(struct conn *conn)
{
	const struct served_call *call = &conn->call;
	struct remembered *memory;

	if (call->memory == 0)
		return NULL;
	memory = &memories(conn->control)[call->memory - 1];
	return memory->serial == call->memory_serial ? memory : NULL;
}

/* Is the token too long, or was it that of another method?  Then that is replied. */
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
 * Called when all is checked and the command is about to be carried out.
 *
 * false: it was answered here, with the answer that it had before, or because the token
 * is too long or was that of another method.  Else *ret_state says whether it was begun
 * before and has no answer yet that could be given again.
 */
bool
token_begin(struct conn *conn, enum token_state *ret_state)
{
	const char *token = param_string(conn, "token");
	struct remembered *memory;

	*ret_state = TOKEN_NEW;
	if (token == NULL)
		return true;
	memory = find(conn->control, conn->peer.uid, token);
	if (is_wrong(conn, token, memory))
		return false;
	if (memory != NULL && atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
		return false;
	}
	if (memory == NULL)
		memory = add(conn, token);
	else
		*ret_state = memory->is_orphaned ? TOKEN_ORPHANED : TOKEN_WAITING;
	use(conn, memory);
	return true;
}

/*
 * The command is about to be carried out, and token_resumes() was false: remember it, and
 * what becomes of it, whether its caller is still there then or not.
 */
void
token_keep(struct conn *conn)
{
	const char *token = param_string(conn, "token");

	if (token == NULL)
		return;
	conn->call.keeps = true;
	use(conn, add(conn, token));
}

/*
 * The call that was made before with this token, used by this one from now on; NULL:
 * there is none, or *ret_replied.
 */
static struct remembered *
find_call(struct conn *conn, bool *ret_replied)
{
	const char *token = param_string(conn, "token");
	struct remembered *memory;

	*ret_replied = false;
	if (token == NULL)
		return NULL;
	memory = find(conn->control, conn->peer.uid, token);
	*ret_replied = is_wrong(conn, token, memory);
	if (memory == NULL || *ret_replied)
		return NULL;
	if (atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
		*ret_replied = true;
		return NULL;
	}
	use(conn, memory);
	return memory;
}

/* ---- what became of it ------------------------------------------------------------- */

/* The memory that a token of the core belongs to, and which of its targets; or NULL. */
static struct remembered *
memory_of(const struct shell *shell, uint64_t token, uint32_t *ret_target)
{
	uint32_t i = ((uint32_t)token & ~(uint32_t)TOKEN_KEPT) >> TOKEN_MEMORY_SHIFT;
	struct remembered *memory;
	uint32_t target;

	if (i == 0 || i > CONTROL_TOKENS_MAX)
		return NULL;
	memory = (struct remembered *)ledger_tokens(shell->ledger) + i - 1;
	target = (uint32_t)(token >> 32) - memory->first_serial;
	if (target >= memory->n_targets || memory->n_targets > WAITERS_MAX)
		return NULL;
	*ret_target = target;
	return memory;
}

void
control_on_posted(struct shell *shell, uint64_t token)
{
	uint32_t target;
	struct remembered *memory = memory_of(shell, token, &target);

	if (memory == NULL)
		return;
	if (memory->n_done < target + 1)
		memory->n_done = target + 1;
	if (atomic_load(&memory->state) == REMEMBERED_BEGUN)
		atomic_store(&memory->state, REMEMBERED_DONE);
}

/* Calls with the same token look at the memory in the next turn. */
static void
wake(struct control *control, const struct remembered *memory)
{
	struct conn *conn;

	TAILQ_FOREACH (conn, &control->conns, link) {
		if (conn->busy && conn->call.state == CALL_AGAIN &&
		    token_memory(conn) == memory)
			control_attend(conn);
	}
}

void
control_remember(struct shell *shell, const struct action *action)
{
	uint32_t i;
	struct remembered *memory = memory_of(shell, action->token, &i);
	struct target target = {.ref = action->ref};

	if (memory == NULL)
		return;
	/* The index comes last: after a death in the midst this is done once more. */
	if (action->result != REPLY_DONE && i <= memory->failed) {
		wait_target(shell, &target, action);
		memory->ref = action->ref;
		memory->result = target.result;
		memory->cause = target.cause;
		memory->node_state = target.state;
		memory->failed = i;
	}
	memory->answered[i / 8] |= (uint8_t)(1u << i % 8);
	if (shell->control != NULL)
		wake(shell->control, memory);
}

static uint32_t
count_answered(const struct remembered *memory)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < memory->n_done; i++)
		n += memory->answered[i / 8] >> i % 8 & 1;
	return n;
}

/* A guardian died in the very moment in which it was carried out. */
void
reply_outcome_unknown(struct conn *conn)
{
	reply_error(conn, CONTROL_INTERFACE ".OutcomeUnknown",
	            json_pack("{s:s}", "method", conn->call.method->name));
}

/* Answer a call that was made before, once all is known; false: something is not. */
bool
token_progress(struct conn *conn)
{
	struct remembered *memory = token_memory(conn);
	struct served_call *call = &conn->call;

	if (memory == NULL) {
		reply_outcome_unknown(conn);
	} else if (atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
	} else if (memory->is_orphaned && memory->n_done < memory->n_targets) {
		/* More targets than the journal takes at once. */
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
 * Was this call made before?  Then it is answered as that one: here, or when all has come
 * that it began, by these as in struct served_call.  Ask before looking at what the call
 * would change: it may be changed.
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
	return true;
}

/* The answer of a call, its NUL included: keep it if the call has a token. */
void
token_answer(struct conn *conn, const char *message, size_t len)
{
	struct remembered *memory = token_memory(conn);

	if (memory == NULL || len > CONTROL_ANSWER_MAX ||
	    atomic_load(&memory->state) == REMEMBERED_ANSWERED)
		return;
	memcpy(memory->answer, message, len);
	memory->answer_len = (uint32_t)len;
	atomic_store(&memory->state, REMEMBERED_ANSWERED);
	wake(conn->control, memory);
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
		token_keep(conn);
		memory = token_memory(conn);
	}
	return memory;
}
