/* SPDX-License-Identifier: ISC */
/* node.h - inside the decision room: the tree as one block, and a turn over it.
 *
 * goal.h says what is wanted of a node.  Links are slots; NONE ends a list.
 */
#ifndef CORE_NODE_H
#define CORE_NODE_H

#include "base/rng.h"
#include "core/core.h"
#include "core/tree/parts.h"

#define NONE         UINT32_MAX
#define RESUME_MS    60000 /* … within so long are resumes; below UINT16_MAX */
#define SUSPENDS_MAX 1000000

struct node {
	uint32_t tenant;
	bool used;
	bool queued; /* to be looked at: tree/node_queue.c */
	struct node_links links;
	struct node_growth growth;
	uint64_t name, base;   /* as in struct spec */
	struct node_pool pool; /* its spec, among others: spec_of() */

	enum goal goal;
	enum node_state state;
	enum phase phase;
	enum failed failed;
	struct node_part part;
	struct node_ending ending;
	struct node_plan plan;
	uint64_t since_ms;
	struct node_run run;
	struct node_process process;
	struct node_hook hooks;
	struct node_living living;
	struct node_pace pace;
	struct node_limits limits;
	struct failure failure;
	struct node_suspend suspend;
	uint32_t waiters; /* first of a list, NONE: wait/wait.c */

	struct node_gate gate;
	struct node_watch watch;
	uint32_t deadlines[TIMER_MAX]; /* where in the heap, NONE: not armed:
	                                  tree/deadline.c */
};

/* Entries below each entry of the heap of deadlines: four halve the levels of two. */
#define DEADLINE_WIDTH 4
/* More than a million nodes; and for years the ticks have room beside it. */
#define DEADLINE_ID_BITS 23
/* Later than any time.  While a clock stands, its deadline is as much later than this as
 * was left of its time. */
#define HELD_MS (UINT64_C(1) << 63)

struct deadline {
	uint64_t due_ms;
	uint64_t rank; /* of those due then: the tick it was armed in, and its id */
};

/* Which timer of which node: slot * TIMER_MAX + timer. */
static inline uint32_t
deadline_id(const struct deadline *deadline)
{
	return deadline->rank & ((UINT32_C(1) << DEADLINE_ID_BITS) - 1);
}

struct waiter {
	uint64_t token;
	uint32_t slot, next;
	enum wait_for wait_for;
	bool command; /* of a start, stop or restart: a failure answers it */
	bool fired;
	enum reply_result result;
	struct cause cause;
	struct ref ref;
};

/* A specification in the pool, of all nodes that have the same: tree/pool.c. */
struct shared_spec {
	struct spec spec;
	uint32_t next;  /* of the same bucket */
	uint32_t users; /* 0: free until another node has it again, or the core moves */
};

/* A bucket of names: the nodes with a name, and the watches of a name. */
struct names {
	uint32_t nodes, replicas, watches;
	uint32_t blocked;
	uint32_t specs; /* apart from names: those with a sum of this bucket */
};

/* Where the parts of the block are: offsets from its start. */
struct core_layout {
	uint64_t nodes, queue, heap, watches, names, pool, waiters;
};

/* Lists of waiters: wait/wait.c. */
struct core_waiters {
	uint32_t top;    /* places ever used */
	uint32_t vacant; /* list of free places below it */
	uint32_t fired_head, fired_tail;
};

struct core {
	struct core_size size;
	struct rng rng;
	uint64_t now_ms, tick;
	uint32_t hook_serial; /* of the newest hook */
	uint32_t run_serial;  /* of the newest command of a watch */
	uint64_t tick_ms;     /* what is due by then is handed out; 0: nothing is */
	bool shutting_down, exited;
	int32_t exit_status;

