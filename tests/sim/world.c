/* SPDX-License-Identifier: ISC */
/* world.c - a world that misbehaves: slow, deaf, dying at the worst moment; then calm. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"

#define CHAOS_TURNS 250
#define CALM_TURNS  20000
#define CALM_MS     UINT64_C(600000)
#define CYCLE_TURNS 1000 /* among these a tree with a cycle of its own */

/* Something will happen; what is due when is not in any order. */
void
world_expect(struct world *world, uint64_t in_ms, const struct event *event,
             bool spontaneous)
{
	if (world->n_queue == WORLD_QUEUE_MAX) {
		witness_blame(&world->run->witness, "(simulator) too much is to happen");
		return;
	}
	world->queue[world->n_queue++] =
	    (struct happening){.at_ms = world->run->rig.now_ms + in_ms,
	                       .event = *event,
	                       .spontaneous = spontaneous};
}

/* What a process does that has just been started. */
static void
live(struct world *world, const struct inhabitant *who)
{
	struct rng *rng = &world->rng;
	const struct spec *spec = world_spec(world, who);
	struct event event;

	world_living(world, who, spec);
	if (spec->start.ready == READY_TOLD && (world->calm || !one_in(rng, 4))) {
		event = world_event(who, EVENT_READY);
		world_expect(world, world->calm ? 0 : rng_below(rng, 300), &event, false);
	}
	if (world->calm && spec->start.ready == READY_EXIT) {
		event = world_event(who, EVENT_EXITED);
		event.code = 0;
		event.gone = true;
		world_expect(world, 1, &event, false);
	}
	if (!world->calm && one_in(rng, 10)) {
		event = world_event(who, EVENT_BACKOFF_RESET);
		world_expect(world, rng_below(rng, 300), &event, true);
	}
	if (world->calm || !one_in(rng, world->crash_one_in))
		return;
	event = world_some_end(world, who);
	world_expect(world, one_in(rng, 3) ? 0 : rng_below(rng, 600), &event, true);
}

/* If the event is still possible, it occurs now. */
static bool
comes_true(struct world *world, const struct event *event)
{
	struct inhabitant *who = &world->who[event->ref.slot];
	struct hook_at_work *hook = event->kind == EVENT_REACT_DONE
	                                ? &world->commands[event->ref.slot]
	                                : &world->hooks[event->ref.slot];

	if (event->kind == EVENT_HOOK_DONE || event->kind == EVENT_REACT_DONE) {
		if (hook->serial != event->serial || !ref_equal(hook->ref, event->ref))
			return false;
		hook->serial = 0;
		return true;
	}
	if (event->kind == EVENT_DEMAND || event->kind == EVENT_IDLE)
		return true;
	if (who->life != event->life || !ref_equal(who->ref, event->ref))
		return false;
	if (event->kind == EVENT_SPAWNED) {
		who->up = true;
		live(world, who);
		return true;
	}
	if (event->kind == EVENT_STOP_SENT)
		return who->up;
	if (event->kind != EVENT_SPAWN_FAILED && event->kind != EVENT_EXITED &&
	    event->kind != EVENT_GONE)
		return world_says(world, who, event);
	if (event->kind == EVENT_EXITED) {
		if (!who->up || who->main_dead)
			return false;
		who->main_dead = true;
		if (event->gone)
			who->life = 0;
		return true;
	}
	if (event->kind == EVENT_GONE && !who->main_dead)
		return false;
	who->life = 0;
	return true;
}

/* Leftovers of an ended main process go away some time, or never. */
static void
leftovers(struct world *world, const struct event *ended)
{
	struct event event = *ended;

	if (ended->kind != EVENT_EXITED || ended->gone)
		return;
	event.kind = EVENT_GONE;
	if (world->calm || one_in(&world->rng, 2))
		world_expect(world, rng_below(&world->rng, 400), &event, false);
}

