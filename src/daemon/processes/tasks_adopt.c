/* SPDX-License-Identifier: ISC */
/* tasks_adopt.c - tasks in the ledger, and taken over from a guardian that died. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/engine.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "os/self/clock.h"

static void
restore(struct tasks *tasks, struct task *task, const struct ledger_task *record)
{
	const uint32_t place = (uint32_t)(task - tasks->at);
	struct processes *room = tasks->room;

	task->order = (struct task_order){
	    .ref = record->ref,
	    .kind = (enum task_kind)record->kind,
	    .which = record->which,
	    .reason = (enum task_reason)record->reason,
	    .serial = record->serial,
	    .life = record->life,
	    .timeout_ms = record->timeout_ms,
	    .cause = record->cause,
	};
	task->result = (struct task_result){
	    .is_late = record->is_late,
	    .told_seq = record->told_seq,
	    .step = (enum spawn_step)record->step,
	    .error = record->error,
	    .end = record->end,
	};
	task->child.pid = record->pid;
	task->child.adopted = record->pid != 0;
	task->child.killing = record->killing;
	task->ended = record->ended;
	task->is_left = task->told = record->is_left;
	task->deadline_ms = record->deadline_ms;
	containment_adopt(&task->child.containment,
	                  record->is_cgroup ? room->cgroups : NULL,
	                  task_leaf(tasks, place), task_mark(room, place));
	task->child.containment.session =
	    record->pid != 0 ? record->pid : record->end.pid;
	task->child.containment.is_main_alive = record->pid != 0;
	if (task->child.pid != 0)
		(void)map_put(&room->proctable->by_pid, (uint64_t)task->child.pid,
		              PROCS_TASK | place);
	tasks->n_ended += task->ended || task->result.error != 0;
}

/* Take over the tasks of the guardian before us, before any of its actions is repeated.
 */
void
tasks_restore(struct tasks *tasks)
{
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];
		struct ledger_task record;
		int r = ledger_read_task(tasks->room->recording->ledger, place, &record);

		if (r < 0 || record.ref.slot == REF_NONE.slot)
			continue;
		/* A ledger with any other kind is given up: DECISIONS 9. */
		ASSERT(record.kind < TASK_KIND_MAX);
		restore(tasks, task, &record);
		if (!task->is_left)
			(void)map_put(&tasks->owners,
			              task_key(task->order.ref, task->order.kind), place);
		tasks->n++;
	}
}

/*
 * The guardian before us had a task under way to its program: its start goes on, unless
 * the tables know what became of it.  0 or -errno.
 */
int
tasks_adopt_start(struct tasks *tasks, uint8_t place)
{
	struct processes *room = tasks->room;
	const uint32_t at =
	    (ledger_spawn(room->recording->ledger, place)->task - 1) % LEDGER_TASKS_MAX;
	struct task *task = &tasks->at[at];
	const struct actor *actor = actors_get(room->actors, task->order.ref);

	if (!task_is_used(task) || actor == NULL || task->child.pid != 0 || task->ended ||
	    task->result.error != 0)
		return 0;
	task->child.adopted = task->is_coming = true;
	if (!task->child.containment.is_cgroup && launch_in_cgroup(room->cgroups, actor))
		containment_adopt(&task->child.containment, room->cgroups,
		                  task_leaf(tasks, at), task->child.containment.mark);
	return births_adopt(room->procs, place, PROCS_TASK | at);
}

/* The core waits for what was never started, or was killed as it waited. */
static void
adopt_queued(struct tasks *tasks)
{
	struct processes *room = tasks->room;
	struct action action;

	for (uint32_t slot = 0; slot < room->actors->cap; slot++) {
		const struct ref ref = room->actors->at[slot].ref;

		if (ref.slot == REF_NONE.slot)
			continue;
		if (core_react(room->engine->core, ref, &action))
			tasks_react(tasks, &action);
		if (core_probe(room->engine->core, ref, &action))
			prober_ask(room->prober, &action);
		if (!core_hook(room->engine->core, ref, &action))
			continue;
		if (action.kind == ACTION_HOOK_KILL && !tasks_run(tasks, ref, TASK_HOOK))
			post_event(room->post, &(struct event){
			                           .kind = EVENT_HOOK_DONE,
			                           .ref = ref,
			                           .life = action.life,
			                           .code = -1,
			                           .error = ECANCELED,
			                           .serial = action.serial,
			                       });
		else
			tasks_hook(tasks, &action);
	}
}

/* The core is restored: start tasks that were not started, tell of tasks that have ended.
 */
void
tasks_adopt(struct tasks *tasks)
{
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++) {
		struct task *task = &tasks->at[place];

		if (!task_is_used(task))
			continue;
		/* A repeated action of the core may have ordered it a moment ago. */
		if (!task->is_coming && task->child.pid == 0 && !task->ended &&
		    task->result.error == 0) {
			tasks->n--;
			tasks_start(tasks, task);
		}
		/* The kill may not have been done; or the actor it was started for is
		 * gone. */
		if (task->child.killing ||
		    actors_get(tasks->actors, task->order.ref) == NULL)
			task_kill(tasks, task, task->result.is_late);
	}
	adopt_queued(tasks);
	tasks_check(tasks);
	/* The timeouts of running tasks go on. */
	tasks_arm(tasks);
}
