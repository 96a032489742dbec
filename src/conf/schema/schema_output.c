/* SPDX-License-Identifier: ISC */
/* schema_output.c - what may stand behind keys about output and logs. */
#include "config.h"

#include "base/assert.h"
#include "base/units.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

/* ---- where an actor's output goes ---- */

/* The outputs that a list may have: those that go through the log process. */
static const struct schema_type output_both = {
    .name = "output_both",
    .allowed = "`log`, `journal` or `syslog`, and `stdout`",
    WORDS("log", "journal", "syslog", "stdout"),
};
#define OUTPUT_TARGET                                                             \
	.allowed = "`log`, `journal`, `syslog`, `stdout`, `inherit`, `null`, "    \
	           "file:PATH or pipe:ACTOR, or a list such as [log, stdout]",    \
	WORDS([TARGET_WORD_LOG] = "log", [TARGET_WORD_JOURNAL] = "journal",       \
	      [TARGET_WORD_SYSLOG] = "syslog", [TARGET_WORD_INHERIT] = "inherit", \
	      [TARGET_WORD_NULL] = "null", [TARGET_WORD_STDOUT] = "stdout"),      \
	.scan = scan_output, .pattern = "^file:.|^pipe:.", .items = &output_both
const struct schema_type schema_output_target = {.name = "output_target", OUTPUT_TARGET};
static const struct schema_key output_keys[] = {
    {"stdout", &schema_output_target, "\"log\"", "Where the standard output goes.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    {"stderr", &schema_output_target, "\"log\"", "Where the standard error goes.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
};
TABLE(output_table, output_keys, NULL);
const struct schema_type schema_output = {
    .name = "output",
    OUTPUT_TARGET,
    .table = &output_table,
    .where = AT_NESTED,
};

/* ---- how the log of an actor is kept ---- */

static const struct schema_type file_size = {
    .name = "file_size",
    .allowed = "a size from 4K to 1T, such as 10M",
    .scan = scan_size,
    .show = SHOW_SIZE,
    .integers = true,
    .min = 4096,
    .max = UINT64_C(1) << 40,
    .pattern = "^[0-9]+[KMGT]?$",
};
static const struct schema_type log_keep = {
    .name = "log_keep",
    .allowed = "a number from 0 to 1000000",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = 1000000,
};
static const struct schema_type log_age = {
    .name = "log_age",
    .allowed = "a duration of 1s or more, such as 7d, or `infinity`",
    .scan = scan_duration,
    .show = SHOW_DURATION,
    .pattern = DURATION_PATTERN "|^infinity$",
    .min = 1000,
    .max = DURATION_INFINITE,
};
static const struct schema_type log_format = {
    .name = "log_format",
    .allowed = "`text` or `json`",
    WORDS("text", "json"),
};
static const struct schema_type log_when_full = {
    .name = "log_when_full",
    .allowed = "`wait` or `drop`",
    WORDS("wait", "drop"),
};
static const struct schema_key actor_log_keys[] = {
    {"max_size", &file_size, "\"10M\"", "A file is rotated at this size.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct conf_log, max_size), NULL},
    {"keep", &log_keep, "5", "How many rotated files are kept.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct conf_log, keep), NULL},
    {"total", &file_size, "\"50M\"", "How large all files of the log may be together.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, total), NULL},
    {"max_age", &log_age, "\"infinity\"", "How long rotated files are kept.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, max_age_ms), NULL},
    {"timestamps", &schema_boolean, "true", "Whether each line begins with the time.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, timestamps), NULL},
    {"format", &log_format, "\"text\"", "Lines as they are, or each as one JSON object.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, json), NULL},
    {"compress", &schema_boolean, "false", "Whether rotated files are compressed.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, compress), NULL},
    {"when_full", &log_when_full, "\"wait\"",
     "Whether the writer waits for a file that cannot be written, or its output is "
     "dropped and counted.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf_log, drop), NULL},
};
TABLE(actor_log_table, actor_log_keys, NULL);
const struct schema_type schema_actor_log = {
    .name = "actor_log",
    .allowed = "a mapping such as {max_size: 10M, keep: 5}",
    .table = &actor_log_table,
    .where = AT_NESTED,
};

/* ---- supd itself ---- */

static const struct schema_type log_level = {
    .name = "log_level",
    .allowed = "`debug`, `info`, `notice`, `warning` or `error`",
    .words = log_level_names,
    .n_words = LOG_LEVEL_MAX,
};
static const struct schema_type log_target = {
    .name = "log_target",
    .allowed = "`auto`, `journal`, `syslog`, `stderr` or `file`",
    .words = log_target_names,
    .n_words = LOG_TARGET_MAX,
};
static const struct schema_type log_show = {
    .name = "log_show",
    .allowed = "`auto`, `text`, `json` or `off`",
    .words = log_show_names,
    .n_words = LOG_SHOW_MAX,
};

static const struct schema_key log_keys[] = {
    {"level", &log_level, "\"info\"",
     "Messages of this level and above are logged; `notice` where the actors' output is "
     "shown.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, log_level), NULL},
    {"show", &log_show, "\"auto\"",
     "What of the actors' output supd prints: `auto` is all of it at a terminal, else "
     "what has `stdout` in `output`; `text` and `json` are all of it.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, log_show), NULL},
    {"target", &log_target, "\"auto\"",
     "Where supd logs: `auto` is the journal under systemd, else standard error.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, log_target), NULL},
    {"directory", &schema_path, "\"/var/log/supd\"",
     "Where the actors' log files are; $XDG_STATE_HOME/supd for users other than root.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, log_directory), NULL},
    {"max_size", &file_size, "\"10M\"",
     "With `target: file`: supd.log is rotated at this size.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct conf, own_log.max_size), NULL},
    {"keep", &log_keep, "5", "How many rotated files are kept.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct conf, own_log.keep), NULL},
    {"total", &file_size, "\"50M\"", "How large all files of the log may be together.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, own_log.total), NULL},
    {"max_age", &log_age, "\"infinity\"", "How long rotated files are kept.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, own_log.max_age_ms), NULL},
    {"format", &log_format, "\"text\"",
     "What supd itself logs to a file or standard error: lines, or each as one JSON "
     "object.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct conf, own_log.json), NULL},
};
TABLE(log_table, log_keys, NULL);
const struct schema_type schema_log = {
    .name = "log",
    .allowed = "a mapping with `level`, `target` or `directory`",
    .table = &log_table,
    .where = AT_NESTED,
};
const struct schema_type schema_on_crash = {
    .name = "on_crash",
    .allowed = "`adopt` or `kill`",
    WORDS("adopt", "kill"),
};
