/* SPDX-License-Identifier: ISC */
/* control_token.c - a command that is repeated with its token gets its answer again.
 *
 * A client that lost its connection cannot know whether its command was carried out; with
 * a token it may ask again, and nothing is done twice.
 */
#include "config.h"

#include "daemon/control_private.h"

#include <stdlib.h>
#include <string.h>

static struct remembered *
find(struct control *control, uid_t uid, const char *token)
{
	for (size_t i = 0; control->remembered != NULL && i < CONTROL_TOKENS_MAX; i++) {
		struct remembered *memory = &control->remembered[i];

		if (memory->method != NULL && memory->uid == uid &&
		    strcmp(memory->token, token) == 0)
			return memory;
	}
	return NULL;
}

/* The oldest one makes room. */
static struct remembered *
add(struct control *control)
{
	struct remembered *memory;

	if (control->remembered == NULL)
		control->remembered =
		    calloc(CONTROL_TOKENS_MAX, sizeof(*control->remembered));
	if (control->remembered == NULL)
		return NULL;
	memory = &control->remembered[control->next_remembered % CONTROL_TOKENS_MAX];
	free(memory->answer);
	*memory = (struct remembered){.serial = ++control->next_remembered};
	return memory;
}

/*
 * Called when all is checked and the command is about to be carried out.
 *
 * false: it was answered here, with the answer that it had before, or because the token
 * is too long or was that of another method.  *ret_repeated: it was begun before and has
 * no answer to be given again: the caller waits for its goal and does not act.
 */
bool
token_begin(struct conn *conn, bool *ret_repeated)
{
	struct call *call = &conn->call;
	const char *token = param_string(conn, "token");
	struct remembered *memory;

	*ret_repeated = false;
	if (token == NULL)
		return true;
	memory = find(conn->control, conn->peer.uid, token);
	if (strlen(token) > CONTROL_TOKEN_LEN ||
	    (memory != NULL && memory->method != call->method)) {
		reply_invalid_parameter(conn, "token");
		return false;
	}
	if (memory != NULL && memory->answer != NULL) {
		reply_raw(conn, memory->answer, memory->answer_len);
		return false;
	}
	*ret_repeated = memory != NULL;
	if (memory == NULL)
		memory = add(conn->control);
	if (memory == NULL)
		return true;
	if (!*ret_repeated) {
		memory->uid = conn->peer.uid;
		memory->method = call->method;
		(void)strcpy(memory->token, token);
	}
	call->memory = memory;
	call->memory_serial = memory->serial;
	return true;
}

/* The answer of a call, its NUL included: keep it if the call has a token. */
void
token_answer(struct conn *conn, const char *message, size_t len)
{
	struct remembered *memory = conn->call.memory;

	if (memory == NULL || memory->serial != conn->call.memory_serial ||
	    memory->answer != NULL || len > CONTROL_ANSWER_MAX)
		return;
	memory->answer = malloc(len);
	if (memory->answer == NULL)
		return;
	memcpy(memory->answer, message, len);
	memory->answer_len = len;
}

/* Forget all answers. */
void
tokens_done(struct control *control)
{
	for (size_t i = 0; control->remembered != NULL && i < CONTROL_TOKENS_MAX; i++)
		free(control->remembered[i].answer);
	free(control->remembered);
	control->remembered = NULL;
}
