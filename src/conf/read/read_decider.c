/* SPDX-License-Identifier: ISC */
/* read_decider.c - lists of rules: which directive answers which cause. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "conf/read/read.h"
#include "conf/schema/schema_types.h"

#define KIND(kind) (UINT32_C(1) << (kind))
#define ALL_KINDS  (KIND(CAUSE_KIND_MAX) - 1)
/* A normal end is no failure: only a rule that names `normal` matches. */
#define ANY_FAILURE (ALL_KINDS & ~KIND(CAUSE_NORMAL))
#define INIT_KINDS  (KIND(CAUSE_EXEC) | KIND(CAUSE_START_TIMEOUT) | KIND(CAUSE_EARLY_EXIT))

static uint32_t
kinds_of_word(int word)
{
	static const uint32_t kinds[WHEN_WORD_MAX] = {
	    [WHEN_ANY] = ANY_FAILURE,
	    [WHEN_INIT] = INIT_KINDS,
	    [WHEN_NORMAL] = KIND(CAUSE_NORMAL),
	    [WHEN_OOM] = KIND(CAUSE_OOM),
	    [WHEN_KILLED] = KIND(CAUSE_KILLED),
	    [WHEN_EXEC] = KIND(CAUSE_EXEC),
	    [WHEN_START_TIMEOUT] = KIND(CAUSE_START_TIMEOUT),
	    [WHEN_EARLY_EXIT] = KIND(CAUSE_EARLY_EXIT),
	    [WHEN_WATCHDOG] = KIND(CAUSE_WATCHDOG),
	    [WHEN_HEALTH] = KIND(CAUSE_HEALTH),
	    [WHEN_SELF_REPORT] = KIND(CAUSE_SELF_REPORT),
	    [WHEN_STOPPED] = KIND(CAUSE_STOPPED),
	    [WHEN_DEATH_PACT] = KIND(CAUSE_DEATH_PACT),
	    [WHEN_INTENSITY] = KIND(CAUSE_INTENSITY),
	    [WHEN_UNKILLABLE] = KIND(CAUSE_UNKILLABLE),
	};

	return word >= 0 && word < WHEN_WORD_MAX ? kinds[word] : 0;
}

static void
add_errno(struct reader *reader, const struct yaml *node, struct rule *rule,
          const struct trail *trail)
{
	int32_t code = (int32_t)read_value(&schema_errno, node).number;
	size_t i = 0;

	while (i < SPEC_ERRNOS_MAX && rule->errnos[i] != 0 && rule->errnos[i] != code)
		i++;
	if (i == SPEC_ERRNOS_MAX)
		reader_error(reader, node, trail,
		             "more than %d system errors in one rule", SPEC_ERRNOS_MAX);
	else
		rule->errnos[i] = code;
}

/* Add to the rule the name of a failure that a process may report (X_SUPD_FAIL). */
static void
add_report_key(struct reader *reader, const struct yaml *node, struct rule *rule,
               const struct trail *trail)
{
	size_t i = 0;

	if (node->text[0] == '\0' || strlen(node->text) >= CAUSE_KEY_MAX) {
		reader_error(reader, node, trail,
		             "the name of a failure has 1 to %d characters",
		             CAUSE_KEY_MAX - 1);
		return;
	}
	while (i < SPEC_KEYS_MAX && rule->keys[i][0] != '\0')
		i++;
	if (i == SPEC_KEYS_MAX)
		reader_error(reader, node, trail, "more than %d names in one rule",
		             SPEC_KEYS_MAX);
	else
		memcpy(rule->keys[i], node->text, strlen(node->text));
}

/* Add a kind of cause: all of it, or what is listed of it. */
static void
add_kind(struct reader *reader, const struct yaml *node, struct rule *rule,
         const struct trail *trail, enum cause_kind kind)
{
	if (node->type == NODE_TEXT &&
	    (node_is_empty(node) || strcmp(node->text, "true") == 0)) {
		rule->kinds |= KIND(kind);
		return;
	}
	for (size_t i = 0; i < node_n_items(node); i++)
		(kind == CAUSE_EXEC ? add_errno : add_report_key)(
		    reader, node_item(node, i), rule, trail);
}

/* Add a cause, or a mapping of alternative causes.  A signal that killed is in `signal`
 * with and without a core dump; see struct rule. */
static void
add_causes(struct reader *reader, const struct yaml *node, struct rule *rule,
           const struct trail *trail)
{
	if (node->type == NODE_TEXT)
		rule->kinds |= kinds_of_word(read_value(&schema_when_item, node).word);
	for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++) {
		const char *key = node->pairs[i].key->text;
		const struct yaml *value = node->pairs[i].value;

		if (strcmp(key, "exit") == 0)
			read_exit_set(value, &rule->exits);
		else if (strcmp(key, "signal") == 0)
			read_signal_set(value, &rule->signals);
		else if (strcmp(key, "core") == 0)
			read_signal_set(value, &rule->cores);
		else if (strcmp(key, "exec") == 0)
			add_kind(reader, value, rule, trail, CAUSE_EXEC);
		else if (strcmp(key, "self_report") == 0)
			add_kind(reader, value, rule, trail, CAUSE_SELF_REPORT);
		else
			rule->kinds |=
			    kinds_of_word(names_find(when_words, WHEN_WORD_MAX, key));
	}
}

