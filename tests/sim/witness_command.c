/* SPDX-License-Identifier: ISC */
/* witness_command.c - what commands mean, and that each is answered once (I29). */
#include "config.h"

#include "tests/sim/sim.h"

static void
add_token(struct witness *witness, const struct event *event)
{
	if (event->token == 0)
		return;
	if (witness->n_tokens == SIM_TOKENS_MAX) {
		witness_blame(witness, "(simulator) too many tokens");
		return;
	}
	witness->tokens[witness->n_tokens].token = event->token;
	witness->tokens[witness->n_tokens].kind = event->kind;
	witness->tokens[witness->n_tokens++].command = event->kind != EVENT_WAIT;
}

/* No caller waits for this reply any more; the reply may be on its way. */
static void
unwait(struct witness *witness, uint64_t token)
{
	for (uint32_t i = 0; i < witness->n_tokens; i++)
		if (witness->tokens[i].token == token)
			witness->tokens[i] = witness->tokens[--witness->n_tokens];
	witness->unwaited = token;
}

/*
 * May the actor, which was added with those above it, be forgotten?  It keeps its place
 * while it, or an actor below, cannot be killed.
 */
static bool
may_be_forgotten(struct witness *witness, const struct witnessed *top)
{
	const struct witnessed *at = top;
	bool is_left = false;

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		is_left = is_left || (witness->nodes[i].used &&
		                      witness->nodes[i].process.unkillable &&
		                      witness_below(witness, &witness->nodes[i], top));
	while (at != NULL && at->joined == 0 && at->ref.slot != CORE_USER)
		at = witness_parent(witness, at);
	return is_left && at != NULL && at->joined != 0;
}

static void
saw_reset(struct witness *witness, const struct witnessed *top)
{
	const bool is_unknown = top->removing || may_be_forgotten(witness, top);

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (!node->used || !witness_below(witness, node, top))
			continue;
		node->renewed = true;
		if (!is_unknown && core_valid(witness->rig->core, node->ref))
			node->failures = 0;
		node->first_grant = node->n_grants;
		node->n_resumed = 0;
	}
}

/* What is asked of a child before its supervisor takes starts may be forgotten. */
static bool
may_be_closed(const struct witnessed *supervisor)
{
	return supervisor->before == STATE_STARTING &&
	       (supervisor->spec->kind == NODE_BOTH || supervisor->spec->hooks != 0);
}

/*
 * Is a supervisor above about to be started anew? Then a command for the node is
 * forgotten with the supervisor, or remembered: both are right.
 */
bool
witness_restart_is_due(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *at = node;

	if (witness_group_is_doomed(witness, node))
		return true;
	while (at->ref.slot != CORE_USER) {
		at = witness_parent(witness, at);
		if (at == NULL || at->up > at->started || may_be_closed(at))
			return true;
	}
	return false;
}

/* Should these actors run?  Undecided from now on. */
void
witness_doubt(struct witness *witness, const struct witnessed *top)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (node->used && witness_below(witness, node, top))
			node->unsure = true;
	}
}

/* A start of a supervisor that runs: nothing, or the end of a stop that was just asked.
 */
static void
forget_stop(struct witness *witness, struct witnessed *top)
{
	top->hold = 0;
	if (top->told_down < top->started)
		return;
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct witnessed *node = &witness->nodes[i];

		if (!node->used || !witness_below(witness, node, top))
			continue;
		node->down = 0;
		node->told_down = 0;
		node->unsure = true;
	}
}

static bool
runs_above(struct witness *witness, const struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (node->ref.slot == CORE_USER)
		return true;
	if (parent == NULL || witness_is_kept(witness, node) || may_be_closed(parent))
		return false;
	return witness_runs(parent->before);
}

/*
 * A stop while the process of its supervisor certainly comes up is remembered: the child
 * is not started with the children of that process.
 */
static void
remember_stop(struct witness *witness, struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);
	const struct process *process;

	if (node->ref.slot == CORE_USER || parent == NULL ||
	    parent->spec->kind != NODE_BOTH || parent->before != STATE_STARTING)
		return;
	process = &parent->process;
	if (process->there && !process->main_dead && parent->stop < process->asked)
		node->kept_down = witness->seq;
}

