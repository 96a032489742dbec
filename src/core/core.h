/* SPDX-License-Identifier: ISC */
/* core.h - the only door of the decision core.
 *
 * The core is a value: one block of memory that the caller provides, without pointers
 * into itself or elsewhere.  It turns events into actions.  It is told the time
 * (CLOCK_MONOTONIC milliseconds, never going back) and owns its random numbers.  It
 * does not allocate, block or fail once it is configured; the same events give the same
 * actions.
 *
 * A turn of the daemon:
 *
 *	for each event: core_post(core, now, &event, &actions)
 *	do { more = core_settle(core, now, &actions); perform(&actions); } while (more);
 *	arm one timer for core_deadline(core)
 *
 * Simultaneous exits are posted in start order (core_order) before the first settle:
 * so that one decision serves a group that died together.  Performing never calls back;
 * what comes of it is posted as a new event in a later turn.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stddef.h>

#include "core/node_view.h"
#include "core/spec.h"
#include "events/vocabulary.h"

/* A process may ask for so many times its start_timeout, or shutdown, and no more. */
#define CORE_EXTEND_FACTOR 10

/* Exit status of supd when a failure climbed past /user, or significant work failed. */
#define CORE_EXIT_GAVE_UP 70

/*
 * The kinds of event: name, which node an event of the kind is about, and what takes it
 * in.  The last two columns are for core_post() alone (step/core.c); without a node the
 * event is dropped.
 */
#define EVENT_KIND_MAP(X)                                                            \
	X(EVENT_BOOT, "boot", top_of, boot(core, node))                              \
	X(EVENT_TICK, "tick", top_of,                                                \
	  core->tick_ms = event->period_ms != 0 ? event->period_ms : turn->now_ms)   \
	X(EVENT_SPAWNED, "spawned", process_of, process_spawned(turn, node))         \
	X(EVENT_SPAWN_FAILED, "spawn_failed", process_of,                            \
	  process_spawn_failed(turn, node, event))                                   \
	X(EVENT_READY, "ready", process_of, process_told_ready(turn, node))          \
	X(EVENT_EXITED, "exited", process_of, process_exited(turn, node, event))     \
	X(EVENT_GONE, "gone", process_of, process_gone(turn, node))                  \
	X(EVENT_BACKOFF_RESET, "backoff_reset", process_of, pace_reset(core, node))  \
	X(EVENT_STOP_SENT, "stop_sent", process_of, down_stop_sent(turn, node))      \
	/* of a process that lives: living.c, living_failure.c */                    \
	X(EVENT_WATCHDOG, "watchdog", living_of, living_renew_watchdog(core, node))  \
	X(EVENT_WATCHDOG_TRIGGER, "watchdog_trigger", living_of,                     \
	  living_trigger_watchdog(turn, node))                                       \
	X(EVENT_WATCHDOG_EVERY, "watchdog_every", living_of,                         \
	  living_set_watchdog(core, node, event->period_ms))                         \
	X(EVENT_EXTEND, "extend", living_of,                                         \
	  living_extend(core, node, event->period_ms))                               \
	X(EVENT_SELF_REPORT, "self_report", living_of,                               \
	  living_self_report(turn, node, event))                                     \
	X(EVENT_PAUSED, "paused", living_of, living_paused(turn, node, event))       \
	X(EVENT_CONTINUED, "continued", living_of, living_continued(core, node))     \
	X(EVENT_PROBED, "probed", living_of, living_probed(turn, node, event))       \
	X(EVENT_HOOK_DONE, "hook_done", actor_of, hooks_done(turn, node, event))     \
	X(EVENT_REACT_DONE, "react_done", hidden_too, react_done(turn, node, event)) \
	/* of an actor that starts on demand: demand.c */                            \
	X(EVENT_DEMAND, "demand", actor_of, demand_begun(core, node))                \
	X(EVENT_IDLE, "idle", actor_of, demand_over(turn, node))                     \
	X(EVENT_START, "start", commanded, command_start(turn, node, event))         \
	X(EVENT_STOP, "stop", commanded, command_stop(turn, node, event))            \
	X(EVENT_RESTART, "restart", commanded, command_restart(turn, node, event))   \
	X(EVENT_RESET, "reset", commanded, command_reset(turn, node, event))         \
	X(EVENT_KILL, "kill", commanded, command_kill(turn, node, event))            \
	X(EVENT_ADD, "add", commanded, dynamic_add(turn, node, event))               \
	X(EVENT_DELETE, "delete", commanded, dynamic_delete(turn, node, event))      \
	X(EVENT_WAIT, "wait", commanded, command_wait(turn, node, event))            \
	X(EVENT_UNWAIT, "unwait", top_of, wait_remove(core, event->token))           \
	X(EVENT_SUSPEND, "suspend", commanded, command_suspend(turn, node, event))   \
	X(EVENT_RESUME, "resume", commanded, command_resume(turn, node, event))      \
	X(EVENT_SHUTDOWN, "shutdown", top_of, shut_down(turn, false))                \
	X(EVENT_QUIT, "quit", top_of, shut_down(turn, true))                         \
	/* before BOOT: unkillable.c */                                              \
	X(EVENT_LEFT, "left", actor_of, unkillable_left(turn, node, event))
