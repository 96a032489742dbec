/* SPDX-License-Identifier: ISC */
/* schema_types.h - what may stand behind a key (private to conf/). */
#ifndef CONF_SCHEMA_TYPES_H
#define CONF_SCHEMA_TYPES_H

#include "conf/schema/schema.h"

/* Put into a table: the member of a struct that takes the value. */
#define INTO(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
/* … of the process of the actor. */
#define INTO_PROCESS(member) INTO(struct conf_process, member), .is_of_process = true

/* Parts of the tables of types. */
#define WORDS(list)       .words = (list), .n_words = ARRAY_SIZE(list)
#define KEYS(title, list) .name = (title), .keys = (list), .n_keys = ARRAY_SIZE(list)
#define TABLE(name, list, must) \
	static const struct schema_table name = {KEYS(#name, list), .required = (must)}
#define DURATION_PATTERN "^([0-9]+(ms|s|m|h|d))+$"

/* For functions that read or check one value of a list or mapping by itself. */
extern const struct schema_type schema_capability;
extern const struct schema_type schema_cpus;
extern const struct schema_type schema_duration;
extern const struct schema_type schema_duration_or_zero;
extern const struct schema_type schema_errno;
extern const struct schema_type schema_exit_codes;
extern const struct schema_type schema_exit_set;
extern const struct schema_type schema_factor;
extern const struct schema_type schema_io_class;
extern const struct schema_type schema_io_level;
extern const struct schema_type schema_jitter;
extern const struct schema_type schema_limit_restarts;
extern const struct schema_type schema_need;
extern const struct schema_type schema_output_target;
extern const struct schema_type schema_reaction;
extern const struct schema_type schema_ready_fd;
extern const struct schema_type schema_rule_entry;
extern const struct schema_type schema_policy;
extern const struct schema_type schema_real_time;
extern const struct schema_type schema_signal;
extern const struct schema_type schema_signal_set;
extern const struct schema_type schema_socket;
extern const struct schema_type schema_when_item;
extern const struct schema_type schema_while_down;

/* Behind the keys of the one table. */
extern const struct schema_type schema_actor_log;
extern const struct schema_type schema_auto_shutdown;
extern const struct schema_type schema_backoff;
extern const struct schema_type schema_boolean;
extern const struct schema_type schema_capabilities;
extern const struct schema_type schema_cgroup;
extern const struct schema_type schema_command;
extern const struct schema_type schema_containment;
extern const struct schema_type schema_control;
extern const struct schema_type schema_cpu_affinity;
extern const struct schema_type schema_decider;
extern const struct schema_type schema_environment;
extern const struct schema_type schema_environment_file;
extern const struct schema_type schema_fd_store;
extern const struct schema_type schema_health;
extern const struct schema_type schema_include;
extern const struct schema_type schema_io_priority;
extern const struct schema_type schema_keep_item;
extern const struct schema_type schema_keep_on_restart;
extern const struct schema_type schema_intensity;
extern const struct schema_type schema_limit;
extern const struct schema_type schema_limits;
extern const struct schema_type schema_log;
extern const struct schema_type schema_metrics;
extern const struct schema_type schema_mode;
extern const struct schema_type schema_needs;
extern const struct schema_type schema_nice;
extern const struct schema_type schema_on_crash;
extern const struct schema_type schema_oom_score_adj;
extern const struct schema_type schema_order;
extern const struct schema_type schema_output;
extern const struct schema_type schema_path;
extern const struct schema_type schema_period;
extern const struct schema_type schema_ready;
extern const struct schema_type schema_replicas;
extern const struct schema_type schema_keep_children;
extern const struct schema_type schema_restart;
extern const struct schema_type schema_scheduler;
extern const struct schema_type schema_shutdown;
extern const struct schema_type schema_sockets;
extern const struct schema_type schema_start_on;
extern const struct schema_type schema_stdin;
extern const struct schema_type schema_strategy;
extern const struct schema_type schema_success;
extern const struct schema_type schema_supplementary_groups;
extern const struct schema_type schema_hooks;
extern const struct schema_type schema_text;
extern const struct schema_type schema_watch;
extern const struct schema_type schema_when_empty;
extern const struct schema_type schema_with;

extern const struct schema_table schema_limit_names;
extern const struct schema_table schema_rule_backoff;

/* RLIMIT_x of the i-th key of schema_limit_names. */
int schema_limit_resource(size_t i);

#endif
