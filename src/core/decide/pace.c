/* SPDX-License-Identifier: ISC */
/* pace.c - how often: the delay before an automatic restart, the floor below it, and the
 * starts for which the machine has no room.
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"
#include "core/value/backoff.h"

#include "core/pure.h"

/* A life of so long is none that ended at once. */
#define LIFE_MS 1000
/* How many lives in a row may be short before the floor rises (DECISIONS 45). */
#define SHORT_LIVES    3
#define FLOOR_MIN_MS   10
#define FLOOR_MAX_MS   1000
#define COUNTED_MAX    1000
#define NO_ROOM_MIN_MS 200
#define NO_ROOM_MAX_MS 5000

/* min, doubled n times, up to max. */
static uint64_t
doubled(uint64_t min, uint64_t max, uint32_t n)
{
	while (n-- > 0 && min < max)
		min *= 2;
	return min < max ? min : max;
}

/* A life of the node begins: its process, or its first child, is asked for. */
void
pace_begun(struct turn *turn, struct node *node)
{
	node->pace.begun_ms = turn->now_ms;
	node->pace.life_counted = false;
}

/*
 * A life of the node is over: by itself, or (own is false) because that was wanted, which
 * says nothing of how long it would have lived.
 */
void
pace_ended(const struct turn *turn, struct node *node, bool own)
{
	if (turn->now_ms - node->pace.begun_ms >= LIFE_MS)
		node->pace.short_lives = 0;
	else if (own && !node->pace.life_counted && node->pace.short_lives < COUNTED_MAX)
		node->pace.short_lives++;
	node->pace.life_counted = node->pace.life_counted || own;
}

/*
 * The least delay of an automatic restart of the node, in milliseconds: 0 after each of
 * the first three short lives in a row, then 10, doubling up to 1000.  If the process has
 * failed but lives on, its life counts up to now.
 */
static uint64_t
floor_now(const struct turn *turn, struct node *node)
{
	pace_ended(turn, node, true);
	node->pace.no_room = 0;
	if (node->pace.short_lives <= SHORT_LIVES)
		return 0;
	return doubled(FLOOR_MIN_MS, FLOOR_MAX_MS,
	               node->pace.short_lives - SHORT_LIVES - 1);
}

/* The delay before a restart for which the actor's `backoff` does not count. */
uint64_t
pace_delay_floor(const struct turn *turn, struct node *node)
{
	node->pace.delay_ms = floor_now(turn, node);
	node->pace.min_ms = node->pace.max_ms = node->pace.delay_ms;
	return node->pace.delay_ms;
}

/*
 * The delay before the node comes up again, as `backoff` and a rule of the decider have
 * it, and not below the floor.  The failure is counted in its backoff.
 */
uint64_t
pace_delay(struct turn *turn, struct node *node, const struct decision *decision)
{
	const uint64_t floor_ms = floor_now(turn, node);
	struct backoff_spec spec = spec_of(node)->backoff;

	backoff_override(&spec, &decision->backoff, decision->backoff_keys);
	backoff_range(&spec, node->pace.failures, &node->pace.min_ms, &node->pace.max_ms);
	node->pace.delay_ms = backoff_delay(&spec, node->pace.failures, &turn->core->rng);
	if (node->pace.min_ms < floor_ms)
		node->pace.min_ms = floor_ms;
	if (node->pace.max_ms < floor_ms)
		node->pace.max_ms = floor_ms;
	if (node->pace.delay_ms < floor_ms)
		node->pace.delay_ms = floor_ms;
	if (node->pace.failures < UINT32_MAX)
		node->pace.failures++;
	/* The actor cannot become healthy any more: cancel the reset of its failure
	 * count. */
	deadline_clear(turn->core, node, TIMER_RESET);
	return node->pace.delay_ms;
}

/* The backoff begins anew at its minimum: Akka's manual reset (B-06), at any time. */
void
pace_reset(struct core *core, struct node *node)
{
	node->pace.failures = 0;
	node->pace.delay_ms = 0;
	deadline_clear(core, node, TIMER_RESET);
}

/* Backoff and limit begin anew.  The floor does not: an actor that dies at once is not to
 * start faster because its supervisor was restarted. */
void
pace_forget(struct core *core, struct node *node)
{
	pace_reset(core, node);
	node->limits.resumed_ms = 0;
	window_clear(&node->limits.own);
}

/* The node is started by a person: nothing of before is held against it. */
void
pace_renew(struct core *core, struct node *node)
{
	pace_forget(core, node);
	node->pace.short_lives = 0;
}

/* ---- no room ----------------------------------------------------------------------- */

/*
 * The start of a process failed for a shortage of the machine (DECISIONS 46): it is tried
 * again after 200 ms, doubling to 5 s, without a decision and without counting, until
 * there is room, or until the actor is not wanted any more.  The first such failure of an
 * episode is reported.  False: the start failed for another reason, or a decider has a
 * rule for this errno.
 */
bool
pace_waits_for_room(struct turn *turn, struct node *node, const struct cause *cause)
{
	const struct node *supervisor = node_supervisor(turn->core, node);

	if (!cause_is_shortage(cause) || failure_is_moot(turn, node) ||
	    decider_names(turn->core, node, cause->error))
		return false;
	goal_delay(node, doubled(NO_ROOM_MIN_MS, NO_ROOM_MAX_MS, node->pace.no_room));
	node->pace.delay_ms = node->pace.min_ms = node->pace.max_ms = node->plan.delay_ms;
	if (node->pace.no_room == 0) {
		struct action *action = turn_report(turn, REPORT_SHORTAGE, node);

		action->cause = *cause;
		action->delay_ms = node->plan.delay_ms;
	}
	if (node->pace.no_room < UINT32_MAX)
		node->pace.no_room++;
	/* This was no attempt: a failure of the next may still be a failure of the first
	 * start. */
	node->run.attempts--;
	goal_retry(node);
	/* As any first attempt that failed (DECISIONS 18). */
	if (spec_of(supervisor)->policy.strategy == STRATEGY_ONE_FOR_ONE)
		part_pass(turn->core, node);
	down_bring(turn, node);
	return true;
}
