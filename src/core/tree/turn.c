/* SPDX-License-Identifier: ISC */
/* turn.c - the actions that a turn appends. */
#include "config.h"

#include "core/tree/turn.h"

#include <string.h>

#include "base/assert.h"

#include "core/pure.h"

const struct cause unkillable_cause = {.kind = CAUSE_UNKILLABLE, .code = -1};

/* At most so many actions come of one node's advance or one deadline. */
#define STEP_ACTIONS (CORE_POST_ACTIONS)

/* Append an action about this node. */
struct action *
turn_act(struct turn *turn, enum action_kind kind, const struct node *node)
{
	ASSERT(turn->out->n < CORE_ACTIONS_MAX);
	struct action *action = &turn->out->at[turn->out->n++];
	/* Padding too: the same events must give the same bytes. */
	memset(action, 0, sizeof(*action));
	action->kind = kind;
	action->ref = node_ref(turn->core, node);
	action->origin = REF_NONE;
	action->to = REF_NONE;
	return action;
}

/* Append an event for the stream about this node. */
struct action *
turn_report(struct turn *turn, enum report report, const struct node *node)
{
	struct action *action = turn_act(turn, ACTION_REPORT, node);

	action->report = report;
	action->life = node->process.life;
	action->incarnation = node->run.incarnation;
	action->generation = node->run.generation;
	return action;
}

/* supd is done. */
void
turn_exit(struct turn *turn)
{
	struct core *core = turn->core;

	if (core->exited)
		return;
	core->exited = true;
	turn_act(turn, ACTION_EXIT, node_at(core, CORE_ROOT))->status = core->exit_status;
}

/* True if there is room for all actions of another step. */
bool
turn_has_room(const struct turn *turn)
{
	return turn->out->n + STEP_ACTIONS <= CORE_ACTIONS_MAX;
}
