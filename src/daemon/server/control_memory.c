/* SPDX-License-Identifier: ISC */
/* control_memory.c - calls that are remembered in the ledger with their tokens, and what
 * became of them. */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "daemon/server/control_private.h"
#include "daemon/state/engine.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"

_Static_assert(sizeof(struct remembered) * CONTROL_TOKENS_MAX <= LEDGER_TOKENS_BYTES,
               "the ledger has room for all tokens");

/* A ring of CONTROL_TOKENS_MAX calls in the present ledger; borrowed. */
static struct remembered *
memories(const struct control *control)
{
	return ledger_tokens(control->uses.recording->ledger);
}

/* The i-th place for a remembered call; NULL: it was never used.  Places come into use
 * one after the other, and an unused place is not read, as that would take memory. */
static struct remembered *
memory_at(const struct control *control, size_t i)
{
	return i < CONTROL_TOKENS_MAX && memories(control)[i].serial != 0
	           ? &memories(control)[i]
	           : NULL;
}

/*
 * Use the memory of the ledger, which is zero or comes from the guardian before.  A call
 * that the old guardian had begun, and that the replayed journal does not have, was never
 * carried out.
 */
void
tokens_init(struct control *control)
{
	struct remembered *memo;

	for (size_t i = 0; (memo = memory_at(control, i)) != NULL; i++) {
		uint32_t last = memo->first_serial + memo->n_targets;

		if (atomic_load(&memo->state) == REMEMBERED_BEGUN)
			atomic_store(&memo->state, REMEMBERED_FREE);
		/* A waiter's number of that guardian must not be given again by this
		 * guardian. */
		if (last > control->waiter_serial)
			control->waiter_serial = last;
		if (atomic_load(&memo->state) != REMEMBERED_FREE) {
			memo->is_orphaned = true;
			if (memo->serial > control->next_remembered)
				control->next_remembered = memo->serial;
		}
	}
}

/* The call that a user made with this token; NULL: none is remembered. */
struct remembered *
memory_find(struct control *control, uid_t uid, const char *token)
{
	struct remembered *memory;

	for (size_t i = 0; (memory = memory_at(control, i)) != NULL; i++)
		if (atomic_load(&memory->state) != REMEMBERED_FREE &&
		    memory->uid == uid && strcmp(memory->token, token) == 0)
			return memory;
	return NULL;
}

/* The oldest one makes room. */
struct remembered *
memory_add(struct conn *conn, const char *token)
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

/* The call is remembered there. */
void
memory_use(struct conn *conn, const struct remembered *memory)
{
	conn->call.memory = (uint32_t)(memory - memories(conn->control)) + 1;
	conn->call.memory_serial = memory->serial;
}

/* Where the call is remembered; NULL: nowhere, or no longer. */
struct remembered *
token_memory(struct conn *conn)
{
	const struct served_call *call = &conn->call;

	if (call->memory == 0)
		return NULL;
	struct remembered *memory = &memories(conn->control)[call->memory - 1];
	return memory->serial == call->memory_serial ? memory : NULL;
}

/* Take the core's answer about a target with a known actor. */
void
wait_target(const struct engine *engine, struct target *target,
            const struct action *action)
{
	target->result = action->result;
	target->cause = action->cause;
	target->state = NODE_STATE_MAX; /* gone */
	if (core_valid(engine->core, target->ref))
		target->state = engine_view(engine, target->ref).state;
}

/* The memory that a token of the core belongs to, and which of its targets; or NULL. */
static struct remembered *
memory_of(struct ledger *ledger, uint64_t token, uint32_t *ret_target)
{
	uint32_t i = ((uint32_t)token & ~(uint32_t)TOKEN_KEPT) >> TOKEN_MEMORY_SHIFT;

	if (i == 0 || i > CONTROL_TOKENS_MAX)
		return NULL;
	struct remembered *memory = (struct remembered *)ledger_tokens(ledger) + i - 1;
	uint32_t target = (uint32_t)(token >> 32) - memory->first_serial;
	if (target >= memory->n_targets || memory->n_targets > WAITERS_MAX)
		return NULL;
	*ret_target = target;
	return memory;
}

void
control_on_posted(struct ledger *ledger, uint64_t token)
{
	uint32_t target;
	struct remembered *memory = memory_of(ledger, token, &target);

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
control_remember(struct control *control, struct ledger *ledger,
                 const struct engine *engine, const struct action *action)
{
	uint32_t i;
	struct remembered *memory = memory_of(ledger, action->token, &i);
	struct target target = {.ref = action->ref};

	if (memory == NULL)
		return;
	/* The index comes last: after a death in the midst this is done once more. */
	if (action->result != REPLY_DONE && i <= memory->failed) {
		wait_target(engine, &target, action);
		memory->ref = action->ref;
		memory->result = target.result;
		memory->cause = target.cause;
		memory->node_state = target.state;
		memory->failed = i;
	}
	memory->answered[i / 8] |= (uint8_t)(1u << i % 8);
	if (control != NULL)
		wake(control, memory);
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
