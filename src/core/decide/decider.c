/* SPDX-License-Identifier: ISC */
/* decider.c - from a cause to a directive: rules, presets, and the order of the lists. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "core/decide/marks.h"

#include "core/pure.h"

/* ETIMEDOUT: the program, or a file that it needs, lies where the answer did not come in
 * time.  It may come later. */
enum { TIMED_OUT = 110 };

/* Steps of a start that fail for what an actor needs from others, which may come: the
 * address of a socket, a user, a file (DECISIONS 62). */
static const char *const step_names[] = {"open socket", "find user", "find group"};
#define FILE_STEP "environment_file"
enum { NO_FILE = 2 }; /* ENOENT */

/*
 * True if the machine was short of something, rather than the actor wrong.  Linux
 * numbers: the core knows no <errno.h>.  EAGAIN, ENOMEM, EBUSY, ENFILE, EMFILE, ETXTBSY,
 * ENOSPC.
 */
bool
cause_is_shortage(const struct cause *cause)
{
	const int32_t error = cause->kind == CAUSE_EXEC ? cause->error : 0;

	return error == 11 || error == 12 || error == 16 || error == 23 || error == 24 ||
	       error == 26 || error == 28;
}

static bool
may_come(const struct cause *cause)
{
	return names_find(step_names, ARRAY_SIZE(step_names), cause->key) >= 0 ||
	       cause->error == TIMED_OUT ||
	       (cause->error == NO_FILE && strcmp(cause->key, FILE_STEP) == 0);
}

/* Akka's default decider and OTP's, extended to processes: SEMANTICS 1.1. */
static enum directive
default_preset(const struct cause *cause, bool first, enum strategy strategy)
{
	if (cause->kind == CAUSE_KILLED || cause->kind == CAUSE_DEATH_PACT)
		return DIRECTIVE_STOP;
	if (cause->kind == CAUSE_STOPPED)
		return DIRECTIVE_RESUME;
	if (cause->kind != CAUSE_EXEC || !first || may_come(cause))
		return DIRECTIVE_RESTART;
	return strategy == STRATEGY_ONE_FOR_ONE ? DIRECTIVE_STOP : DIRECTIVE_ESCALATE;
}

/* True if a start failed, rather than something that ran. */
bool
cause_is_init(const struct cause *cause)
{
	return cause->kind == CAUSE_EXEC || cause->kind == CAUSE_START_TIMEOUT ||
	       cause->kind == CAUSE_EARLY_EXIT;
}

static enum directive
preset_directive(enum preset preset, const struct cause *cause, bool first,
                 enum strategy strategy)
{
	switch (preset) {
	case PRESET_OTP:
		/* supervisor:init/1 fails when a child's first start does. */
		return first && cause_is_init(cause) ? DIRECTIVE_ESCALATE
		                                     : DIRECTIVE_RESTART;
	case PRESET_STOPPING:
		return DIRECTIVE_STOP;
	case PRESET_ESCALATING:
		return DIRECTIVE_ESCALATE;
	case PRESET_LIST:
	case PRESET_DEFAULT:
	case PRESET_MAX:
		break;
	}
	return default_preset(cause, first, strategy);
}

static bool
errno_listed(const struct rule *rule, int32_t error)
{
	for (uint32_t i = 0; i < SPEC_ERRNOS_MAX && rule->errnos[i] != 0; i++)
		if (rule->errnos[i] == error)
			return true;
	return false;
}

static bool
key_listed(const struct rule *rule, const char *key)
{
	for (uint32_t i = 0; i < SPEC_KEYS_MAX && rule->keys[i][0] != '\0'; i++)
		if (strcmp(rule->keys[i], key) == 0)
			return true;
	return false;
}