/* The events that are due, in start order; one of them only, now and then. */
static void
deliver(struct world *world)
{
	struct run *run = world->run;
	bool single = !world->calm && one_in(&world->rng, 6);
	struct happening batch[WORLD_QUEUE_MAX];
	uint32_t n = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < world->n_queue; i++) {
		const struct happening happening = world->queue[i];
		uint32_t at = n;

		if (happening.at_ms > run->rig.now_ms || (single && n == 1)) {
			world->queue[kept++] = happening;
			continue;
		}
		while (at > 0 && core_valid(run->rig.core, happening.event.ref) &&
		       core_valid(run->rig.core, batch[at - 1].event.ref) &&
		       core_compare_order(run->rig.core, happening.event.ref,
		                          batch[at - 1].event.ref) < 0) {
			batch[at] = batch[at - 1];
			at--;
		}
		batch[at] = happening;
		n++;
	}
	world->n_queue = kept;
	for (uint32_t i = 0; i < n; i++) {
		if (!comes_true(world, &batch[i].event))
			continue;
		leftovers(world, &batch[i].event);
		if (!run_event(run, &batch[i].event))
			return;
	}
}

static uint64_t
next_happening(const struct world *world)
{
	uint64_t at_ms = core_deadline(world->run->rig.core);

	for (uint32_t i = 0; i < world->n_queue; i++)
		if (world->queue[i].at_ms < at_ms)
			at_ms = world->queue[i].at_ms;
	return at_ms;
}

static void
tick(struct world *world)
{
	const struct event event = {.kind = EVENT_TICK, .ref = REF_NONE};

	if (core_deadline(world->run->rig.core) <= world->run->rig.now_ms)
		(void)run_event(world->run, &event);
}

/* One turn of a world in which everything goes wrong. */
static void
chaos_turn(struct world *world)
{
	struct run *run = world->run;
	struct rng *rng = &world->rng;
	uint64_t at_ms = next_happening(world);
	bool early = one_in(rng, 2);

	if (at_ms > world->next_command_ms)
		at_ms = world->next_command_ms;
	if (at_ms > run->rig.now_ms)
		run->rig.now_ms = at_ms;
	if (!world->clean && one_in(rng, 12))
		run->rig.now_ms += rng_below(rng, 20);
	if (early)
		tick(world);
	if (world->next_command_ms <= run->rig.now_ms) {
		world->next_command_ms = run->rig.now_ms + rng_below(rng, 250);
		if (!world->clean && one_in(rng, 2)) {
			stimulus_command(world);
			deliver(world);
		} else {
			deliver(world);
			if (!world->clean)
				stimulus_command(world);
		}
	} else {
		deliver(world);
	}
	if (!early)
		tick(world);
	(void)run_settle(run);
	world_perform(world);
	if (one_in(rng, 6))
		stimulus_noise(world);
	if (one_in(rng, 20))
		stimulus_same(world);
	if (!world->clean && one_in(rng, 15))
		stimulus_reload(world);
	world_perform(world);
}

/* Nothing fails any more by itself; everything that is waited for comes. */
static void
calm_down(struct world *world)
{
	uint32_t kept = 0;

	world->calm = true;
	world->undying = false;
	for (uint32_t i = 0; i < world->n_queue; i++)
		if (!world->queue[i].spontaneous)
			world->queue[kept++] = world->queue[i];
	world->n_queue = kept;
	stimulus_resume_all(world);
	(void)run_settle(world->run);
	world_perform(world);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct inhabitant *who = &world->who[i];
		struct event event = world_event(who, EVENT_EXITED);

		if (who->life == 0 || !who->up)
			continue;
		event.gone = true;
		event.signal = SIGTERM;
		if (who->told && !who->main_dead)
			world_expect(world, 0, &event, false);
		event.kind = EVENT_GONE;
		if (who->main_dead)
			world_expect(world, 0, &event, false);
		else if (!who->told)
			live(world, who);
	}
}

/*
 * Actors that watch each other may keep each other restarting without end, and so may a
 * permanent supervisor with children that complete: as configured.
 */
