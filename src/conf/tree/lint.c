/* SPDX-License-Identifier: ISC */
/* lint.c - what is legal and probably not meant. */
#include "config.h"

#include "conf/tree/lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "conf/read/keys.h"
#include "conf/read/needs.h"
#include "conf/text/reports.h"

#define TERMS_SHOWN_MAX 6
/* With more restarts than this, a level's times the next level's, giving up takes too
 * long. */
#define PRODUCT_MAX 100

/* Causes after which no process is left that could be resumed. */
#define DEAD_KINDS                                                        \
	((1u << CAUSE_EXIT) | (1u << CAUSE_SIGNAL) | (1u << CAUSE_CORE) | \
	 (1u << CAUSE_OOM) | (1u << CAUSE_KILLED) | (1u << CAUSE_EARLY_EXIT))

/* ---- intensity and backoff ---- */

/* The next delay, in thousandths of a millisecond. */
static uint64_t
grow_delay(const struct backoff_spec *backoff, uint64_t delay)
{
	const uint64_t max = backoff->max_ms * 1000;

	if (delay > UINT64_MAX / backoff->factor_milli)
		return max;
	return SMALLER(delay * backoff->factor_milli / 1000, max);
}

/*
 * How long one actor that fails again at once needs for one failure more than `restarts`:
 * the sum of the delays between, without jitter.
 */
static uint64_t
span_of_failures(const struct backoff_spec *backoff, uint32_t restarts)
{
	uint64_t delay = backoff->min_ms * 1000;
	uint64_t sum_ms = 0;

	if (backoff->none)
		return 0;
	for (uint32_t i = 0; i < restarts; i++) {
		uint64_t next = grow_delay(backoff, delay);

		if (next == delay) {
			sum_ms += (restarts - i) * (delay / 1000);
			break;
		}
		sum_ms += delay / 1000;
		delay = next;
	}
	return SMALLER(sum_ms, DURATION_MS_MAX);
}

/* "1s + 2s + 4s + 8s + 16s" */
static void
write_sum(const struct backoff_spec *backoff, uint32_t restarts, struct strbuf *out)
{
	uint64_t delay = backoff->min_ms * 1000;
	char buf[DURATION_TEXT_MAX];

	for (uint32_t i = 0; i < restarts && i < TERMS_SHOWN_MAX; i++) {
		strbuf_addf(out, "%s%s", i > 0 ? " + " : "",
		            duration_format(delay / 1000, buf));
		delay = grow_delay(backoff, delay);
	}
	if (restarts > TERMS_SHOWN_MAX)
		strbuf_adds(out, " + …");
}

static void
warn_unreachable(const struct lint *lint, const struct conf_actor *supervisor,
                 const struct conf_actor *child, uint64_t span_ms)
{
	const struct intensity_spec *intensity = &supervisor->spec->core.policy.intensity;
	const struct conf_key *written = conf_keys_find(supervisor, "intensity.within");
	const char *key = "intensity.within";
	char within[DURATION_TEXT_MAX], span[DURATION_TEXT_MAX];
	CLEANUP(strbuf_done) struct strbuf sum = STRBUF(256);

	if (written == NULL)
		key = "intensity.restarts";
	write_sum(&child->spec->core.backoff, intensity->restarts, &sum);
	lint_warn(
	    lint, supervisor, key,
	    "%u restarts within %s can never be exceeded by an actor that keeps failing: "
	    "the backoff of `%s` alone takes %s = %s, more than %s",
	    intensity->restarts, duration_format(intensity->within_ms, within),
	    conf_name(child), strbuf_str(&sum), duration_format(span_ms, span), within);
}

