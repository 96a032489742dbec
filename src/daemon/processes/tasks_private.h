/* SPDX-License-Identifier: ISC */
/* tasks_private.h - what the files about tasks share.
 *
 *	task.c         one: its name, its result, its record, its end
 *	tasks.c        ordered, waiting, told
 *	tasks_start.c  from an order to a process
 *	tasks_ends.c   ended, out of time, killed, gone
 *	tasks_adopt.c  taken over from a guardian before us
 *
 * A task has one of LEDGER_TASKS_MAX places, and with it a record in the ledger: written
 * before it is started, when it is born, before it is reaped, and cleared when the news
 * of its end is in the journal.  In struct procs a place stands for a process as
 * PROCS_TASK | place.
 */
#ifndef DAEMON_TASKS_PRIVATE_H
#define DAEMON_TASKS_PRIVATE_H

#include <ev.h>

#include "base/map.h"
#include "daemon/launch/launch.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/tasks.h"
#include "daemon/state/actors.h"
#include "daemon/state/proctable.h"
#include "ledger/ledger.h"

#define TASKS_NONE UINT32_MAX
/* "task:N" with its NUL. */
#define TASK_LEAF_MAX 16

struct task {
	struct task_order order; /* ref is REF_NONE: the place is free */
	struct task_result result;
	struct spawned child;
	bool ended;     /* the main process */
	bool is_coming; /* ordered, and what came of it is not known yet */
	bool told;
	bool is_left; /* told, though it could not be killed: its place is in use */
	uint64_t deadline_ms;   /* 0: nobody counts */
	uint64_t kill_until_ms; /* it was killed, and has so long to be gone; or 0 */
};

/* An order that waits for a place. */
struct queued_task {
	struct task_order order;
	uint32_t next, prev;
};

struct tasks {
	struct processes *room;
	struct ev_loop *loop;
	struct actors *actors;
	struct cgroup_root *cgroups;
	tasks_done *on_done;
	struct task at[LEDGER_TASKS_MAX];
	char leaves[LEDGER_TASKS_MAX][TASK_LEAF_MAX]; /* see task_leaf() */
	uint32_t n;                                   /* places in use */
	uint32_t n_told;   /* of those: nothing is left to do but to free them */
	uint32_t n_ended;  /* of those: ended or failed, and something may be left */
	bool is_fresh;     /* one has ended that tasks_check() did not see yet */
	struct map owners; /* actor and kind to the place of what runs */
	struct queued_task *queued;
	uint32_t queued_cap;
	uint32_t first, last, free; /* lists of queued */
	struct map waiting;         /* actor and kind to what waits */
	ev_timer timer;
};

/* task.c */
uint64_t task_key(struct ref ref, enum task_kind kind);
bool task_is_used(const struct task *task);
void task_record(struct tasks *tasks, const struct task *task);
bool task_is_over(const struct task *task);
struct task *task_by_pid(struct tasks *tasks, pid_t pid);
void task_ended(struct tasks *tasks, struct task *task, const struct reap *reap);
void tasks_arm(struct tasks *tasks);

/* tasks.c */
void tasks_finish(struct tasks *tasks, struct task *task);

/* tasks_start.c */
void tasks_start(struct tasks *tasks, struct task *task);
int task_begin(struct tasks *tasks, struct task *task, struct launching *launching);
void task_over(struct tasks *tasks, struct task *task, int r,
               const struct spawn_result *result);
struct proc_mark task_mark(const struct processes *room, uint32_t place);
const char *task_leaf(struct tasks *tasks, uint32_t place);

/* tasks_ends.c */
void tasks_watch(struct tasks *tasks);
void task_kill(struct tasks *tasks, struct task *task, bool is_late);
bool tasks_collect(struct tasks *tasks, uint32_t place);
void tasks_check(struct tasks *tasks);
void tasks_hold_adopted(struct tasks *tasks, bool only_fosters);

/* tasks_adopt.c */
void tasks_restore(struct tasks *tasks);
int tasks_adopt_start(struct tasks *tasks, uint8_t place);
void tasks_adopt(struct tasks *tasks);

#endif
