/* SPDX-License-Identifier: ISC */
/* procs.h - the processes of the actors: born, told, reaped, gone.
 *
 * The only place that knows pids.  A process is identified by its actor and its life; at
 * most one is kept for an actor, because the core starts the next one only when the last
 * is gone with everything that it forked.
 */
#ifndef DAEMON_PROCS_H
#define DAEMON_PROCS_H

#include <sys/types.h>

#include "base/err.h"
#include "core/core.h"

struct processes;

struct task_order;
struct task_result;

/* A task that the core does not know of has failed. */
typedef void procs_helper_failed(void *data, const struct task_order *order,
                                 const struct task_result *result);

struct procs *procs_new(struct processes *room, procs_helper_failed *on_helper_failed,
                        void *data, struct err *err);
void procs_free(struct procs *procs);

/* So many cgroups may stay open between two lives; of others that do descriptors are
 * given back. */
void procs_keep_leaves(struct procs *procs, uint64_t max);

/* Room for that many slots; -ENOMEM.  Called when a tree is configured. */
int procs_reserve(struct procs *procs, uint32_t slots);

/* Actions of the core.  Each posts what came of it. */
void procs_spawn(struct procs *procs, struct ref ref, uint32_t life);
void procs_stop(struct procs *procs, struct ref ref, uint32_t life,
                bool watchdog_expired);
void procs_continue(struct procs *procs, struct ref ref, uint32_t life);
void procs_kill(struct procs *procs, struct ref ref, uint32_t life);
void procs_freeze(struct procs *procs, struct ref ref, uint32_t life);
void procs_thaw(struct procs *procs, struct ref ref, uint32_t life);
void procs_forget(struct procs *procs, struct ref ref);
/* True while something of the predecessor of the same name is left: the actor's start
 * waits for its end. */
bool procs_waits_for(const struct processes *room, struct ref predecessor);
void procs_inherit(struct procs *procs, struct ref successor);

/* A task that the core does not know of is over: for tasks_new(). */
void procs_task_done(struct processes *room, const struct task_order *order,
                     const struct task_result *result);

/* Have the main process read its configuration again: reload_command or reload_signal.
 * -errno; -ESRCH: there is none. */
int procs_reload(struct procs *procs, struct ref ref);
/* Nothing more urgent is to be done: reap children with recorded ends. */
void procs_reap(struct procs *procs);
/* The turn is over: freeze and thaw processes. */
void procs_on_turn(struct procs *procs);

/* A signal for the main process, sent on behalf of a person; -ESRCH: there is none. */
int procs_signal(struct procs *procs, struct ref ref, int signo);

struct ledger;

/* Tell of the starts that are over by now, and begin others in their places. */
void procs_look(struct procs *procs);
/* The core has nothing to do: go on with starting processes, waiting for a moment, until
 * post->until_ms.  True if the core has now. */
bool procs_bear(struct procs *procs);
/* True if the next turn is to go on with that, even if nothing happens meanwhile. */
bool procs_wants_turn(struct procs *procs);
/* True if children are on their way to their programs: they read the configuration. */
bool procs_are_starting(const struct procs *procs);
/* The ledger is in force no more; freed when no child writes there. */
void procs_drop_ledger(struct procs *procs, struct ledger *take_ledger);

/* The actor says that this process of its own is its main process from now on (MAINPID=).
 */
void procs_take_main(struct procs *procs, struct ref ref, pid_t pid);

/* The ends of adopted processes are not told any more: look for them by ourselves. */
void procs_walker_died(struct procs *procs);

/* The walker may have news of its children: take and post it. */
void procs_take_exits(struct procs *procs);

struct usage;

/* Before many calls of procs_usage(): the kernel adds up the time of cgroups when it is
 * asked, and looks for each among all siblings that ran since, a millisecond where they
 * are 10,000.  Asked for all of them first it adds up each once. */
void procs_add_up(const struct procs *procs);

/* This process is a child, which has none of our descriptors and may hang: make ready for
 * procs_usage(). */
void procs_look_alone(const struct procs *procs);

/* What the processes of the actor take of the machine; false: it has none. */
bool procs_usage(const struct procs *procs, struct ref ref, struct usage *ret);

#endif
