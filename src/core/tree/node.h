/* SPDX-License-Identifier: ISC */
/* node.h - inside the decision room: the tree as one block, and a turn over it.
 *
 * goal.h says what is wanted of a node.  Links are slots; NONE ends a list.
 */
#ifndef CORE_NODE_H
#define CORE_NODE_H

#include "base/rng.h"
#include "core/core.h"
#include "core/tree/goal.h"
#include "core/value/window.h"

#define NONE         UINT32_MAX
#define RESUME_GUARD 5     /* so many resumes of a dead process … */
#define RESUME_MS    60000 /* … within so long are resumes */
#define SUSPENDS_MAX 1000000

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
};

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
};

/* The operation of a supervisor on its children. */
enum operation { OP_NONE, OP_STOP, OP_DELAY, OP_START };

struct failure {
	struct cause cause;
	struct ref origin;
	enum directive directive;
	enum preset rule_preset;
	struct place rule_place;
	enum decision_reason reason;
	uint64_t at_ms;
};

struct node {
	/* the tree */
	uint32_t tenant;
	uint32_t parent;
	uint32_t prev, next;
	uint32_t first, last;
	uint32_t index; /* among siblings, increasing */
	uint32_t depth;
	uint32_t n_children;
	bool used;
	bool absent; /* a temporary that ended; hidden until its supervisor starts anew */
	bool removing; /* no longer configured: its slot is freed once it is down */
	bool deleted;  /* by a command: absent once it is down */

	/* actors at run time */
	bool is_added; /* forgotten when its supervisor starts anew */
	bool is_fresh; /* its first start is under way: if that fails it is not added */
	uint64_t addition_id;
	uint32_t addition_index;
	uint32_t n_added; /* as a supervisor: children with is_added */

	/* policy; the deciders' rules are in the pool */
	struct spec spec;
	uint32_t rules_at;
	uint32_t on_failure_at;
	uint32_t needs_at; /* so are its needs */

	/* goal */
	enum goal goal;
	enum start_reason start_reason;
	enum stop_how stop_how;
	enum node_state down_as;
	enum comeback comeback;
	enum stay stay;
	bool start_now;    /* do not wait for the backoff */
	bool demanded;     /* it starts on demand, and is needed */
	uint64_t delay_ms; /* before it comes up again */

	/* state */
	enum node_state state;
	enum phase phase;
	uint64_t since_ms;
	bool on_standby;       /* WAITING until it is needed, and as good as ready */
	bool started;          /* in this incarnation, and not terminated yet */
	bool exited_by_itself; /* without a stop */
	bool started_ever;     /* in any incarnation */
	bool ready;            /* since the newest start */
	bool was_ready;        /* since its supervisor started */
	bool was_up;           /* ready at least once in this incarnation */
	bool created;          /* there was something to clean up after */
	bool alive;            /* something of it may be left */
	bool main_alive;
	bool spawned;    /* the spawn was acknowledged */
	bool kill_sent;  /* to the process */
	bool unkillable; /* … and something is left for longer than its kill_timeout */
	uint32_t life;
	uint32_t incarnation;
	uint32_t generation;
	uint32_t attempts; /* starts since its supervisor started */
	struct cause end;  /* of the newest process */

	/* the hook under way */
	uint32_t hook_serial; /* 0: none */
	enum hook hook;
	enum hook_reason hook_reason;
	bool hook_killed;
	bool hook_late; /* killed, because its time was over */
	/* state, while it lives: living.c */
	bool sigstopped;       /* by somebody else */
	bool watchdog_expired; /* is to be ended because of its watchdog */
	bool probing;          /* a probe is under way, … */
	bool probe_is_start;   /* … a probe of readiness */
	uint32_t probe_serial; /* of the newest probe, … */
	uint64_t probed_ms;    /* … and its time */
	int32_t unready_error; /* what was wrong when it was last found not to be ready */
	char unready_key[CAUSE_KEY_MAX];
	bool clocks_stand;    /* clocks of the process's own time stand */
	uint32_t bad, good;   /* probes in a row; bad ones are made up for by good ones */
	uint64_t watchdog_ms; /* the period in force, 0: none */
	uint64_t heard_stamp; /* the newest message … */
	uint32_t heard;       /* … and how much of it was taken in */

	/* counters */
	uint64_t restarts;
	uint32_t failures;
	uint64_t begun_ms;    /* when the newest life began, … */
	bool life_counted;    /* … and if the length was taken into account */
	uint32_t short_lives; /* in a row that were shorter than a second */
	uint32_t no_room;     /* starts in a row that the machine had no room for */
	uint64_t shown_delay_ms;
	uint64_t delay_min_ms; /* between these shown_delay_ms was drawn */
	uint64_t delay_max_ms;
	struct window intensity; /* supervisors */
	struct window limit;     /* as the supervisor's `limit` has it for this child */
	uint64_t guard_ms[RESUME_GUARD];
	uint32_t guard_n;

