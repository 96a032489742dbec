/* SPDX-License-Identifier: ISC */
/* spec.c - defaults, names and sets of what the decision core knows of an actor. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "core/spec.h"

#include "core/pure.h"

const char *const node_kind_names[] = {NODE_KIND_MAP(AS_NAME)};
const char *const keep_children_names[] = {KEEP_CHILDREN_MAP(AS_NAME)};
const char *const auto_shutdown_names[] = {AUTO_SHUTDOWN_MAP(AS_NAME)};
const char *const when_empty_names[] = {WHEN_EMPTY_MAP(AS_NAME)};
const char *const hook_names[] = {HOOK_MAP(AS_NAME)};
const char *const restart_type_names[] = {RESTART_TYPE_MAP(AS_NAME)};
const char *const strategy_names[] = {STRATEGY_MAP(AS_NAME)};
const char *const directive_names[] = {DIRECTIVE_MAP(AS_NAME)};
const char *const cause_kind_names[] = {CAUSE_KIND_MAP(AS_NAME)};
const char *const preset_names[] = {PRESET_MAP(AS_NAME)};
const char *const rule_log_names[] = {RULE_LOG_MAP(AS_NAME)};
const char *const reaction_names[] = {REACTION_MAP(AS_NAME)};
const char *const need_names[] = {NEED_MAP(AS_NAME)};

/* Signals that end a process normally by default: HUP, INT, PIPE, TERM (Linux numbers).
 */
static const int clean_signals[] = {1, 2, 13, 15};

/* Fill in the defaults of CONFIG.md for a node of this kind; /user's differ, see conf. */
void
spec_default(struct spec *spec, enum node_kind kind)
{
	memset(spec, 0, sizeof(*spec));
	spec->kind = kind;
	spec->restart = RESTART_PERMANENT;
	spec->enabled = true;
	exit_set_add(&spec->success_exits, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(clean_signals); i++)
		signal_set_add(&spec->success_signals, clean_signals[i]);
	spec->backoff = (struct backoff_spec){
	    .on_stop = true,
	    .min_ms = 200,
	    .max_ms = 30000,
	    .factor_milli = 2000,
	    .jitter_milli = 200,
	    .reset_after_ms = 15100,
	};
	spec->stop.mode = kind == NODE_SUPERVISOR ? SHUTDOWN_INFINITY : SHUTDOWN_TIMEOUT;
	spec->stop.shutdown_ms = 5000;
	spec->start.ready = READY_EXEC;
	spec->start.timeout_ms = DURATION_INFINITE;
	spec->hook_timeout_ms = 10000;
	spec->stop.kill_timeout_ms = 10000;
	spec->policy.strategy = STRATEGY_ONE_FOR_ONE;
	spec->policy.intensity =
	    (struct intensity_spec){.restarts = 5, .within_ms = 60000};
	spec->policy.decider.preset = PRESET_DEFAULT;
	spec->policy.log_failures = true;
	spec->policy.max_children = UINT32_MAX;
}

/*
 * True if no policy starts the actor again once it has ended: a temporary actor leaves
 * the tree then (OTP O-15), one with `never` stays listed (DECISIONS 51).
 */
bool
spec_runs_once(const struct spec *spec)
{
	return spec->restart == RESTART_TEMPORARY || spec->restart == RESTART_NEVER;
}

/* Add the exit codes from..to, both included, 0..255. */
void
exit_set_add(struct exit_set *set, unsigned int from, unsigned int to)
{
	ASSERT(to < 256);
	for (unsigned int code = from; code <= to; code++)
		set->bits[code / 64] |= UINT64_C(1) << (code % 64);
}

/* True if this exit code is in the set.  -1 (no exit code) is in none. */
bool
exit_set_has(const struct exit_set *set, int code)
{
	return code >= 0 && code <= 255 && (set->bits[code / 64] >> (code % 64) & 1) != 0;
}

/* Add a signal, 1..SPEC_SIGNAL_MAX. */
void
signal_set_add(struct signal_set *set, int signo)
{
	ASSERT(signo >= 1);
	ASSERT(signo <= SPEC_SIGNAL_MAX);
	set->bits |= UINT64_C(1) << (signo - 1);
}

/* True if this signal is in the set.  0 (no signal) is in none. */
bool
signal_set_has(const struct signal_set *set, int signo)
{
	return signo >= 1 && signo <= SPEC_SIGNAL_MAX &&
	       (set->bits >> (signo - 1) & 1) != 0;
}
