/* SPDX-License-Identifier: ISC */
/* exhaust_trees.c - the trees to which everything happens. */
#include "config.h"

#include <stdlib.h>

#include "tests/sim/exhaust.h"

static const struct shape shapes[] = {
    {"[a b]", 2, 9, 0},    {"[m[a]]", 2, 0, 0},   {"[a b c]", 3, 9, 1},
    {"[m[a b]]", 3, 0, 1}, {"[a m[b]]", 3, 1, 1},
};

#define SHAPES (sizeof(shapes) / sizeof(*shapes))

/* So many: each shape with each strategy, in a prompt world and in a slow one. */
uint32_t
trees_count(void)
{
	return (uint32_t)(SHAPES * STRATEGY_MAX * 2);
}

const struct shape *
trees_shape(uint32_t tree)
{
	return &shapes[tree % SHAPES];
}

enum strategy
trees_strategy(uint32_t tree)
{
	return (enum strategy)(tree / SHAPES % STRATEGY_MAX);
}

/* Is what the core asks for a letter of its own? */
bool
trees_are_slow(uint32_t tree)
{
	return tree >= SHAPES * STRATEGY_MAX;
}

static uint32_t
new_spec(struct tape *tape, bool supervisor, enum strategy strategy, uint32_t number)
{
	static const enum restart_type types[] = {RESTART_PERMANENT, RESTART_TRANSIENT,
	                                          RESTART_TEMPORARY, RESTART_NEVER};
	struct spec *spec = &tape->specs[tape->n_specs].spec;

	spec_default(spec, supervisor ? NODE_SUPERVISOR : NODE_WORKER);
	spec->policy.strategy = strategy;
	spec->policy.intensity.unlimited = false;
	spec->policy.intensity.restarts = 2;
	spec->policy.intensity.within_ms = 100;
	spec->backoff.none = number % 2 == 0;
	spec->backoff.min_ms = 50;
	spec->backoff.max_ms = 80;
	spec->backoff.jitter_milli = 0;
	spec->backoff.reset_after_ms = 60;
	if (!supervisor) {
		spec->restart = types[number % 4];
		spec->stop.shutdown_ms = 30;
		if (number % 3 == 1) {
			spec->start.ready = READY_TOLD;
			spec->start.timeout_ms = 40;
		}
	}
	return tape->n_specs++;
}

static struct ref
plant(struct explorer *explorer, struct ref parent, bool supervisor,
      enum strategy strategy, uint32_t number)
{
	struct run *run = &explorer->run;
	struct op op = {.kind = OP_ADD,
	                .now_ms = run->rig.now_ms,
	                .ref = parent,
	                .before = REF_NONE,
	                .spec = new_spec(run->tape, supervisor, strategy, number)};
	struct ref last = REF_NONE;

	(void)run_op(run, &op);
	for (struct ref at = core_first_child(run->rig.core, parent);
	     core_valid(run->rig.core, at); at = core_next_sibling(run->rig.core, at))
		last = at;
	return last;
}

/* /user and the actors of this tree, not booted yet. */
void
trees_plant(struct explorer *explorer, uint32_t tree)
{
	const struct shape *shape = trees_shape(tree);
	enum strategy strategy = trees_strategy(tree);
	struct ref root = core_ref(explorer->run.rig.core, CORE_ROOT);
	struct ref user = plant(explorer, root, true, strategy, 0);
	struct ref parent = user;

	explorer->slow = trees_are_slow(tree);
	for (uint32_t i = 0; i < shape->actors; i++) {
		bool supervisor = i == shape->supervisor;
		struct ref made = plant(explorer, parent, supervisor, strategy, i + tree);

		if (supervisor)
			parent = made;
	}
	explorer->spare = new_spec(explorer->run.tape, false, strategy, 3 + tree);
	for (uint32_t i = 0; i < NODES_MAX; i++) {
		struct witnessed *node = &explorer->run.witness.nodes[i];

		if (node->grants == NULL)
			node->grants = calloc(SIM_STAMPS_MAX, sizeof(*node->grants));
	}
}
