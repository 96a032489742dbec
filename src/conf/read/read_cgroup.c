/* SPDX-License-Identifier: ISC */
/* read_cgroup.c - what all processes of an actor together may use: `cgroup`. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "conf/read/read.h"
#include "conf/schema/schema_scan.h"
#include "conf/schema/schema_types.h"

#define AS_KEY_NAME(id, key, controller, file)   key,
#define AS_CONTROLLER(id, key, controller, file) controller,
#define AS_FILE(id, key, controller, file)       file,
const char *const cgroup_key_names[] = {CGROUP_KEY_MAP(AS_KEY_NAME)};
const char *const cgroup_controllers[] = {CGROUP_KEY_MAP(AS_CONTROLLER)};
const char *const cgroup_files[] = {CGROUP_KEY_MAP(AS_FILE)};

/* "50%", in thousandths of a percent: which are microseconds of CGROUP_CPU_PERIOD_US. */
static int
scan_percent(struct text_scan *scan)
{
	const size_t len = strlen(scan->text);
	char text[32];

	if (len == 0 || len >= sizeof(text) || scan->text[len - 1] != '%')
		return -EINVAL;
	memcpy(text, scan->text, len - 1);
	text[len - 1] = '\0';
	scan->text = text;
	return scan_decimal(scan);
}

static const char *const max_words[] = {"max"};
static const struct schema_type cgroup_memory = {
    .name = "cgroup_memory",
    .allowed = "a size of 64K or more, such as 512M, or `max`",
    WORDS_OF(max_words),
    .scan = scan_size,
    .show = SHOW_SIZE,
    .integers = true,
    .min = 65536,
    .max = INT64_MAX,
    .pattern = "^[0-9]+[KMGT]?$",
};
static const struct schema_type cgroup_cpu = {
    .name = "cgroup_cpu",
    .allowed = "a share of one processor from 1% to 1000000%, such as \"50%\" or "
               "\"250%\", or `max`",
    WORDS_OF(max_words),
    .scan = scan_percent,
    .min = 1000,
    .max = UINT64_C(1000000000),
    .pattern = "^[0-9]+([.][0-9]{1,3})?%$",
};
static const struct schema_type cgroup_weight = {
    .name = "cgroup_weight",
    .allowed = "a number from 1 to 10000; 100 is what others have",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = 1,
    .max = 10000,
};
static const struct schema_type cgroup_pids = {
    .name = "cgroup_pids",
    .allowed = "a number from 1 to 4194304, or `max`",
    WORDS_OF(max_words),
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = 1,
    .max = 4194304,
};

#define LIMIT(key, type, sentence)                                                \
	{                                                                         \
		key, type, NULL, sentence, CONF_RESTARTS, AT_NESTED, .read = NULL \
	}
static const struct schema_key cgroup_table_keys[] = {
    LIMIT("memory_max", &cgroup_memory,
          "Memory; the kernel kills processes that need more: `oom`."),
    LIMIT("memory_high", &cgroup_memory,
          "Memory; processes that need more are slowed down."),
    LIMIT("cpu_max", &cgroup_cpu, "Time on processors; 100% is one of them."),
    LIMIT("cpu_weight", &cgroup_weight, "Share of scarce time on processors."),
    LIMIT("pids_max", &cgroup_pids, "Processes and threads."),
    LIMIT("io_weight", &cgroup_weight, "Share of scarce time of disks."),
    {"optional", &schema_boolean, "false",
     "Whether limits that the machine cannot set are left out with a warning.",
     CONF_RESTARTS, AT_NESTED, INTO(struct conf_cgroup, optional), NULL},
};
TABLE(cgroup_table, cgroup_table_keys, NULL);
const struct schema_type schema_cgroup = {
    .name = "cgroup",
    .allowed = "a mapping such as {memory_max: 512M, cpu_max: \"50%\"}",
    .table = &cgroup_table,
    .where = AT_NESTED,
};

/* A limit of a controller that the machine does not have. */
static void
refuse(struct reader *reader, const struct yaml *value, const struct trail *trail,
       const char *controller, bool optional)
{
	const char *there = reader->options->controllers;
	const char *all = there[0] != '\0' ? there : "none";

	if (optional)
		reader_warn(
		    reader, value, trail,
		    "the controller `%s` is missing in the cgroup v2 hierarchy of "
		    "this machine (there: %s): the actor runs without this limit",
		    controller, all);
	else
		reader_error(
		    reader, value, trail,
		    "the controller `%s` is missing in the cgroup v2 hierarchy of "
		    "this machine (there: %s); with `optional: true` the actor runs "
		    "without this limit, for all actors with `defaults: {cgroup: "
		    "{optional: true}}`",
		    controller, all);
}

/* `cgroup`: limits, and whether they have to be kept. */
void
read_cgroup(struct reader *reader, const struct yaml *node, void *target,
            const struct trail *trail)
{
	struct conf_cgroup *cgroup = &((struct conf_actor *)target)->process->cgroup;
	const struct yaml *optional = node_get(node, "optional");

	*cgroup = (struct conf_cgroup){0};
	if (optional != NULL)
		cgroup->optional = read_value(&schema_boolean, optional).number != 0;
	for (size_t i = 0; i < CGROUP_KEY_MAX; i++) {
		const struct yaml *value = node_get(node, cgroup_key_names[i]);

		if (value == NULL)
			continue;
		struct value limit = read_value(
		    schema_find(&cgroup_table, cgroup_key_names[i], AT_NESTED)->type,
		    value);
		cgroup->given |= 1u << i;
		cgroup->value[i] = limit.word >= 0 ? CGROUP_UNLIMITED : limit.number;
		if (reader->options->controllers != NULL &&
		    !names_list_has(reader->options->controllers, cgroup_controllers[i]))
			refuse(reader, value,
			       &(struct trail){trail, cgroup_key_names[i], 0},
			       cgroup_controllers[i], cgroup->optional);
	}
}

/* True if a rule speaks of want of memory. */
static bool
asks_for_oom(const struct rule *rule)
{
	return rule_names(rule, CAUSE_OOM);
}

/* After all keys were read: limits need a cgroup, and so does a rule about `oom`, where
 * the kernel counts kills. */
void
cgroup_settle(struct reader *reader, const struct yaml *map, struct conf_actor *actor,
              const struct trail *up)
{
	const struct yaml *cgroup = node_get(map, "cgroup");

	if (actor->process->cgroup.given != 0 &&
	    actor->process->containment == CONTAINMENT_SESSION)
		reader_error(reader, cgroup, &(struct trail){up, "cgroup", 0},
		             "with `containment: session` there is no cgroup to limit; "
		             "leave one of the two out");
	actor->process->asks_for_oom = any_rule(reader->conf, actor, asks_for_oom);
}