#define AS_EVENT(symbol, name, of, take) symbol,
enum event_kind { EVENT_KIND_MAP(AS_EVENT) EVENT_KIND_MAX };

/* What a waiting caller waits for. */
#define WAIT_FOR_MAP(X)            \
	X(WAIT_READY, "ready")     \
	X(WAIT_STOPPED, "stopped") \
	X(WAIT_FAILED, "failed")   \
	X(WAIT_DONE, "done")       \
	X(WAIT_TERMINATED, "terminated")
enum wait_for { WAIT_FOR_MAP(AS_ENUM) WAIT_FOR_MAX };

#define TOKEN_ALL UINT64_MAX /* UNWAIT: every caller went away */
/* UNWAIT: all waiters but those with this bit in their token; the outcome of their
 * commands is remembered for the call that asks again. */
#define TOKEN_OTHERS (UINT64_MAX - 1)
#define TOKEN_KEPT   (UINT64_C(1) << 31)

/* The most actors that come with one ADD: a worker, or a supervisor with its own. */
#define CORE_ADDED_MAX 64

/* Actors to be added at run time: the first below the event's actor, parents first. */
struct addition {
	uint32_t n;
	struct {
		const struct spec *spec;
		uint32_t parent;      /* index of an earlier one; unused by the first */
		uint32_t incarnation; /* how many of that name there will have been */
	} at[CORE_ADDED_MAX];
};

struct event {
	enum event_kind kind;
	struct ref ref; /* which actor; unused by BOOT, TICK, SHUTDOWN, QUIT, UNWAIT */
	uint32_t life; /* SPAWNED, SPAWN_FAILED, READY, EXITED, GONE, STOP_SENT: of which;
	                  LEFT: which it counts as, the one after the actor's last */
	int32_t code;  /* EXITED: exit code, else -1 */
	int32_t signal;         /* EXITED: killing signal, else 0 */
	int32_t error;          /* SPAWN_FAILED: errno; key: at which step */
	bool core;              /* EXITED: dumped core */
	bool oom;               /* EXITED: SIGKILL came because memory ran out */
	bool gone;              /* EXITED: nothing is left in the containment either */
	bool hold;              /* STOP */
	uint64_t token;         /* a command: reply wanted if not 0; WAIT, UNWAIT */
	enum wait_for wait_for; /* WAIT */

	/*
	 * PROBED: the answer to the probe of this serial; after a bad answer `error`
	 * (an errno) and `key` say what was wrong.
	 * HOOK_DONE, REACT_DONE: nothing of the hook, or of the command of a watch, is
	 * left.  code, signal and core tell how it ended, error (an errno) that it could
	 * not be started, late (REACT_DONE) that it was killed when its time was over.
	 */
	uint32_t serial;
	bool late;