	uint32_t n_nodes;            /* slots in use */
	uint32_t top;                /* slots ever used */
	uint32_t vacant;             /* list of free slots, through `next` */
	uint32_t pool_used, n_specs; /* specs in the pool, with users */
	uint64_t n_suspends;         /* of all nodes, with `deciding` */
	uint32_t queue_head, queue_n, heap_n;
	struct core_waiters waiters;
	uint32_t watch_free;
	uint32_t n_watches; /* in use */
	uint32_t n_early;
	uint32_t n_unkillable; /* nodes with `unkillable` */
	uint64_t n_told;       /* to watchers, ever */
	bool look_early;       /* a node that was coming may not come any more */
	bool recheck_needs;    /* … nor a node that is needed */
	uint32_t n_blocked;
	struct node_children no_children; /* of a worker, and of a supervisor at first */

	struct core_layout at;
};

#define CHILDREN_FOREACH(core, supervisor, child)                             \
	for (struct node *child = node_at((core), (supervisor)->links.first); \
	     child != NULL; child = node_at((core), child->links.next))

static inline void *
core_block(const struct core *core, uint64_t offset)
{
	return (char *)(uintptr_t)core + offset;
}

/* The node in a slot; NULL for NONE. */
static inline struct node *
node_at(const struct core *core, uint32_t slot)
{
	return slot == NONE ? NULL
	                    : (struct node *)core_block(core, core->at.nodes) + slot;
}

static inline uint32_t
node_slot(const struct core *core, const struct node *node)
{
	return (uint32_t)(node - (struct node *)core_block(core, core->at.nodes));
}

static inline struct ref
node_ref(const struct core *core, const struct node *node)
{
	return (struct ref){node_slot(core, node), node->tenant};
}

static inline struct node *
node_parent(const struct core *core, const struct node *node)
{
	return node_at(core, node->links.parent);
}

/* The node in a slot that is known to be one. */
static inline struct node *
node_in(const struct core *core, uint32_t slot)
{
	return (struct node *)core_block(core, core->at.nodes) + slot;
}

/* The supervisor of a node that is not "/". */
static inline struct node *
node_supervisor(const struct core *core, const struct node *node)
{
	return node_in(core, node->links.parent);
}

/* The specification of a node, without its names: those are the node's own. */
static inline const struct spec *
spec_of(const struct node *node)
{
	return (const void *)((const uint64_t *)(const void *)node + node->pool.spec_at);
}

/* What a node has as a supervisor; of a worker it is only read. */
static inline struct node_children *
children_of(const struct node *node)
{
	return (void *)((uint64_t *)(uintptr_t)node + node->pool.children_at);
}

/* True if a process of this node runs, or its children may run. */
static inline bool
node_is_live(const struct node *node)
{
	return node->state == STATE_STARTING || node->state == STATE_RUNNING ||
	       node->state == STATE_STOPPING;
}

/* True if the node is down, but a start is coming. */
static inline bool
node_is_pending(const struct node *node)
{
	return node->state == STATE_WAITING || node->state == STATE_BACKOFF;
}

/* True if nothing of the node runs, and no start is coming. */
static inline bool
node_is_down(const struct node *node)
{
	return !node_is_live(node) && !node_is_pending(node);
}

/* True if the node waits until it is demanded, and is as good as ready. */
static inline bool
node_is_on_standby(const struct node *node)
{
	return node->gate.waits_for == WAITS_FOR_DEMAND;
}

/* True if the node waits because a need of it is unmet. */
static inline bool
node_is_blocked(const struct node *node)
{
	return node->gate.waits_for == WAITS_FOR_NEED;
}

/* True if the node is to be restarted when the sequence of its supervisor reaches it. */
static inline bool
node_is_in_sequence(const struct node *node)
{
	return node->plan.comeback == COMEBACK_IN_SEQUENCE;
}

/* True if another process takes the place of a dead process, and what that had is kept.
 */
static inline bool
node_is_resuming(const struct node *node)
{
	return node->plan.comeback == COMEBACK_RESUMED;
}

/* True if the node is to go down anyway, for good or to come back: its own end changes
 * nothing. */
static inline bool
node_is_leaving(const struct node *node)
{
	return node->goal != GOAL_UP || node->part.grouped || node_is_in_sequence(node);
}