/* For each supervisor the child that fails fastest: is even that one too slow? */
static void
check_intensities(const struct lint *lint, uint64_t *spans, uint32_t *fastest)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		fastest[i] = CONF_NONE;
	for (uint32_t i = 1; i < conf->n_actors; i++) {
		const struct spec *spec = &conf->actors[i].spec->core;
		uint32_t parent = conf->actors[i].parent;
		const struct intensity_spec *intensity =
		    &conf->actors[parent].spec->core.policy.intensity;

		if (intensity->unlimited || intensity->within_ms == DURATION_INFINITE ||
		    spec_runs_once(spec))
			continue;
		uint64_t span = span_of_failures(&spec->backoff, intensity->restarts);
		if (fastest[parent] != CONF_NONE && spans[parent] <= span)
			continue;
		fastest[parent] = i;
		spans[parent] = span;
	}
	for (uint32_t i = 0; i < conf->n_actors; i++)
		if (fastest[i] != CONF_NONE &&
		    spans[i] > conf->actors[i].spec->core.policy.intensity.within_ms)
			warn_unreachable(lint, &conf->actors[i],
			                 &conf->actors[fastest[i]], spans[i]);
}

/* Nested intensities multiply: 5 restarts of a supervisor that grants 5 are 25. */
static void
check_products(const struct lint *lint, uint64_t *products)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		uint64_t above = actor->parent != CONF_NONE ? products[actor->parent] : 1;
		uint64_t restarts = actor->spec->core.policy.intensity.restarts;

		products[i] = 1;
		if (actor->spec->core.kind == NODE_WORKER ||
		    actor->spec->core.policy.intensity.unlimited)
			continue;
		products[i] = SMALLER(above * LARGER(restarts, 1), SPEC_INTENSITY_MAX);
		if (products[i] <= PRODUCT_MAX || above <= 1 || above > PRODUCT_MAX)
			continue;
		lint_warn(
		    lint, actor, "intensity.restarts",
		    "%llu restarts here for each of %llu further up: together more than "
		    "%d before the upper supervisor gives up",
		    (unsigned long long)restarts, (unsigned long long)above, PRODUCT_MAX);
	}
}

/* ---- shutdown ---- */

static uint64_t
add_times(uint64_t a, uint64_t b)
{
	return a > DURATION_MS_MAX || b > DURATION_MS_MAX - a ? DURATION_INFINITE : a + b;
}

/* How long an actor may take to stop, as its own key says. */
static uint64_t
shutdown_time(const struct spec *spec)
{
	switch (spec->stop.mode) {
	case SHUTDOWN_TIMEOUT:
		return spec->stop.shutdown_ms;
	case SHUTDOWN_BRUTAL_KILL:
		return 0;
	case SHUTDOWN_INFINITY:
		return DURATION_INFINITE;
	}
	return 0;
}

static void
check_shutdown(const struct lint *lint, const struct conf_actor *actor,
               uint64_t needed_ms)
{
	char own[DURATION_TEXT_MAX], needed[DURATION_TEXT_MAX];

	if (actor->spec->core.kind != NODE_SUPERVISOR ||
	    actor->spec->core.stop.mode != SHUTDOWN_TIMEOUT ||
	    needed_ms <= actor->spec->core.stop.shutdown_ms)
		return;
	lint_warn(lint, actor, "shutdown",
	          "%s is less than the time that its children may take, %s",
	          duration_format(actor->spec->core.stop.shutdown_ms, own),
	          duration_format(needed_ms, needed));
}

/* From the leaves up: children stop one after the other, or all at once. */
static void
check_shutdowns(const struct lint *lint, uint64_t *needed)
{
	const struct conf *conf = lint->conf;

	memset(needed, 0, conf->n_actors * sizeof(*needed));
	for (uint32_t i = conf->n_actors; i > 0; i--) {
		const struct conf_actor *actor = &conf->actors[i - 1];
		uint64_t own = shutdown_time(&actor->spec->core);

		check_shutdown(lint, actor, needed[i - 1]);
		if (actor->parent == CONF_NONE)
			continue;
		if (actor->spec->core.kind == NODE_SUPERVISOR && own == DURATION_INFINITE)
			own = needed[i - 1];
		/* The process has its own time, and the children the sum of theirs. */
		if (actor->spec->core.kind == NODE_BOTH)
			own = add_times(own, needed[i - 1]);
		uint64_t *above = &needed[actor->parent];
		if (!conf->actors[actor->parent].spec->core.policy.stop_parallel)
			*above = add_times(*above, own);
		else if (own > *above)
			*above = own;
	}
}

