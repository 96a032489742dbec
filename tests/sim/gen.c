/* SPDX-License-Identifier: ISC */
/* gen.c - random actors and trees. */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"

#define KILL_MS       300
#define HEALTHY_SPECS (SIM_SPECS_MAX - 80) /* the rest is for those without health */

/* True once in n times. */
bool
one_in(struct rng *rng, uint64_t n)
{
	return rng_below(rng, n) == 0;
}

static void
gen_backoff(struct rng *rng, struct backoff_spec *backoff)
{
	backoff->none = one_in(rng, 2);
	backoff->min_ms = 1 + rng_below(rng, 100);
	backoff->max_ms = backoff->min_ms + rng_below(rng, 900);
	backoff->factor_milli = 1000 + (uint32_t)rng_below(rng, 3) * 500;
	backoff->jitter_milli = one_in(rng, 2) ? 0 : (uint32_t)rng_below(rng, 1001);
	backoff->reset_after_ms = 1 + rng_below(rng, 1500);
	backoff->manual_reset = one_in(rng, 6);
	backoff->on_stop = one_in(rng, 6);
}

static void
gen_rule(struct rng *rng, struct rule *rule, uint32_t line)
{
	memset(rule, 0, sizeof(*rule));
	rule->place.line = line;
	rule->then = (enum directive)rng_below(rng, DIRECTIVE_MAX);
	switch (rng_below(rng, 7)) {
	case 0:
		rule->kinds = RULE_KINDS_ANY;
		break;
	case 1:
		exit_set_add(&rule->exits, 1, 1 + (unsigned int)rng_below(rng, 5));
		break;
	case 2:
		rule->kinds = 1u << CAUSE_SIGNAL | 1u << CAUSE_CORE;
		break;
	case 3:
		rule->kinds =
		    1u << CAUSE_EXEC | 1u << CAUSE_START_TIMEOUT | 1u << CAUSE_EARLY_EXIT;
		break;
	case 4:
		rule->kinds =
		    1u << CAUSE_INTENSITY | 1u << CAUSE_KILLED | 1u << CAUSE_OOM;
		break;
	case 5:
		rule->kinds = 1u << CAUSE_WATCHDOG | 1u << CAUSE_HEALTH |
		              1u << CAUSE_SELF_REPORT | 1u << CAUSE_STOPPED;
		break;
	default:
		rule->preset = (enum preset)(1 + rng_below(rng, PRESET_MAX - 1));
		break;
	}
}

static void
gen_decider(struct rng *rng, struct decider *decider, struct rule *rules, bool own)
{
	memset(decider, 0, sizeof(*decider));
	if (!own && !one_in(rng, 3)) {
		decider->preset = PRESET_DEFAULT;
		if (one_in(rng, 3))
			decider->preset =
			    (enum preset)(1 + rng_below(rng, PRESET_MAX - 1));
		return;
	}
	if (own && !one_in(rng, 5))
		return;
	decider->rules = rules;
	decider->n_rules = (uint32_t)rng_below(rng, SIM_RULES_MAX + 1);
	for (uint32_t i = 0; i < decider->n_rules; i++)
		gen_rule(rng, &rules[i], i + 1);
}

static void
gen_supervisor(struct rng *rng, struct spec *spec)
{
	spec->policy.strategy = (enum strategy)rng_below(rng, STRATEGY_MAX);
	spec->policy.intensity.unlimited = one_in(rng, 4);
	spec->policy.intensity.restarts = (uint32_t)rng_below(rng, 6);
	spec->policy.intensity.within_ms = 1 + rng_below(rng, 2000);
	if (one_in(rng, 4)) {
		spec->policy.limit.on = true;
		spec->policy.limit.fixed = one_in(rng, 2);
		spec->policy.limit.escalate = one_in(rng, 2);
		spec->policy.limit.restarts = (uint32_t)rng_below(rng, 4);
		spec->policy.limit.within_ms =
		    one_in(rng, 4) ? DURATION_INFINITE : 1 + rng_below(rng, 2000);
	}
	if (one_in(rng, 3))
		spec->policy.keep_children =
		    (enum keep_children)rng_below(rng, KEEP_CHILDREN_MAX);
	if (one_in(rng, 4))
		spec->policy.auto_shutdown =
		    (enum auto_shutdown)rng_below(rng, AUTO_SHUTDOWN_MAX);
	if (one_in(rng, 4))
		spec->policy.when_empty = (enum when_empty)rng_below(rng, WHEN_EMPTY_MAX);
	spec->policy.freeze_while_deciding = one_in(rng, 4);
	if (one_in(rng, 4))
		spec->policy.max_children = (uint32_t)rng_below(rng, 3);
	spec->policy.start_parallel = one_in(rng, 5);
	spec->policy.stop_parallel = one_in(rng, 5);
	spec->stop.mode = SHUTDOWN_INFINITY;
	if (one_in(rng, 8)) {
		spec->stop.mode = SHUTDOWN_TIMEOUT;
		spec->stop.shutdown_ms = rng_below(rng, 1000);
	} else if (one_in(rng, 20)) {
		spec->stop.mode = SHUTDOWN_BRUTAL_KILL;
	}
}