	/* DEMAND: an actor on standby is demanded; IDLE: the demand is over.  Neither
	 * event is about a process, and an actor in another state ignores both. */

	/* actors at run time */
	bool stop;                       /* DELETE: whatever runs is stopped first */
	uint64_t addition_id;            /* ADD: the caller's own number of it, not 0 */
	const struct addition *addition; /* ADD: borrowed during core_post() */
	/* of a process that lives */
	/* WATCHDOG_EVERY: 0 is none; EXTEND: from now on; TICK: what is due by then, 0:
	 * by now */
	uint64_t period_ms;
	uint64_t stamp; /* which message said it, not 0: the same is taken in once */
	/* what went wrong: SELF_REPORT, PROBED, SPAWN_FAILED, HOOK_DONE, REACT_DONE; its
	 * errno is in `error` */
	char key[CAUSE_KEY_MAX];
};

/* EVENT_PROBED: what came of the probe, in `code`. */
enum probed { PROBED_UNKNOWN = -1, PROBED_BAD, PROBED_GOOD };

#define ACTION_KIND_MAP(X)               \
	X(ACTION_SPAWN, "spawn")         \
	X(ACTION_STOP, "stop")           \
	X(ACTION_KILL, "kill")           \
	X(ACTION_CONTINUE, "continue")   \
	X(ACTION_PROBE, "probe")         \
	X(ACTION_HOOK, "hook")           \
	X(ACTION_HOOK_KILL, "hook_kill") \
	X(ACTION_FREEZE, "freeze")       \
	X(ACTION_THAW, "thaw")           \
	X(ACTION_ADDED, "added")         \
	X(ACTION_CLEAR, "clear")         \
	X(ACTION_REMOVED, "removed")     \
	X(ACTION_REPLY, "reply")         \
	X(ACTION_EXIT, "exit")           \
	X(ACTION_SIGNAL, "signal")       \
	X(ACTION_REACT, "react")         \
	X(ACTION_LISTEN, "listen")       \
	X(ACTION_REPORT, "report")
enum action_kind { ACTION_KIND_MAP(AS_ENUM) ACTION_KIND_MAX };

/* What a hook runs for, as it is told (SUPD_REASON). */
#define HOOK_REASON_MAP(X)                \
	X(HOOK_REASON_START, "start")     \
	X(HOOK_REASON_RESTART, "restart") \
	X(HOOK_REASON_STOP, "stop")
enum hook_reason { HOOK_REASON_MAP(AS_ENUM) HOOK_REASON_MAX } ONE_BYTE;

/* What became of a waiting command. */
enum reply_result {
	REPLY_DONE,
	REPLY_FAILED, /* it can no longer come; cause says why, if anything failed */
	REPLY_INVALID_STATE, /* not possible in the state it is in */
	REPLY_NO_SUCH_ACTOR, /* it was gone before the command reached the core */
	REPLY_BUSY,          /* too many callers wait already */
	REPLY_SUPERSEDED,    /* a later command wanted something else */
	REPLY_LIMIT,         /* the supervisor's `max_children` are there */
};

/* HOOK: which hook, and for what.  origin is where the failure began that its group, or
 * one above it, is stopped or started for, and origin_cause why; or REF_NONE. */
struct hook_call {
	enum hook hook;
	enum hook_reason reason;
	uint8_t unused[2]; /* instead of padding */
	struct cause origin_cause;
};

/*
 * Death watch.  TERMINATED: with `watch` it is told to one watcher (ref), about the
 * target (origin) of that incarnation; without, the end itself is told.  HOOK_FAILED with
 * `watch`: it was the command of this watch that failed.
 */
struct action_death {
	uint32_t watch; /* 1 + which of the watches of `ref`; 0: none */
	enum reaction reaction;
	bool confirmed;    /* the target was there, and ended */
	bool child_failed; /* it was a child of the watcher, and failed: see cause */
	uint8_t unused[6]; /* instead of padding */
};

