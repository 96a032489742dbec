/* SPDX-License-Identifier: ISC */
/* task.c - the name, the result and the record of a task. */
#include "config.h"

#include "base/assert.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/cause.h"
#include "daemon/state/shell.h"

/* More slots than a tree can have. */
#define SLOT_BITS 24

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
		cause.signal = result->end.status;
	}
	return cause;
}

/* Write the present state of this place to the ledger. */
void
task_record(struct tasks *tasks, const struct task *task)
{
	const struct ledger_task record = {
	    .ref = task->order.ref,
	    .serial = task->order.serial,
	    .life = task->order.life,
	    .timeout_ms = task->order.timeout_ms,
	    .deadline_ms = task->deadline_ms,
	    .told_seq = task->result.told_seq,
	    .cause = task->order.cause,
	    .pid = task->pid,
	    .error = task->result.error,
	    .kind = (uint8_t)task->order.kind,
	    .which = task->order.which,
	    .reason = (uint8_t)task->order.reason,
	    .step = (uint8_t)task->result.step,
	    .is_late = task->result.is_late,
	    .killing = task->killing,
	    .ended = task->ended,
	    .is_left = task->is_left,
	    .is_cgroup = task->containment.is_cgroup,
	    .end = task->result.end,
	};

	ledger_write_task(tasks->shell->ledger, (uint32_t)(task - tasks->at), &record);
}
