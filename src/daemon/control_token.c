/* SPDX-License-Identifier: ISC */
/* control_token.c - a command that is repeated with its token gets its answer again.
 *
 * A client that lost its connection cannot know whether its command was carried out; with
 * a token it may ask again, and nothing is done twice.  That holds across our own death:
 * what is remembered is in the ledger, and counts if the journal was written on after it.
 */
#include "config.h"

#include "daemon/control_private.h"
#include "daemon/shell.h"
#include "ledger/ledger.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct remembered) * CONTROL_TOKENS_MAX <= LEDGER_TOKENS_BYTES,
               "the ledger has room for all tokens");

/*
 * Remember in this memory, which is zero or comes from a guardian before us.  What that
 * one had begun but not put down in the journal was never carried out.
 */
void
tokens_init(struct control *control, void *memory)
{
	const uint64_t now = ledger_position(control->shell->ledger);

	control->remembered = memory;
	for (size_t i = 0; i < CONTROL_TOKENS_MAX; i++) {
		struct remembered *memo = &control->remembered[i];

		if (atomic_load(&memo->state) == REMEMBERED_BEGUN && memo->begun == now)
			atomic_store(&memo->state, REMEMBERED_FREE);
		memo->is_orphaned = true;
		if (atomic_load(&memo->state) != REMEMBERED_FREE &&
		    memo->serial > control->next_remembered)
			control->next_remembered = memo->serial;
	}
}

static struct remembered *
find(struct control *control, uid_t uid, const char *token)
{
	for (size_t i = 0; i < CONTROL_TOKENS_MAX; i++) {
		struct remembered *memory = &control->remembered[i];

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
	    &control->remembered[control->next_remembered % CONTROL_TOKENS_MAX];

	atomic_store(&memory->state, REMEMBERED_FREE);
	memory->serial = ++control->next_remembered;
	memory->begun = ledger_position(control->shell->ledger);
	memory->uid = conn->peer.uid;
	memory->is_orphaned = false;
	(void)strncpy(memory->method, conn->call.method->name,
	              sizeof(memory->method) - 1);
	(void)strncpy(memory->token, token, sizeof(memory->token) - 1);
	atomic_store(&memory->state, REMEMBERED_BEGUN);
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
	struct call *call = &conn->call;
	const char *token = param_string(conn, "token");
	struct remembered *memory;

	*ret_state = TOKEN_NEW;
	if (token == NULL || conn->control->remembered == NULL)
		return true;
	memory = find(conn->control, conn->peer.uid, token);
	if (strlen(token) > CONTROL_TOKEN_LEN ||
	    (memory != NULL && strcmp(memory->method, call->method->name) != 0)) {
		reply_invalid_parameter(conn, "token");
		return false;
	}
	if (memory != NULL && atomic_load(&memory->state) == REMEMBERED_ANSWERED) {
		reply_raw(conn, memory->answer, memory->answer_len);
		return false;
	}
	if (memory == NULL)
		memory = add(conn, token);
	else
		*ret_state = memory->is_orphaned ? TOKEN_ORPHANED : TOKEN_WAITING;
	call->memory = (uint32_t)(memory - conn->control->remembered) + 1;
	call->memory_serial = memory->serial;
	return true;
}

/* The answer of a call, its NUL included: keep it if the call has a token. */
void
token_answer(struct conn *conn, const char *message, size_t len)
{
	struct remembered *memory;

	if (conn->call.memory == 0)
		return;
	memory = &conn->control->remembered[conn->call.memory - 1];
	if (memory->serial != conn->call.memory_serial ||
	    atomic_load(&memory->state) != REMEMBERED_BEGUN || len > CONTROL_ANSWER_MAX)
		return;
	memcpy(memory->answer, message, len);
	memory->answer_len = (uint32_t)len;
	atomic_store(&memory->state, REMEMBERED_ANSWERED);
}