	bool has_failure;
	struct failure failure;
	bool failing; /* this failure brings the node down, or brought it down last */

	/* standing still */
	uint32_t suspends; /* commands; not those of the nodes above */
	uint32_t deciding; /* … as a supervisor: children with `decided` */
	bool decided; /* others stand still until it is ready, or has ended for good */
	bool own_failure; /* as a supervisor: its own, for which all below stand still */
	bool frozen;      /* frozen, and reported as frozen */

	/* as a child: its part in the operation of its supervisor */
	bool grouped;   /* stopped, and perhaps started again, with others */
	bool sequenced; /* a start in the sequence that has not passed yet */

	/* as a supervisor */
	bool children_started; /* its children were started, and not stopped with it since
	                        */
	bool may_start_children; /* and may start: everything before them is done */
	enum operation op;
	uint32_t cursor;
	uint32_t n_live;    /* children starting, running or stopping */
	uint32_t n_pending; /* children waiting or in backoff */
	uint32_t n_failed;  /* at any depth below */
	uint32_t n_grouped; /* grouped and live */
	uint32_t n_sequenced;
	uint64_t group_delay_ms;
	uint32_t group_leader; /* the failed child that began the operation; NONE: gone */
	uint32_t group_index;  /* where rest_for_one begins; NONE: no strategy began it */
	bool gave_up;          /* fails once its children are gone */
	bool retired;          /* … having done its work: that is a normal end */
	bool work_failed;      /* … and a significant child of it failed */
	bool start_failed; /* … because of a child that could not start: see `failure` */

	/* queue and deadlines */
	bool queued;
	uint32_t waiters;      /* first of a list, NONE */
	uint32_t watches;      /* … the watches of this node, in their order */
	uint32_t watchers;     /* … watches with this node as target */
	uint32_t next_named;   /* the next node with its name in the same bucket */
	uint32_t next_replica; /* … of those of the same replicas, or the same bucket */
	bool is_blocked;       /* by an unmet need: it waits for an actor of … */
	uint64_t blocked_on;   /* … this name, head of the list in the bucket */
	uint32_t next_blocked, prev_blocked;
	uint32_t n_watchers;
	uint32_t n_due;   /* ends that the watcher has not taken yet */
	bool rewatch;     /* one of its watches has to be looked at */
	uint32_t running; /* the watch with a running command; NONE */
	uint32_t heap_at[TIMER_MAX];
	uint64_t left_ms[TIMER_MAX]; /* of the deadlines that are held */
	uint32_t timers_held;        /* set of timers */
	uint64_t extend_until_ms; /* a start or stop timeout is not put off any longer */
	bool clocks_held;
};

/* So many deadlines lie below each of the heap: half as many levels as with two. */
#define DEADLINE_WIDTH 4

struct deadline {
	uint64_t due_ms;
	uint64_t armed; /* the tick it was armed in */
	uint32_t id;    /* slot * TIMER_MAX + timer */
};

struct waiter {
	uint64_t token;
	uint32_t slot;
	uint32_t next;
	enum wait_for wait_for;
	bool command; /* of a start, stop or restart: a failure answers it */
	bool fired;
	enum reply_result result;
	struct cause cause;
	struct ref ref;
};

/* A bucket of names: the nodes with a name, and the watches of a name. */
struct names {
	uint32_t nodes;
	uint32_t replicas;
	uint32_t watches;
	uint32_t blocked;
};

struct core {
	struct core_size size;
	uint64_t bytes;
	struct rng rng;
	uint64_t now_ms;
	uint64_t tick;
	uint32_t hook_serial; /* of the newest hook */
	uint32_t run_serial;  /* of the newest command of a watch */
	bool ticking;
	bool shutting_down;
	bool exited;
	int32_t exit_status;

	uint32_t n_nodes; /* slots in use */
	uint32_t top;     /* slots ever used */
	uint32_t vacant;  /* list of free slots, through `next` */
	uint32_t pool_used;
	uint64_t n_suspends; /* of all nodes, with `deciding` */
	uint32_t queue_head, queue_n;
	uint32_t heap_n;
	uint32_t waiter_free;
	uint32_t n_fired;
	uint32_t fired_head, fired_tail;
	uint32_t watch_free;
	uint32_t n_watches; /* in use */
	uint32_t n_early;
	uint32_t n_unkillable; /* nodes with `unkillable` */
	uint64_t n_told;       /* to watchers, ever */
	bool look_early;       /* a node that was coming may not come any more */
	bool recheck_needs;    /* … nor a node that is needed */
	uint32_t n_blocked;

	/* offsets from the start of the block */
	uint64_t nodes_at, queue_at, heap_at, waiters_at, watches_at, names_at, pool_at;
};