static bool
rule_matches(const struct rule *rule, const struct cause *cause)
{
	const enum cause_kind kind = cause->kind;

	return (rule->kinds >> kind & 1) != 0 ||
	       (kind == CAUSE_EXIT && exit_set_has(&rule->exits, cause->code)) ||
	       ((kind == CAUSE_SIGNAL || kind == CAUSE_CORE) &&
	        signal_set_has(&rule->signals, cause->signal)) ||
	       (kind == CAUSE_CORE && signal_set_has(&rule->cores, cause->signal)) ||
	       (kind == CAUSE_EXEC && errno_listed(rule, cause->error)) ||
	       (kind == CAUSE_SELF_REPORT && key_listed(rule, cause->key));
}

struct question {
	const struct cause *cause;
	bool first;
	enum strategy strategy;
};

static void
answer_preset(enum preset preset, const struct question *q, struct decision *ret)
{
	ret->preset = preset;
	ret->directive = preset_directive(preset, q->cause, q->first, q->strategy);
}

/* Ask one decider; false: it has no answer.  A preset always has one, a list if a rule
 * matches. */
static bool
ask(const struct decider *decider, const struct rule *rules, const struct question *q,
    struct decision *ret)
{
	if (decider->preset != PRESET_LIST) {
		answer_preset(decider->preset, q, ret);
		return true;
	}
	for (uint32_t i = 0; i < decider->n_rules; i++) {
		const struct rule *rule = &rules[i];

		if (rule->preset != PRESET_LIST) {
			answer_preset(rule->preset, q, ret);
			return true;
		}
		if (!rule_matches(rule, q->cause))
			continue;
		ret->directive = rule->then;
		ret->log = rule->log;
		ret->place = rule->place;
		ret->backoff_keys = rule->backoff_keys;
		ret->backoff = rule->backoff;
		return true;
	}
	return false;
}

/*
 * What is to be done about a failure of this node?
 *
 * Its own on_failure is asked first (Akka Typed's supervise().onFailure), then its
 * supervisor's decider; a list that matches nothing escalates (Akka's
 * SupervisorStrategy.escalateDefault).  The root stops what /user does not decide.
 */
void
decider_decide(const struct core *core, const struct node *node,
               const struct cause *cause, struct decision *ret)
{
	const struct node *supervisor = node_supervisor(core, node);
	const struct question q = {
	    .cause = cause,
	    .first = node->run.attempts <= 1 && !node->run.was_ready,
	    .strategy = spec_of(supervisor)->policy.strategy,
	};

	*ret = (struct decision){.reason = DECIDED_BY_ON_FAILURE};
	if (ask(&spec_of(node)->on_failure, pool_rules(core, node->pool.on_failure_at),
	        &q, ret))
		return;
	decision_set(ret, DIRECTIVE_STOP, DECIDED_ROOT);
	if (supervisor->links.parent == NONE)
		return;
	ret->reason = DECIDED_BY_RULE;
	if (ask(&spec_of(supervisor)->policy.decider,
	        pool_rules(core, supervisor->pool.rules_at), &q, ret))
		return;
	decision_set(ret, DIRECTIVE_ESCALATE, DECIDED_NO_RULE_MATCHED);
}

static bool
list_names(const struct decider *decider, const struct rule *rules, int32_t error)
{
	for (uint32_t i = 0; i < decider->n_rules; i++)
		if (error == 0 ? (rules[i].kinds >> CAUSE_NORMAL & 1) != 0
		               : errno_listed(&rules[i], error))
			return true;
	return false;
}

/* True if a rule for this node names this errno, or `normal` where it is 0.  Only then is
 * a shortage, or a normal end, decided upon. */
bool
decider_names(const struct core *core, const struct node *node, int32_t error)
{
	const struct node *supervisor = node_supervisor(core, node);

	return list_names(&spec_of(node)->on_failure,
	                  pool_rules(core, node->pool.on_failure_at), error) ||
	       list_names(&spec_of(supervisor)->policy.decider,
	                  pool_rules(core, supervisor->pool.rules_at), error);
}
