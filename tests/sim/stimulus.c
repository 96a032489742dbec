/* SPDX-License-Identifier: ISC */
/* stimulus.c - what people do to a running tree, and events that mean nothing. */
#include "config.h"

#include "tests/sim/sim.h"

/* Some present or former actor. */
static struct ref
somebody(struct world *world, bool also_user)
{
	const struct witness *witness = &world->run->witness;
	uint32_t from = (uint32_t)rng_below(&world->rng, SIM_NODES_MAX);

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		uint32_t slot = (from + i) % SIM_NODES_MAX;

		if (witness->nodes[slot].used &&
		    (slot != CORE_USER || (also_user && one_in(&world->rng, 4))))
			return witness->nodes[slot].ref;
	}
	return REF_NONE;
}

static enum event_kind
some_command(struct rng *rng)
{
	static const enum event_kind kinds[] = {
	    EVENT_START,   EVENT_START,   EVENT_STOP,    EVENT_STOP,
	    EVENT_RESTART, EVENT_RESET,   EVENT_KILL,    EVENT_WAIT,
	    EVENT_UNWAIT,  EVENT_SUSPEND, EVENT_SUSPEND, EVENT_RESUME,
	    EVENT_ADD,     EVENT_ADD,     EVENT_DELETE,  EVENT_DELETE};

	if (one_in(rng, 250))
		return one_in(rng, 3) ? EVENT_QUIT : EVENT_SHUTDOWN;
	return kinds[rng_below(rng, sizeof(kinds) / sizeof(*kinds))];
}

/* Take back every suspension, so that the world can come to rest. */
void
stimulus_resume_all(struct world *world)
{
	struct run *run = world->run;

	for (uint32_t slot = 0; slot < SIM_NODES_MAX; slot++) {
		const struct witnessed *node = &run->witness.nodes[slot];

		for (uint32_t n = node->used ? node->suspends : 0;
		     n > 0 && core_valid(run->rig.core, node->ref); n--) {
			const struct event event = {.kind = EVENT_RESUME,
			                            .ref = node->ref,
			                            .token = ++world->last_token};

			if (!run_event(run, &event))
				return;
		}
	}
}

/* An actor that may have children, mostly. */
static struct ref
some_supervisor(struct world *world)
{
	struct ref ref = somebody(world, true);

	for (int i = 0; i < 4; i++)
		if (ref.slot < SIM_NODES_MAX &&
		    world->run->witness.nodes[ref.slot].spec->kind == NODE_WORKER)
			ref = somebody(world, true);
	return ref;
}

/* EVENT_ADD: a worker, or a supervisor with its own. */
static void
add(struct world *world)
{
	struct run *run = world->run;
	struct rng *rng = &world->rng;
	enum node_kind kind = gen_kind(rng);
	struct op op = {
	    .kind = OP_POST,
	    .now_ms = run->rig.now_ms,
	    .event = {.kind = EVENT_ADD, .addition_id = ++world->last_addition},
	};

	op.event.ref = some_supervisor(world);
	if (!one_in(rng, 5))
		op.event.token = ++world->last_token;
	op.n_added = kind == NODE_WORKER ? 1 : 1 + (uint32_t)rng_below(rng, SIM_ADDED);
	for (uint32_t i = 0; i < op.n_added; i++) {
		if (i > 0)
			kind = NODE_WORKER;
		op.added[i].spec = gen_spec(run->tape, rng, kind, false);
		/* Two that were not given yet may come out the same: no names for these.
		 */
		op.added[i].name = i == 0 ? gen_name(run, rng) : 0;
	}
	(void)run_op(run, &op);
}

/* Every actor gets its present specification: no action may follow (I30). */
void
stimulus_same(struct world *world)
{
	struct run *run = world->run;

	for (uint32_t slot = CORE_USER; slot < SIM_NODES_MAX; slot++) {
		const struct witnessed *node = &run->witness.nodes[slot];
		struct op op = {.kind = OP_UPDATE, .now_ms = run->rig.now_ms};

		if (!node->used || !core_valid(run->rig.core, node->ref))
			continue;
		op.ref = node->ref;
		op.spec = run_spec_number(run, node->spec);
		if (!run_op(run, &op))
			return;
	}
	(void)run_settle(run);
}

/* A command, in the middle of a turn. */
void
stimulus_command(struct world *world)
{
	struct rng *rng = &world->rng;
	struct event event = {.kind = some_command(rng),
	                      .ref = somebody(world, true),
	                      .hold = one_in(rng, 6),
	                      .wait_for = (enum wait_for)rng_below(rng, WAIT_FOR_MAX)};

	if (event.kind == EVENT_ADD) {
		add(world);
		return;
	}
	if (event.kind == EVENT_DELETE) {
		event.ref = somebody(world, false);
		event.stop = one_in(rng, 2);
	}
	if (event.kind == EVENT_UNWAIT) {
		event.token = rng_below(rng, world->last_token + 1);
		event.ref = REF_NONE;
	} else if (event.kind != EVENT_RESET && event.kind != EVENT_KILL &&
	           event.kind != EVENT_SHUTDOWN && event.kind != EVENT_QUIT &&
	           (event.kind == EVENT_WAIT || event.kind == EVENT_SUSPEND ||
	            event.kind == EVENT_RESUME || !one_in(rng, 5))) {
		event.token = ++world->last_token;
	}
	(void)run_event(world->run, &event);
}

