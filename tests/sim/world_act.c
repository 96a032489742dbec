/* SPDX-License-Identifier: ISC */
/* world_act.c - what the world does when the core asks for it, at once or later. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "tests/sim/sim.h"

#define ENDURANCE_MS 1000 /* how long one is deaf that may not be killed */

struct event
world_event(const struct inhabitant *who, enum event_kind kind)
{
	return (struct event){
	    .kind = kind, .ref = who->ref, .life = who->life, .code = -1};
}

/* A random way to end. */
struct event
world_some_end(struct world *world, const struct inhabitant *who)
{
	static const int codes[] = {0, 0, 1, 2, 3, 17};
	static const int signals[] = {SIGKILL, SIGSEGV, SIGTERM, SIGABRT};
	struct event event = world_event(who, EVENT_EXITED);

	event.gone = !one_in(&world->rng, 8);
	if (one_in(&world->rng, 3)) {
		event.signal = signals[rng_below(&world->rng, 4)];
		event.core = event.signal == SIGABRT && one_in(&world->rng, 2);
		event.oom = event.signal == SIGKILL && who->life % 2 == 0;
	} else {
		event.code = codes[rng_below(&world->rng, 6)];
	}
	return event;
}

const struct spec *
world_spec(const struct world *world, const struct inhabitant *who)
{
	return world->run->witness.nodes[who->ref.slot].spec;
}

static void
do_spawn(struct world *world, const struct action *action)
{
	struct inhabitant *who = &world->who[action->ref.slot];
	uint64_t in_ms = 0;
	struct event event;

	*who = (struct inhabitant){.ref = action->ref, .life = action->life};
	event = world_event(who, EVENT_SPAWNED);
	if (!world->calm) {
		if (one_in(&world->rng, 8))
			in_ms = rng_below(&world->rng, 50);
		if (one_in(&world->rng, world->fail_one_in)) {
			event.kind = EVENT_SPAWN_FAILED;
			event.error = one_in(&world->rng, 3) ? 11 : 2;
			if (event.error == 11)
				strcpy(event.key, "fork");
		}
	}
	world_expect(world, in_ms, &event, false);
}

static void
do_stop(struct world *world, const struct action *action)
{
	struct inhabitant *who = &world->who[action->ref.slot];
	const struct spec *spec = world_spec(world, who);
	struct event event = world_event(who, EVENT_EXITED);
	bool may_be_killed = spec->stop.mode == SHUTDOWN_TIMEOUT;
	uint64_t in_ms = 0;

	who->told = true;
	if (!world->calm && one_in(&world->rng, 8)) {
		const struct event sent = world_event(who, EVENT_STOP_SENT);

		world_expect(world, rng_below(&world->rng, 30), &sent, false);
	}
	if (who->main_dead)
		event.kind = EVENT_GONE;
	event.signal = SIGTERM;
	event.gone = true;
	if (!world->calm) {
		uint64_t kind = rng_below(&world->rng, 6);

		if (kind == 0 && !who->main_dead) {
			event = world_some_end(world, who);
			in_ms = rng_below(&world->rng, 100);
		} else if (kind == 1 && may_be_killed) {
			return;
		} else if (kind == 2 && may_be_killed) {
			/* At the very instant at which it would be killed. */
			in_ms = spec->stop.shutdown_ms;
		} else if (kind < 5) {
			in_ms = rng_below(&world->rng, ENDURANCE_MS);
		}
	}
	world_expect(world, in_ms, &event, false);
	if (!event.gone && !may_be_killed) {
		event.kind = EVENT_GONE;
		world_expect(world, in_ms + 1 + rng_below(&world->rng, 100), &event,
		             false);
	}
}

static void
do_kill(struct world *world, const struct action *action)
{
	struct inhabitant *who = &world->who[action->ref.slot];
	struct event event = world_event(who, EVENT_EXITED);
	uint64_t in_ms = world->calm ? 0 : rng_below(&world->rng, 20);

	who->told = true;
	if (world->undying && one_in(&world->deaths, 3)) {
		/* For long, or for ever: until the world is calm. */
		if (one_in(&world->deaths, 2))
			return;
		in_ms = rng_below(&world->deaths, 2000);
	}
	event.signal = SIGKILL;
	event.gone = world->calm || !one_in(&world->rng, 5);
	if (!who->main_dead)
		world_expect(world, in_ms, &event, false);
	event.kind = EVENT_GONE;
	world_expect(world, in_ms + 1 + rng_below(&world->rng, 30), &event, false);
}

