/* SPDX-License-Identifier: ISC */
/* parts.h - inside the decision room: the parts of a node.
 *
 * A part belongs to a file of the core.  What it says is read everywhere; it is changed
 * by the file that is named, and where a start or an end makes it void.
 */
#ifndef CORE_PARTS_H
#define CORE_PARTS_H

#include "core/core.h"
#include "core/tree/goal.h"
#include "core/value/window.h"

#define RESUME_GUARD 5 /* so many resumes of a dead process … */

/* What a deadline of a node is for; a node has at most one of each. */
enum node_timer {
	TIMER_STATE,    /* start timeout, stop timeout, restart due: by state */
	TIMER_READY,    /* ready: after */
	TIMER_RESET,    /* healthy for long enough: forget the backoff */
	TIMER_GROUP,    /* supervisors: the group's delay is over */
	TIMER_HOOK,     /* the hook under way has had its time */
	TIMER_WATCHDOG, /* the process has to send WATCHDOG=1 before this */
	TIMER_HEALTH,   /* the next probe */
	TIMER_MAX
} ONE_BYTE;

/*
 * How far a start or a stop has come.  A process-bearing supervisor has its process
 * before and longer than its children; post_start of one that has none comes after them.
 */
enum phase {
	PHASE_NONE,       /* neither */
	PHASE_PRE_START,  /* the hook; or what comes next has to wait */
	PHASE_PROCESS,    /* asked for, not ready yet */
	PHASE_POST_START, /* post_start, or post_restart */
	PHASE_CHILDREN,   /* they start */
	PHASE_TURN,       /* only the children run; they stop when their turn comes */
	PHASE_PRE_STOP,   /* pre_stop, or pre_restart; a hook of the start that ends */
	PHASE_DISMISS,    /* the children stop */
	PHASE_END,        /* the process stops */
	PHASE_POST_STOP
} ONE_BYTE;

/* The operation of a supervisor on its children. */
enum operation { OP_NONE, OP_STOP, OP_DELAY, OP_START } ONE_BYTE;

/* Its place in the tree: decide/growth.c. */
struct node_links {
	uint32_t parent, prev, next;
	uint32_t first, last;
	uint32_t index; /* among siblings, increasing */
	uint32_t depth, n_children;
};

/* Is an actor there for readers and commands? */
enum presence {
	PRESENCE_SHOWN,
	PRESENCE_DELETED, /* by a command: HIDDEN once it is down */
	PRESENCE_HIDDEN,  /* deleted, or ended for good, until its supervisor starts anew
	                   */
} ONE_BYTE;

/* Was an actor added at run time?  Its supervisor forgets it when it starts anew. */
enum added {
	ADDED_NOT,   /* it is in the file, or below an added actor */
	ADDED_FRESH, /* its first start is under way: if that fails it is not added */
	ADDED,
} ONE_BYTE;

/* How it came into the tree, and leaves it: decide/growth.c, decide/dynamic.c; presence
 * and added: tree/goal.c. */
struct node_growth {
	enum presence presence;
	enum added added;
	bool removing;  /* no longer configured: its slot is freed once it is down */
	uint32_t index; /* of the actor in its addition */
	uint64_t id;    /* of the addition */
};

/* The parts of the node that lie in the pool of the core: tree/pool.c. */
struct node_pool {
	/* so many times 8 bytes behind the node, in any memory */
	int32_t spec_at, children_at;
	uint32_t rules_at, on_failure_at, needs_at;
};

/* How it is to go down and to come up again: tree/goal.c. */
struct node_plan {
	enum start_reason start_reason;
	enum stop_how stop_how;
	enum node_state down_as;
	bool by_policy; /* down for good with its group, or by a death pact */
	enum comeback comeback;
	enum stay stay;
	bool start_now;    /* do not wait for the backoff */
	bool is_demanded;  /* it starts on demand, and is needed */
	uint64_t delay_ms; /* before it comes up again */
};

/* Was an actor started? */
enum begun {
	BEGUN_NEVER,
	BEGUN_BEFORE, /* in earlier incarnations, which have terminated */
	BEGUN_NOW,
} ONE_BYTE;

