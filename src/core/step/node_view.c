/* SPDX-License-Identifier: ISC */
/* node_view.c - one actor as a reader sees it, and whether the tree is whole. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "core/decide/limits.h"
#include "core/decide/marks.h"

#include "core/pure.h"

static uint32_t
window_now(const struct core *core, const struct node *node, uint64_t now_ms)
{
	const struct node *parent = node_parent(core, node);

	if (node_is_supervisor(node))
		return limits_in_use(core, node, now_ms);
	if (parent == NULL || !spec_of(parent)->policy.limit.on)
		return 0;
	if (spec_of(parent)->policy.limit.fixed)
		return node->limits.own.count;
	return window_in_use(&node->limits.own, pool_stamps(core, &node->limits.own),
	                     spec_of(parent)->policy.limit.within_ms, now_ms);
}

/* The bound of what window_now() counts, and what its health check said. */
static void
view_bounds(const struct core *core, const struct node *node, struct node_view *ret)
{
	const struct node *parent = node_parent(core, node);

	ret->has_health = spec_of(node)->health.on;
	ret->is_unwell = node->living.bad > 0;
	if (node_is_supervisor(node)) {
		ret->counted.has_limit = !spec_of(node)->policy.intensity.unlimited;
		ret->counted.limit =
		    ret->counted.has_limit ? spec_of(node)->policy.intensity.restarts : 0;
		ret->counted.within_ms = spec_of(node)->policy.intensity.within_ms;
	} else if (parent != NULL && spec_of(parent)->policy.limit.on) {
		ret->counted.has_limit = true;
		ret->counted.limit = spec_of(parent)->policy.limit.restarts;
		ret->counted.within_ms = spec_of(parent)->policy.limit.within_ms;
	}
}

static uint64_t
start_due(const struct core *core, const struct node *node)
{
	if (node->state != STATE_BACKOFF)
		return 0;
	return node->part.grouped
	           ? deadline_due(core, node_parent(core, node), TIMER_GROUP)
	           : deadline_due(core, node, TIMER_STATE);
}

/* The failed sibling that began the group restart of this child: the child starts again
 * in the sequence once the delay of that sibling is over. */
static struct ref
leader_of(const struct core *core, const struct node *node)
{
	const struct node *leader =
	    node_at(core, children_of(node_parent(core, node))->group_leader);

	return leader != NULL && leader != node ? node_ref(core, leader) : REF_NONE;
}

/* The sibling that a waiting child waits for. */
static struct ref
waits_for(const struct core *core, const struct node *node)
{
	const struct node *parent = node_parent(core, node);

	if (node->state == STATE_WAITING && parent != NULL && node->part.grouped)
		return leader_of(core, node);
	if (node->state != STATE_WAITING || parent == NULL ||
	    children_of(parent)->op != OP_START || children_of(parent)->cursor == NONE ||
	    children_of(parent)->cursor == node_slot(core, node))
		return REF_NONE;
	return node_ref(core, node_at(core, children_of(parent)->cursor));
}

static void
view_restarts(const struct node *node, struct node_view *ret)
{
	for (size_t kind = 0; kind < RESTART_KINDS_AUTOMATIC; kind++)
		ret->run.restarts += node->run.restarts_by[kind];
	memcpy(ret->run.restarts_by, node->run.restarts_by,
	       sizeof(node->run.restarts_by));
}

/*
 * How much of the pool core_update() takes, given this spec, for the windows of the
 * children that a supervisor has now: also those that were added at run time, or are
 * being removed, which no configuration counts.  0 for an actor that is not there.
 */
uint64_t
core_limit_bytes(const struct core *core, struct ref ref, const struct spec *spec)
{
	const struct node *node = node_find(core, ref);

	if (node == NULL || !spec->policy.limit.on || spec->policy.limit.fixed)
		return 0;
	return (uint64_t)node->links.n_children * spec->policy.limit.restarts *
	       sizeof(uint64_t);
}