/* A hook: short, or longer than it may; it works, or does not. */
static void
do_hook(struct world *world, const struct action *action)
{
	const struct spec *spec = world->run->witness.nodes[action->ref.slot].spec;
	struct event event = {
	    .kind = EVENT_HOOK_DONE, .ref = action->ref, .serial = action->serial};
	uint64_t in_ms = 0;

	world->hooks[action->ref.slot] =
	    (struct hook_at_work){.ref = action->ref, .serial = action->serial};
	if (!world->calm) {
		if (one_in(&world->rng, 2))
			in_ms = rng_below(&world->rng, spec->hook_timeout_ms * 2);
		if (one_in(&world->rng, 5))
			event.code = 1;
	}
	world_expect(world, in_ms, &event, false);
}

static void
do_hook_kill(struct world *world, const struct action *action)
{
	const struct event event = {.kind = EVENT_HOOK_DONE,
	                            .ref = action->ref,
	                            .serial = action->serial,
	                            .code = -1,
	                            .signal = SIGKILL};

	world_expect(world, world->calm ? 0 : rng_below(&world->rng, 20), &event, false);
}

/* The command of a watch: it takes a while, and works or does not. */
static void
do_react(struct world *world, const struct action *action)
{
	struct event event = {
	    .kind = EVENT_REACT_DONE, .ref = action->ref, .serial = action->serial};
	uint64_t in_ms = 0;

	world->commands[action->ref.slot] =
	    (struct hook_at_work){.ref = action->ref, .serial = action->serial};
	if (!world->calm) {
		in_ms = rng_below(&world->rng, 300);
		event.code = one_in(&world->rng, 4);
		event.late = one_in(&world->rng, 4);
	}
	world_expect(world, in_ms, &event, false);
}

/* In a calm world every actor is well, and a reload ends its health checks. */
static void
end_probes(struct world *world, const struct action *probe)
{
	struct tape *tape = world->run->tape;
	struct witnessed *node = &world->run->witness.nodes[probe->ref.slot];
	struct op op = {.kind = OP_UPDATE,
	                .now_ms = world->run->rig.now_ms,
	                .ref = probe->ref,
	                .spec = tape->n_specs};

	if (probe->is_start || tape->n_specs == SIM_SPECS_MAX)
		return;
	tape->specs[tape->n_specs] = tape->specs[run_spec_number(world->run, node->spec)];
	tape->specs[tape->n_specs].spec.health.on = false;
	tape->n_specs++;
	(void)run_op(world->run, &op);
}

static void
do_probe(struct world *world, const struct action *action)
{
	world_probe(world, action);
	if (world->calm)
		end_probes(world, action);
}

/* A client comes, and perhaps goes soon; in a calm world no client comes. */
static void
do_listen(struct world *world, const struct action *action)
{
	struct event event = {.kind = EVENT_DEMAND, .ref = action->ref};

	if (world->calm || one_in(&world->rng, 4))
		return;
	world_expect(world, rng_below(&world->rng, 300), &event, true);
	event.kind = EVENT_IDLE;
	if (one_in(&world->rng, 4))
		world_expect(world, rng_below(&world->rng, 900), &event, true);
}

/* Do what the core asked for: what comes of it happens in later turns. */
void
world_perform(struct world *world)
{
	struct run *run = world->run;

	for (uint32_t i = 0; i < run->n_work; i++) {
		const struct action *action = &run->work[i];

		if (action->kind == ACTION_SPAWN)
			do_spawn(world, action);
		else if (action->kind == ACTION_LISTEN)
			do_listen(world, action);
		else if (action->kind == ACTION_PROBE)
			do_probe(world, action);
		else if (action->kind == ACTION_CONTINUE)
			world->who[action->ref.slot].paused = false;
		else if (action->kind == ACTION_STOP)
			do_stop(world, action);
		else if (action->kind == ACTION_HOOK)
			do_hook(world, action);
		else if (action->kind == ACTION_HOOK_KILL)
			do_hook_kill(world, action);
		else if (action->kind == ACTION_REACT)
			do_react(world, action);
		else if (action->kind == ACTION_FREEZE || action->kind == ACTION_THAW)
			world->who[action->ref.slot].frozen =
			    action->kind == ACTION_FREEZE;
		else
			do_kill(world, action);
	}
	run->n_work = 0;
}