/* What its process is like. */
static void
gen_process(struct rng *rng, struct spec *spec)
{
	spec->stop.mode = SHUTDOWN_TIMEOUT;
	spec->stop.shutdown_ms = one_in(rng, 8) ? 0 : rng_below(rng, 300);
	if (one_in(rng, 8))
		spec->stop.mode = SHUTDOWN_BRUTAL_KILL;
	else if (one_in(rng, 8))
		spec->stop.mode = SHUTDOWN_INFINITY;
	switch (rng_below(rng, 8)) {
	case 0:
		if (spec->kind == NODE_BOTH)
			break;
		spec->start.ready = READY_EXIT;
		spec->restart = RESTART_TRANSIENT;
		break;
	case 1:
		/* From outside it cannot be told when the process of others is ready. */
		if (spec->kind == NODE_BOTH || spec->hooks != 0)
			break;
		spec->start.ready = READY_AFTER;
		spec->start.ready_after_ms = rng_below(rng, 200);
		break;
	case 2:
		spec->start.ready = READY_TOLD;
		break;
	case 3:
		spec->start.ready = one_in(rng, 2) ? READY_TOLD : READY_PROBED;
		spec->start.ready_interval_ms = 5 + rng_below(rng, 50);
		break;
	default:
		spec->start.ready = READY_EXEC;
		break;
	}
	/* One that can never be in time would be restarted for ever. */
	if (spec->start.ready != READY_EXEC && one_in(rng, 2))
		spec->start.timeout_ms =
		    1 + spec->start.ready_after_ms + rng_below(rng, 400);
}

/*
 * How a living process is found to be unwell.  A health check goes on until a reload ends
 * it, so only worlds with reloads have it.
 */
static void
gen_living(struct rng *rng, struct spec *spec, bool clean)
{
	if (one_in(rng, 5))
		spec->watchdog_ms = 20 + rng_below(rng, 300);
	spec->stopped_is_failure = one_in(rng, 3);
	if (clean || !one_in(rng, 6))
		return;
	spec->health = (struct probe_spec){
	    .on = true,
	    .failures = 1 + (uint32_t)rng_below(rng, 3),
	    .successes = 1 + (uint32_t)rng_below(rng, 2),
	    .interval_ms = 10 + rng_below(rng, 200),
	    .initial_delay_ms = rng_below(rng, 100),
	};
}

/* Some kind of node, more often a worker. */
enum node_kind
gen_kind(struct rng *rng)
{
	if (!one_in(rng, 3))
		return NODE_WORKER;
	return one_in(rng, 3) ? NODE_BOTH : NODE_SUPERVISOR;
}

static void
gen_hooks(struct rng *rng, struct spec *spec)
{
	if (!one_in(rng, 4))
		return;
	spec->hooks = (uint32_t)rng_below(rng, 1U << HOOK_MAX);
	spec->hook_timeout_ms = 1 + rng_below(rng, 200);
}

static bool
is_watched(const struct spec *spec, uint64_t name)
{
	for (uint32_t i = 0; i < spec->n_watches; i++)
		if (spec->watches[i].target == name)
			return true;
	return false;
}

/* The actors it watches: some of the possible names, perhaps its own. */
static void
gen_watches(struct rng *rng, struct spec *spec, struct watch_spec *watches)
{
	static const int signals[] = {SIGHUP, SIGUSR1};

	spec->watches = watches;
	spec->n_watches = 0;
	if (!one_in(rng, 4))
		return;
	for (uint64_t n = 1 + rng_below(rng, SIM_WATCHES); n > 0; n--) {
		struct watch_spec *watch = &watches[spec->n_watches];
		/* The lower names are those of the first tree. */
		uint64_t name = 1 + rng_below(rng, one_in(rng, 5) ? SIM_NAMES : 6);

		if (is_watched(spec, name))
			continue;
		watch->target = name;
		watch->reaction = (enum reaction)rng_below(rng, REACTION_MAX);
		watch->signal = signals[rng_below(rng, 2)];
		spec->n_watches++;
	}
}

/* Is supd to end with this one?  From separate random numbers. */
static bool
gen_is_named(const struct tape *tape)
{
	struct rng rng;

	if (tape->seed % EXIT_ONE_IN != EXIT_REST || tape->n_specs == 0)
		return false;
	rng_seed(&rng, tape->seed * SIM_SPECS_MAX + tape->n_specs + 1);
	return one_in(&rng, 4);
}

/*
 * The actors it needs: some of the names, also unknown names and circles. In every other
 * run, from separate random numbers: so old seeds keep their meaning.
 */