static void
view_process(const struct node *node, struct process_view *ret)
{
	*ret = (struct process_view){
	    .unkillable = process_is_unkillable(node),
	    .life = node->process.life,
	    .alive = process_is_there(node),
	    .spawned = node->process.state >= PROCESS_RUNS,
	    .main_alive = process_is_main_there(node),
	    .sigstopped = node->living.sigstopped,
	    .watchdog = process_is_main_there(node) && node->living.watchdog_ms > 0,
	    .last_end = node->process.last_end,
	};
}

/* Fill in what there is to know of a valid actor. */
void
core_view(const struct core *core, struct ref ref, uint64_t now_ms,
          struct node_view *ret_view)
{
	const struct node *node = node_lookup(core, ref);

	ASSERT(node != NULL);
	/* Events may be dated up to a millisecond ahead of the reader's clock. */
	if (now_ms < core->now_ms)
		now_ms = core->now_ms;
	const struct node *parent = node_parent(core, node);
	*ret_view = (struct node_view){
	    .ref = ref,
	    .parent = parent == NULL ? REF_NONE : node_ref(core, parent),
	    .depth = node->links.depth,
	    .kind = spec_of(node)->kind,
	    .state = node->suspend.frozen ? STATE_SUSPENDED : node->state,
	    .ready = (node_is_ready(node) && node->state != STATE_STOPPING) ||
	             node_is_on_standby(node),
	    .held = node->plan.stay == STAY_HELD,
	    .degraded = node_is_supervisor(node) && children_of(node)->n_failed > 0,
	    .growth = {.removing = node->growth.removing,
	               .is_added = node_is_added(node),
	               .addition_id = node->growth.id,
	               .addition_index = node->growth.index},
	    .suspended = suspend_count(core, node),
	    .suspends = node->suspend.n,
	    .on_standby = node_is_on_standby(node),
	    .demanded = spec_of(node)->on_demand && node->plan.is_demanded,
	    .run = {.incarnation = node->run.incarnation,
	            .generation = node->run.generation},
	    .since_ms = node->since_ms,
	    .counted = {.window = window_now(core, node, now_ms)},
	    .backoff = {.failures = node->pace.failures,
	                .delay_ms = node->pace.delay_ms,
	                .delay_min_ms = node->pace.min_ms,
	                .delay_max_ms = node->pace.max_ms,
	                .due_ms = start_due(core, node)},
	    .has_failure = node->failed != FAILED_NOT,
	    .failure = node->failure,
	    .restart = spec_of(node)->restart,
	    .ready_mode = spec_of(node)->start.ready,
	    .strategy = spec_of(node)->policy.strategy,
	    .waits_for = waits_for(core, node),
	    .children = node->links.n_children,
	    .watches = spec_of(node)->n_watches,
	    .watchers = node->watch.n_watchers,
	};
	if (process_is_unkillable(node))
		ret_view->state = STATE_UNKILLABLE;
	view_restarts(node, ret_view);
	view_process(node, &ret_view->process);
	view_bounds(core, node, ret_view);
	if (node->state == STATE_WAITING && !node_is_on_standby(node))
		ret_view->unmet = gate_unmet(core, node);
}

/* What is used of the block, which holds no pointers: a copy of that is the same core. */
struct core_used
core_used(const struct core *core)
{
	return (struct core_used){
	    .first = core->at.heap + core->heap_n * sizeof(struct deadline),
	    .later_at = core->at.waiters,
	    .later = core->waiters.top * sizeof(struct waiter),
	};
}

