/* SPDX-License-Identifier: ISC */
/* tasks_ends.c - how tasks end: by themselves, out of time, killed, gone. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/units.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/log.h"
#include "daemon/state/shell.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* How often what is left of tasks is looked for again, and if it cannot be killed. */
#define RECHECK_MS 20
#define LEFT_MS    1000
/* How long they may take to be gone once they were killed, where no actor says that. */
#define KILL_TIMEOUT_MS 10000
/* How long the end of supd waits for killed ones. */
#define END_MS 5000

/* Has its main process ended, or did it never begin, and may something be left of it? */
static bool
is_over(const struct task *task)
{
	return task_is_used(task) && (!task->told || task->is_left) &&
	       (task->ended || task->result.error != 0);
}

/* From now on it has its actor's kill_timeout to be gone. */
static void
count_kill(struct tasks *tasks, struct task *task)
{
	const struct actor *actor = actors_get(&tasks->shell->actors, task->order.ref);

	if (task->kill_until_ms == 0)
		task->kill_until_ms =
		    clock_mono_ms() +
		    (actor == NULL ? KILL_TIMEOUT_MS : actor->conf->spec.kill_timeout_ms);
}

/*
 * SIGKILL does not end the task: it counts as ended, killed, so that its actor waits no
 * longer.  The place, its mark and its cgroup stay in use until the process is gone.
 */
static void
leave(struct tasks *tasks, struct task *task)
{
	log_line(LOG_LEVEL_ERROR,
	         "the %s of %s cannot be killed; supd goes on without it",
	         task_name(&task->order), shell_path(tasks->shell, task->order.ref));
	if (!task->ended && task->result.error == 0)
		task->result.end = end_unknown(task->pid);
	tasks_finish(tasks, task);
	tasks->n_told--;
	task->is_left = true;
	task_record(tasks, task);
}

/* ---- time -------------------------------------------------------------------------- */

static void
on_time(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct tasks *tasks = timer->data;
	const uint64_t now_ms = clock_mono_ms();

	(void)loop;
	(void)revents;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];

		if (!task_is_used(task) || task->told)
			continue;
		if (task->deadline_ms != 0 && task->deadline_ms <= now_ms &&
		    !task->killing && !task->ended)
			task_kill(tasks, task, true);
		else if (task->kill_until_ms != 0 && task->kill_until_ms <= now_ms)
			leave(tasks, task);
	}
	tasks_check(tasks);
}

/* When something is to be looked at next, in ms from now; UINT64_MAX: never. */
static uint64_t
time_left(const struct tasks *tasks)
{
	const uint64_t now_ms = clock_mono_ms();
	uint64_t due_ms = UINT64_MAX;

	if (tasks->n_ended > 0 && tasks->is_fresh)
		return 0;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX && tasks->n > 0; place++) {
		const struct task *task = &tasks->at[place];

		if (is_over(task) && !task->is_left)
			return RECHECK_MS;
		if (is_over(task) && now_ms + LEFT_MS < due_ms)
			due_ms = now_ms + LEFT_MS;
		if (!task_is_used(task) || task->told)
			continue;
		if (task->deadline_ms != 0 && !task->killing &&
		    task->deadline_ms < due_ms)
			due_ms = task->deadline_ms;
		if (task->kill_until_ms != 0 && task->kill_until_ms < due_ms)
			due_ms = task->kill_until_ms;
	}
	if (due_ms == UINT64_MAX)
		return due_ms;
	return due_ms > now_ms ? due_ms - now_ms : 0;
}

/* Wake up when something is due, or may be gone. */
void
tasks_arm(struct tasks *tasks)
{
	uint64_t left_ms = time_left(tasks);

	ev_timer_stop(tasks->shell->loop, &tasks->timer);
	if (left_ms == UINT64_MAX)
		return;
	ev_timer_init(&tasks->timer, on_time, (double)left_ms / 1e3, 0.);
	tasks->timer.data = tasks;
	ev_now_update(tasks->shell->loop);
	ev_timer_start(tasks->shell->loop, &tasks->timer);
}

/* ---- the end ----------------------------------------------------------------------- */