/* A start, or a restart: what was asked of it and those below before is over. */
static void
saw_start(struct witness *witness, struct witnessed *node, const struct event *event)
{
	witness_mark(witness, node, &node->up);
	witness->hurry = witness->seq;
	node->renewed = true;
	witness_renew(witness, node);
	if (witness_restart_is_due(witness, node) || !runs_above(witness, node))
		witness_doubt(witness, node);
	if (event->kind == EVENT_RESTART)
		witness_mark(witness, node, &node->stop);
	else if (!node->removing)
		node->hold = 0;
}

/* A start of a supervisor that runs. */
static void
saw_start_again(struct witness *witness, struct witnessed *node)
{
	/* The stop may wait for its turn: then the actor comes up anew. */
	if (node->down > node->up || node->stop > node->up) {
		witness_mark(witness, node, &node->up);
		node->renewed = true;
		witness_renew(witness, node);
		witness_doubt(witness, node);
	}
	forget_stop(witness, node);
}

static void
saw_stop(struct witness *witness, struct witnessed *node, const struct event *event)
{
	remember_stop(witness, node);
	witness_mark(witness, node, &node->stop);
	if (!witness_restart_is_due(witness, node)) {
		witness_mark(witness, node, &node->down);
		witness_mark(witness, node, &node->told_down);
	} else {
		witness_doubt(witness, node);
	}
	if (event->hold && !node->removing)
		node->hold = witness->seq;
}

/* A command, before the core is given it. */
void
witness_command(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);
	const bool starts = event->kind == EVENT_START || event->kind == EVENT_RESTART;

	if (event->kind == EVENT_UNWAIT) {
		unwait(witness, event->token);
		return;
	}
	witness->clean = false;
	add_token(witness, event);
	if (node == NULL || !core_valid(witness->rig->core, event->ref))
		return;
	if (starts || event->kind == EVENT_RESET)
		witness_pace_renew(witness);
	if (starts)
		node->may_forget = node->is_needed = true;
	if (event->kind == EVENT_START && node->spec->kind != NODE_WORKER &&
	    witness_runs(node->before))
		saw_start_again(witness, node);
	else if (starts)
		saw_start(witness, node, event);
	else if (event->kind == EVENT_STOP)
		saw_stop(witness, node, event);
	else if (event->kind == EVENT_KILL)
		node->maybe++;
	else if (event->kind == EVENT_RESET)
		saw_reset(witness, node);
	witness->op_deletes = event->kind == EVENT_DELETE;
}

/* I29: what is refused changes nothing. */
static void
check_refusal(struct witness *witness, const struct action *reply, enum event_kind kind)
{
	const bool is_busy =
	    reply->result == REPLY_BUSY &&
	    (kind == EVENT_SUSPEND || kind == EVENT_ADD || kind == EVENT_DELETE);

	if (witness->op == NULL || witness->op->kind != OP_POST ||
	    witness->op->event.token != reply->token)
		return;
	witness->op_refused = is_busy || reply->result == REPLY_INVALID_STATE ||
	                      reply->result == REPLY_NO_SUCH_ACTOR ||
	                      reply->result == REPLY_LIMIT;
	if (witness->op_refused && witness->rig->n_log > 1)
		witness_blame(witness, "I29 a refused %s does something",
		              event_kind_names[kind]);
}

/* ACTION_REPLY: each command has one (I29). */
void
witness_reply(struct witness *witness, const struct action *action)
{
	for (uint32_t i = 0; i < witness->n_tokens; i++) {
		if (witness->tokens[i].token != action->token)
			continue;
		witness_suspended(witness, action, witness->tokens[i].kind);
		check_refusal(witness, action, witness->tokens[i].kind);
		witness->tokens[i] = witness->tokens[--witness->n_tokens];
		return;
	}
	if (action->token != witness->unwaited)
		witness_blame(witness, "I29 a second reply, or to nobody");
}
