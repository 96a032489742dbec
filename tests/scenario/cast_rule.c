/* SPDX-License-Identifier: ISC */
/* cast_rule.c - the words of a story that describe a decider: presets, or rules. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "tests/scenario/cast.h"

/* What may stand before the colon of a cause with details. */
static bool
cause_details(struct rule *rule, const char *kind, const char *text)
{
	const char *end;
	uint32_t from;
	uint32_t to;

	if (strcmp(kind, "exit") == 0) {
		if (!cast_number(text, &end, &from))
			return false;
		to = from;
		if (*end == '-' && !cast_number(end + 1, &end, &to))
			return false;
		exit_set_add(&rule->exits, from, to);
	} else if (strcmp(kind, "signal") == 0) {
		signal_set_add(&rule->signals, signal_parse(text));
	} else if (strcmp(kind, "core") == 0) {
		signal_set_add(&rule->cores, signal_parse(text));
	} else if (strcmp(kind, "exec") == 0) {
		rule->errnos[0] = err_code(text);
	} else if (strcmp(kind, "self_report") == 0) {
		snprintf(rule->keys[0], sizeof(rule->keys[0]), "%s", text);
	} else {
		return false;
	}
	return true;
}

static bool
rule_cause(struct rule *rule, char *when)
{
	char *details = strchr(when, ':');
	int kind;

	if (details != NULL) {
		*details = '\0';
		return cause_details(rule, when, details + 1);
	}
	if (strcmp(when, "any") == 0) {
		rule->kinds = ~(1U << CAUSE_NORMAL);
		return true;
	}
	if (strcmp(when, "init") == 0) {
		rule->kinds =
		    1U << CAUSE_EXEC | 1U << CAUSE_START_TIMEOUT | 1U << CAUSE_EARLY_EXIT;
		return true;
	}
	kind = names_find(cause_kind_names, CAUSE_KIND_MAX, when);
	rule->kinds = kind < 0 ? 0 : 1U << kind;
	return kind >= 0;
}

/* "exit:10->resume/warning" or the name of a preset */
static bool
rule_parse(struct rule *rule, char *text)
{
	char *then = strstr(text, "->");
	char *log;
	int found;

	if (then == NULL) {
		found = names_find(preset_names, PRESET_MAX, text);
		rule->preset = found < 0 ? PRESET_LIST : (enum preset)found;
		return found > 0;
	}
	*then = '\0';
	then += 2;
	log = strchr(then, '/');
	if (log != NULL) {
		*log++ = '\0';
		found = names_find(rule_log_names, RULE_LOG_MAX, log);
		if (found < 0)
			return false;
		rule->log = (enum rule_log)found;
	}
	found = names_find(directive_names, DIRECTIVE_MAX, then);
	if (found < 0)
		return false;
	rule->then = (enum directive)found;
	return rule_cause(rule, text);
}

/* A preset, or rules between commas; a rule's place is line 1, 2, … of file 0. */
bool
cast_decider(struct decider *decider, struct rule *rules, const char *text)
{
	char buf[256];
	char *save;
	char *part;
	int preset = names_find(preset_names, PRESET_MAX, text);

	memset(decider, 0, sizeof(*decider));
	if (preset > 0) {
		decider->preset = (enum preset)preset;
		return true;
	}
	memset(rules, 0, STAGE_RULES_MAX * sizeof(*rules));
	decider->rules = rules;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, ",", &save); part != NULL;
	     part = strtok_r(NULL, ",", &save)) {
		struct rule *rule = &rules[decider->n_rules];

		if (decider->n_rules == STAGE_RULES_MAX || !rule_parse(rule, part))
			return false;
		rule->place.line = ++decider->n_rules;
	}
	return true;
}