/* Kill the task and all its descendants. */
void
task_kill(struct tasks *tasks, struct task *task, bool is_late)
{
	struct procs *procs = tasks->shell->procs;

	if (task->told)
		return;
	if (!task->killing) {
		task->killing = true;
		task->result.is_late = is_late && !task->ended && task->result.error == 0;
		task_record(tasks, task);
	}
	count_kill(tasks, task);
	if (task->is_coming) {
		/* When it has come, or instead. */
		tasks_arm(tasks);
		return;
	}
	if (task->pid != 0)
		(void)proc_signal_pid(procs, &task->pid, task->pidfd, task->adopted,
		                      SIGKILL);
	if (containment_needs_sweep(&task->containment))
		(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
	(void)containment_kill(&task->containment, &tasks->shell->cgroups,
	                       procs->sweeper);
	tasks_arm(tasks);
}

/* The task with this main pid, or NULL. */
struct task *
task_by_pid(struct tasks *tasks, pid_t pid)
{
	uint32_t who;

	if (!map_get(&tasks->shell->proctable->by_pid, (uint64_t)pid, &who) ||
	    (who & PROCS_TASK) == 0)
		return NULL;
	return &tasks->at[who & ~PROCS_TASK];
}

/* The main process has ended: put down before it is reaped, told by tasks_check(). */
void
task_ended(struct tasks *tasks, struct task *task, const struct reap *reap)
{
	struct procs *procs = tasks->shell->procs;

	map_remove(&procs->table->by_pid, (uint64_t)task->pid);
	ends_let_go(procs, &task->pidfd);
	task->pid = 0;
	containment_reaped(&task->containment);
	task->result.end = *reap;
	task->ended = true;
	tasks->n_ended++;
	task_record(tasks, task);
	if (!tasks->is_fresh) {
		tasks->is_fresh = true;
		tasks_arm(tasks);
	}
}

/* Reap the main process at this place; false when there was nothing to reap after all. */
bool
tasks_collect(struct tasks *tasks, uint32_t place)
{
	struct task *task = &tasks->at[place];
	struct reap reap;
	int r;

	if (task->pid == 0)
		return false;
	r = os_reap_peek(task->pidfd, task->pid, &reap);
	if (r == 0)
		return false;
	if (r < 0 && task->adopted) {
		if (!foster_collect(tasks->shell->procs, &task->pid, &task->pidfd, &reap))
			return task->pid == 0;
	} else if (r < 0) {
		reap = end_unknown(task->pid);
	}
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
	struct shell *shell = tasks->shell;
	struct procs *procs = shell->procs;
	bool swept = false;

	if (tasks->n_ended == 0)
		return;
	tasks->is_fresh = false;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX && tasks->n_ended > 0;
	     place++) {
		struct task *task = &tasks->at[place];

		if (!is_over(task))
			continue;
		if (!swept && task->ended &&
		    containment_needs_sweep(&task->containment)) {
			(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
			swept = true;
		}
		if (task->ended &&
		    !containment_is_empty(&task->containment, &shell->cgroups,
		                          procs->sweeper)) {
			(void)containment_kill(&task->containment, &shell->cgroups,
			                       procs->sweeper);
			count_kill(tasks, task);
			(void)containment_watch(&task->containment, &shell->cgroups,
			                        PROCS_TASK | place);
			continue;
		}
		containment_unwatch(&task->containment, &shell->cgroups);
		if (!task->containment.is_cgroup)
			(void)containment_close(&task->containment, &shell->cgroups);
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
		const uint32_t who = PROCS_TASK | place;

		if (!task_is_used(task) || !task->adopted || task->pid == 0 ||
		    task->pidfd >= 0 ||
		    (only_fosters && !foster_is(tasks->shell->procs, task->pid)))
			continue;
		task->pidfd = ends_hold(tasks->shell->procs, task->pid, who);
		if (task->pidfd < 0) {
			const struct reap reap = end_unknown(task->pid);

			task_ended(tasks, task, &reap);
		}
	}
}

void
tasks_end_all(struct tasks *tasks)
{
	const uint64_t end_ms = clock_mono_ms() + END_MS;

	while (tasks->first != TASKS_NONE)
		tasks_forget(tasks, tasks->wishes[tasks->first].order.ref);
	for (;;) {
		bool is_left = false;

		for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
			struct task *task = &tasks->at[place];

			if (!task_is_used(task) || task->told)
				continue;
			is_left = true;
			task_kill(tasks, task, false);
		}
		if (!is_left || clock_mono_ms() > end_ms)
			return;
		(void)procs_bear(tasks->shell->procs);
		(void)procs_collect(tasks->shell->procs);
		procs_take_exits(tasks->shell->procs);
		tasks_check(tasks);
		(void)poll(NULL, 0, 1);
	}
}
