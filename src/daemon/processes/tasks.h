/* SPDX-License-Identifier: ISC */
/* tasks.h - tasks of actors: hooks, stop and reload commands, those of watches and
 * probes.
 *
 * A task is a command that is run once on behalf of an actor: as its user, in its
 * directory and environment with what DECISIONS 27 adds, its output where that of the
 * actor goes, in a containment of its own.  It is over when its main process has ended
 * and whatever that left behind was killed; one whose time is up is killed as a whole.
 *
 * The core or a record remembers that a task is wanted until its result is told; the room
 * that ordered the task orders it again when a guardian takes over.  An order that is
 * known by its actor, kind and serial already is not carried out twice: a new guardian
 * adopts what runs, learns how it ended, and starts what was not started.
 *
 * For each actor and kind one task runs at a time, and one waits at most: a later order
 * takes the place of the one that waits.  LEDGER_TASKS_MAX run at once, the rest waits
 * for its turn.  A timeout counts from the start of the process.
 *
 * A new kind says in tasks_start.c where its command is, and in tasks.c (tell) or
 * own_commands.c (procs_task_done) what is told of its result.
 */
#ifndef DAEMON_TASKS_H
#define DAEMON_TASKS_H

#include "base/err.h"
#include "core/core.h"
#include "os/process/reap.h"
#include "os/spawn/spawn.h"

struct processes;

#define TASK_KIND_MAP(X)                 \
	X(TASK_HOOK, "hook")             \
	X(TASK_STOP, "stop_command")     \
	X(TASK_RELOAD, "reload_command") \
	X(TASK_RUN, "run")               \
	X(TASK_PROBE, "probe")
enum task_kind { TASK_KIND_MAP(AS_ENUM) TASK_KIND_MAX };

/* What is being done to the actor: SUPD_REASON.  The first as enum hook_reason. */
#define TASK_REASON_MAP(X)                  \
	X(TASK_ON_START, "start")           \
	X(TASK_ON_RESTART, "restart")       \
	X(TASK_ON_STOP, "stop")             \
	X(TASK_ON_RELOAD, "reload")         \
	X(TASK_ON_TERMINATED, "terminated") \
	X(TASK_ON_HEALTH, "health")
enum task_reason { TASK_REASON_MAP(AS_ENUM) TASK_REASON_MAX };

struct task_order {
	struct ref ref; /* on whose behalf */
	enum task_kind kind;
	uint8_t
	    which; /* HOOK: enum hook; PROBE: 1, it asks for `ready`, 0 for `health` */
	enum task_reason reason;
	uint32_t serial;     /* tells orders of one kind apart; 0: each is a new one */
	uint32_t life;       /* of the actor's process that it is about; 0: of none */
	uint64_t timeout_ms; /* from its start; DURATION_INFINITE: tasks_kill() decides */
	struct cause cause;  /* the failure it is about; CAUSE_NORMAL: none */
};

/* What became of it. */
struct task_result {
	bool is_late;         /* killed because its time was up */
	enum spawn_step step; /* the failed step of its start */
	int error; /* errno of the step; 0: it was started, and `end` is the end */
	struct reap end;
	uint64_t told_seq; /* of the event that tells of its failure; 0: none yet */
};

extern const char *const task_kind_names[];
extern const char *const task_reason_names[];

/* It is over: stop and reload commands, and commands that probe.  Of hooks and commands
 * of watches the core is told. */
typedef void tasks_done(struct processes *room, const struct task_order *order,
                        const struct task_result *result);

struct tasks *tasks_new(struct processes *room, tasks_done *on_done, struct err *err);
void tasks_free(struct tasks *tasks);

/* Have the task done, once.  May be called while actions are performed. */
void tasks_order(struct tasks *tasks, const struct task_order *order);

/* As the core asks: order a hook, or kill it. */
void tasks_hook(struct tasks *tasks, const struct action *action);

/* As the core asks: order the command of a watch. */
void tasks_react(struct tasks *tasks, const struct action *action);

/* Kill the task with all its descendants, or forget the order if it waits; the result is
 * told as usual. is_late: because its time is up. */
void tasks_kill(struct tasks *tasks, struct ref ref, enum task_kind kind, bool is_late);

/* Only the order with this serial is of use any more, 0: none: kill or forget another. */
void tasks_keep_only(struct tasks *tasks, struct ref ref, enum task_kind kind,
                     uint32_t serial);

/* The process of the actor has ended: what was about it is of no use any more, but for a
 * stop command, which may have something left to do. */
void tasks_end_life(struct tasks *tasks, struct ref ref);

/* True if a task still runs that belongs to a process of the actor. */
bool tasks_hold(const struct tasks *tasks, struct ref ref);

/* True if a task of this kind runs. */
bool tasks_run(const struct tasks *tasks, struct ref ref, enum task_kind kind);

/* The actor is no more: results of its tasks are not told. */
void tasks_forget(struct tasks *tasks, struct ref ref);

/* All that was posted is in the journal: results that were told are known for good. */
void tasks_on_turn(struct tasks *tasks);

/* supd ends: kill them all and wait until they are gone. */
void tasks_end_all(struct tasks *tasks);

/* As it is called in the configuration: SUPD_HOOK. */
const char *task_name(const struct task_order *order);

/* The number of the event that is about to tell of this failure is recorded. 0: a
 * guardian that died told of the failure already. */
uint64_t tasks_tell_by(struct tasks *tasks, const struct task_order *order);

/* True if the command succeeded. */
bool task_succeeded(const struct task_result *result);
/* Why it did not, as a cause. */
struct cause task_cause(const struct task_result *result);
/* What failed when the last of this kind was to be started, such as "setuid"; "" if none
 * did.  Known until the end of the turn in which its owner was told. */
const char *tasks_failed_step(const struct tasks *tasks, struct ref ref,
                              enum task_kind kind);

#endif