static struct ref
some_sibling(struct world *world, struct ref parent)
{
	const struct core *core = world->run->rig.core;
	struct ref at = core_first_child(core, parent);
	uint64_t n = rng_below(&world->rng, 6);

	for (; n > 0 && core_valid(core, at); n--)
		at = core_next_sibling(core, at);
	return core_valid(core, at) ? at : REF_NONE;
}

/* How an actor gets ready is not changed in place. */
static void
keep_readiness(struct world *world, struct ref ref, uint32_t number)
{
	const struct spec *old = world->run->witness.nodes[ref.slot].spec;
	struct spec *spec = &world->run->tape->specs[number].spec;

	if (ref.slot >= SIM_NODES_MAX || ref.slot == CORE_ROOT)
		return;
	spec->start.ready = old->start.ready;
	spec->start.ready_after_ms = old->start.ready_after_ms;
	spec->start.ready_interval_ms = old->start.ready_interval_ms;
	spec->start.timeout_ms = old->start.timeout_ms;
	if (spec->start.ready == READY_EXIT)
		spec->restart = RESTART_TRANSIENT;
}

/* A reload, between two turns. */
void
stimulus_reload(struct world *world)
{
	static const enum op_kind kinds[] = {OP_ADD,    OP_ADD,   OP_UPDATE,  OP_REMOVE,
	                                     OP_BOUNCE, OP_PLACE, OP_RESTORE, OP_MOVE};
	struct run *run = world->run;
	struct rng *rng = &world->rng;
	uint64_t n = 1 + rng_below(rng, 3);

	for (uint64_t i = 0; i < n; i++) {
		struct op op = {.kind = kinds[rng_below(rng, 8)],
		                .now_ms = run->rig.now_ms,
		                .ref = somebody(world, true),
		                .before = REF_NONE};
		enum node_kind kind = gen_kind(rng);

		if (!core_valid(run->rig.core, op.ref) && op.kind != OP_RESTORE)
			continue;
		if (op.kind == OP_ADD && one_in(rng, 2))
			op.before = some_sibling(world, op.ref);
		else if (op.kind == OP_PLACE)
			op.before =
			    some_sibling(world, core_parent(run->rig.core, op.ref));
		else if (op.kind == OP_UPDATE)
			kind = rig_view(&run->rig, op.ref).kind;
		if (op.kind == OP_ADD || op.kind == OP_UPDATE)
			op.spec = gen_spec(run->tape, rng, kind, false);
		if (op.kind == OP_ADD)
			op.name = gen_name(run, rng);
		if (op.kind == OP_UPDATE)
			keep_readiness(world, op.ref, op.spec);
		(void)run_op(run, &op);
	}
	(void)run_settle(run);
}

/* Nothing may come of this event. */
static bool
is_noise(const struct world *world, const struct event *event)
{
	const struct witnessed *node;
	const struct process *process;

	if (event->ref.slot >= SIM_NODES_MAX)
		return true;
	node = &world->run->witness.nodes[event->ref.slot];
	process = &node->process;
	if (event->kind == EVENT_HOOK_DONE)
		return !node->used || !ref_equal(node->ref, event->ref) ||
		       node->hook.serial == 0 || node->hook.serial != event->serial;
	if (event->kind == EVENT_REACT_DONE)
		return !node->used || !ref_equal(node->ref, event->ref) ||
		       node->running == 0 || node->running != event->serial;
	if (event->kind == EVENT_DEMAND)
		return !core_valid(world->run->rig.core, event->ref) ||
		       !rig_view(&world->run->rig, event->ref).on_standby;
	if (!node->used || !ref_equal(node->ref, event->ref) || !process->there ||
	    process->life != event->life)
		return true;
	if (event->kind == EVENT_SPAWNED || event->kind == EVENT_SPAWN_FAILED)
		return process->spawned;
	if (event->kind == EVENT_READY)
		return !process->spawned || process->main_dead || process->ready ||
		       node->spec->start.ready != READY_TOLD;
	if (event->kind == EVENT_EXITED)
		return !process->spawned || process->main_dead;
	return event->kind == EVENT_GONE && !process->main_dead;
}

/* A stale, doubled or impossible event, in a turn of its own. */
void
stimulus_noise(struct world *world)
{
	struct rng *rng = &world->rng;
	struct event event = {.kind =
	                          (enum event_kind)(EVENT_SPAWNED + rng_below(rng, 5)),
	                      .ref = somebody(world, true),
	                      .code = (int32_t)rng_below(rng, 3) - 1,
	                      .gone = one_in(rng, 2)};

	if (event.ref.slot < SIM_NODES_MAX)
		event.life = world->run->witness.nodes[event.ref.slot].process.life;
	if (one_in(rng, 2))
		event.life -= (uint32_t)rng_below(rng, 3);
	if (one_in(rng, 5)) {
		event.kind = EVENT_HOOK_DONE;
		event.serial = (uint32_t)rng_below(rng, world->run->witness.serial + 2);
	}
	if (one_in(rng, 8)) {
		event.kind = EVENT_REACT_DONE;
		event.serial =
		    (uint32_t)rng_below(rng, world->run->witness.run_serial + 2);
	}
	if (one_in(rng, 10))
		event.kind = EVENT_DEMAND;
	if (one_in(rng, 10))
		event.ref.tenant += (uint32_t)rng_below(rng, 3) - 1;
	if (one_in(rng, 20))
		event.ref.slot = (uint32_t)rng_below(rng, 1000);
	if (!is_noise(world, &event) || world->run->witness.wrong[0] != '\0')
		return;
	(void)run_event(world->run, &event);
	(void)run_settle(world->run);
}
