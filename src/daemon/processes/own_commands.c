/* SPDX-License-Identifier: ISC */
/* own_commands.c - processes stopped, or told to reload, by commands of their own. */
#include "config.h"

#include <errno.h>

#include "base/units.h"
#include "daemon/processes/probe_answer.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks.h"

/* Repeat the orders of tasks found in the record after a takeover; tasks.c ignores orders
 * it already has. */
void
procs_order_again(struct procs *procs, struct proc *proc)
{
	struct tasks *tasks = procs->room->tasks;
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	if (proc->child.pid == 0 || actor == NULL)
		return;
	if (proc->stop_command == STOP_COMMAND_ORDERED)
		tasks_order(tasks, &(const struct task_order){
		                       .ref = proc->ref,
		                       .kind = TASK_STOP,
		                       .reason = TASK_ON_STOP,
		                       .serial = proc->life,
		                       .life = proc->life,
		                       .timeout_ms = DURATION_INFINITE,
		                       .cause = {.kind = CAUSE_NORMAL, .code = -1},
		                   });
	if (proc->reloads > tasks_run(tasks, proc->ref, TASK_RELOAD))
		tasks_order(tasks,
		            &(const struct task_order){
		                .ref = proc->ref,
		                .kind = TASK_RELOAD,
		                .reason = TASK_ON_RELOAD,
		                .life = proc->life,
		                .timeout_ms = actor->conf->spec->core.hook_timeout_ms,
		                .cause = {.kind = CAUSE_NORMAL, .code = -1},
		            });
}

/* Have stop_command ask it to end; false: there is none, or it has failed. */
bool
procs_ask_by_command(struct procs *procs, struct proc *proc, const struct actor *actor)
{
	if (proc->child.pid == 0 || actor->conf->process->orders.stop_command == NULL ||
	    proc->stop_command == STOP_COMMAND_FAILED)
		return false;
	if (proc->stop_command == STOP_COMMAND_NOT_ASKED) {
		proc->stop_command = STOP_COMMAND_ORDERED;
		proc_record(procs, proc);
	}
	procs_order_again(procs, proc);
	return true;
}

/* Where it could not ask the process to end, the signal does. */
static void
stop_command_ended(struct procs *procs, const struct task_order *order,
                   const struct task_result *result)
{
	struct proc *proc = proc_of(procs->table, order->ref, order->life);
	const bool is_fine = task_succeeded(result);

	if (proc == NULL || proc->stop_command != STOP_COMMAND_ORDERED)
		return;
	/* What was killed because its time was up is told of as the process itself. */
	if (!is_fine && !proc->child.killing)
		procs->on_helper_failed(procs->helper_failed_data, order, result);
	proc->stop_command = is_fine ? STOP_COMMAND_ENDED : STOP_COMMAND_FAILED;
	if (!is_fine && !proc->child.killing && proc->child.pid != 0)
		procs_stop(procs, order->ref, order->life, false);
	proc_record(procs, proc);
}

/* It is done, well or not. */
static void
reload_command_ended(struct procs *procs, const struct task_order *order,
                     const struct task_result *result)
{
	struct proc *proc = proc_of(procs->table, order->ref, order->life);

	if (proc == NULL || proc->reloads == 0)
		return;
	/* The process has ended, so the stop command was useless but is no failure. */
	if (!task_succeeded(result) && proc->child.pid != 0)
		procs->on_helper_failed(procs->helper_failed_data, order, result);
	proc->reloads--;
	proc_record(procs, proc);
}

void
procs_task_done(struct processes *room, const struct task_order *order,
                const struct task_result *result)
{
	if (order->kind == TASK_PROBE)
		probe_command_ended(room, order, result);
	else if (order->kind == TASK_STOP)
		stop_command_ended(room->procs, order, result);
	else
		reload_command_ended(room->procs, order, result);
}

int
procs_reload(struct procs *procs, struct ref ref)
{
	const struct actor *actor = actors_get(procs->actors, ref);
	struct proc *proc = proc_of(procs->table, ref, proctable_life(procs->table, ref));

	if (proc == NULL || proc->child.pid == 0 || actor == NULL)
		return -ESRCH;
	if (actor->conf->process->orders.reload_command == NULL)
		return child_signal(procs, &proc->child,
		                    actor->conf->process->orders.reload_signal);
	/* The reload under way may have missed the newest change; the next reload sees
	 * it. */
	proc->reloads = tasks_run(procs->room->tasks, ref, TASK_RELOAD) ? 2 : 1;
	proc_record(procs, proc);
	procs_order_again(procs, proc);
	return 0;
}
