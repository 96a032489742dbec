/* SPDX-License-Identifier: ISC */
/* spec.h - what the decision core has to know of an actor: its policy.
 *
 * Plain values, filled by conf/, copied by the core.  Nothing here names a command, a
 * user or a descriptor: those belong to the daemon.  Times are milliseconds,
 * DURATION_INFINITE is for ever.
 */
#ifndef CORE_SPEC_H
#define CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

/* The deepest tree: "/" is 0, /user is 1. */
#define SPEC_DEPTH_MAX     100
#define SPEC_RULES_MAX     64
#define SPEC_ERRNOS_MAX    8
#define SPEC_KEYS_MAX      8
#define SPEC_INTENSITY_MAX 10000
#define SPEC_SIGNAL_MAX    64
#define SPEC_WATCHES_MAX   64
#define SPEC_NEEDS_MAX     64

#define NODE_KIND_MAP(X)                 \
	X(NODE_WORKER, "worker")         \
	X(NODE_SUPERVISOR, "supervisor") \
	X(NODE_BOTH, "both")
enum node_kind { NODE_KIND_MAP(AS_ENUM) NODE_KIND_MAX };

#define RESTART_TYPE_MAP(X)               \
	X(RESTART_PERMANENT, "permanent") \
	X(RESTART_TRANSIENT, "transient") \
	X(RESTART_TEMPORARY, "temporary") \
	X(RESTART_NEVER, "never")
enum restart_type { RESTART_TYPE_MAP(AS_ENUM) RESTART_TYPE_MAX };

#define STRATEGY_MAP(X)                        \
	X(STRATEGY_ONE_FOR_ONE, "one_for_one") \
	X(STRATEGY_ONE_FOR_ALL, "one_for_all") \
	X(STRATEGY_REST_FOR_ONE, "rest_for_one")
enum strategy { STRATEGY_MAP(AS_ENUM) STRATEGY_MAX };

#define DIRECTIVE_MAP(X)                \
	X(DIRECTIVE_RESUME, "resume")   \
	X(DIRECTIVE_RESTART, "restart") \
	X(DIRECTIVE_STOP, "stop")       \
	X(DIRECTIVE_ESCALATE, "escalate")
enum directive { DIRECTIVE_MAP(AS_ENUM) DIRECTIVE_MAX };

#define CAUSE_KIND_MAP(X)                       \
	X(CAUSE_NORMAL, "normal")               \
	X(CAUSE_EXIT, "exit")                   \
	X(CAUSE_SIGNAL, "signal")               \
	X(CAUSE_CORE, "core")                   \
	X(CAUSE_OOM, "oom")                     \
	X(CAUSE_KILLED, "killed")               \
	X(CAUSE_EXEC, "exec")                   \
	X(CAUSE_START_TIMEOUT, "start_timeout") \
	X(CAUSE_EARLY_EXIT, "early_exit")       \
	X(CAUSE_WATCHDOG, "watchdog")           \
	X(CAUSE_HEALTH, "health")               \
	X(CAUSE_SELF_REPORT, "self_report")     \
	X(CAUSE_STOPPED, "stopped")             \
	X(CAUSE_DEATH_PACT, "death_pact")       \
	X(CAUSE_INTENSITY, "intensity")         \
	X(CAUSE_UNKILLABLE, "unkillable")       \
	X(CAUSE_UNKNOWN, "unknown")
enum cause_kind { CAUSE_KIND_MAP(AS_ENUM) CAUSE_KIND_MAX } ONE_BYTE;

#define PRESET_MAP(X)                  \
	X(PRESET_LIST, "")             \
	X(PRESET_DEFAULT, "default")   \
	X(PRESET_OTP, "otp")           \
	X(PRESET_STOPPING, "stopping") \
	X(PRESET_ESCALATING, "escalating")
enum preset { PRESET_MAP(AS_ENUM) PRESET_MAX };

/* How loud a failure is reported; AS_DIRECTIVE is the default of the directive. */
#define RULE_LOG_MAP(X)                \
	X(RULE_LOG_AS_DIRECTIVE, "")   \
	X(RULE_LOG_ERROR, "error")     \
	X(RULE_LOG_WARNING, "warning") \
	X(RULE_LOG_INFO, "info")       \
	X(RULE_LOG_OFF, "off")
enum rule_log { RULE_LOG_MAP(AS_ENUM) RULE_LOG_MAX };

/* What a restart of a supervisor does to its children. */
#define KEEP_CHILDREN_MAP(X)       \
	X(KEEP_NO, "no")           \
	X(KEEP_RESTART, "restart") \
	X(KEEP_UNTOUCHED, "untouched")
enum keep_children { KEEP_CHILDREN_MAP(AS_ENUM) KEEP_CHILDREN_MAX };

/* Commands of the actor's own that run around its starts and stops. */
#define AUTO_SHUTDOWN_MAP(X)                    \
	X(AUTO_SHUTDOWN_NEVER, "never")         \
	X(AUTO_SHUTDOWN_ANY, "any_significant") \
	X(AUTO_SHUTDOWN_ALL, "all_significant")