/* The backoff of a rule: only what is written replaces the actor's. */
static void
read_rule_backoff(struct reader *reader, const struct yaml *node, struct rule *rule,
                  const struct trail *trail)
{
	static const struct {
		const char *name;
		enum backoff_key key;
	} bits[] = {
	    {"min", BACKOFF_KEY_MIN},
	    {"max", BACKOFF_KEY_MAX},
	    {"factor", BACKOFF_KEY_FACTOR},
	    {"jitter", BACKOFF_KEY_JITTER},
	};
	const uint32_t both = BACKOFF_KEY_MIN | BACKOFF_KEY_MAX;

	if (node->type == NODE_TEXT) {
		rule->backoff_keys = BACKOFF_KEY_NONE;
		rule->backoff.none = true;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		if (node_get(node, bits[i].name) != NULL)
			rule->backoff_keys |= bits[i].key;
	read_table(reader, node, &schema_rule_backoff, &rule->backoff);
	if ((rule->backoff_keys & both) == both &&
	    rule->backoff.max_ms < rule->backoff.min_ms)
		reader_error(reader, node, trail, "`max` is smaller than `min`");
}

static bool
matches_nothing(const struct rule *rule)
{
	uint64_t any = rule->kinds | rule->signals.bits | rule->cores.bits;

	for (size_t i = 0; i < ARRAY_SIZE(rule->exits.bits); i++)
		any |= rule->exits.bits[i];
	return any == 0 && rule->errnos[0] == 0 && rule->keys[0][0] == '\0';
}

static void
read_rule(struct reader *reader, const struct yaml *node, struct rule *rule,
          const struct trail *trail)
{
	const struct yaml *when = node_get(node, "when");
	const struct yaml *then = node_get(node, "then");
	const struct yaml *log = node_get(node, "log");
	const struct yaml *backoff = node_get(node, "backoff");

	if (when == NULL || then == NULL) {
		reader_error(reader, node, trail, "`%s` is missing in this rule",
		             when == NULL ? "when" : "then");
		return;
	}
	for (size_t i = 0; i < node_n_items(when); i++)
		add_causes(reader, node_item(when, i), rule, trail);
	if (matches_nothing(rule))
		reader_error(reader, when, trail, "an empty `when` matches nothing");
	read_table(reader, node, schema_rule_entry.table, rule);
	if (log != NULL)
		rule->log =
		    (enum rule_log)names_find(rule_log_names, RULE_LOG_MAX, log->text);
	if (backoff != NULL)
		read_rule_backoff(reader, backoff, rule, trail);
}

/* ---- what is doubtful ---- */

/* True if all the names of this rule are among those of the earlier rules. */
static bool
keys_are_done(const struct rule *rule, const struct rule *seen)
{
	if ((seen->kinds & KIND(CAUSE_SELF_REPORT)) != 0)
		return true;
	for (size_t i = 0; i < SPEC_KEYS_MAX && rule->keys[i][0] != '\0'; i++) {
		bool found = false;

		for (size_t j = 0; j < SPEC_KEYS_MAX; j++)
			found = found || strcmp(seen->keys[j], rule->keys[i]) == 0;
		if (!found)
			return false;
	}
	return true;
}

/* True if the earlier rules together match every cause of this rule. */
static bool
is_shadowed(const struct rule *rule, const struct rule *seen)
{
	const bool exits_done = (seen->kinds & KIND(CAUSE_EXIT)) != 0;
	const bool signals_done = (seen->kinds & KIND(CAUSE_SIGNAL)) != 0;
	const bool cores_done = (seen->kinds & KIND(CAUSE_CORE)) != 0;
	const bool exec_done = (seen->kinds & KIND(CAUSE_EXEC)) != 0;

	if ((rule->kinds & ~seen->kinds) != 0 || !keys_are_done(rule, seen))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rule->exits.bits); i++)
		if (!exits_done && (rule->exits.bits[i] & ~seen->exits.bits[i]) != 0)
			return false;
	if (!(signals_done && cores_done) &&
	    (rule->signals.bits & ~seen->signals.bits) != 0)
		return false;
	if (!cores_done &&
	    (rule->cores.bits & ~(seen->cores.bits | seen->signals.bits)) != 0)
		return false;
	for (size_t i = 0; i < SPEC_ERRNOS_MAX && rule->errnos[i] != 0 && !exec_done;
	     i++) {
		bool found = false;

		for (size_t j = 0; j < SPEC_ERRNOS_MAX; j++)
			found = found || seen->errnos[j] == rule->errnos[i];
		if (!found)
			return false;
	}
	return true;
}

