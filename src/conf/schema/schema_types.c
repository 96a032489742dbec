/* SPDX-License-Identifier: ISC */
/* schema_types.c - what may stand behind a key: types, and the small mappings. */
#include "config.h"

#include "conf/schema/schema_types.h"

#include "base/assert.h"
#include "base/units.h"
#include "conf/schema/schema_scan.h"

/* ---- plain texts ---- */

const struct schema_type schema_text = {
    .name = "text",
    .allowed = "a text",
    .scan = scan_text,
};
const struct schema_type schema_path = {
    .name = "path",
    .allowed = "a path; a relative one begins at the directory of the file",
    .scan = scan_path,
};
const struct schema_type schema_boolean = {
    .name = "boolean",
    .allowed = "`true` or `false`",
    .scan = scan_boolean,
    .show = SHOW_BOOLEAN,
};
const struct schema_type schema_mode = {
    .name = "mode",
    .allowed = "an octal mode in quotes, such as \"0640\"",
    .scan = scan_mode,
    .pattern = "^[0-7]{3,5}$",
};
/* The names that signal_parse() knows. */
#define SIGNAL_PATTERN                                                                \
	"^(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM" \
	"|STKFLT|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|POLL"  \
	"|PWR|SYS|RTMIN([+][0-9]+)?|RTMAX(-[0-9]+)?)$|^[0-9]+$"
const struct schema_type schema_signal = {
    .name = "signal",
    .allowed = "a signal such as TERM, SIGTERM or 15",
    .scan = scan_signal,
    .show = SHOW_SIGNAL,
    .integers = true,
    .max = SPEC_SIGNAL_MAX,
    .pattern = SIGNAL_PATTERN,
};
const struct schema_type schema_replicas = {
    .name = "replicas",
    .allowed = "a number from 0 to 100000",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = CONF_ACTORS_MAX,
};
static const struct schema_type restarts = {
    .name = "restarts",
    .allowed = "a number from 0 to 10000",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = SPEC_INTENSITY_MAX,
};
const struct schema_type schema_limit_restarts = {
    .name = "limit_restarts",
    .allowed = "a number from 0 to 10000, or -1 for no limit",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .min = -1,
    .max = SPEC_INTENSITY_MAX,
};

const struct schema_type schema_fd_store = {
    .name = "fd_store",
    .allowed = "a number from 0 to 128",
    .scan = scan_integer,
    .show = SHOW_INTEGER,
    .max = CONF_FD_STORE_MAX,
};

/* ---- what is kept ---- */

const struct schema_type schema_keep_item = {
    .name = "keep_item",
    .allowed = "`fds` or `runtime_directory`",
    WORDS("fds", "runtime_directory"),
};
const struct schema_type schema_keep_on_restart = {
    .name = "keep_on_restart",
    .allowed = "a list of `fds` and `runtime_directory`",
    .items = &schema_keep_item,
};

/* ---- durations ---- */

const struct schema_type schema_duration = {
    .name = "duration",
    .allowed = "a duration such as 250ms, 5s or 1m30s",
    .scan = scan_duration,
    .show = SHOW_DURATION,
    .pattern = DURATION_PATTERN,
    .min = 1,
    .max = DURATION_MS_MAX,
};
const struct schema_type schema_duration_or_zero = {
    .name = "duration_or_zero",
    .allowed = "a duration such as 250ms, 5s or 1m30s",
    .scan = scan_duration,
    .show = SHOW_DURATION,
    .pattern = DURATION_PATTERN,
    .max = DURATION_MS_MAX,
};
const struct schema_type schema_period = {
    .name = "period",
    .allowed = "a duration such as 10s, or `infinity`",
    .scan = scan_duration,
    .show = SHOW_DURATION,
    .pattern = DURATION_PATTERN "|^infinity$",
    .min = 1,
    .max = DURATION_INFINITE,
};
const struct schema_type schema_shutdown = {
    .name = "shutdown",
    .allowed = "a duration such as 5s, `brutal_kill` or `infinity`",
    WORDS([SHUTDOWN_WORD_BRUTAL_KILL] = "brutal_kill"),
    .scan = scan_duration,
    .show = SHOW_DURATION,
    .pattern = DURATION_PATTERN "|^infinity$",
    .max = DURATION_INFINITE,
};