enum auto_shutdown { AUTO_SHUTDOWN_MAP(AS_ENUM) AUTO_SHUTDOWN_MAX };

#define WHEN_EMPTY_MAP(X)              \
	X(WHEN_EMPTY_IGNORE, "ignore") \
	X(WHEN_EMPTY_STOP, "stop")     \
	X(WHEN_EMPTY_ESCALATE, "escalate")
enum when_empty { WHEN_EMPTY_MAP(AS_ENUM) WHEN_EMPTY_MAX };

#define HOOK_MAP(X)                          \
	X(HOOK_PRE_START, "pre_start")       \
	X(HOOK_POST_START, "post_start")     \
	X(HOOK_PRE_RESTART, "pre_restart")   \
	X(HOOK_POST_RESTART, "post_restart") \
	X(HOOK_PRE_STOP, "pre_stop")         \
	X(HOOK_POST_STOP, "post_stop")
enum hook { HOOK_MAP(AS_ENUM) HOOK_MAX } ONE_BYTE;

/* What a watcher does about the final end of its target; fail is a death pact. */
#define REACTION_MAP(X)                \
	X(REACTION_FAIL, "fail")       \
	X(REACTION_SIGNAL, "signal")   \
	X(REACTION_RUN, "run")         \
	X(REACTION_RESTART, "restart") \
	X(REACTION_STOP, "stop")
enum reaction { REACTION_MAP(AS_ENUM) REACTION_MAX };

/* How far another actor has to be before one that needs it is started. */
#define NEED_MAP(X)                \
	X(NEED_STARTED, "started") \
	X(NEED_READY, "ready")     \
	X(NEED_COMPLETED, "completed")
enum need { NEED_MAP(AS_ENUM) NEED_MAX };

enum shutdown_mode { SHUTDOWN_TIMEOUT, SHUTDOWN_BRUTAL_KILL, SHUTDOWN_INFINITY };

/* When a started process counts as ready. */
enum ready_mode {
	READY_EXEC,   /* as soon as it was exec'd */
	READY_EXIT,   /* a one-shot: ready after a normal end */
	READY_AFTER,  /* once it lived for ready_after_ms */
	READY_TOLD,   /* when the daemon posts EVENT_READY (notify, …) */
	READY_PROBED, /* when a probe succeeds */
};

struct exit_set {
	uint64_t bits[4]; /* exit codes 0..255 */
};

struct signal_set {
	uint64_t bits; /* bit n-1 is signal n */
};

/* Room for a process's own name of a failure; one more for the NUL. */
#define CAUSE_KEY_MAX 32

/* Why something ended or failed. */
struct cause {
	enum cause_kind kind;
	bool core;      /* a core was dumped */
	uint8_t signal; /* signal number, or 0; stopped: by which */
	uint8_t unused; /* instead of padding: actions are the same to the byte */
	int32_t code;   /* exit code, or -1 */
	int32_t error;  /* errno of an exec failure or a report of its own, or 0 */
	/* death_pact: 1 + which of the watches of the origin; 0: one it has no more */
	uint32_t watch;
	/* of a report of its own, or what was wrong; of an exec failure which step before
	 * the program was executed; or "" */
	char key[CAUSE_KEY_MAX];
};

/* factor and jitter are in thousandths: factor 2 is 2000, jitter 0.2 is 200. */
struct backoff_spec {
	bool none, manual_reset;
	bool on_stop; /* delay every automatic restart, not only those after failures */
	uint64_t min_ms, max_ms, reset_after_ms;
	uint32_t factor_milli; /* 1000..100000 */
	uint32_t jitter_milli; /* 0..1000 */
};

/* Which keys of a rule's own backoff were written. */
enum backoff_key {
	BACKOFF_KEY_NONE = 1,
	BACKOFF_KEY_MIN = 2,
	BACKOFF_KEY_MAX = 4,
	BACKOFF_KEY_FACTOR = 8,
	BACKOFF_KEY_JITTER = 16,
};

/* Where a rule stands: an index into the configuration's list of files, and a line. */
struct place {
	uint32_t file;
	uint32_t line; /* 0: nowhere */
};

/* `when: any`: every failure.  A normal end has to be named. */
#define RULE_KINDS_ANY (((1u << CAUSE_KIND_MAX) - 1) & ~(1u << CAUSE_NORMAL))

/* One decider rule, or, with preset other than PRESET_LIST, "go on with that preset". */
struct rule {
	enum preset preset;
	uint32_t kinds;            /* bit per cause_kind: matches regardless of details */
	struct exit_set exits;     /* cause exit with a code of this set */
	struct signal_set signals; /* cause signal or core with a signal of this set */
	struct signal_set cores;   /* cause core with a signal of this set */
	/* cause exec with an errno of this list, 0 ends */
	int32_t errnos[SPEC_ERRNOS_MAX];
	char keys[SPEC_KEYS_MAX][CAUSE_KEY_MAX]; /* cause self_report, "" ends */
	enum directive then;
	enum rule_log log;
	uint32_t backoff_keys; /* set of enum backoff_key */
	struct backoff_spec backoff;
	struct place place;
};

