/* SPDX-License-Identifier: ISC */
/* schema_types.h - what may stand behind a key (private to conf/). */
#ifndef CONF_SCHEMA_TYPES_H
#define CONF_SCHEMA_TYPES_H

#include "conf/schema/schema.h"

/* Put into a table: the member of a struct that takes the value. */
#define INTO(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
/* … of the process of the actor, and of its spec. */
#define INTO_PROCESS(member) INTO(struct conf_process, member), .owner = OWNER_PROCESS
#define INTO_SPEC(member)    INTO(struct spec, member), .owner = OWNER_SPEC

/* Parts of the tables of types. */
/* The words themselves, or a list of them that has a name. */
#define WORDS(...)                                   \
	.words = (const char *const[]){__VA_ARGS__}, \
	.n_words = ARRAY_SIZE(((const char *const[]){__VA_ARGS__}))
#define WORDS_OF(list)    .words = (list), .n_words = ARRAY_SIZE(list)
#define KEYS(title, list) .name = (title), .keys = (list), .n_keys = ARRAY_SIZE(list)
#define TABLE(name, list, must) \
	static const struct schema_table name = {KEYS(#name, list), .required = (must)}
#define DURATION_PATTERN "^([0-9]+(ms|s|m|h|d))+$"

/* For functions that read or check one value of a list or mapping by itself. */
extern const struct schema_type schema_capability, schema_cpus, schema_duration,
    schema_duration_or_zero, schema_errno, schema_exit_codes, schema_exit_set,
    schema_factor, schema_io_class, schema_io_level, schema_jitter, schema_limit_restarts,
    schema_need, schema_output_target, schema_reaction, schema_ready_fd,
    schema_rule_entry, schema_policy, schema_real_time, schema_signal, schema_signal_set,
    schema_socket, schema_when_item, schema_while_down;

/* Behind the keys of the one table. */
extern const struct schema_type schema_actor_log, schema_auto_shutdown, schema_backoff,
    schema_boolean, schema_capabilities, schema_cgroup, schema_command,
    schema_containment, schema_control, schema_cpu_affinity, schema_decider,
    schema_environment, schema_environment_file, schema_fd_store, schema_health,
    schema_include, schema_io_priority, schema_keep_item, schema_keep_on_restart,
    schema_intensity, schema_limit, schema_limits, schema_log, schema_metrics,
    schema_mode, schema_needs, schema_nice, schema_on_crash, schema_oom_score_adj,
    schema_order, schema_output, schema_path, schema_period, schema_ready,
    schema_replicas, schema_keep_children, schema_restart, schema_scheduler,
    schema_shutdown, schema_sockets, schema_start_on, schema_stdin, schema_strategy,
    schema_success, schema_supplementary_groups, schema_hooks, schema_text, schema_watch,
    schema_when_empty, schema_with;

extern const struct schema_table schema_limit_names, schema_rule_backoff;

/* RLIMIT_x of the i-th key of schema_limit_names. */
int schema_limit_resource(size_t i);

#endif