/* The order leaves no padding: two actions that say the same are equal to the byte. */
struct action {
	enum action_kind kind;
	struct ref ref;           /* the actor; unused by EXIT */
	uint32_t life;            /* SPAWN … THAW, REPORT: of which process, 0: none */
	uint64_t token;           /* REPLY */
	uint64_t addition_id;     /* ADDED */
	enum reply_result result; /* REPLY */
	int32_t status;           /* EXIT: exit status of supd */
	uint32_t addition_index;  /* ADDED: index of the actor in the addition */
	/* LISTEN: it waits until it is needed; that is to be told with EVENT_DEMAND. */
	/* CLEAR: what a resume keeps (fd store, runtime directory) is given up now. */
	bool is_final; /* CLEAR: it is down for good, else it is about to be started */
	bool kept;     /* REMOVED: comes back when its supervisor starts anew */
	bool
	    watchdog_expired; /* STOP: because of the watchdog, so with watchdog_signal */
	/* PROBE: ask once for each serial, and say EVENT_PROBED. No actor is asked two
	 * things at a time: a question makes those before it void. */
	bool is_start; /* probe of readiness; else of health */

	/* REPORT (and REPLY with REPLY_FAILED: cause) */
	enum report report;
	uint32_t incarnation, generation;
	struct cause cause;
	struct ref origin;    /* FAILURE, ESCALATED, GAVE_UP (offender), HOOK */
	struct ref to;        /* ESCALATED: the supervisor that decides next */
	struct ruling ruling; /* FAILURE, ESCALATED */
	enum rule_log log;    /* FAILURE */
	bool group;           /* FAILURE: the strategy took siblings along */
	bool timed_out;       /* HOOK_FAILED: it was killed when its time was over */
	uint8_t unused[2];
	/* FAILURE, GAVE_UP: restarts counted in the intensity; STARTED: starts before
	 * this one that the machine had no room for */
	uint32_t window;
	uint32_t limit;    /* FAILURE, GAVE_UP: the intensity's bound */
	uint64_t delay_ms; /* FAILURE (restart, resume), BACKOFF, SHORTAGE */

	/*
	 * HOOK: start this hook of the actor, once for each serial, and say
	 * EVENT_HOOK_DONE when nothing of it is left.  life and generation are those of
	 * the process that it is about, of the one to come if that is not there yet;
	 * cause is why (kind) and how the process ended, if it did (code, signal, core).
	 * No actor has two at a time. HOOK_KILL: the hook of this serial is to end now;
	 * its HOOK_DONE is awaited still. HOOK_FAILED: cause tells how.
	 * REACT: run the command of a watch, once for each serial, and say
	 * EVENT_REACT_DONE when nothing of it is left; no actor has two at a time.
	 */
	uint32_t serial;
	int32_t signal; /* SIGNAL: to the main process of this life */
	struct hook_call call;
	struct action_death death;
};

/* Caller's memory for actions; core_post and core_settle append. */
#define CORE_ACTIONS_MAX  512
#define CORE_POST_ACTIONS (SPEC_DEPTH_MAX + 28) /* at most, of one core_post */
struct action_list {
	uint32_t n;
	struct action at[CORE_ACTIONS_MAX];
};

/* How much a core is to hold; core_move() makes it larger. */
struct core_size {
	uint32_t nodes; /* "/" and /user included */
	uint32_t
	    pool_bytes; /* specs, rules and windows: core_root_bytes(), and
	                   core_spec_bytes() of each other node, less
	                   core_shared_bytes() where another node has the same spec */
	uint32_t waiters;
	uint32_t watches; /* of all actors together */
};

/* What counts of the block of a core: its first bytes, and so many from `later_at` on. */
struct core_used {
	uint64_t first, later_at, later;
};

struct core;