static const char *
check_children(const struct core *core, const struct node *node)
{
	uint32_t live = 0, pending = 0, failed = 0, grouped = 0, sequenced = 0, n = 0;
	uint32_t added = 0;
	uint32_t decided = 0;
	uint32_t prev = NONE;

	CHILDREN_FOREACH (core, node, child) {
		if (!child->used)
			return "a free slot among the children";
		if (child->links.prev != prev)
			return "broken list of children";
		prev = node_slot(core, child);
		n++;
		live += node_is_live(child);
		pending += node_is_pending(child);
		failed += children_of(child)->n_failed;
		failed += child->state == STATE_FAILED && !node_is_hidden(child);
		grouped += child->part.grouped && node_is_live(child);
		sequenced += child->part.sequenced;
		if (added > 0 && !node_is_added(child))
			return "a child of the file behind one that was added";
		added += node_is_added(child);
		decided += child->suspend.decided;
	}
	if (added != children_of(node)->n_added)
		return "wrong count of added children";
	if (n != node->links.n_children || prev != node->links.last)
		return "wrong number of children";
	if (live != children_of(node)->n_live || pending != children_of(node)->n_pending)
		return "wrong count of live or pending children";
	if (failed != children_of(node)->n_failed ||
	    sequenced != children_of(node)->n_sequenced)
		return "wrong count of failed actors or sequenced children";
	if (grouped != children_of(node)->n_grouped)
		return "wrong count of grouped children";
	if (decided != node->suspend.deciding)
		return "wrong count of children that others stand still for";
	return NULL;
}

/*
 * Every enum must have one of its values, in a core that was found in memory, too.
 * Combinations of goal and state are not refused: a rare combination is no damage.
 */
static const char *
check_goal(const struct node *node)
{
	if (node->run.restart_kind > RESTART_KIND_MAX ||
	    node->run.started_as > RESTART_KIND_MAX || node->goal > GOAL_RESTART ||
	    node->plan.stop_how > STOP_KILL ||
	    node->plan.start_reason > START_BY_COMMAND ||
	    node->plan.comeback > COMEBACK_IN_SEQUENCE || node->plan.stay > STAY_HELD ||
	    node->state >= NODE_STATE_MAX || node->phase > PHASE_POST_STOP ||
	    children_of(node)->op > OP_START || node->gate.waits_for > WAITS_FOR_DEMAND)
		return "a goal or a state that does not exist";
	if (node->state == STATE_SUSPENDED || node->state == STATE_UNKILLABLE)
		return "an actor in a state that is only shown";
	if (node->plan.down_as != STATE_STOPPED && node->plan.down_as != STATE_DONE &&
	    node->plan.down_as != STATE_FAILED)
		return "an actor that is to be down in a state in which it is not";
	return NULL;
}

static const char *
check_suspend(const struct node *node)
{
	if (node->suspend.n > 0 && node_is_down(node) && node->goal == GOAL_DOWN)
		return "an actor that is down and suspended";
	if (node->suspend.own_failure &&
	    (node_is_down(node) ||
	     (node->state == STATE_RUNNING && !node_is_leaving(node))))
		return "all below stand still for an actor that is down, or ready";
	if (node->suspend.decided && (node->links.parent == NONE || node_is_down(node)))
		return "others stand still for an actor that is down";
	if (node->suspend.decided && node->state == STATE_RUNNING &&
	    !node_is_leaving(node))
		return "others stand still for an actor that is ready";
	if (node->suspend.frozen && node->state != STATE_STARTING &&
	    node->state != STATE_RUNNING)
		return "an actor that stands still and does not run";
	return NULL;
}

static const char *
check_run(const struct node *node)
{
	const struct node_run *run = &node->run;

	if (node->growth.presence > PRESENCE_HIDDEN || node->growth.added > ADDED ||
	    node->failed > FAILED_BRINGS_DOWN || node->ending.as > ENDING_RETIRES ||
	    run->begun > BEGUN_NOW || run->readied > READIED_NOW)
		return "a presence, a start or an end that does not exist";
	if (run->begun == BEGUN_NEVER &&
	    (run->readied != READIED_NOT || run->was_ready || run->created))
		return "an actor that was ready and has never begun";
	if (run->readied == READIED_BEFORE && run->begun != BEGUN_NOW)
		return "an actor that has terminated and was ready";
	return NULL;
}