/* preset other than PRESET_LIST: no rules.  PRESET_LIST with none: matches nothing. */
struct decider {
	enum preset preset;
	const struct rule *rules; /* borrowed; the core copies them */
	uint32_t n_rules;
};

/* A watched actor, and the reaction to its end. */
struct watch_spec {
	uint64_t target; /* the name of the actor */
	enum reaction reaction;
	int32_t signal; /* REACTION_SIGNAL */
};

/* An actor needed before the start of another. */
struct need_spec {
	uint64_t target; /* the name of the actor, or of all of some replicas */
	enum need level;
	uint32_t unused;
};

/* At most `restarts` restarts within any within_ms. */
struct intensity_spec {
	bool unlimited;
	uint32_t restarts; /* 0..SPEC_INTENSITY_MAX */
	uint64_t within_ms;
};

/* Akka's maxNrOfRetries and withinTimeRange, for each child of the supervisor. */
struct limit_spec {
	bool on;
	bool fixed;    /* Akka's fixed window, else sliding */
	bool escalate; /* on_exceed: escalate, else stop */
	uint32_t restarts;
	uint64_t within_ms;
};

/* How an actor is asked, again and again, whether it is well. */
struct probe_spec {
	bool on;
	uint32_t failures;  /* so many in a row are a failure */
	uint32_t successes; /* so many in a row make up for those before */
	uint64_t interval_ms;
	uint64_t initial_delay_ms; /* from readiness on */
	uint64_t what; /* stands for what is asked: equal where that is the same */
};

/* When a started actor is there: move/up.c, decide/living.c. */
struct start_spec {
	enum ready_mode ready;
	uint64_t ready_after_ms;
	uint64_t ready_interval_ms; /* READY_PROBED: between two probes */
	uint64_t timeout_ms;        /* DURATION_INFINITE: none */
};

/* How long an actor may take to be gone: move/down.c, move/unkillable.c. */
struct stop_spec {
	enum shutdown_mode mode;
	uint64_t shutdown_ms;     /* SHUTDOWN_TIMEOUT only; 0 is legal */
	uint64_t kill_timeout_ms; /* after SIGKILL; more is unkillable */
};

/* What a supervisor does about its children: decide/, and move/children.c. */
struct policy_spec {
	enum strategy strategy;
	struct intensity_spec intensity;
	struct limit_spec limit;
	struct decider decider;
	enum auto_shutdown auto_shutdown;
	enum when_empty when_empty;
	enum keep_children keep_children;
	uint32_t max_children; /* added at run time; UINT32_MAX: no bound */
	bool start_parallel, stop_parallel;
	bool freeze_while_deciding;
	bool log_failures; /* those that no rule says `log` of (Akka's loggingEnabled) */
};

struct spec {
	uint64_t name; /* a hash of its path; 0: none */
	uint64_t base; /* a replica: a hash of the path that all of them share, else 0 */
	enum node_kind kind;
	enum restart_type restart;
	bool enabled;
	/* its end by itself counts for its supervisor's auto_shutdown */
	bool significant;
	bool gives_exit; /* supd ends when it has ended for good, with its status */
	bool keeps;      /* it has an fd store or a runtime directory */
	bool on_demand;  /* its process starts when it is needed: EVENT_DEMAND */
	bool stopped_is_failure;
	struct exit_set success_exits;
	struct signal_set success_signals;
	struct backoff_spec backoff;
	struct decider on_failure;
	struct start_spec start;
	struct stop_spec stop;
	uint32_t hooks;           /* bit per enum hook that is configured */
	uint32_t n_watches;       /* 0..SPEC_WATCHES_MAX */
	uint32_t n_needs;         /* 0..SPEC_NEEDS_MAX */
	uint64_t hook_timeout_ms; /* of each of them; DURATION_INFINITE: none */
	/* borrowed, each target once; the core copies them */
	const struct watch_spec *watches;
	const struct need_spec *needs;
	uint64_t watchdog_ms;      /* 0: none */
	struct probe_spec health;  /* of a living process */
	struct policy_spec policy; /* supervisors only */
};

extern const char *const node_kind_names[];
extern const char *const keep_children_names[];
extern const char *const auto_shutdown_names[];
extern const char *const when_empty_names[];
extern const char *const hook_names[];
extern const char *const restart_type_names[];
extern const char *const strategy_names[];
extern const char *const directive_names[];
extern const char *const cause_kind_names[];
extern const char *const preset_names[];
extern const char *const rule_log_names[];
extern const char *const reaction_names[];
extern const char *const need_names[];

void spec_default(struct spec *spec, enum node_kind kind);
bool spec_runs_once(const struct spec *spec);
void exit_set_add(struct exit_set *set, unsigned int from, unsigned int to);
bool exit_set_has(const struct exit_set *set, int code);
void signal_set_add(struct signal_set *set, int signo);
bool signal_set_has(const struct signal_set *set, int signo);

#endif