extern const char *const node_state_names[];
extern const char *const restart_kind_names[];
extern const char *const event_kind_names[];
extern const char *const action_kind_names[];
extern const char *const decision_reason_names[];
extern const char *const wait_for_names[];
extern const char *const hook_reason_names[];

/* Memory and configuration. */
size_t core_bytes(const struct core_size *size);
size_t core_sure_bytes(const struct core_size *size);
uint32_t core_spec_bytes(const struct spec *spec, const struct spec *parent);
uint32_t core_root_bytes(void);
uint32_t core_shared_bytes(void);
bool core_spec_is_shared(const struct spec *a, const struct spec *b);
uint64_t core_limit_bytes(const struct core *core, struct ref ref,
                          const struct spec *spec);
struct core *core_init(void *memory, const struct core_size *size, uint64_t seed);
struct core *core_move(void *memory, const struct core_size *size,
                       const struct core *old);
void core_size(const struct core *core, struct core_size *ret_size);
void core_room(const struct core *core, struct core_size *ret_free);
uint32_t core_pool_in_use(const struct core *core);
struct ref core_add(struct core *core, struct ref parent, struct ref before,
                    const struct spec *spec, uint64_t now_ms);
void core_update(struct core *core, struct ref ref, const struct spec *spec,
                 uint64_t now_ms);
void core_place_before(struct core *core, struct ref ref, struct ref before);
void core_restore(struct core *core, struct ref ref, uint64_t now_ms);
void core_remove(struct core *core, struct ref ref, uint64_t now_ms);
void core_hasten(struct core *core, struct ref ref);
void core_set_incarnation(struct core *core, struct ref ref, uint32_t incarnation);
uint32_t core_incarnation(const struct core *core, struct ref ref);
void core_restart(struct core *core, struct ref ref, uint64_t now_ms);

/* A turn. */
void core_post(struct core *core, uint64_t now_ms, const struct event *event,
               struct action_list *actions);
bool core_settle(struct core *core, uint64_t now_ms, struct action_list *actions);
uint64_t core_deadline(const struct core *core);
bool core_exited(const struct core *core, int32_t *ret_status);
bool core_suppose(struct core *core, uint64_t now_ms, struct ref ref,
                  const struct cause *cause, struct action_list *actions);

/* Reading. */
bool core_valid(const struct core *core, struct ref ref);
struct ref core_ref(const struct core *core, uint32_t slot);
void core_view(const struct core *core, struct ref ref, uint64_t now_ms,
               struct node_view *ret_view);
bool core_hook(const struct core *core, struct ref ref, struct action *ret);
bool core_react(const struct core *core, struct ref ref, struct action *ret);
bool core_probe(const struct core *core, struct ref ref, struct action *ret);
struct ref core_parent(const struct core *core, struct ref ref);
struct ref core_first_child(const struct core *core, struct ref ref);
struct ref core_next_sibling(const struct core *core, struct ref ref);
struct ref core_next(const struct core *core, struct ref top, struct ref ref);
#define CORE_FOREACH_FROM(at, first, next) \
	for (struct ref at = (first); at.slot != REF_NONE.slot; at = (next))
/* The top and all below it; what is below it; the children of an actor. */
#define CORE_FOREACH(at, core, top) CORE_FOREACH_FROM (at, top, core_next(core, top, at))
#define CORE_FOREACH_BELOW(at, core, top) \
	CORE_FOREACH_FROM (at, core_next(core, top, top), core_next(core, top, at))
#define CORE_FOREACH_CHILD(at, core, parent)                   \
	CORE_FOREACH_FROM (at, core_first_child(core, parent), \
	                   core_next_sibling(core, at))
int core_compare_order(const struct core *core, struct ref a, struct ref b);
struct ref core_unmet_next(const struct core *core, struct ref ref, uint32_t need,
                           struct ref prev);
struct ref core_scope_next(const struct core *core, struct ref child, struct ref prev);
struct core_used core_used(const struct core *core);
const char *core_check(const struct core *core);

#endif
