/* SPDX-License-Identifier: ISC */
/* tasks_ends.c - how tasks end: by themselves, out of time, killed, gone. */
#include "config.h"

#include <signal.h>

#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/log.h"
#include "helper/watchers.h"
#include "os/self/clock.h"

/* How long they may take to be gone once they were killed, where no actor says that. */
#define KILL_TIMEOUT_MS 10000

/* From now on the task has the kill_timeout of its actor to be gone. */
static void
count_kill(struct tasks *tasks, struct task *task)
{
	const struct actor *actor = actors_get(tasks->actors, task->order.ref);

	if (task->kill_until_ms == 0)
		task->kill_until_ms = clock_due_ms(
		    actor == NULL ? KILL_TIMEOUT_MS
		                  : actor->conf->spec->core.stop.kill_timeout_ms);
}

/*
 * SIGKILL does not end the task: it counts as ended, killed, so that its actor waits no
 * longer.  The place, its mark and its cgroup stay in use until the process is gone, and
 * until then the same command is not started again.
 */
static void
leave(struct tasks *tasks, struct task *task)
{
	log_line(
	    LOG_LEVEL_ERROR, "the %s of %s cannot be killed; supd goes on without it",
	    task_name(&task->order), actors_path(tasks->room->actors, task->order.ref));
	if (!task->ended && task->result.error == 0)
		task->result.end = end_unknown(task->child.pid);
	tasks_finish(tasks, task);
	tasks->n_told--;
	task->is_left = true;
	task_record(tasks, task);
}

/* ---- time -------------------------------------------------------------------------- */

static void
on_time(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct tasks *tasks = timer->data;
	const uint64_t now_ms = clock_mono_ms();

	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];

		if (!task_is_used(task) || task->told)
			continue;
		if (task->deadline_ms != 0 && task->deadline_ms <= now_ms &&
		    !task->child.killing && !task->ended)
			task_kill(tasks, task, true);
		else if (task->kill_until_ms != 0 && task->kill_until_ms <= now_ms)
			leave(tasks, task);
	}
	tasks_check(tasks);
}

/* Prepare the timer that wakes up for what is due. */
void
tasks_watch(struct tasks *tasks)
{
	timer_prepare(&tasks->timer, on_time, tasks);
}

/* ---- the end ----------------------------------------------------------------------- */

/* Kill the task and all its descendants. */
void
task_kill(struct tasks *tasks, struct task *task, bool is_late)
{
	if (task->told)
		return;
	if (!task->child.killing) {
		task->child.killing = true;
		task->result.is_late = is_late && !task->ended && task->result.error == 0;
		task_record(tasks, task);
	}
	count_kill(tasks, task);
	if (task->is_coming) {
		/* When it has come, or instead. */
		tasks_arm(tasks);
		return;
	}
	child_kill_all(tasks->room->procs, &task->child);
	tasks_arm(tasks);
}

/* Reap the main process at this place; false when there was nothing to reap after all. */
bool
tasks_collect(struct tasks *tasks, uint32_t place)
{
	struct task *task = &tasks->at[place];
	struct reap reap;

	if (task->child.pid == 0)
		return false;
	int r = os_reap_peek(task->child.pidfd, task->child.pid, &reap);
	if (r == 0)
		return false;
	if (r < 0 && !child_end(tasks->room->procs, &task->child, &reap))
		return task->child.pid == 0;
	task_ended(tasks, task, &reap);
	(void)os_reap_pidfd(-1, reap.pid, &reap);
	return true;
}

/*
 * Look at all that have ended: what they left behind is killed, and when nothing is left
 * it is told.  One sweep of /proc serves them all.
 */
void
tasks_check(struct tasks *tasks)
{
	struct procs *procs = tasks->room->procs;
	bool swept = false;

	if (tasks->n_ended == 0)
		return;
	tasks->is_fresh = false;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX && tasks->n_ended > 0;
	     place++) {
		struct task *task = &tasks->at[place];

		if (!task_is_over(task))
			continue;
		if (!swept && task->ended &&
		    containment_needs_sweep(&task->child.containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		if (task->ended &&
		    !containment_is_empty(&task->child.containment, tasks->cgroups,
		                          procs->sweeper)) {
			(void)containment_kill(&task->child.containment, tasks->cgroups,
			                       procs->sweeper);
			count_kill(tasks, task);
			(void)containment_watch(&task->child.containment, tasks->cgroups,
			                        PROCS_TASK | place);
			continue;
		}
		containment_unwatch(&task->child.containment, tasks->cgroups);
		if (!task->child.containment.is_cgroup)
			(void)containment_close(&task->child.containment, tasks->cgroups);
		tasks->n_ended--;
		if (task->is_left) {
			task->is_left = false;
			tasks->n_told++;
		} else {
			tasks_finish(tasks, task);
		}
	}
	tasks_arm(tasks);
}

/* The walker does not tell the ends of adopted tasks, or with `only_fosters` of tasks
 * with another parent: look for them by ourselves. */
void
tasks_hold_adopted(struct tasks *tasks, bool only_fosters)
{
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];
		const uint32_t owner = PROCS_TASK | place;

		if (!task_is_used(task) || !task->child.adopted || task->child.pid == 0 ||
		    task->child.pidfd >= 0 ||
		    (only_fosters && !foster_is(tasks->room->procs, task->child.pid)))
			continue;
		task->child.pidfd = held_take(tasks->room->procs, task->child.pid, owner);
		if (task->child.pidfd < 0) {
			const struct reap reap = end_unknown(task->child.pid);

			task_ended(tasks, task, &reap);
		}
	}
}
