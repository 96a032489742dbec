/* SPDX-License-Identifier: ISC */
/* core.c - the decision core alone, with as many actors as one likes.
 *
 * core ACTORS CYCLES
 *
 * All actors are siblings.  Each has a deadline pending, so that the heap is as large as
 * the tree.  A cycle is four events: a random actor ends, its delay is over, it is
 * spawned, somebody asks for a start that changes nothing.  measured() is what callgrind
 * is to look at (core.py).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "core/core.h"

#define CYCLE_EVENTS 4
#define HOUR_MS      3600000 /* longer than all cycles take */
#define SECOND_MS    1000

struct bench {
	struct core *core;
	struct ref *workers;
	uint32_t *lives;
	uint32_t n;
	uint64_t now_ms;
	struct rng rng;
	struct action_list actions;
};

static void
turn(struct bench *bench, const struct event *event)
{
	bench->actions.n = 0;
	core_post(bench->core, bench->now_ms, event, &bench->actions);
	while (core_settle(bench->core, bench->now_ms, &bench->actions))
		bench->actions.n = 0;
}

void measured(struct bench *bench, uint32_t cycles);

__attribute__((noinline)) void
measured(struct bench *bench, uint32_t cycles)
{
	for (uint32_t i = 0; i < cycles; i++) {
		const uint32_t at = (uint32_t)rng_below(&bench->rng, bench->n);
		struct ref ref = bench->workers[at];
		struct event event = {
		    .kind = EVENT_EXITED, .ref = ref, .code = 1, .gone = true};

		/* It has lived for so long that its restart is not put off. */
		bench->now_ms += SECOND_MS;
		event.life = bench->lives[at]++;
		turn(bench, &event);
		bench->now_ms++;
		turn(bench, &(struct event){.kind = EVENT_TICK});
		event.kind = EVENT_SPAWNED;
		event.life = bench->lives[at];
		turn(bench, &event);
		event.kind = EVENT_START;
		turn(bench, &event);
	}
}

static struct ref
add(struct bench *bench, struct ref parent, enum node_kind kind)
{
	struct spec spec;

	spec_default(&spec, kind);
	spec.policy.intensity.unlimited = true;
	spec.policy.start_parallel = true;
	spec.policy.stop_parallel = true;
	spec.backoff.none = true;
	if (kind == NODE_WORKER) {
		spec.start.ready = READY_AFTER;
		spec.start.ready_after_ms = HOUR_MS;
	}
	return core_add(bench->core, parent, REF_NONE, &spec, bench->now_ms);
}

/* Every actor started; whoever is added last stands last. */
static void
grow(struct bench *bench)
{
	struct ref user = add(bench, core_ref(bench->core, CORE_ROOT), NODE_SUPERVISOR);
	struct event event = {.kind = EVENT_BOOT};

	for (uint32_t i = 0; i < bench->n; i++)
		bench->workers[i] = add(bench, user, NODE_WORKER);
	turn(bench, &event);
	event.kind = EVENT_SPAWNED;
	event.life = 1;
	for (uint32_t i = 0; i < bench->n; i++) {
		event.ref = bench->workers[i];
		bench->lives[i] = 1;
		turn(bench, &event);
	}
}

int
main(int argc, char **argv)
{
	struct bench bench = {.now_ms = 1000};
	struct core_size size = {.waiters = 16};
	uint32_t cycles = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	void *memory;

	bench.n = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	if (bench.n == 0 || cycles == 0) {
		fprintf(stderr, "usage: core ACTORS CYCLES\n");
		return 64;
	}
	size.nodes = bench.n + 8;
	size.pool_bytes = 4096;
	memory = calloc(1, core_bytes(&size));
	bench.workers = calloc(bench.n, sizeof(*bench.workers));
	bench.lives = calloc(bench.n, sizeof(*bench.lives));
	if (memory == NULL || bench.workers == NULL || bench.lives == NULL) {
		fprintf(stderr, "core: no memory for %" PRIu32 " actors\n", bench.n);
		return 71;
	}
	bench.core = core_init(memory, &size, 1);
	rng_seed(&bench.rng, 1);
	grow(&bench);
	measured(&bench, cycles);
	printf("%" PRIu32 " events, %zu bytes\n", cycles * CYCLE_EVENTS,
	       (size_t)core_used(bench.core).first);
	free(bench.lives);
	free(bench.workers);
	free(memory);
	return 0;
}