#define CHILDREN_FOREACH(core, supervisor, child)                                      \
	for (struct node *child = node_at((core), (supervisor)->first); child != NULL; \
	     child = node_at((core), child->next))

static inline void *
core_block(const struct core *core, uint64_t offset)
{
	return (char *)(uintptr_t)core + offset;
}

/* The node in a slot; NULL for NONE. */
static inline struct node *
node_at(const struct core *core, uint32_t slot)
{
	if (slot == NONE)
		return NULL;
	return (struct node *)core_block(core, core->nodes_at) + slot;
}

static inline uint32_t
node_slot(const struct core *core, const struct node *node)
{
	return (uint32_t)(node - (struct node *)core_block(core, core->nodes_at));
}

static inline struct ref
node_ref(const struct core *core, const struct node *node)
{
	return (struct ref){node_slot(core, node), node->tenant};
}

static inline struct node *
node_parent(const struct core *core, const struct node *node)
{
	return node_at(core, node->parent);
}

/* The node in a slot that is known to be one. */
static inline struct node *
node_in(const struct core *core, uint32_t slot)
{
	return (struct node *)core_block(core, core->nodes_at) + slot;
}

/* The supervisor of a node that is not "/". */
static inline struct node *
node_supervisor(const struct core *core, const struct node *node)
{
	return node_in(core, node->parent);
}

/* A process of this node runs, or its children may. */
static inline bool
node_is_live(const struct node *node)
{
	return node->state == STATE_STARTING || node->state == STATE_RUNNING ||
	       node->state == STATE_SUSPENDED || node->state == STATE_STOPPING;
}

/* It is down, but a start is coming. */
static inline bool
node_is_pending(const struct node *node)
{
	return node->state == STATE_WAITING || node->state == STATE_BACKOFF;
}

/* Nothing of it runs, and no start is coming. */
static inline bool
node_is_down(const struct node *node)
{
	return !node_is_live(node) && !node_is_pending(node);
}

/* It is to be restarted when the sequence of its supervisor reaches it. */
static inline bool
node_is_in_sequence(const struct node *node)
{
	return node->comeback == COMEBACK_IN_SEQUENCE;
}

/* Another process takes the place of a dead one, and what that had is kept. */
static inline bool
node_is_resuming(const struct node *node)
{
	return node->comeback == COMEBACK_RESUMED;
}

/* It is to go down already, for good or to come back: its own end changes nothing. */
static inline bool
node_is_leaving(const struct node *node)
{
	return node->goal != GOAL_UP || node->grouped || node_is_in_sequence(node);
}

/* It was to be added at run time, and is not: it failed, or ended, before it was ready.
 * It is there until nothing is left of it. */
static inline bool
node_is_refused(const struct node *node)
{
	return node->is_fresh && node->goal == GOAL_DOWN &&
	       (node->failing || node_is_down(node));
}

/* When it is down it is to come up again. */
static inline bool
node_comes_back(const struct node *node)
{
	return node->goal != GOAL_DOWN && !node->removing &&
	       (node->goal == GOAL_RESTART || node_is_in_sequence(node));
}

/* Whatever is left of it is to be killed. */
static inline bool
stop_kills(const struct node *node)
{
	return node->stop_how == STOP_KILL || node->stop_how == STOP_KILL_ORDERED;
}

/* Its children are killed, in parallel, and not stopped in order. */
static inline bool
stop_kills_children(const struct node *node)
{
	return node->stop_how == STOP_KILL || node->stop_how == STOP_KILL_CHILDREN;
}

/* It may have children. */
static inline bool
node_is_supervisor(const struct node *node)
{
	return node->spec.kind != NODE_WORKER;
}

/* The node has a process of its own. */
static inline bool
node_has_process(const struct node *node)
{
	return node->spec.kind != NODE_SUPERVISOR;
}

/* What it was started for is not there: no process, or not even a beginning. */
static inline bool
node_is_dead(const struct node *node)
{
	return node_has_process(node)
	           ? !node->main_alive
	           : node->state == STATE_STARTING && node->phase == PHASE_PRE_START;
}

/* Is nothing left at the origin of a failure that could go on as it is? */
static inline bool
node_is_finished(const struct node *origin)
{
	return node_is_dead(origin) || origin->gave_up;
}

/* The children outlive the next restart, or resume. */
static inline bool
node_keeps_children(const struct node *node)
{
	/* The children of a sleeping on-demand supervisor are not kept. */
	if (node->spec.on_demand && !node->demanded)
		return false;
	return node_is_resuming(node) || node->spec.keep_children != KEEP_NO;
}

/* Why the node is down: the failure that stopped it, or the end of its process. */
static inline const struct cause *
node_final_cause(const struct node *node)
{
	return node->state == STATE_FAILED && node->has_failure ? &node->failure.cause
	                                                        : &node->end;
}

#endif
