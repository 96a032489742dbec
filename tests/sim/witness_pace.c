/* SPDX-License-Identifier: ISC */
/* witness_pace.c - I37: lives that are short in a row are followed more and more slowly,
 * and so are starts for which the machine has no room.
 */
#include "config.h"

#include "tests/sim/sim.h"

#define LIFE_MS      1000
#define SHORT_LIVES  3
#define FLOOR_MIN_MS 10
#define FLOOR_MAX_MS 1000
#define NO_ROOM_MS   200
#define NO_ROOM_MAX  5000

static uint64_t
doubled(uint64_t min, uint64_t max, uint32_t n)
{
	uint64_t ms = n < 20 ? min << n : max;

	return ms < max ? ms : max;
}

/* EVENT_SPAWN_FAILED with one of these is not the actor's fault. */
bool
witness_is_shortage(const struct event *event)
{
	static const int32_t errnos[] = {11, 12, 16, 23, 24, 26, 28};

	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (event->error == errnos[i])
			return true;
	return false;
}

/*
 * Its process ended, by itself or (own is false) because that was wanted.  The core may
 * count more short lives than are counted here, but not fewer.
 */
void
witness_pace_ended(struct witness *witness, struct witnessed *node, bool own)
{
	const bool is_short = witness->rig->now_ms - node->process.asked_ms < LIFE_MS;

	node->short_lives = is_short ? node->short_lives + own : 0;
}

/* The least delay after the end of an actor's process. */
static uint64_t
floor_of(const struct witnessed *node)
{
	if (node->short_lives <= SHORT_LIVES)
		return 0;
	return doubled(FLOOR_MIN_MS, FLOOR_MAX_MS, node->short_lives - SHORT_LIVES - 1);
}

/* REPORT_FAILURE of a worker that is restarted, or resumed, for what happened to it. */
void
witness_pace_told(struct witness *witness, struct witnessed *node, uint64_t delay_ms)
{
	if (node->spec->kind != NODE_WORKER || !node->process.main_dead)
		return;
	if (delay_ms < floor_of(node))
		witness_blame(witness, "I37 slot %u: %d ms after %u short lives",
		              node->ref.slot, (int)delay_ms, node->short_lives);
}

/* Can this delay be the floor, rather than its backoff? */
bool
witness_pace_may_be(uint64_t delay_ms)
{
	for (uint32_t n = 0; n < 8; n++)
		if (delay_ms == doubled(FLOOR_MIN_MS, FLOOR_MAX_MS, n))
			return true;
	return false;
}

/* A permanent actor ended normally: nothing is told of what that leads to. */
void
witness_pace_normal(struct witness *witness, struct witnessed *node)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (parent == NULL || parent->spec->policy.strategy != STRATEGY_ONE_FOR_ONE)
		return;
	node->paced = witness->seq;
	node->paced_ms = witness->rig->now_ms + floor_of(node);
}

/* Its start failed because the machine is short of something: it is tried again. */
void
witness_no_room(struct witness *witness, struct witnessed *node)
{
	node->up = witness->seq;
	node->paced = witness->seq;
	node->paced_ms =
	    witness->rig->now_ms + doubled(NO_ROOM_MS, NO_ROOM_MAX, node->no_room);
	node->no_room++;
}

/* ACTION_SPAWN: not before its time, unless a command or a group has it start. */
void
witness_pace_spawn(struct witness *witness, struct witnessed *node)
{
	const struct witnessed *above = witness_parent(witness, node);
	bool by_others = witness->hurry > node->paced || node->up > node->paced;

	for (; above != NULL && above->ref.slot != CORE_ROOT;
	     above = witness_parent(witness, above))
		by_others = by_others || above->started > node->paced ||
		            above->up > node->paced || witness_is_kept(witness, node);
	if (by_others)
		node->no_room = 0;
	else if (node->paced > node->process.asked &&
	         witness->rig->now_ms < node->paced_ms)
		witness_blame(witness, "I37 slot %u starts %d ms too early",
		              node->ref.slot,
		              (int)(node->paced_ms - witness->rig->now_ms));
}

/* A command or a change of the configuration: lives are counted anew. */
void
witness_pace_renew(struct witness *witness)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		witness->nodes[i].short_lives = 0;
}
