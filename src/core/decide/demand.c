/* SPDX-License-Identifier: ISC */
/* demand.c - actors that start on demand.
 *
 * The actor counts as ready while it waits for demand (DECISIONS 24); the daemon listens
 * and posts EVENT_DEMAND.  After a failure the actor is restarted as usual; after a
 * normal end its work is done, and it waits again.
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* True if the start of this node waits for demand. */
bool
demand_waits(const struct node *node)
{
	return spec_of(node)->on_demand && !node->plan.is_demanded;
}

/*
 * The node's turn to start has come without demand: it goes on standby, and its siblings
 * go on.  The daemon is to listen for clients.
 */
void
demand_stand_by(struct turn *turn, struct node *node)
{
	struct core *core = turn->core;

	goal_stood_by(node);
	failure_is_over(node);
	goal_stay_added(node);
	suspend_decided(core, node);
	state_set(core, node, STATE_WAITING);
	gate_stand_by(node);
	part_pass(core, node);
	(void)turn_act(turn, ACTION_LISTEN, node);
	/* Only from now on does the node count as ready. */
	wait_state_changed(core, node);
	gate_state_changed(core, node);
	queue_parent(core, node);
}

/* Go down, and wait from then on, but not before so much time has passed. */
static void
retire(struct turn *turn, struct node *node, uint64_t delay_ms)
{
	goal_demand(node, false);
	goal_restart(node, START_IN_TURN, RESTART_KIND_MAX, delay_ms);
	down_bring(turn, node);
}

/*
 * Its process has ended normally.  One that ends at once, with its work undone, is not
 * started more often than its backoff begins with.
 */
void
demand_done(struct turn *turn, struct node *node)
{
	const struct backoff_spec *backoff = &spec_of(node)->backoff;
	const uint64_t age_ms = turn->now_ms - node->since_ms;

	uint64_t delay_ms = pace_delay_floor(turn, node);

	if (!backoff->none && backoff->min_ms > age_ms + delay_ms)
		delay_ms = backoff->min_ms - age_ms;
	retire(turn, node, delay_ms);
}

/* The actor is demanded: it starts, unless it waits for something else, too. */
void
demand_begun(struct core *core, struct node *node)
{
	if (!node_is_on_standby(node) || node->plan.is_demanded)
		return;
	goal_demand(node, true);
	queue_node(core, node);
}

/*
 * The demand is over: in the end the actor goes back to standby, whatever it is doing.
 * Only a supervisor with surviving children comes back to them first.
 */
void
demand_over(struct turn *turn, struct node *node)
{
	if (!spec_of(node)->on_demand || !node->plan.is_demanded)
		return;
	if (node_is_live(node) && node->state != STATE_STOPPING && !node_is_leaving(node))
		retire(turn, node, 0);
	else if (children_of(node)->are == CHILDREN_DOWN || node_is_live(node))
		goal_demand(node, false);
	/* Perhaps the node only waits for a need of its own. */
	queue_node(turn->core, node);
}

/* A new specification: an actor that starts at boot now does not wait for demand. */
void
demand_updated(struct core *core, struct node *node)
{
	if (spec_of(node)->on_demand || !node_is_on_standby(node))
		return;
	goal_demand(node, true);
	queue_node(core, node);
}
