/* SPDX-License-Identifier: ISC */
/* key_table.c - the table of every key that a file may have, with the functions that read
 * it. */
#include "config.h"

#include "base/assert.h"
#include "conf/read/read.h"
#include "conf/schema/schema_types.h"

#define ACTOR      (AT_WORKER | AT_SUPERVISOR | AT_DEFAULTS | AT_TEMPLATE)
#define WORKER     (AT_WORKER | AT_DEFAULTS | AT_TEMPLATE)
#define ONE_ACTOR  (AT_WORKER | AT_SUPERVISOR | AT_TEMPLATE)
#define SUPERVISOR (AT_TOP | AT_SUPERVISOR | AT_TEMPLATE)

static const struct schema_type schema_defaults, schema_template;

const struct schema_type schema_children = {
    .name = "children",
    .allowed = "a mapping from names to actors; write {} for none",
    .values = &schema_actor,
    .names_pattern = "^[A-Za-z0-9][A-Za-z0-9_.@-]*$",
};
static const struct schema_type templates = {
    .name = "templates",
    .allowed = "a mapping from names to templates",
    .values = &schema_template,
    .names_pattern = "^[A-Za-z0-9][A-Za-z0-9_.@-]*$",
};

static const struct schema_key keys[] = {
    /* supd itself */
    {"control", &schema_control, NULL,
     "The control socket, and the users that may use it.", CONF_RESTARTS, AT_TOP,
     .read = read_control, .is_structure = true},
    {"log", &schema_log, NULL, "Where supd logs, and where the actors' output goes.",
     CONF_IN_PLACE, AT_TOP, .read = read_log, .is_structure = true},
    {"include", &schema_include, NULL,
     "More files; each may add `children` and `templates`.", CONF_IN_PLACE, AT_TOP,
     .is_structure = true},
    {"defaults", &schema_defaults, NULL, "Keys that every actor starts from.",
     CONF_IN_PLACE, AT_TOP, .is_structure = true},
    {"templates", &templates, NULL, "Sets of keys that actors `use` by name.",
     CONF_IN_PLACE, AT_TOP | AT_INCLUDED, .is_structure = true},
    {"on_crash", &schema_on_crash, "\"adopt\"",
     "What a new guardian does with the actors after a crash.", CONF_IN_PLACE, AT_TOP,
     INTO(struct conf, on_crash_kill), .is_structure = true},
    {"exit_code_from", &schema_text, NULL,
     "When this actor has ended for good, supd stops in order and exits with its code.",
     CONF_IN_PLACE, AT_TOP, .is_structure = true},
    {"metrics", &schema_metrics, NULL, "Where figures about the actors can be fetched.",
     CONF_IN_PLACE, AT_TOP, .read = read_metrics, .is_structure = true},

    /* supervisors */
    {"strategy", &schema_strategy, "\"one_for_one\"",
     "Which children the failure of a child affects.", CONF_IN_PLACE, SUPERVISOR,
     INTO_SPEC(policy.strategy)},
    {"intensity", &schema_intensity, NULL,
     "How many restarts in all before the supervisor itself fails.", CONF_IN_PLACE,
     SUPERVISOR, .read = read_intensity},
    {"limit", &schema_limit, NULL, "How many restarts each child is granted.",
     CONF_IN_PLACE, SUPERVISOR, .read = read_limit},
    {"decider", &schema_decider, "\"default\"", "The directives for causes of failures.",
     CONF_IN_PLACE, SUPERVISOR, .read = read_decider},
    {"start", &schema_order, "\"sequential\"",
     "Whether a child waits until the child before is ready.", CONF_IN_PLACE, SUPERVISOR,
     INTO_SPEC(policy.start_parallel)},
    {"stop", &schema_order, "\"sequential\"",
     "Whether a child is stopped only once the one after it is gone.", CONF_IN_PLACE,
     SUPERVISOR, INTO_SPEC(policy.stop_parallel)},
    {"auto_shutdown", &schema_auto_shutdown, "\"never\"",
     "Whether the supervisor ends when its significant children have ended.",
     CONF_IN_PLACE, SUPERVISOR, INTO_SPEC(policy.auto_shutdown)},
    {"when_empty", &schema_when_empty, "\"ignore\"",
     "What becomes of the supervisor when a group stop has left no child.", CONF_IN_PLACE,
     SUPERVISOR, INTO_SPEC(policy.when_empty)},
    {"children", &schema_children, NULL, "The actors below, in the order of their start.",
     CONF_IN_PLACE, SUPERVISOR | AT_INCLUDED, .is_structure = true},
    {"keep_children", &schema_keep_children, "\"no\"",
     "What a restart of the supervisor does to its children.", CONF_IN_PLACE, SUPERVISOR,
     INTO_SPEC(policy.keep_children)},
    {"freeze_while_deciding", &schema_boolean, "false",
     "Whether everything else below the supervisor is suspended until a failure is "
     "handled.",
     CONF_IN_PLACE, SUPERVISOR, INTO_SPEC(policy.freeze_while_deciding)},
    {"log_failures", &schema_boolean, "true",
     "Whether failures of children are logged where no rule says how.", CONF_IN_PLACE,
     SUPERVISOR, INTO_SPEC(policy.log_failures)},
    {"max_children", &schema_replicas, NULL,
     "How many children may be added at run time.", CONF_IN_PLACE, SUPERVISOR,
     INTO_SPEC(policy.max_children)},

    /* every actor */
    {"use", &schema_text, NULL, "The template to start from.", CONF_IN_PLACE,
     AT_WORKER | AT_SUPERVISOR, .is_structure = true},
    {"with", &schema_with, NULL, "Parameters for ${name}.", CONF_IN_PLACE, ONE_ACTOR,
     .is_structure = true},
    {"replicas", &schema_replicas, NULL,
     "How many instances there are, named name@1 and on.", CONF_IN_PLACE, ONE_ACTOR,
     .is_structure = true},
    {"description", &schema_text, NULL, "A description for operators.", CONF_IN_PLACE,
     ACTOR, INTO(struct conf_actor, description)},
    {"enabled", &schema_boolean, "true",
     "With `false` the actor stays stopped until an operator starts it.", CONF_IN_PLACE,
     ACTOR, INTO_SPEC(enabled)},
    {"significant", &schema_boolean, "false",
     "Whether an end of the actor by itself counts for auto_shutdown of its supervisor.",
     CONF_IN_PLACE, ACTOR, INTO_SPEC(significant)},
    {"restart", &schema_restart, "\"permanent\"",
     "After which ends the actor is started again.", CONF_IN_PLACE, ACTOR,
     INTO_SPEC(restart)},
    {"backoff", &schema_backoff, NULL, "How long automatic restarts are delayed.",
     CONF_IN_PLACE, ACTOR | AT_TOP, .read = read_backoff},
    {"on_failure", &schema_decider, NULL, "Rules that are asked before the supervisor's.",
     CONF_IN_PLACE, ACTOR | AT_TOP, .read = read_on_failure},
    {"shutdown", &schema_shutdown, "\"5s\"",
     "How long the actor may take to end before it is killed; supervisors: infinity.",
     CONF_IN_PLACE, ACTOR, .read = read_shutdown},
    {"kill_timeout", &schema_duration, "\"10s\"",
     "How long after SIGKILL a process counts as unkillable.", CONF_IN_PLACE, ACTOR,
     INTO_SPEC(stop.kill_timeout_ms)},
    {"needs", &schema_needs, NULL,
     "Which actors have to be up before the actor is started.", CONF_IN_PLACE, ACTOR,
     .read = read_needs},
    {"watch", &schema_watch, NULL,
     "Of which actors' final end the actor is told, and what then happens.",
     CONF_IN_PLACE, ACTOR, .read = read_watch},
    {"hook_timeout", &schema_period, "\"10s\"",
     "How long a hook, the reload_command or the command of a watch may take.",
     CONF_IN_PLACE, ACTOR, INTO_SPEC(hook_timeout_ms)},
    {"hooks", &schema_hooks, NULL,
     "Commands to run around starts and stops of the actor.", CONF_IN_PLACE, ACTOR,
     .read = read_hooks},

    /* workers */
    {"command", &schema_command, NULL,
     "What is executed; beside `children` it is the supervisor's own process.",
     CONF_RESTARTS, AT_WORKER | AT_TEMPLATE, INTO(struct conf_actor, argv)},
    {"shell", &schema_text, NULL,
     "What /bin/sh executes: the same as the command [/bin/sh, -c, TEXT].", CONF_RESTARTS,
     AT_WORKER | AT_TEMPLATE, .read = NULL},
    {"success", &schema_success, NULL, "What counts as a normal end.", CONF_IN_PLACE,
     WORKER, .read = read_success},
    {"stop_signal", &schema_signal, "\"TERM\"",
     "The signal that asks the process to end.", CONF_IN_PLACE, WORKER,
     INTO_PROCESS(orders.stop_signal)},
    {"watchdog", &schema_duration, NULL,
     "The actor fails when it sends no WATCHDOG=1 for this long.", CONF_RESTARTS, WORKER,
     INTO_SPEC(watchdog_ms)},
    {"watchdog_signal", &schema_signal, "\"ABRT\"",
     "The signal that asks the process to end when its watchdog has expired.",
     CONF_IN_PLACE, WORKER, INTO_PROCESS(orders.watchdog_signal)},
    {"stopped_is_failure", &schema_boolean, "false",
     "Whether it is a failure when a signal such as SIGSTOP stops it.", CONF_IN_PLACE,
     WORKER, INTO_SPEC(stopped_is_failure)},
    {"stop_command", &schema_command, NULL,
     "The command that asks the process to end, instead of the signal.", CONF_IN_PLACE,
     WORKER, INTO_PROCESS(orders.stop_command)},
    {"reload_signal", &schema_signal, "\"HUP\"",
     "The signal that tells the process to read its configuration again.", CONF_IN_PLACE,
     WORKER, INTO_PROCESS(orders.reload_signal)},
    {"reload_command", &schema_command, NULL,
     "The command that tells the process to read its configuration again, instead of the "
     "signal.",
     CONF_IN_PLACE, WORKER, INTO_PROCESS(orders.reload_command)},
    {"ready", &schema_ready, "\"exec\"", "When the actor counts as started.",
     CONF_RESTARTS, WORKER, .read = read_ready},
    {"start_timeout", &schema_period, "\"infinity\"",
     "How long the actor may take to be ready; with `ready: notify`, `fd`, `log` or a "
     "probe 90s.",
     CONF_IN_PLACE, WORKER, INTO_SPEC(start.timeout_ms)},
    {"health", &schema_health, "\"off\"", "How the actor is probed for its health.",
     CONF_IN_PLACE, WORKER, .read = read_health},
    {"user", &schema_text, NULL, "User to run as.", CONF_RESTARTS, WORKER, .read = NULL},
    {"group", &schema_text, NULL, "Group to run as.", CONF_RESTARTS, WORKER,
     .read = NULL},
    {"supplementary_groups", &schema_supplementary_groups, NULL,
     "Supplementary groups of the process.", CONF_RESTARTS, WORKER, .read = NULL},
    {"root", &schema_path, NULL, "Root directory of the process, see chroot(2).",
     CONF_RESTARTS, WORKER, .read = read_root},
    {"directory", &schema_path, "\"/\"", "Working directory.", CONF_RESTARTS, WORKER,
     INTO_PROCESS(world.directory)},
    {"umask", &schema_mode, "\"0022\"", "File mode creation mask.", CONF_RESTARTS, WORKER,
     INTO_PROCESS(world.umask)},
    {"environment", &schema_environment, NULL, "Environment variables, added to supd's.",
     CONF_RESTARTS, WORKER, .read = read_environment},
    {"environment_file", &schema_environment_file, NULL,
     "Files of KEY=value that are read at each start.", CONF_RESTARTS, WORKER,
     .read = read_environment_file},
    {"clear_environment", &schema_boolean, "false",
     "Whether nothing of supd's own environment is inherited.", CONF_RESTARTS, WORKER,
     INTO_PROCESS(world.clear_environment)},
    {"nice", &schema_nice, NULL, "Nice value.", CONF_RESTARTS, WORKER, .read = read_nice},
    {"oom_score_adj", &schema_oom_score_adj, NULL,
     "How likely the kernel kills the process when memory runs out.", CONF_RESTARTS,
     WORKER, .read = read_oom_score_adj},
    {"cpu_affinity", &schema_cpu_affinity, NULL,
     "The processors that the process may run on.", CONF_RESTARTS, WORKER,
     .read = read_cpu_affinity},
    {"io_priority", &schema_io_priority, NULL, "Priority when it reads and writes.",
     CONF_RESTARTS, WORKER, .read = read_io_priority},
    {"scheduler", &schema_scheduler, NULL, "Scheduling policy of the process.",
     CONF_RESTARTS, WORKER, .read = read_scheduler},
    {"capabilities", &schema_capabilities, NULL, "Rights of root, one by one.",
     CONF_RESTARTS, WORKER, .read = read_capabilities},
    {"no_new_privileges", &schema_boolean, "false",
     "Whether no program that the process executes can have more rights.", CONF_RESTARTS,
     WORKER, INTO_PROCESS(attributes.no_new_privileges)},
    {"stdin", &schema_stdin, "\"null\"", "What standard input reads from.", CONF_RESTARTS,
     WORKER, .read = read_stdin},
    {"limits", &schema_limits, NULL, "Resource limits.", CONF_RESTARTS, WORKER,
     .read = read_limits},
    {"notify", &schema_boolean, "false",
     "Whether the process gets a NOTIFY_SOCKET in any case.", CONF_RESTARTS, WORKER,
     INTO_PROCESS(readiness.notify)},
    {"output", &schema_output, NULL, "Where standard output and standard error go.",
     CONF_RESTARTS, WORKER, .read = read_output},
    {"log", &schema_actor_log, NULL, "How the log of the actor is kept.", CONF_IN_PLACE,
     WORKER, .read = read_actor_log},
    {"sockets", &schema_sockets, NULL, "Sockets that supd opens and passes on.",
     CONF_RESTARTS, WORKER, .read = read_sockets},
    {"start_on", &schema_start_on, "\"boot\"",
     "Whether the actor is started at boot, or by the first client of one of its "
     "sockets.",
     CONF_IN_PLACE, WORKER, INTO_SPEC(on_demand)},
    {"fd_store", &schema_fd_store, "0",
     "How many descriptors the process may store for its successor, with FDSTORE=1.",
     CONF_RESTARTS, WORKER, INTO_PROCESS(kept.fd_store)},
    {"runtime_directory", &schema_boolean, "false",
     "Whether the actor gets a directory of its own, in RUNTIME_DIRECTORY.",
     CONF_RESTARTS, WORKER, INTO_PROCESS(kept.runtime_directory)},
    {"keep_on_restart", &schema_keep_on_restart, "[]",
     "What a restart keeps, as a resume does.", CONF_IN_PLACE, WORKER,
     .read = read_keep_on_restart},
    {"containment", &schema_containment, "\"auto\"",
     "What holds the processes of the actor together: a cgroup, or session and group.",
     CONF_RESTARTS, WORKER, INTO_PROCESS(containment)},
    {"cgroup", &schema_cgroup, NULL, "What all processes of the actor together may use.",
     CONF_RESTARTS, WORKER, .read = read_cgroup},
};

const struct schema_table schema_keys = {KEYS("keys", keys), .is_long = true};

#define VIEW(view, sentence, places)                                          \
	{                                                                     \
		.name = (view), .allowed = (sentence), .table = &schema_keys, \
		.where = (places),                                            \
	}
const struct schema_type schema_top =
    VIEW("top", "a mapping with `children` and other keys", AT_TOP);
const struct schema_type schema_included =
    VIEW("included", "a mapping with `children` or `templates`", AT_INCLUDED);
static const struct schema_type schema_defaults =
    VIEW("defaults", "a mapping of an actor's keys", AT_DEFAULTS);
static const struct schema_type schema_template =
    VIEW("template", "a mapping of an actor's keys", AT_TEMPLATE);
const struct schema_type schema_worker =
    VIEW("worker", "a key of an actor with a command, such as `restart`", AT_WORKER);
const struct schema_type schema_supervisor =
    VIEW("supervisor", "a key of a supervisor, such as `strategy`", AT_SUPERVISOR);
const struct schema_type schema_actor = VIEW(
    "actor", "a mapping with `command`, `children` or `use`", AT_WORKER | AT_SUPERVISOR);