static const char *
check_process(const struct node *node)
{
	if (node->process.state > PROCESS_GONE ||
	    node->process.killed > KILL_SURVIVED_LATE)
		return "a process in a state that does not exist";
	if (!process_is_there(node))
		return process_is_unkillable(node)
		           ? "an unkillable process of an actor without a process"
		           : NULL;
	if (!node_is_live(node) && !process_is_unkillable(node))
		return "a process of an actor that is down";
	if (node->process.killed != KILL_NOT_SENT && node->state != STATE_STOPPING &&
	    !process_is_unkillable(node))
		return "a killed process of an actor that does not stop";
	return NULL;
}

static const char *
check_node(const struct core *core, const struct node *node)
{
	const struct node *parent = node_parent(core, node);
	bool live = node_is_live(node);
	const char *wrong = check_goal(node);

	if (wrong == NULL)
		wrong = check_suspend(node);
	if (wrong != NULL)
		return wrong;
	if (!node_is_supervisor(node) && node->links.n_children > 0)
		return "a worker with children";
	wrong = check_run(node);
	if (wrong == NULL)
		wrong = check_process(node);
	if (wrong != NULL)
		return wrong;
	if ((live || node_is_pending(node)) && parent != NULL && !node_is_live(parent) &&
	    children_of(parent)->are == CHILDREN_DOWN)
		return "a child that runs below a supervisor that does not";
	if (node->hooks.serial != 0 && !live)
		return "a hook of an actor that is down";
	if (children_of(node)->are == CHILDREN_OPEN &&
	    (node->state == STATE_STOPPING || !live))
		return "children may start below a supervisor that does not run";
	if (children_of(node)->are != CHILDREN_DOWN && !live && !node_is_pending(node))
		return "children outlive a supervisor that does not come back";
	if (live != (node->state == STATE_RUNNING || node->phase != PHASE_NONE))
		return "a start or a stop of an actor that is at rest";
	if (node_is_on_standby(node) &&
	    (node->state != STATE_WAITING || node->part.grouped || node->part.sequenced))
		return "an actor that waits for a client, and for something else";
	if (node_is_hidden(node) && (live || node_is_pending(node)))
		return "a hidden actor that runs";
	if (node_is_added(node) && node->growth.id == 0)
		return "an actor that was added without an addition";
	if (node->growth.added == ADDED_FRESH && node_is_ready(node))
		return "an actor that is being added and is there already";
	if (node->part.sequenced && parent != NULL && children_of(parent)->op == OP_NONE)
		return "a child waits in a sequence while its supervisor is at rest";
	if ((node->living.sigstopped || node->living.probing != PROBING_NOTHING) &&
	    !process_is_main_there(node))
		return "a process that was stopped, or is probed, and is no more";
	if (node->living.sigstopped && deadline_due(core, node, TIMER_WATCHDOG) != 0)
		return "a watchdog that runs while the clock stands";
	return node_is_supervisor(node) ? check_children(core, node) : NULL;
}

/*
 * Is everything as it must be between two turns?  NULL, or what is wrong.  For tests and
 * for a core that was found in memory; linear in the number of nodes.
 */
const char *
core_check(const struct core *core)
{
	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_at(core, slot);
		const char *wrong = node->used ? check_node(core, node) : NULL;

		if (wrong != NULL)
			return wrong;
	}
	if (core->no_children.are != CHILDREN_DOWN || core->no_children.op != OP_NONE ||
	    core->no_children.intensity.cap != 0)
		return "a worker with children";
	if (watch_check(core) != NULL)
		return watch_check(core);
	if (gate_check(core) != NULL)
		return gate_check(core);
	for (uint32_t i = 0; i < core->heap_n; i++) {
		const struct deadline *heap = core_block(core, core->at.heap);
		uint32_t id = deadline_id(&heap[i]);

		if (node_at(core, id / TIMER_MAX)->deadlines[id % TIMER_MAX] != i)
			return "a deadline with a wrong index in the heap";
		if (i > 0 && heap[(i - 1) / DEADLINE_WIDTH].due_ms > heap[i].due_ms)
			return "a deadline behind a later deadline";
	}
	return NULL;
}