/* True if the node was to be added at run time, but failed, or ended, before it was
 * ready.  It is there until nothing is left of it. */
static inline bool
node_is_refused(const struct node *node)
{
	return node->growth.added == ADDED_FRESH && node->goal == GOAL_DOWN &&
	       (node->failed == FAILED_BRINGS_DOWN || node_is_down(node));
}

/* True if its incarnation has begun, and has not terminated. */
static inline bool
node_has_begun(const struct node *node)
{
	return node->run.begun == BEGUN_NOW;
}

/* True if it was ready since the newest start. */
static inline bool
node_is_ready(const struct node *node)
{
	return node->run.readied == READIED_NOW;
}

/* True if it is hidden until its supervisor starts anew. */
static inline bool
node_is_hidden(const struct node *node)
{
	return node->growth.presence == PRESENCE_HIDDEN;
}

/* True if it was added at run time. */
static inline bool
node_is_added(const struct node *node)
{
	return node->growth.added != ADDED_NOT;
}

/* True if the node is to come up again once it is down. */
static inline bool
node_comes_back(const struct node *node)
{
	return node->goal != GOAL_DOWN && !node->growth.removing &&
	       (node->goal == GOAL_RESTART || node_is_in_sequence(node));
}

/* True if all that is left of the node is to be killed. */
static inline bool
stop_kills(const struct node *node)
{
	return node->plan.stop_how == STOP_KILL ||
	       node->plan.stop_how == STOP_KILL_ORDERED;
}

/* True if its children are killed, in parallel, and not stopped in order. */
static inline bool
stop_kills_children(const struct node *node)
{
	return node->plan.stop_how == STOP_KILL ||
	       node->plan.stop_how == STOP_KILL_CHILDREN;
}

/* True if the node may have children. */
static inline bool
node_is_supervisor(const struct node *node)
{
	return spec_of(node)->kind != NODE_WORKER;
}

/* True if the node has a process of its own. */
static inline bool
node_has_process(const struct node *node)
{
	return spec_of(node)->kind != NODE_SUPERVISOR;
}

/* True if a process of the newest life may be there. */
static inline bool
process_is_there(const struct node *node)
{
	return node->process.state >= PROCESS_ORDERED &&
	       node->process.state <= PROCESS_LEFT;
}

/* True if something of the process is there although SIGKILL was sent longer ago than
 * that may take. */
static inline bool
process_is_unkillable(const struct node *node)
{
	return node->process.killed >= KILL_SURVIVED;
}

/* True if the main process was ordered, and its end is not known. */
static inline bool
process_is_main_there(const struct node *node)
{
	return node->process.state == PROCESS_ORDERED ||
	       node->process.state == PROCESS_RUNS;
}

/* True if what the node was started for is not there: its process; for a node without a
 * process, all that follows pre_start. */
static inline bool
node_is_dead(const struct node *node)
{
	return node_has_process(node)
	           ? !process_is_main_there(node)
	           : node->state == STATE_STARTING && node->phase == PHASE_PRE_START;
}

/* True for a supervisor that goes down by itself, before the end is decided. */
static inline bool
node_is_ending(const struct node *node)
{
	return node->ending.as != ENDING_NOT;
}

/* True if nothing is left at the origin of a failure that could go on as it is. */
static inline bool
node_is_finished(const struct node *origin)
{
	return node_is_dead(origin) || node_is_ending(origin);
}

/* True if the children outlive the next restart, or resume. */
static inline bool
node_keeps_children(const struct node *node)
{
	/* The children of a sleeping on-demand supervisor are not kept. */
	return (!spec_of(node)->on_demand || node->plan.is_demanded) &&
	       (node_is_resuming(node) || spec_of(node)->policy.keep_children != KEEP_NO);
}

/* Why the node is down: the failure that stopped it, or the end of its process. */
static inline const struct cause *
node_final_cause(const struct node *node)
{
	return node->state == STATE_FAILED && node->failed != FAILED_NOT
	           ? &node->failure.cause
	           : &node->process.end;
}

#endif