static void
gen_needs(const struct tape *tape, struct spec *spec, struct need_spec *needs)
{
	struct rng rng;

	spec->needs = needs;
	spec->n_needs = 0;
	rng_seed(&rng, tape->seed * SIM_SPECS_MAX + tape->n_specs);
	if (tape->seed % 2 != 0 || (!one_in(&rng, 5) && !gen_is_named(tape)))
		return;
	for (uint64_t n = 1 + rng_below(&rng, SIM_NEEDS); n > 0; n--) {
		uint64_t name = 1 + rng_below(&rng, one_in(&rng, 5) ? SIM_NAMES : 8);

		if (spec->n_needs > 0 && needs[0].target == name)
			continue;
		needs[spec->n_needs++] = (struct need_spec){
		    .target = name, .level = (enum need)rng_below(&rng, NEED_MAX)};
	}
}

/* A name that no actor has, or only one that goes; 0: there is none. */
uint64_t
gen_name(const struct run *run, struct rng *rng)
{
	uint64_t from = one_in(rng, 4) ? rng_below(rng, SIM_NAMES) : 0;

	for (uint64_t i = 0; i < SIM_NAMES; i++) {
		uint64_t name = 1 + (from + i) % SIM_NAMES;

		if (run_name_is_free(run, name))
			return name;
	}
	return 0;
}

/* A new random spec in the pool; its number.  When the pool is full, an old one. */
uint32_t
gen_spec(struct tape *tape, struct rng *rng, enum node_kind kind, bool clean)
{
	struct sim_spec *made = &tape->specs[tape->n_specs];
	struct spec *spec = &made->spec;

	if (tape->n_specs == SIM_SPECS_MAX) {
		uint32_t i = 0;

		while (tape->specs[i].spec.kind != kind)
			i++;
		return i;
	}
	spec_default(spec, kind);
	if (!one_in(rng, 3))
		spec->restart = (enum restart_type)rng_below(rng, RESTART_TEMPORARY + 1);
	if (spec->restart == RESTART_TEMPORARY && tape->seed % NEVER_ONE_IN == NEVER_REST)
		spec->restart = RESTART_NEVER;
	spec->stop.kill_timeout_ms = tape->seed % UNDYING_ONE_IN == 0 ? KILL_MS : 10000;
	spec->enabled = clean || !one_in(rng, 12);
	gen_backoff(rng, &spec->backoff);
	gen_decider(rng, &spec->on_failure, made->on_failure, true);
	gen_hooks(rng, spec);
	gen_watches(rng, spec, made->watches);
	gen_needs(tape, spec, made->needs);
	if (kind != NODE_WORKER) {
		gen_supervisor(rng, spec);
		gen_decider(rng, &spec->policy.decider, made->decider, false);
	}
	if (kind != NODE_SUPERVISOR) {
		gen_process(rng, spec);
		/* An actor that ends by itself, or keeps its children, does not fit. */
		spec->on_demand = one_in(rng, 8) &&
		                  spec->policy.keep_children == KEEP_NO &&
		                  spec->policy.auto_shutdown == AUTO_SHUTDOWN_NEVER;
		gen_living(rng, spec, clean || tape->n_specs > HEALTHY_SPECS);
	}
	spec->gives_exit = gen_is_named(tape);
	spec->significant = spec->restart != RESTART_PERMANENT && one_in(rng, 2);
	return tape->n_specs++;
}

/* The first tree of a run: /user and some actors below it. */
void
gen_tree(struct run *run, struct rng *rng, bool clean)
{
	struct ref supervisors[SIM_NODES_MAX];
	uint32_t n_supervisors = 1;
	uint32_t n = 1 + (uint32_t)rng_below(rng, 14);
	struct op op = {.kind = OP_ADD, .now_ms = run->rig.now_ms, .before = REF_NONE};

	op.ref = core_ref(run->rig.core, CORE_ROOT);
	op.name = gen_name(run, rng);
	op.spec = gen_spec(run->tape, rng, NODE_SUPERVISOR, clean);
	run->tape->specs[op.spec].spec.enabled = true;
	run->tape->specs[op.spec].spec.n_needs = 0;
	run->tape->specs[op.spec].spec.restart = RESTART_PERMANENT;
	if (one_in(rng, 2))
		run->tape->specs[op.spec].spec.policy.intensity.unlimited = true;
	run_op(run, &op);
	supervisors[0] = core_ref(run->rig.core, CORE_USER);
	for (uint32_t i = 0; i < n; i++) {
		enum node_kind kind = gen_kind(rng);
		struct ref parent = supervisors[rng_below(rng, n_supervisors)];
		struct ref last = REF_NONE;

		if (rig_view(&run->rig, parent).depth + 1 >= SIM_DEPTH_MAX)
			continue;
		op.ref = parent;
		op.spec = gen_spec(run->tape, rng, kind, clean);
		op.name = gen_name(run, rng);
		run_op(run, &op);
		for (struct ref at = core_first_child(run->rig.core, parent);
		     core_valid(run->rig.core, at);
		     at = core_next_sibling(run->rig.core, at))
			last = at;
		if (kind != NODE_WORKER)
			supervisors[n_supervisors++] = last;
	}
}