/* ---- words ---- */

const struct schema_type schema_strategy = {
    .name = "strategy",
    .allowed = "`one_for_one`, `one_for_all` or `rest_for_one`",
    .words = strategy_names,
    .n_words = STRATEGY_MAX,
};
const struct schema_type schema_keep_children = {
    .name = "keep_children",
    .allowed = "`no`, `restart` or `untouched`",
    .words = keep_children_names,
    .n_words = KEEP_CHILDREN_MAX,
};
const struct schema_type schema_restart = {
    .name = "restart",
    .allowed = "`permanent`, `transient`, `temporary` or `never`",
    .words = restart_type_names,
    .n_words = RESTART_TYPE_MAX,
};
const struct schema_type schema_auto_shutdown = {
    .name = "auto_shutdown",
    .allowed = "`never`, `any_significant` or `all_significant`",
    .words = auto_shutdown_names,
    .n_words = AUTO_SHUTDOWN_MAX,
};
const struct schema_type schema_when_empty = {
    .name = "when_empty",
    .allowed = "`ignore`, `stop` or `escalate`",
    .words = when_empty_names,
    .n_words = WHEN_EMPTY_MAX,
};
const struct schema_type schema_order = {
    .name = "order",
    .allowed = "`sequential` or `parallel`",
    WORDS("sequential", "parallel"),
};
const struct schema_type schema_containment = {
    .name = "containment",
    .allowed = "`auto`, `cgroup` or `session`",
    .words = containment_names,
    .n_words = CONTAINMENT_MAX,
};
/* ---- backoff ---- */