static void
add_seen(struct rule *seen, const struct rule *rule)
{
	/* The presets, but for the empty one, have an answer to every failure. */
	if (rule->preset != PRESET_LIST && rule->preset != PRESET_ESCALATING)
		seen->kinds |= ANY_FAILURE;
	seen->kinds |= rule->kinds;
	for (size_t i = 0; i < ARRAY_SIZE(seen->exits.bits); i++)
		seen->exits.bits[i] |= rule->exits.bits[i];
	seen->signals.bits |= rule->signals.bits;
	seen->cores.bits |= rule->cores.bits;
	/* When the few places run out a shadow may go unseen: a warning less. */
	for (size_t i = 0, j = 0; i < SPEC_ERRNOS_MAX && j < SPEC_ERRNOS_MAX; i++)
		if (seen->errnos[i] == 0)
			seen->errnos[i] = rule->errnos[j++];
	for (size_t i = 0, j = 0; i < SPEC_KEYS_MAX && j < SPEC_KEYS_MAX; i++)
		if (seen->keys[i][0] == '\0')
			memcpy(seen->keys[i], rule->keys[j++], CAUSE_KEY_MAX);
}

static void
warn_of_rules(struct reader *reader, const struct yaml *node,
              const struct decider *decider, bool is_last, const struct trail *trail)
{
	struct rule seen = {0};
	bool catches_all = false;

	for (size_t i = 0; i < decider->n_rules; i++) {
		const struct rule *rule = &decider->rules[i];
		struct rule whole = *rule;

		if (rule->preset != PRESET_LIST)
			whole.kinds = ANY_FAILURE;
		if (i > 0 && rule->preset != PRESET_ESCALATING &&
		    is_shadowed(&whole, &seen))
			reader_warn(reader, node->items[i],
			            &(struct trail){trail, NULL, i},
			            "this rule is shadowed: earlier rules match all its "
			            "causes; move this rule before those");
		add_seen(&seen, rule);
		catches_all = catches_all || rule->preset != PRESET_LIST;
	}
	if (is_last && !catches_all && (ANY_FAILURE & ~seen.kinds) != 0 &&
	    decider->n_rules > 0)
		reader_warn(
		    reader, node, trail,
		    "no rule for `any`: what nothing here matches is escalated; add "
		    "{when: any, then: …} or the name of a preset");
}

/* ---- lists ---- */

static enum preset
read_preset(const struct yaml *node)
{
	int preset = names_find(preset_names, PRESET_MAX, node->text);

	ASSERT(preset > PRESET_LIST);
	return (enum preset)preset;
}

static void
read_rules(struct reader *reader, const struct yaml *node, struct decider *decider,
           bool is_last, const struct trail *trail)
{
	*decider = (struct decider){0};
	if (node->type == NODE_TEXT) {
		decider->preset = read_preset(node);
		return;
	}
	if (node->n > SPEC_RULES_MAX) {
		reader_error(reader, node, trail, "%zu rules; a list has at most %d",
		             node->n, SPEC_RULES_MAX);
		return;
	}
	struct rule *rules = arena_alloc(reader->keep, node->n, sizeof(*rules));
	if (rules == NULL)
		return;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml *entry = node->items[i];

		rules[i].place = (struct place){entry->file, entry->line};
		if (entry->type == NODE_TEXT)
			rules[i].preset = read_preset(entry);
		else
			read_rule(reader, entry, &rules[i],
			          &(struct trail){trail, NULL, i});
	}
	decider->rules = rules;
	decider->n_rules = (uint32_t)node->n;
	warn_of_rules(reader, node, decider, is_last, trail);
}

/* `decider`: a preset or a list of rules; the last word before escalation. */
void
read_decider(struct reader *reader, const struct yaml *node, void *target,
             const struct trail *trail)
{
	struct conf_actor *actor = target;

	read_rules(reader, node, &actor->spec->core.policy.decider, true, trail);
}

/* `on_failure`: likewise; what it does not match goes on to the supervisor's decider. */
void
read_on_failure(struct reader *reader, const struct yaml *node, void *target,
                const struct trail *trail)
{
	struct conf_actor *actor = target;

	read_rules(reader, node, &actor->spec->core.on_failure, false, trail);
}

/* True if a rule asks, of the actor's own or of those of a supervisor above it. */
bool
any_rule(const struct conf *conf, const struct conf_actor *actor,
         bool (*asks)(const struct rule *rule))
{
	const struct decider *decider = &actor->spec->core.on_failure;

	for (uint32_t above = actor->parent;; above = conf->actors[above].parent) {
		for (uint32_t i = 0; i < decider->n_rules; i++)
			if (asks(&decider->rules[i]))
				return true;
		if (above == CONF_NONE)
			return false;
		decider = &conf->actors[above].spec->core.policy.decider;
	}
}
