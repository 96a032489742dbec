/* SPDX-License-Identifier: ISC */
/* read.h - turning checked YAML into specs (private to conf/).
 *
 * The schema says what is right; check_value() reports all that is not, read_table()
 * then takes over what is good.  So a reader never meets a value of a wrong form.
 */
#ifndef CONF_READ_H
#define CONF_READ_H

#include "conf/read/users.h"
#include "conf/schema/schema.h"
#include "conf/text/conf.h"
#include "conf/text/yaml_node.h"

/* The way from the top of the file down to a key, for reports. */
struct trail {
	const struct trail *up;
	const char *name; /* NULL: the index-th item of a list */
	size_t index;
};

/* Where the sets of keys are that are written nowhere, by a sum of all that they depend
 * on: they are kept once for all actors that have the same.  There is room for `cap`. */
struct default_sets {
	struct map by_sum;
	size_t cap;
};

#define SHOWN_MAX 64

/* The JSON text of a value, for the next actor with the same node, that of defaults. */
struct shown {
	const struct yaml *node;
	const struct schema_type *type;
	const char *json;
};

/* Everything that reading a configuration needs at hand. */
struct reader {
	const struct conf_options *options;
	struct conf_reports *reports;
	struct conf *conf;
	struct arena *keep;    /* the configuration's own memory */
	struct arena *scratch; /* gone when loading ends */
	struct users *users;
	struct recipes *recipes; /* recipe.c */
	struct default_sets sets;
	struct shown shown[SHOWN_MAX]; /* by the address of the node */
	char **words;                  /* of the last command */
	const struct rights *rights;   /* own_rights.c */
	const char *read_file; /* the environment file found good last: not read again */
	bool is_addition;      /* below a stand-in for a supervisor that runs */
	bool lenient; /* texts with ${…} are not looked at: there is no actor yet */
};

void reader_report(struct reader *reader, enum conf_severity severity,
                   const struct yaml *at, const struct trail *trail, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
#define reader_error(reader, at, trail, ...) \
	reader_report(reader, CONF_ERROR, at, trail, __VA_ARGS__)
#define reader_warn(reader, at, trail, ...) \
	reader_report(reader, CONF_WARNING, at, trail, __VA_ARGS__)

bool reader_report_unknown(struct reader *reader, const struct yaml *at,
                           const struct trail *trail, const char *text);
bool check_value(struct reader *reader, const struct yaml *node,
                 const struct schema_type *type, const struct trail *trail);

const struct schema_key *check_key(struct reader *reader, const struct yaml *map,
                                   const struct yaml *name,
                                   const struct schema_type *type,
                                   const struct trail *up);

void read_table(struct reader *reader, const struct yaml *map,
                const struct schema_table *table, void *target);
void read_key(struct reader *reader, const struct schema_key *key,
              const struct yaml *node, void *target, const struct trail *trail);
char *read_path(struct reader *reader, const struct yaml *node, const char *text);
char *read_socket_path(struct reader *reader, const struct yaml *node, const char *text,
                       const struct trail *trail);
struct value read_value(const struct schema_type *type, const struct yaml *node);

char *read_reference(struct reader *reader, const struct conf_actor *actor,
                     const char *name);

/* The one table, as it looks from each of the places where its keys may stand. */
extern const struct schema_type schema_top, schema_included, schema_worker,
    schema_supervisor, schema_actor, schema_children;
extern const struct schema_table schema_keys;

/* Of the kernel, in linux/ioprio.h. */
#define IO_CLASS_REALTIME    1
#define IO_CLASS_BEST_EFFORT 2
#define IO_CLASS_IDLE        3
#define IO_PRIORITY(c, n)    ((c) << 13 | (n))
#define IO_CLASS(priority)   ((priority) >> 13)

/* Readers of keys that are more than one member; the schema table names them. */
read_fn read_actor_log, read_backoff, read_capabilities, read_cgroup, read_cpu_affinity,
    read_control, read_decider, read_environment, read_environment_file, read_health,
    read_hooks, read_intensity, read_io_priority, read_limit, read_keep_on_restart,
    read_limits, read_log, read_needs, read_nice, read_metrics, read_on_failure,
    read_oom_score_adj, read_output, read_ready, read_root, read_scheduler, read_shutdown,
    read_sockets, read_stdin, read_success, read_watch;

/* True if a rule names this cause; `any` names none. */
static inline bool
rule_names(const struct rule *rule, enum cause_kind kind)
{
	return rule->kinds != RULE_KINDS_ANY && (rule->kinds >> kind & 1) != 0;
}

void read_words(struct reader *reader, const struct yaml *node, const struct trail *trail,
                char ***ret_argv);
void probes_check(struct reader *reader, const struct yaml *map,
                  const struct conf_actor *actor, const struct trail *up);
void sockets_check(struct reader *reader);
void cgroup_settle(struct reader *reader, const struct yaml *map,
                   struct conf_actor *actor, const struct trail *up);
void read_identity(struct reader *reader, const struct yaml *map,
                   struct conf_actor *actor, const struct trail *up);
void conf_drop_identities(struct conf *conf);
bool any_rule(const struct conf *conf, const struct conf_actor *actor,
              bool (*asks)(const struct rule *rule));
void read_exit_set(const struct yaml *node, struct exit_set *set);
void read_signal_set(const struct yaml *node, struct signal_set *set);

#endif
