/* SPDX-License-Identifier: ISC */
/* task.c - the name, the result and the record of a task. */
#include "config.h"

#include "base/assert.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/cause.h"
#include "daemon/state/recording.h"
#include "helper/watchers.h"
#include "os/self/clock.h"

/* More slots than a tree can have. */
#define SLOT_BITS 24
/* How often what is left of tasks is looked for again, and if it cannot be killed. */
#define RECHECK_MS 20
#define LEFT_MS    1000

const char *const task_kind_names[] = {TASK_KIND_MAP(AS_NAME)};
const char *const task_reason_names[] = {TASK_REASON_MAP(AS_NAME)};

/* What stands for an actor and a kind in a map. */
uint64_t
task_key(struct ref ref, enum task_kind kind)
{
	ASSERT(ref.slot >> SLOT_BITS == 0);
	return (uint64_t)ref.slot << (64 - SLOT_BITS) | (uint64_t)ref.tenant << 8 |
	       (uint64_t)kind;
}

/* True if this place has a task. */
bool
task_is_used(const struct task *task)
{
	return task->order.ref.slot != REF_NONE.slot;
}

const char *
task_name(const struct task_order *order)
{
	if (order->kind == TASK_HOOK)
		return hook_names[order->which];
	if (order->kind == TASK_PROBE)
		return order->which != 0 ? "ready" : "health";
	return task_kind_names[order->kind];
}

bool
task_succeeded(const struct task_result *result)
{
	return result->error == 0 && !result->is_late &&
	       result->end.kind == REAP_EXITED && result->end.status == 0;
}

struct cause
task_cause(const struct task_result *result)
{
	struct cause cause = {.kind = CAUSE_EXIT, .code = -1};

	if (result->error != 0) {
		cause.kind = CAUSE_EXEC;
		cause.error = result->error;
		cause_step(cause.key, result->step, -1);
	} else if (result->end.kind == REAP_EXITED) {
		cause.kind = result->end.status == 0 ? CAUSE_NORMAL : CAUSE_EXIT;
		cause.code = result->end.status;
	} else {
		cause.core = result->end.kind == REAP_DUMPED;
		cause.kind = cause.core ? CAUSE_CORE : CAUSE_SIGNAL;
		cause.signal = (uint8_t)result->end.status;
	}
	return cause;
}

/* Write the present state of this place to the ledger. */
void
task_record(struct tasks *tasks, const struct task *task)
{
	ledger_write_task(tasks->room->recording->ledger, (uint32_t)(task - tasks->at),
	                  &(const struct ledger_task){
	                      .ref = task->order.ref,
	                      .serial = task->order.serial,
	                      .life = task->order.life,
	                      .timeout_ms = task->order.timeout_ms,
	                      .deadline_ms = task->deadline_ms,
	                      .told_seq = task->result.told_seq,
	                      .cause = task->order.cause,
	                      .pid = task->child.pid,
	                      .error = task->result.error,
	                      .kind = (uint8_t)task->order.kind,
	                      .which = task->order.which,
	                      .reason = (uint8_t)task->order.reason,
	                      .step = (uint8_t)task->result.step,
	                      .is_late = task->result.is_late,
	                      .killing = task->child.killing,
	                      .ended = task->ended,
	                      .is_left = task->is_left,
	                      .is_cgroup = task->child.containment.is_cgroup,
	                      .end = task->result.end,
	                  });
}

/* True if its main process has ended or never began, and something may be left of it. */
bool
task_is_over(const struct task *task)
{
	return task_is_used(task) && (!task->told || task->is_left) &&
	       (task->ended || task->result.error != 0);
}

/* The task with this main pid, or NULL. */
struct task *
task_by_pid(struct tasks *tasks, pid_t pid)
{
	uint32_t owner;

	if (!map_get(&tasks->room->procs->table->by_pid, (uint64_t)pid, &owner) ||
	    (owner & PROCS_TASK) == 0)
		return NULL;
	return &tasks->at[owner & ~PROCS_TASK];
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

		if (task_is_over(task) && !task->is_left)
			return RECHECK_MS;
		if (task_is_over(task) && now_ms + LEFT_MS < due_ms)
			due_ms = now_ms + LEFT_MS;
		if (!task_is_used(task) || task->told)
			continue;
		if (task->deadline_ms != 0 && !task->child.killing &&
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

	ev_timer_stop(tasks->loop, &tasks->timer);
	if (left_ms == UINT64_MAX)
		return;
	ev_now_update(tasks->loop);
	timer_begin(tasks->loop, &tasks->timer, (double)left_ms / 1e3);
}

/* The main process has ended: put down before it is reaped, told by tasks_check(). */
void
task_ended(struct tasks *tasks, struct task *task, const struct reap *reap)
{
	child_ended(tasks->room->procs, &task->child);
	task->ended = true;
	task->result.end = *reap;
	tasks->n_ended++;
	task_record(tasks, task);
	if (!tasks->is_fresh) {
		tasks->is_fresh = true;
		tasks_arm(tasks);
	}
}