const struct schema_type schema_factor = {
    .name = "factor",
    .allowed = "a number from 1 to 100 with up to three decimals",
    .scan = scan_decimal,
    .show = SHOW_MILLI,
    .min = 1000,
    .max = 100000,
};
const struct schema_type schema_jitter = {
    .name = "jitter",
    .allowed = "a number from 0 to 1 with up to three decimals",
    .scan = scan_decimal,
    .show = SHOW_MILLI,
    .max = 1000,
};
static const struct schema_type reset = {
    .name = "reset",
    .allowed = "`auto` or `manual`",
    WORDS("auto", "manual"),
};
static const struct schema_type on = {
    .name = "on",
    .allowed = "`failure` or `stop`",
    WORDS("failure", "stop"),
};
static const struct schema_key backoff_keys[] = {
    {"min", &schema_duration, "\"200ms\"", "The first delay.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct backoff_spec, min_ms), NULL},
    {"max", &schema_duration, "\"30s\"", "The longest delay, before jitter.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, max_ms), NULL},
    {"factor", &schema_factor, "2", "What each further failure multiplies the delay by.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, factor_milli), NULL},
    {"jitter", &schema_jitter, "0.2", "Up to this share of the delay is added by chance.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, jitter_milli), NULL},
    {"reset_after", &schema_duration_or_zero, NULL,
     "After so long without a failure the next delay is `min` again; (min+max)/2 by "
     "default.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, reset_after_ms), NULL},
    {"reset", &reset, "\"auto\"", "With `manual` only the process or an operator resets.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, manual_reset), NULL},
    {"on", &on, "\"stop\"", "With `failure` restarts after a normal end are not delayed.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct backoff_spec, on_stop), NULL},
};
TABLE(backoff_table, backoff_keys, NULL);
const struct schema_type schema_backoff = {
    .name = "backoff",
    .allowed = "`none`, or a mapping such as {min: 200ms, max: 30s}",
    WORDS("none"),
    .table = &backoff_table,
    .where = AT_NESTED,
};
/* ---- sets ---- */

#define SYSEXITS                                                                    \
	"ok|usage|dataerr|noinput|nouser|nohost|unavailable|software|oserr|osfile|" \
	"cantcreat|ioerr|tempfail|protocol|noperm|config"

const struct schema_type schema_exit_codes = {
    .name = "exit_codes",
    .allowed = "an exit code from 0 to 255, a range such as 64-78, or a name such as "
               "tempfail",
    .scan = scan_exit_codes,
    .show = SHOW_RANGE,
    .integers = true,
    .max = 255,
    .pattern = "^[0-9]{1,3}(-[0-9]{1,3})?$|^(" SYSEXITS ")$",
};
const struct schema_type schema_exit_set = {
    .name = "exit_set",
    .allowed = "a list of exit codes, such as [75, 64-78, tempfail]",
    .scan = scan_exit_codes,
    .show = SHOW_RANGE,
    .integers = true,
    .max = 255,
    .pattern = "^[0-9]{1,3}(-[0-9]{1,3})?$|^(" SYSEXITS ")$",
    .items = &schema_exit_codes,
};
const struct schema_type schema_signal_set = {
    .name = "signal_set",
    .allowed = "a list of signals, such as [SEGV, ABRT]",
    .scan = scan_signal,
    .show = SHOW_SIGNAL,
    .integers = true,
    .max = SPEC_SIGNAL_MAX,
    .pattern = SIGNAL_PATTERN,
    .items = &schema_signal,
};
const struct schema_type schema_errno = {
    .name = "errno",
    .allowed = "the name of a system error such as ENOENT",
    .scan = scan_errno,
    .pattern = "^E[A-Z0-9]+$",
};
static const struct schema_key success_keys[] = {
    {"exit", &schema_exit_set, "[0]", "Exit codes that count as a normal end.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"signals", &schema_signal_set, "[\"HUP\",\"INT\",\"TERM\",\"PIPE\"]",
     "Signals: death by one of them counts as a normal end.", CONF_IN_PLACE, AT_NESTED,
     .read = NULL},
};
TABLE(success_table, success_keys, NULL);
const struct schema_type schema_success = {
    .name = "success",
    .allowed = "a mapping such as {exit: [0, 75], signals: [TERM]}",
    .table = &success_table,
    .where = AT_NESTED,
};

/* ---- intensity and limit ---- */

static const struct schema_key intensity_keys[] = {
    {"restarts", &restarts, "5", "How many restarts are granted.", CONF_IN_PLACE,
     AT_NESTED, INTO(struct intensity_spec, restarts), NULL},
    {"within", &schema_period, "\"1m\"", "Within any period as long as this.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct intensity_spec, within_ms), NULL},
};
TABLE(intensity_table, intensity_keys, NULL);
const struct schema_type schema_intensity = {
    .name = "intensity",
    .allowed = "`unlimited`, or a mapping such as {restarts: 5, within: 60s}",
    WORDS("unlimited"),
    .table = &intensity_table,
    .where = AT_NESTED,
};
static const struct schema_type window = {
    .name = "window",
    .allowed = "`sliding` or `fixed`",
    WORDS("sliding", "fixed"),
};
static const struct schema_type on_exceed = {
    .name = "on_exceed",
    .allowed = "`stop` or `escalate`",
    WORDS("stop", "escalate"),
};
static const struct schema_key limit_keys[] = {
    {"restarts", &schema_limit_restarts, NULL, "How many restarts each child is granted.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
    {"within", &schema_period, "\"infinity\"", "Within a period as long as this.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct limit_spec, within_ms), NULL},
    {"window", &window, "\"sliding\"",
     "Whether the period slides, or begins with the first restart after it ran out.",
     CONF_IN_PLACE, AT_NESTED, INTO(struct limit_spec, fixed), NULL},
    {"on_exceed", &on_exceed, "\"stop\"",
     "What becomes of a child that exceeds the limit.", CONF_IN_PLACE, AT_NESTED,
     INTO(struct limit_spec, escalate), NULL},
};
TABLE(limit_table, limit_keys, "restarts");
const struct schema_type schema_limit = {
    .name = "limit",
    .allowed = "a mapping such as {restarts: 3, within: 10s}",
    .table = &limit_table,
    .where = AT_NESTED,
};

/* ---- processes ---- */

const struct schema_type schema_command = {
    .name = "command",
    .allowed = "a list of texts such as [sleep, \"60\"], or one text",
    .scan = scan_command,
    .items = &schema_text,
};
const struct schema_type schema_include = {
    .name = "include",
    .allowed = "a list of paths and patterns, such as [conf.d/*.yaml]",
    .scan = scan_text,
    .items = &schema_text,
};
const struct schema_type schema_with = {
    .name = "with",
    .allowed = "a mapping from parameters to texts",
    .values = &schema_text,
};
const struct schema_type schema_environment = {
    .name = "environment",
    .allowed = "a mapping from names to texts",
    .values = &schema_text,
    .names_pattern = "^[^=]+$",
};
/* ---- resource limits ---- */

static const struct schema_type schema_rlimit = {
    .name = "rlimit",
    .allowed = "a number such as 65536, a size such as 64M, `unlimited`, or soft:hard",
    .scan = scan_rlimit,
    .integers = true,
    .max = INT64_MAX,
    .pattern =
        "^([0-9]+[KMGT]?|unlimited|infinity)(:([0-9]+[KMGT]?|unlimited|infinity))?$",
};
#define LIMIT_MAP(X)                                                                  \
	X("as", RLIMIT_AS, "Address space in bytes.")                                 \
	X("core", RLIMIT_CORE, "Size of a core dump in bytes.")                       \
	X("cpu", RLIMIT_CPU, "Processor time in seconds.")                            \
	X("data", RLIMIT_DATA, "Data segment in bytes.")                              \
	X("fsize", RLIMIT_FSIZE, "Size of a file in bytes.")                          \
	X("locks", RLIMIT_LOCKS, "File locks.")                                       \
	X("memlock", RLIMIT_MEMLOCK, "Locked memory in bytes.")                       \
	X("msgqueue", RLIMIT_MSGQUEUE, "Bytes in message queues.")                    \
	X("nice", RLIMIT_NICE, "How far the nice value may be raised, as 20 - nice.") \
	X("nofile", RLIMIT_NOFILE, "Open descriptors.")                               \
	X("nproc", RLIMIT_NPROC, "Processes of the user.")                            \
	X("rss", RLIMIT_RSS, "Resident memory in bytes; without effect on Linux.")    \
	X("rtprio", RLIMIT_RTPRIO, "Highest real-time priority.")                     \
	X("rttime", RLIMIT_RTTIME, "Real-time processor time in microseconds.")       \
	X("sigpending", RLIMIT_SIGPENDING, "Pending signals of the user.")            \
	X("stack", RLIMIT_STACK, "Stack in bytes.")
#define AS_LIMIT_KEY(key, resource, sentence) \
	{key, &schema_rlimit, NULL, sentence, CONF_RESTARTS, AT_NESTED, .read = NULL},
#define AS_RESOURCE(key, resource, sentence) resource,
static const struct schema_key limits_keys[] = {LIMIT_MAP(AS_LIMIT_KEY)};
static const int limits_resources[] = {LIMIT_MAP(AS_RESOURCE)};
const struct schema_table schema_limit_names = {KEYS("limits", limits_keys)};
const struct schema_type schema_limits = {
    .name = "limits",
    .allowed = "a mapping such as {nofile: 65536, core: unlimited}",
    .table = &schema_limit_names,
    .where = AT_NESTED,
};

/* RLIMIT_x of the i-th key of schema_limit_names. */
int
schema_limit_resource(size_t i)
{
	ASSERT(i < ARRAY_SIZE(limits_resources));
	return limits_resources[i];
}

/* The name of RLIMIT_x as in a configuration; NULL: it has none. */
const char *
conf_limit_name(int resource)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits_resources); i++)
		if (limits_resources[i] == resource)
			return limits_keys[i].name;
	return NULL;
}

/* ---- top level ---- */

static const struct schema_key control_keys[] = {
    {"socket", &schema_path, NULL,
     "Path of the control socket; control.sock in the runtime directory by default.",
     CONF_RESTARTS, AT_NESTED, INTO(struct conf, control_socket), NULL},
    {"mode", &schema_mode, "\"0660\"",
     "Permissions of the socket; \"0666\" by default where `observers` is set.",
     CONF_RESTARTS, AT_NESTED, INTO(struct conf, control_mode), NULL},
    {"group", &schema_text, NULL, "Members of this group may do everything.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
    {"observers", &schema_text, NULL, "Members of this group may look, and no more.",
     CONF_RESTARTS, AT_NESTED, .read = NULL},
};
TABLE(control_table, control_keys, NULL);
const struct schema_type schema_control = {
    .name = "control",
    .allowed = "a mapping with `socket`, `mode`, `group` or `observers`",
    .table = &control_table,
    .where = AT_NESTED,
};
