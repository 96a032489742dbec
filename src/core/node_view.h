/* SPDX-License-Identifier: ISC */
/* node_view.h - an actor as readers see it: states, last failure, counted restarts. */
#ifndef CORE_NODE_VIEW_H
#define CORE_NODE_VIEW_H

#include "core/spec.h"

/* An actor: a slot of the tree, and which of its tenants is meant. */
struct ref {
	uint32_t slot, tenant;
};

#define REF_NONE  ((struct ref){UINT32_MAX, 0})
#define CORE_ROOT 0 /* slot of "/" */
#define CORE_USER 1 /* slot of "/user" */

#define NODE_STATE_MAP(X)               \
	X(STATE_STOPPED, "stopped")     \
	X(STATE_WAITING, "waiting")     \
	X(STATE_STARTING, "starting")   \
	X(STATE_RUNNING, "running")     \
	X(STATE_SUSPENDED, "suspended") \
	X(STATE_STOPPING, "stopping")   \
	X(STATE_BACKOFF, "backoff")     \
	X(STATE_DONE, "done")           \
	X(STATE_FAILED, "failed")       \
	X(STATE_UNKILLABLE, "unkillable")
enum node_state { NODE_STATE_MAP(AS_ENUM) NODE_STATE_MAX } ONE_BYTE;

/* Why another process, or another start of a supervisor, took the place of one. */
#define RESTART_KIND_MAP(X)                                                            \
	X(RESTARTED_FOR_FAILURE, "failure")       /* its own */                        \
	X(RESTARTED_FOR_END, "end")               /* its own, which was normal */      \
	X(RESTARTED_FOR_GROUP, "group")           /* a sibling's, by the strategy */   \
	X(RESTARTED_FOR_SUPERVISOR, "supervisor") /* that was restarted */             \
	X(RESTARTED_FOR_WATCH, "watch")           /* the end of an actor it watches */ \
	X(RESTARTED_FOR_RESUME, "resume")         /* nothing is cleared */             \
	X(RESTARTED_FOR_COMMAND, "command")       /* or another configuration */
enum restart_kind { RESTART_KIND_MAP(AS_ENUM) RESTART_KIND_MAX } ONE_BYTE;

/* The first so many are automatic restarts. */
#define RESTART_KINDS_AUTOMATIC RESTARTED_FOR_RESUME

/* How the newest process that ended has ended. */
struct last_end {
	bool is_known; /* false: no process has ended yet */
	bool overdue;  /* it had not stopped in time, and was killed */
	/* of the cause; the others are of no end of a process */
	enum cause_kind kind;
	bool core;
	uint8_t signal, unused;
	int16_t code;
	uint64_t at_ms;
};

/* Why a directive was chosen, besides the rule that matched. */
#define DECISION_REASON_MAP(X)                                            \
	X(DECIDED_BY_RULE, "rule")                                        \
	X(DECIDED_BY_ON_FAILURE, "on_failure")                            \
	X(DECIDED_NO_RULE_MATCHED, "no rule matched")                     \
	X(DECIDED_TEMPORARY, "temporary actors are not restarted")        \
	X(DECIDED_NEVER, "its `restart` is `never`")                      \
	X(DECIDED_LIMIT, "limit exceeded")                                \
	X(DECIDED_INTENSITY, "intensity exceeded")                        \
	X(DECIDED_RESUME_GUARD, "resume guard")                           \
	X(DECIDED_MANUAL_START, "a failed manual start is not retried")   \
	X(DECIDED_NOT_ADDED, "an actor that does not start is not added") \
	X(DECIDED_EMPTY, "`when_empty`: no child is left")                \
	X(DECIDED_ROOT, "root")                                           \
	X(DECIDED_NEED, "an actor that it needs has ended for good")
enum decision_reason { DECISION_REASON_MAP(AS_ENUM) DECISION_REASON_MAX };

/* What a level decided about a failure. */
struct ruling {
	enum directive directive;
	enum preset preset; /* that matched, or PRESET_LIST */
	struct place place; /* of the rule that matched; line 0: see reason */
	enum decision_reason reason;
};

/* A failure, and what was decided: decide/failure_report.c. */
struct failure {
	struct cause cause;
	struct ref origin;
	struct ruling ruling;
	uint64_t at_ms;
};

/* How it came into the tree, and leaves it. */
struct growth_view {
	bool removing; /* no longer configured; goes away when it is gone */
	bool is_added; /* at run time: forgotten when its supervisor starts anew */
	uint32_t addition_index;
	/* number of the addition that brought the actor, or a supervisor above; 0: none
	 */
	uint64_t addition_id;
};

/* The newest process. */
struct process_view {
	uint32_t life;   /* 0 before the first */
	bool unkillable; /* something is left so long after SIGKILL */
	bool alive;      /* a process (of this life) was asked for and is not gone */
	bool spawned;    /* … and its spawn was acknowledged */
	bool main_alive; /* … and its end is not known yet */
	bool sigstopped; /* it was stopped, and not by supd */
	bool watchdog;   /* a watchdog is in force, from the file or the process */
	struct last_end last_end;
};

/* How often it was started. */
struct run_view {
	uint32_t incarnation, generation;
	uint64_t restarts; /* automatic ones, all time */
	uint32_t restarts_by[RESTART_KIND_MAX];
};

/* Restarts that count: of the children, or of the child in a supervisor's `limit`. */
struct counted_view {
	uint32_t window;    /* counted now */
	uint32_t limit;     /* how many of them are allowed; 0 with has_limit: none */
	bool has_limit;     /* false: restarts are not counted */
	uint64_t within_ms; /* for how long a restart counts */
};

/* The delay before an automatic restart. */
struct pace_view {
	uint32_t failures;
	uint64_t delay_ms;
	uint64_t delay_min_ms; /* between these the newest delay was drawn */
	uint64_t delay_max_ms;
	uint64_t due_ms; /* absolute; 0: no start is waiting for it */
};

/* An actor, as readers see it. */
struct node_view {
	struct ref ref, parent;
	uint32_t depth; /* /user is 1 */
	enum node_kind kind;
	enum node_state state;
	bool ready, held;
	bool degraded;      /* supervisors: an actor below failed */
	bool on_standby;    /* WAITING until it is demanded */
	bool demanded;      /* it starts on demand, and was needed */
	bool has_health;    /* it has a health check, */
	bool is_unwell;     /* … which failed at the newest probe */
	bool has_failure;   /* see `failure` */
	uint32_t suspended; /* how often, by itself and by all above it */
	uint32_t suspends;  /* … of these, by commands about itself */
	uint64_t since_ms;  /* when the state was entered */
	struct growth_view growth;
	struct process_view process;
	struct run_view run;
	struct counted_view counted;
	struct pace_view backoff;
	struct failure failure; /* the last */
	enum restart_type restart;
	enum ready_mode ready_mode;
	enum strategy strategy;
	struct ref waits_for; /* WAITING: the elder sibling, else REF_NONE */
	uint64_t unmet;       /* … and which of its needs are not met, a bit for each */
	uint32_t children;
	uint32_t watches;  /* so many others it watches, */
	uint32_t watchers; /* and so many watch it */
};

#endif
