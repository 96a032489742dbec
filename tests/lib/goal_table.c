/* SPDX-License-Identifier: ISC */
/* goal_table.c - the table of core/tree/goal.h: which state a node may rest in with which
 * goal (I39).
 */
#include "config.h"

#include "core/tree/node.h"
#include "core/tree/turn.h"
#include "tests/lib/rig.h"

#define ALONE    1 /* sets of the parts that the node may have in its supervisor's moves */
#define GROUPED  2
#define SEQUENCE 4
#define BOTH     8

enum stage { DOWN, PENDING, UP, STOPPING, STAGES };

static enum stage
stage_of(const struct node *node)
{
	if (node_is_down(node))
		return DOWN;
	if (node_is_pending(node))
		return PENDING;
	return node->state == STATE_STOPPING ? STOPPING : UP;
}

static unsigned int
part_of(const struct node *node)
{
	if (node_is_in_sequence(node))
		return node->part.grouped ? BOTH : SEQUENCE;
	return node->part.grouped ? GROUPED : ALONE;
}

static const unsigned int table[STAGES][GOAL_RESTART + 1] = {
    [DOWN] = {[GOAL_DOWN] = ALONE | GROUPED, [GOAL_UP] = ALONE, [GOAL_RESTART] = GROUPED},
    [PENDING] =
        {[GOAL_UP] = ALONE | SEQUENCE, [GOAL_RESTART] = ALONE | GROUPED | SEQUENCE},
    [UP] = {[GOAL_DOWN] = ALONE | GROUPED,
            [GOAL_UP] = ALONE | SEQUENCE,
            [GOAL_RESTART] = GROUPED},
    [STOPPING] = {[GOAL_DOWN] = ALONE | GROUPED | SEQUENCE | BOTH,
                  [GOAL_UP] = ALONE | SEQUENCE,
                  [GOAL_RESTART] = ALONE | GROUPED | SEQUENCE},
};

/* True if a node above goes down, or is about to: it stops this one when its turn has
 * come. */
static bool
is_below_a_stop(const struct core *core, const struct node *node)
{
	for (node = node_parent(core, node); node != NULL; node = node_parent(core, node))
		if (stage_of(node) == STOPPING || node->goal != GOAL_UP)
			return true;
	return false;
}

static const char *
wrong(const struct core *core, const struct node *node)
{
	const enum stage stage = stage_of(node);
	const bool is_alone = part_of(node) == ALONE;

	if ((table[stage][node->goal] & part_of(node)) == 0)
		return "I39 a state, a goal and a part that goal.h does not name";
	if (stage == DOWN && node->goal == GOAL_UP && node_takes_starts(core, node))
		return "I39 a node that could start, and does not";
	if (stage == UP && node->goal == GOAL_DOWN && is_alone &&
	    !is_below_a_stop(core, node))
		return "I39 a node that is to be down, and does not stop";
	if (stage == STOPPING && node->goal == GOAL_UP && is_alone &&
	    !node_is_ending(node))
		return "I39 a stop of a node that is to be up";
	if (stage != STOPPING && node_is_ending(node))
		return "I39 a supervisor that goes down by itself, and does not stop";
	if (node->plan.stay == STAY_HELD && node->goal != GOAL_DOWN)
		return "I39 a node that is held, and is not to be down";
	return NULL;
}

/* Once a turn is over: NULL, or what is wrong with the goal of a node. */
const char *
rig_wrong_goal(const struct rig *rig)
{
	for (uint32_t slot = 0; slot < rig->core->top; slot++) {
		const struct node *node = node_in(rig->core, slot);
		const char *complaint = node->used ? wrong(rig->core, node) : NULL;

		if (complaint != NULL)
			return complaint;
	}
	return NULL;
}