/* ---- significance ---- */

/* A supervisor that ends with its work, and is started again because it has ended. */
static void
check_auto_shutdown(const struct lint *lint, const struct conf_actor *supervisor)
{
	if (supervisor->parent == CONF_NONE ||
	    supervisor->spec->core.policy.auto_shutdown == AUTO_SHUTDOWN_NEVER ||
	    supervisor->spec->core.restart != RESTART_PERMANENT)
		return;
	lint_warn(
	    lint, supervisor, "auto_shutdown",
	    "the supervisor is permanent: it is started again as soon as it has shut "
	    "itself down; write `restart: transient` or `restart: temporary`");
}

/* ---- resume ---- */

/* True if the rule resumes an actor after causes that leave no process. */
static bool
resumes_the_dead(const struct rule *rule)
{
	bool dead = (rule->kinds & DEAD_KINDS) != 0 || rule->signals.bits != 0 ||
	            rule->cores.bits != 0;

	for (size_t i = 0; i < ARRAY_SIZE(rule->exits.bits); i++)
		dead = dead || rule->exits.bits[i] != 0;
	return rule->preset == PRESET_LIST && rule->then == DIRECTIVE_RESUME && dead;
}

static void
check_resumes(const struct lint *lint, const struct conf_actor *actor,
              const struct decider *decider, const char *name)
{
	for (uint32_t i = 0; i < decider->n_rules; i++) {
		const struct place *place = &decider->rules[i].place;
		char key[64];
		CLEANUP(strbuf_done) struct strbuf path = STRBUF(65536);
		struct spot spot = {NULL, place->line, 1};

		if (!resumes_the_dead(&decider->rules[i]) ||
		    place->file >= lint->conf->n_files)
			continue;
		spot.file = lint->conf->files[place->file];
		(void)snprintf(key, sizeof(key), "%s[%u]", name, i);
		conf_keys_path(lint->conf, actor, key, &path);
		reports_add(lint->reports, CONF_WARNING, &spot, strbuf_str(&path),
		            "`resume` after a cause that leaves no process: a new one is "
		            "started, and without `fd_store` or `runtime_directory` "
		            "there is nothing that it could take over");
	}
}

/* A decider is for the children: one of them that keeps something is reason enough. */
static void
check_all_resumes(const struct lint *lint, uint64_t *keepers)
{
	const struct conf *conf = lint->conf;

	memset(keepers, 0, conf->n_actors * sizeof(*keepers));
	for (uint32_t i = 1; i < conf->n_actors; i++)
		keepers[conf->actors[i].parent] += conf->actors[i].spec->core.keeps;
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		if (!actor->spec->core.keeps && actor->parent != CONF_NONE)
			check_resumes(lint, actor, &actor->spec->core.on_failure,
			              "on_failure");
		if (keepers[i] == 0)
			check_resumes(lint, actor, &actor->spec->core.policy.decider,
			              "decider");
	}
}

/* ---- all ---- */

/*
 * Warn of what is doubtful in a whole configuration.  Out of memory there are fewer
 * warnings.
 */
void
lint_tree(const struct lint *lint)
{
	const struct conf *conf = lint->conf;
	CLEANUP_FREE uint64_t *numbers = calloc(conf->n_actors, sizeof(*numbers));
	CLEANUP_FREE uint32_t *fastest = calloc(conf->n_actors, sizeof(*fastest));

	if (numbers != NULL && fastest != NULL) {
		check_intensities(lint, numbers, fastest);
		check_products(lint, numbers);
		check_shutdowns(lint, numbers);
		check_all_resumes(lint, numbers);
	}
	watches_lint(lint);
	needs_lint(lint);
	lint_ends(lint);
	for (uint32_t i = 0; i < conf->n_actors; i++)
		check_auto_shutdown(lint, &conf->actors[i]);
	for (uint32_t i = 0; i < conf->n_actors && lint->options->look; i++)
		lint_files(lint, &conf->actors[i]);
}
