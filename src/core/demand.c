/* SPDX-License-Identifier: ISC */
/* demand.c - actors whose process starts when there is something for it to do.
 *
 * Such an actor counts as ready while it waits for that (DECISIONS 24): whoever listens
 * for it says EVENT_KNOCK.  What failed is restarted as ever; what ended normally has
 * done what there was to do, and waits again.
 */
#include "config.h"

#include "core/node.h"

#include "core/pure.h"

/* Does its start wait until it is needed? */
bool
demand_waits(const struct node *node)
{
	return node->spec.on_demand && !node->awake;
}

/*
 * It is its turn to start, and nobody needs it: it waits, and holds up nobody.  The shell
 * is to listen for it.
 */
void
demand_doze(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	node->bounce = false;
	node->automatic = false;
	node->again = false;
	node->manual = false;
	node->start_now = false;
	node->resuming = false;
	node->brutal = false;
	node->failing = false;
	node->is_fresh = false;
	suspend_decided(core, node);
	reconcile_set_state(core, node, STATE_WAITING);
	node->asleep = true;
	reconcile_pass(core, node);
	(void)turn_act(turn, ACTION_LISTEN, node);
	/* It has been what they wait for only since then. */
	wait_state_changed(core, node);
	gate_state_changed(core, node);
	reconcile_queue_parent(core, node);
}

/* Go down, and wait from then on, but not before so much time has passed. */
static void
retire(struct turn *turn, struct node *node, uint64_t delay_ms)
{
	node->awake = false;
	node->up = true;
	node->bounce = true;
	node->automatic = false;
	node->manual = false;
	node->resuming = false;
	node->delay_ms = delay_ms;
	down_bring(turn, node);
}

/*
 * Its process has ended normally.  One that ends at once, with its work undone, is not
 * started more often than its backoff begins with.
 */
void
demand_done(struct turn *turn, struct node *node)
{
	const struct backoff_spec *backoff = &node->spec.backoff;
	const uint64_t age_ms = turn->now_ms - node->since_ms;

	uint64_t delay_ms = pace_delay_floor(turn, node);

	if (!backoff->none && backoff->min_ms > age_ms + delay_ms)
		delay_ms = backoff->min_ms - age_ms;
	retire(turn, node, delay_ms);
}

/* There is something for it to do: it starts, if that is all that it waits for. */
static void
knock(struct turn *turn, struct node *node)
{
	if (!node->asleep || node->awake)
		return;
	node->awake = true;
	reconcile_queue(turn->core, node);
}

/*
 * There is nothing more for it to do: whatever it is at, in the end it waits again.  Only
 * one whose children have outlived it comes back to them first.
 */
static void
rest(struct turn *turn, struct node *node)
{
	if (!node->spec.on_demand || !node->awake)
		return;
	if (node_is_live(node) && node->state != STATE_STOPPING && !node_is_leaving(node))
		retire(turn, node, 0);
	else if (!node->populated || node_is_live(node))
		node->awake = false;
	/* Perhaps it only waits for what it needs itself. */
	reconcile_queue(turn->core, node);
}

/* EVENT_KNOCK, EVENT_REST: only who starts on demand heeds them. */
void
demand_post(struct turn *turn, const struct event *event)
{
	struct node *node = node_lookup(turn->core, event->ref);

	if (node == NULL)
		return;
	if (event->kind == EVENT_KNOCK)
		knock(turn, node);
	else
		rest(turn, node);
}

/* A new specification: who is to run in any case waits for nobody. */
void
demand_updated(struct core *core, struct node *node)
{
	if (node->spec.on_demand || !node->asleep)
		return;
	node->awake = true;
	reconcile_queue(core, node);
}
