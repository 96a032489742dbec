/* SPDX-License-Identifier: ISC */
/* schema_decider.c - what may stand behind `decider` and `on_failure`: rules. */
#include "config.h"

#include "base/assert.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

const char *const when_words[WHEN_WORD_MAX] = {WHEN_WORD_MAP(AS_NAME)};

static const char *const true_words[] = {"true"};
static const struct schema_type errnos = {
    .name = "errnos",
    .allowed = "nothing, or a list of system errors, such as [ENOENT, EACCES]",
    WORDS_OF(true_words),
    .scan = scan_errno,
    .pattern = "^E[A-Z0-9]+$",
    .empty_is_word = true,
    .items = &schema_errno,
};
static const struct schema_type flag = {
    .name = "flag",
    .allowed = "nothing, or `true`",
    WORDS_OF(true_words),
    .show = SHOW_BOOLEAN,
    .empty_is_word = true,
};
static const struct schema_type self_report = {
    .name = "self_report",
    .allowed = "nothing, `true`, a name such as disk, or a list of names",
    WORDS_OF(true_words),
    .scan = scan_text,
    .pattern = "^.+$",
    .empty_is_word = true,
    .items = &schema_text,
};
#define WHEN_FLAG(word, sentence)                                                   \
	{                                                                           \
		word, &flag, NULL, sentence, CONF_IN_PLACE, AT_NESTED, .read = NULL \
	}
static const struct schema_key when_keys[] = {
    {"exit", &schema_exit_set, NULL, "The process ended with one of these exit codes.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"signal", &schema_signal_set, NULL,
     "One of these signals killed the process, core dump or not.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"core", &schema_signal_set, NULL,
     "One of these signals killed the process with a core dump.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"exec", &errnos, NULL,
     "The command could not be executed, for one of these errors or any.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"self_report", &self_report, NULL, "The process reported a failure of its own.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    WHEN_FLAG("any", "Any failure."),
    WHEN_FLAG("init", "exec, start_timeout or early_exit."),
    WHEN_FLAG("normal", "The process ended normally."),
    WHEN_FLAG("oom", "The kernel killed the process for want of memory."),
    WHEN_FLAG("killed", "An operator killed the process."),
    WHEN_FLAG("start_timeout", "The actor was not ready in time."),
    WHEN_FLAG("early_exit", "The process ended before it was ready."),
    WHEN_FLAG("watchdog", "The watchdog of the process expired."),
    WHEN_FLAG("health", "The health check failed."),
    WHEN_FLAG("stopped", "A signal such as SIGSTOP stopped the process."),
    WHEN_FLAG("death_pact", "An actor that this actor depends on is gone."),
    WHEN_FLAG("intensity", "A supervisor gave up."),
    WHEN_FLAG("unkillable", "The process outlived SIGKILL for its kill_timeout."),
};
TABLE(when_table, when_keys, NULL);
#define CAUSES                                                                          \
	"`any`, `init`, or causes such as `killed`, {exit: [75]}, {signal: [SEGV]} or " \
	"{exec: [ENOENT]}"
const struct schema_type schema_when_item = {
    .name = "when_item",
    .allowed = CAUSES,
    WORDS_OF(when_words),
    .table = &when_table,
    .where = AT_NESTED,
};
static const struct schema_type when = {
    .name = "when",
    .allowed = CAUSES,
    WORDS_OF(when_words),
    .items = &schema_when_item,
    .table = &when_table,
    .where = AT_NESTED,
};
static const struct schema_key rule_backoff_keys[] = {
    {"min", &schema_duration, NULL, "The first delay.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct backoff_spec, min_ms), NULL},
    {"max", &schema_duration, NULL, "The longest delay, before jitter.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct backoff_spec, max_ms), NULL},
    {"factor", &schema_factor, NULL, "What each further failure multiplies the delay by.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, factor_milli), NULL},
    {"jitter", &schema_jitter, NULL, "Up to this share of the delay is added by chance.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, jitter_milli), NULL},
};
const struct schema_table schema_rule_backoff = {KEYS("rule_backoff", rule_backoff_keys)};
static const struct schema_type rule_backoff = {
    .name = "rule_backoff",
    .allowed = "`none`, or a mapping with `min`, `max`, `factor` or `jitter`",
    WORDS("none"),
    .table = &schema_rule_backoff,
    .where = AT_NESTED,
};
static const struct schema_type directive = {
    .name = "directive",
    .allowed = "`resume`, `restart`, `stop` or `escalate`",
    .words = directive_names,
    .n_words = DIRECTIVE_MAX,
};
static const struct schema_type rule_log = {
    .name = "rule_log",
    .allowed = "`error`, `warning`, `info` or `off`",
    WORDS("error", "warning", "info", "off"),
};
static const struct schema_key rule_keys[] = {
    {"when", &when, NULL, "The causes of this rule.", CONF_IN_PLACE, AT_NESTED,
     .read = NULL},
    {"then", &directive, NULL, "The directive for these causes.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct rule, then), NULL},
    {"log", &rule_log, NULL, "The level at which the failure is logged.", CONF_IN_PLACE,
     AT_NESTED, .read = NULL},
    {"backoff", &rule_backoff, NULL, "Replaces these keys of the actor's own backoff.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
};
TABLE(rule_table, rule_keys, NULL);
static const char *const preset_words[] = {"default", "otp", "stopping", "escalating"};
const struct schema_type schema_rule_entry = {
    .name = "rule",
    .allowed = "a rule such as {when: {exit: [75]}, then: stop}, or the name of a preset",
    WORDS_OF(preset_words),
    .table = &rule_table,
    .where = AT_NESTED,
};
const struct schema_type schema_decider = {
    .name = "decider",
    .allowed = "a list of rules, or a preset: `default`, `otp`, `stopping` or "
               "`escalating`",
    WORDS_OF(preset_words),
    .items = &schema_rule_entry,
};