/* Was an actor ready in this incarnation? */
enum readied {
	READIED_NOT,
	READIED_BEFORE, /* and not since the newest start */
	READIED_NOW,    /* since the newest start; a DONE one-shot stays ready */
} ONE_BYTE;

/* How far it came, and how often: tree/run.c; the incarnation also decide/growth.c. */
struct node_run {
	enum begun begun;
	enum readied readied;
	bool was_ready;        /* since its supervisor started */
	bool created;          /* there was something to clean up after */
	bool exited_by_itself; /* without a stop; not told to its supervisor yet */
	enum restart_kind restart_kind; /* of its next start; RESTART_KIND_MAX: none, … */
	enum restart_kind started_as;   /* … and of its newest */
	uint32_t incarnation, generation;
	uint32_t attempts; /* starts since its supervisor started */
	uint32_t restarts_by[RESTART_KIND_MAX];
};

/* How far the newest process has come. */
enum process_state {
	PROCESS_NONE,    /* none was asked for yet, or the start failed */
	PROCESS_ORDERED, /* asked for; no word yet of what came of that */
	PROCESS_RUNS,
	PROCESS_LEFT, /* the main process ended; processes that it forked may be left */
	PROCESS_GONE,
} ONE_BYTE;

/* SIGKILL for the newest process. */
enum process_kill {
	KILL_NOT_SENT,
	KILL_SENT,
	KILL_SENT_LATE, /* because the process had not stopped in time */
	/* The process is unkillable: there for longer than its kill_timeout since … */
	KILL_SURVIVED,      /* … SENT */
	KILL_SURVIVED_LATE, /* … SENT_LATE */
} ONE_BYTE;

/*
 * The newest process: move/node_process.c.
 *
 *	NONE, GONE  a start            ORDERED
 *	ORDERED     SPAWNED            RUNS
 *	ORDERED     SPAWN_FAILED       NONE
 *	RUNS        EXITED             LEFT, or GONE if the event says so
 *	LEFT        GONE               GONE
 *
 * Down, the actor has a process that is ORDERED, RUNS or is LEFT only if that is
 * unkillable; killed, such a process has an actor that is STOPPING, or is unkillable.
 */
struct node_process {
	uint32_t life;
	enum process_state state;
	enum process_kill killed;
	/* How it ended.  While it starts, `error` and `key` are what was wrong when it
	 * was last found not to be ready. */
	struct cause end;
	struct last_end last_end;
};

/* Why the hook under way ends. */
enum hook_end {
	HOOK_ENDS_ITSELF,
	HOOK_IS_KILLED, /* it is of no use any more */
	HOOK_IS_LATE,   /* killed, because its time was over */
} ONE_BYTE;

/* The hook under way: move/hooks.c. */
struct node_hook {
	uint32_t serial; /* 0: none */
	enum hook hook;
	enum hook_reason reason;
	enum hook_end end;
};

/* What a process is asked. */
enum probing {
	PROBING_NOTHING,
	PROBING_START,  /* if it is ready */
	PROBING_HEALTH, /* if it is well */
} ONE_BYTE;

/* A process that lives: decide/living.c; its probes: decide/living_failure.c. */
struct node_living {
	bool sigstopped;          /* by somebody else */
	bool watchdog_expired;    /* is to be ended because of its watchdog */
	enum probing probing;     /* the probe under way */
	uint32_t probe_serial;    /* of the newest probe, … */
	uint64_t probed_ms;       /* … and its time */
	uint32_t bad, good;       /* bad probes, and good probes since the last bad one */
	uint32_t heard;           /* how much was taken in … */
	uint64_t heard_stamp;     /* … of the newest message */
	uint64_t watchdog_ms;     /* the period in force, 0: none */
	uint64_t extend_until_ms; /* a start or stop timeout is not put off any longer */
};

/* How long before an automatic restart: decide/pace.c. */
struct node_pace {
	uint32_t failures;
	uint32_t short_lives; /* in a row that were shorter than a second */
	uint32_t no_room;     /* starts in a row that the machine had no room for */
	bool life_counted;    /* if the length was taken into account … */
	uint64_t begun_ms;    /* … of the newest life, which began then */
	uint64_t delay_ms;    /* as it is shown */
	uint64_t min_ms;      /* between these it was drawn */
	uint64_t max_ms;
};

