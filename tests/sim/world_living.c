/* SPDX-License-Identifier: ISC */
/* world_living.c - reports of live processes, and their mishaps. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "tests/sim/sim.h"

static struct event
event_of(struct world *world, const struct inhabitant *who, enum event_kind kind)
{
	struct event event = {
	    .kind = kind, .ref = who->ref, .life = who->life, .code = -1};

	if (one_in(&world->rng, 2))
		event.stamp = ++world->last_stamp;
	return event;
}

/* It happens some time, and perhaps is heard of twice. */
static void
happen(struct world *world, const struct event *event, uint64_t within_ms)
{
	uint64_t in_ms = rng_below(&world->rng, within_ms);

	world_expect(world, in_ms, event, true);
	if (one_in(&world->rng, 6))
		world_expect(world, in_ms + rng_below(&world->rng, 3), event, true);
}

/* Before the boot: SIGKILL of a new supd has not ended these, and perhaps never will. */
void
world_left(struct world *world)
{
	struct run *run = world->run;
	struct rng *rng = &world->deaths;

	for (uint32_t slot = CORE_USER + 1; slot < SIM_NODES_MAX; slot++) {
		const struct witnessed *node = &run->witness.nodes[slot];
		struct event event = {.kind = EVENT_LEFT, .life = 1, .code = -1};

		if (!node->used || !one_in(rng, 3))
			continue;
		event.ref = node->ref;
		/* Told of an earlier life, or twice, it has no effect. */
		event.life += one_in(rng, 8);
		if (!run_event(run, &event) ||
		    (one_in(rng, 8) && !run_event(run, &event)))
			return;
		if (one_in(rng, 4))
			(void)run_settle(run);
		if (!node->process.left)
			continue;
		world->who[slot] = (struct inhabitant){
		    .ref = event.ref, .life = event.life, .up = true, .told = true};
		event.kind = EVENT_EXITED;
		event.signal = SIGKILL;
		event.gone = !one_in(rng, 4);
		if (one_in(rng, 2))
			world_expect(world, rng_below(rng, 4000), &event, true);
	}
}

static void
stand(struct world *world, const struct inhabitant *who)
{
	struct event event = event_of(world, who, EVENT_PAUSED);

	event.signal = SIGSTOP;
	happen(world, &event, 500);
	if (one_in(&world->rng, 3))
		return;
	event = event_of(world, who, EVENT_CONTINUED);
	happen(world, &event, 1000);
}

/* What a process will say that has just been started.  In a calm world it is well. */
void
world_living(struct world *world, const struct inhabitant *who, const struct spec *spec)
{
	struct rng *rng = &world->rng;
	struct event event;

	if (world->calm) {
		event = event_of(world, who, EVENT_WATCHDOG_EVERY);
		world_expect(world, 0, &event, false);
		if (who->paused) {
			event = event_of(world, who, EVENT_CONTINUED);
			world_expect(world, 0, &event, false);
		}
		return;
	}
	if (spec->watchdog_ms != 0 && !one_in(rng, 3)) {
		event = event_of(world, who, EVENT_WATCHDOG);
		happen(world, &event, spec->watchdog_ms);
	}
	if (one_in(rng, 6)) {
		event = event_of(world, who, EVENT_WATCHDOG_EVERY);
		event.period_ms = one_in(rng, 4) ? 0 : 1 + rng_below(rng, 300);
		happen(world, &event, 300);
	}
	if (one_in(rng, 10)) {
		event = event_of(world, who, EVENT_WATCHDOG_TRIGGER);
		happen(world, &event, 600);
	}
	if (one_in(rng, 8)) {
		event = event_of(world, who, EVENT_EXTEND);
		event.period_ms = rng_below(rng, 500);
		happen(world, &event, 500);
	}
	if (one_in(rng, 8)) {
		event = event_of(world, who, EVENT_SELF_REPORT);
		event.error = one_in(rng, 2) ? 28 : 0;
		strcpy(event.key, one_in(rng, 2) ? "disk" : "");
		happen(world, &event, 600);
	}
	if (one_in(rng, 8))
		stand(world, who);
}

/* ACTION_PROBE: a good answer, or none. */
void
world_probe(struct world *world, const struct action *action)
{
	const struct inhabitant *who = &world->who[action->ref.slot];
	struct event event = event_of(world, who, EVENT_PROBED);
	uint64_t in_ms = 0;

	event.life = action->life;
	event.serial = action->serial;
	event.code = PROBED_GOOD;
	if (!world->calm) {
		in_ms = rng_below(&world->rng, 60);
		if (one_in(&world->rng, 2))
			event.code = one_in(&world->rng, 4) ? PROBED_UNKNOWN : PROBED_BAD;
	}
	world_expect(world, in_ms, &event, false);
}

static bool
is_own_word(enum event_kind kind)
{
	return kind == EVENT_READY || kind == EVENT_BACKOFF_RESET ||
	       kind == EVENT_WATCHDOG || kind == EVENT_WATCHDOG_TRIGGER ||
	       kind == EVENT_WATCHDOG_EVERY || kind == EVENT_EXTEND ||
	       kind == EVENT_SELF_REPORT;
}

/* If a present process can report this now, or suffer it, it does. */
bool
world_says(struct world *world, struct inhabitant *who, const struct event *event)
{
	const struct spec *spec = world->run->witness.nodes[who->ref.slot].spec;

	if (!who->up || who->main_dead)
		return false;
	if (is_own_word(event->kind) && (who->frozen || who->paused)) {
		/* A frozen process reports when it moves again; in a calm world it does.
		 */
		world_expect(world, 20, event, !world->calm);
		return false;
	}
	if (event->kind == EVENT_PAUSED)
		who->paused = true;
	else if (event->kind == EVENT_CONTINUED)
		who->paused = false;
	/* A process that reported once goes on reporting while it is well. */
	if (event->kind == EVENT_WATCHDOG && !world->calm && spec->watchdog_ms != 0 &&
	    !one_in(&world->rng, 6)) {
		const struct event next = event_of(world, who, EVENT_WATCHDOG);

		world_expect(world, 1 + rng_below(&world->rng, spec->watchdog_ms), &next,
		             true);
	}
	return true;
}