static bool
is_in_a_cycle(struct world *world, uint32_t turn)
{
	const struct witness *witness = &world->run->witness;

	if (turn % CYCLE_TURNS != 0)
		return false;
	world->in_a_cycle = turn > CYCLE_TURNS && witness->commotions > world->commotions;
	world->commotions = witness->commotions;
	return world->in_a_cycle;
}

/* Run on until nothing is due any more, or supd has ended. */
static void
come_to_rest(struct world *world, const char *what)
{
	struct run *run = world->run;
	const uint64_t half_ms = run->rig.now_ms + CALM_MS / 2;
	const uint64_t end_ms = run->rig.now_ms + CALM_MS;
	uint64_t commotions = 0;

	world->in_a_cycle = false;

	for (uint32_t n = 0; run->witness.wrong[0] == '\0'; n++) {
		uint64_t at_ms = next_happening(world);

		if (run->witness.exited || at_ms == DURATION_INFINITE ||
		    is_in_a_cycle(world, n))
			return;
		if (at_ms <= half_ms)
			commotions = run->witness.commotions;
		/* A slow one takes few turns. */
		world->in_a_cycle =
		    at_ms > end_ms && run->witness.commotions > commotions;
		if (world->in_a_cycle)
			return;
		if (n > CALM_TURNS || at_ms > end_ms) {
			witness_blame(&run->witness, "I35 %s never comes to rest", what);
			return;
		}
		if (at_ms > run->rig.now_ms)
			run->rig.now_ms = at_ms;
		tick(world);
		deliver(world);
		(void)run_settle(run);
		world_perform(world);
	}
}

static void
end_of_the_world(struct world *world)
{
	struct run *run = world->run;
	const struct event event = {.kind = one_in(&world->rng, 4) ? EVENT_QUIT
	                                                           : EVENT_SHUTDOWN,
	                            .ref = REF_NONE};

	if (run->witness.wrong[0] != '\0' || run->witness.exited)
		return;
	/* Only processes that may be killed ignore TERM. */
	world->calm = one_in(&world->rng, 2);
	world->undying = run->tape->seed % UNDYING_ONE_IN == 0;
	world->fail_one_in = UINT64_MAX;
	world->crash_one_in = UINT64_MAX;
	(void)run_event(run, &event);
	(void)run_settle(run);
	world_perform(world);
	come_to_rest(world, "the shutdown");
	if (run->witness.wrong[0] == '\0' && !run->witness.exited)
		witness_blame(&run->witness, "I35 a shutdown that never ends");
}

/* A whole run: a tree, chaos, calm, the end. */
void
world_play(struct run *run)
{
	static const uint64_t rates[] = {1, 2, 2, 3, 5, 20};
	struct world world = {.run = run};
	const struct event boot = {.kind = EVENT_BOOT, .ref = REF_NONE};
	uint32_t turns;

	rng_seed(&world.rng, run->tape->seed * 7919 + 1);
	world.clean = one_in(&world.rng, 3);
	world.crash_one_in = rates[rng_below(&world.rng, 6)];
	world.fail_one_in = 3 + rng_below(&world.rng, 20);
	world.next_command_ms = run->rig.now_ms;
	world.undying = run->tape->seed % UNDYING_ONE_IN == 0;
	rng_seed(&world.deaths, run->tape->seed);
	turns = (uint32_t)rng_below(&world.rng, CHAOS_TURNS);
	gen_tree(run, &world.rng, world.clean);
	if (run->tape->seed % LEFT_ONE_IN == 0)
		world_left(&world);
	(void)run_event(run, &boot);
	(void)run_settle(run);
	world_perform(&world);
	for (uint32_t i = 0;
	     i < turns && run->witness.wrong[0] == '\0' && !run->witness.exited; i++)
		chaos_turn(&world);
	if (!run->witness.exited && run->witness.wrong[0] == '\0') {
		calm_down(&world);
		come_to_rest(&world, "a calm world");
	}
	if (!run->witness.exited && run->witness.wrong[0] == '\0' &&
	    !run->witness.shutdown && !world.in_a_cycle)
		witness_calm(&run->witness);
	end_of_the_world(&world);
}