/* Restarts and resumes that count: decide/limits.c. */
struct node_limits {
	struct window own;   /* as the supervisor's `limit` has it for this child */
	uint64_t resumed_ms; /* when its dead process was last resumed; 0: never */
	/* How much closer than UINT16_MAX that was to the resume before, and so on back;
	 * 0: not closer. */
	uint16_t closer_ms[RESUME_GUARD - 1];
};

/* The newest failure: decide/failure_report.c. */
enum failed {
	FAILED_NOT,
	FAILED_BEFORE,      /* `failure` is the last one, and what followed is over */
	FAILED_BRINGS_DOWN, /* it brings the node down, or brought it down last */
} ONE_BYTE;

/* Standing still: decide/suspend.c. */
struct node_suspend {
	uint32_t n;        /* commands; not those of the nodes above */
	uint32_t deciding; /* … as a supervisor: children with `decided` */
	bool decided; /* others stand still until it is ready, or has ended for good */
	bool own_failure; /* as a supervisor: its own, for which all below stand still */
	bool frozen;      /* frozen, and reported as frozen */
};

/* As a child: its part in the operation of its supervisor: tree/part.c. */
struct node_part {
	bool grouped;   /* stopped, and perhaps started again, with others */
	bool sequenced; /* a start in the sequence that has not passed yet */
};

/* How far a supervisor has come with its children; only move/children.c changes it. */
enum children_are {
	CHILDREN_DOWN, /* not started, or stopped with it since */
	CHILDREN_KEPT, /* none may start now: it stops, or comes back to them */
	CHILDREN_OPEN, /* children start in their order */
} ONE_BYTE;

/* As a supervisor, its children and the operation on them: move/children.c,
 * decide/strategy.c; the counts: wait/node_state.c, tree/part.c.  It lies in the pool;
 * all workers share one that stays empty. */
struct node_children {
	enum children_are are;
	enum operation op;
	uint32_t n_added;   /* with `added`: decide/growth.c, decide/dynamic.c */
	uint32_t n_live;    /* starting, running or stopping */
	uint32_t n_pending; /* waiting or in backoff */
	uint32_t n_failed;  /* at any depth below */
	uint32_t n_grouped; /* grouped and live */
	uint32_t n_sequenced;
	uint32_t cursor;
	uint64_t group_delay_ms;
	uint32_t group_leader; /* the failed child that began the operation; NONE: gone */
	uint32_t group_index;  /* where rest_for_one begins; NONE: no strategy began it */
	struct window intensity; /* their restarts that count: decide/limits.c */
};

/* As a supervisor, its own end: tree/goal.c; the work: decide/significant.c. */
struct node_ending {
	enum ending as;
	bool work_failed; /* a significant child failed, since the newest start */
};

/* What a WAITING node waits for, apart from its turn. */
enum waits_for {
	WAITS_FOR_TURN,   /* nothing else; any other state, too */
	WAITS_FOR_NEED,   /* an unmet need: an actor of the name in node_gate */
	WAITS_FOR_DEMAND, /* it is on standby, and as good as ready */
} ONE_BYTE;

/* What holds up the start of a node and the replicas: wait/gate.c. */
struct node_gate {
	uint64_t name;         /* of the need, head of the list in the bucket */
	uint32_t next, prev;   /* others that wait for an actor of that bucket */
	uint32_t next_replica; /* of the same replicas, or the same bucket */
	enum waits_for waits_for;
};

/* Deaths that it watches, and that are watched: wait/watch.c, wait/watch_list.c. */
struct node_watch {
	uint32_t first;      /* the watches of this node, in their order */
	uint32_t watchers;   /* watches with this node as target */
	uint32_t next_named; /* the next node with its name in the same bucket */
	uint32_t n_watchers;
	uint32_t n_due;   /* ends that the watcher has not taken yet */
	uint32_t running; /* the watch with a running command; NONE */
	bool is_new;      /* one of its watches has to be looked at */
};

#endif
