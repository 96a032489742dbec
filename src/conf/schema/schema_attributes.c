/* SPDX-License-Identifier: ISC */
/* schema_attributes.c - what may stand behind the keys about rights and priorities. */
#include "config.h"

#include "base/assert.h"
#include "conf/schema/capability.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

/* ---- user and groups, directory and input ---- */

const struct schema_type schema_supplementary_groups = {
    .name = "supplementary_groups",
    .allowed = "a list of groups, such as [audio, video]",
    .scan = scan_text,
    .items = &schema_text,
};
#define ENVIRONMENT_FILE                                                          \
	.allowed = "a path, with a - before it if there need not be such a file", \
	.scan = scan_environment_file, .pattern = "^-?[^-]"
static const struct schema_type environment_file_item = {
    .name = "environment_file_item",
    ENVIRONMENT_FILE,
};
const struct schema_type schema_environment_file = {
    .name = "environment_file",
    ENVIRONMENT_FILE,
    .items = &environment_file_item,
};
const struct schema_type schema_stdin = {
    .name = "stdin",
    .allowed = "`null` or file:PATH",
    WORDS("null"),
    .scan = scan_input,
    .pattern = "^file:.",
};

/* ---- priorities ---- */

const struct schema_type schema_nice = {
    .name = "nice",
    .allowed = "a number from -20, which is before all others, to 19",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = -20,
    .max = 19,
};
const struct schema_type schema_oom_score_adj = {
    .name = "oom_score_adj",
    .allowed = "a number from -1000, which is never, to 1000",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = -1000,
    .max = 1000,
};
#define CPUS                                                     \
	.scan = scan_cpus, .show = SHOW_RANGE, .integers = true, \
	.max = CONF_CPUS_MAX - 1, .pattern = "^[0-9]+(-[0-9]+)?$"
const struct schema_type schema_cpus = {
    .name = "cpus",
    .allowed = "the number of a processor, or a range such as 2-3",
    CPUS,
};
const struct schema_type schema_cpu_affinity = {
    .name = "cpu_affinity",
    .allowed = "a list of processors, such as [0, 2-3]",
    CPUS,
    .items = &schema_cpus,
};
const struct schema_type schema_policy = {
    .name = "policy",
    .allowed = "`other`, `batch`, `idle`, `fifo` or `rr`",
    WORDS([POLICY_WORD_OTHER] = "other", [POLICY_WORD_BATCH] = "batch",
          [POLICY_WORD_IDLE] = "idle", [POLICY_WORD_FIFO] = "fifo",
          [POLICY_WORD_RR] = "rr"),
};
const struct schema_type schema_real_time = {
    .name = "real_time",
    .allowed = "a number from 1 to 99 with `fifo` or `rr`, else 0",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = 99,
};
static const struct schema_key scheduler_keys[] = {
    {"policy", &schema_policy, NULL,
     "How the process shares the processors with other processes.", CONF_RESTARTS,
     AT_NESTED, .read = NULL},
    {"priority", &schema_real_time, NULL,
     "With `fifo` and `rr`: the priority, 99 goes first; 1 by default.", CONF_RESTARTS,
     AT_NESTED, .read = NULL},
};
TABLE(scheduler_table, scheduler_keys, "policy");
const struct schema_type schema_scheduler = {
    .name = "scheduler",
    .allowed = "a mapping such as {policy: batch} or {policy: fifo, priority: 10}",
    .table = &scheduler_table,
    .where = AT_NESTED,
};
const struct schema_type schema_io_class = {
    .name = "io_class",
    .allowed = "`realtime`, `best-effort` or `idle`",
    WORDS([CLASS_WORD_REALTIME] = "realtime", [CLASS_WORD_BEST_EFFORT] = "best-effort",
          [CLASS_WORD_IDLE] = "idle"),
};
const struct schema_type schema_io_level = {
    .name = "io_level",
    .allowed = "a number from 0, which goes first, to 7",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = 7,
};
static const struct schema_key io_priority_keys[] = {
    {"class", &schema_io_class, NULL, "The class of input and output priority.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    {"level", &schema_io_level, NULL,
     "Priority in the class, 0 goes first; 4 by default.", CONF_RESTARTS, AT_NESTED,
     .read = NULL},
};
TABLE(io_priority_table, io_priority_keys, "class");
const struct schema_type schema_io_priority = {
    .name = "io_priority",
    .allowed = "a mapping such as {class: best-effort, level: 6}",
    .table = &io_priority_table,
    .where = AT_NESTED,
};

/* ---- capabilities ---- */

#define CAPABILITY                                                                     \
	.words = capability_names, .n_words = CAPABILITY_MAX, .scan = scan_capability, \
	.show = SHOW_CAPABILITY, .pattern = "^(CAP_|cap_)?[A-Za-z_]+$"
const struct schema_type schema_capability = {
    .name = "capability",
    .allowed = "a capability such as net_bind_service or CAP_NET_BIND_SERVICE",
    CAPABILITY,
};
static const struct schema_type capability_set = {
    .name = "capability_set",
    .allowed = "a list of capabilities, such as [net_bind_service]",
    CAPABILITY,
    .items = &schema_capability,
};
static const struct schema_key capabilities_keys[] = {
    {"bounding", &capability_set, NULL,
     "All capabilities that the process and its children can ever have.", CONF_RESTARTS,
     AT_NESTED, .read = NULL},
    {"ambient", &capability_set, NULL, "Capabilities of the process, also without root.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
};
TABLE(capabilities_table, capabilities_keys, NULL);
const struct schema_type schema_capabilities = {
    .name = "capabilities",
    .allowed = "a mapping such as {bounding: [net_bind_service], ambient: []}",
    .table = &capabilities_table,
    .where = AT_NESTED,
};
