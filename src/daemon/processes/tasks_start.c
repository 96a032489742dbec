/* SPDX-License-Identifier: ISC */
/* tasks_start.c - from the order of a task to a running process. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "daemon/launch/identity.h"
#include "daemon/messages/messages.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

#define CAUSE_NAME_MAX 64

/* ---- the program and its environment ---- */

/* The core's answer about the watch that this command belongs to; false: the watch is
 * gone. */
static bool
told_of(const struct processes *room, const struct actor *actor,
        const struct task_order *order, struct action *ret)
{
	return core_react(room->engine->core, order->ref, ret) &&
	       ret->serial == order->serial &&
	       ret->death.watch <= actor->conf->spec->core.n_watches;
}

/* The command that is meant; NULL: the configuration does not have it any more. */
static char **
argv_of(const struct processes *room, const struct actor *actor,
        const struct task_order *order)
{
	const struct conf_process *process = actor->conf->process;
	struct action action;

	switch (order->kind) {
	case TASK_HOOK:
		return process->hooks[order->which];
	case TASK_STOP:
		return process->orders.stop_command;
	case TASK_RELOAD:
		return process->orders.reload_command;
	case TASK_RUN:
		return told_of(room, actor, order, &action)
		           ? actor->conf->spec->watches[action.death.watch - 1].run
		           : NULL;
	case TASK_PROBE:
		return order->which != 0 ? process->readiness.probe.command
		                         : process->health.command;
	case TASK_KIND_MAX:
		break;
	}
	return NULL;
}

/* The SUPD_ID of what runs at this place; nothing of the one before is left then. */
struct proc_mark
task_mark(const struct processes *room, uint32_t place)
{
	return (struct proc_mark){room->recording->facts.secret, PROC_MARK_TASK, place};
}

/* The path that the task's cgroup is named after; no actor has such a path. */
const char *
task_leaf(struct tasks *tasks, uint32_t place)
{
	(void)snprintf(tasks->leaves[place], TASK_LEAF_MAX, "task:%u", place);
	return tasks->leaves[place];
}

/* Whose end it is about. */
static void
add_watched(struct environment *environment, const struct processes *room,
            const struct actor *actor, const struct task_order *order)
{
	struct action action;

	if (order->kind != TASK_RUN || !told_of(room, actor, order, &action))
		return;
	(void)environment_set(environment, "SUPD_WATCHED",
	                      actor->conf->spec->watches[action.death.watch - 1].path);
	(void)environment_set(environment, "SUPD_EXISTENCE_CONFIRMED",
	                      action.death.confirmed ? "true" : "false");
}

/* A number that may be unknown: then the variable is there, and empty. */
static void
add_number(struct environment *environment, const char *name, bool is_known, int number)
{
	if (is_known)
		(void)environment_add(environment, name, "%d", number);
	else
		(void)environment_set(environment, name, "");
}

/* Add the origin of the failure that a hook runs for: perhaps another actor of the group.
 */
static void
add_origin(struct environment *environment, const struct processes *room,
           const struct task_order *order)
{
	struct action action;

	if (order->kind != TASK_HOOK)
		return;
	if (!core_hook(room->engine->core, order->ref, &action) ||
	    !core_valid(room->engine->core, action.origin)) {
		(void)environment_set(environment, "SUPD_ORIGIN", "");
		(void)environment_set(environment, "SUPD_ORIGIN_CAUSE", "");
		return;
	}
	CLEANUP(strbuf_done) struct strbuf cause = STRBUF(CAUSE_NAME_MAX);
	cause_key(&cause, &action.call.origin_cause);
	(void)environment_set(environment, "SUPD_ORIGIN",
	                      actors_path(room->actors, action.origin));
	(void)environment_set(environment, "SUPD_ORIGIN_CAUSE", strbuf_str(&cause));
}

/*
 * Add the process that the command is about: the newest, or, before a start, the coming
 * process.  Its exit status is that of the actor in the cause: for a watch, the watched
 * actor.
 */
static void
add_process(struct environment *environment, const struct processes *room,
            const struct task_order *order)
{
	const struct proc *proc = &room->proctable->at[order->ref.slot];
	const bool is_there = proc->life == order->life && proc->life != 0;
	const pid_t pid = is_there ? proctable_pid(room->proctable, order->ref) : 0;
	int code = order->cause.signal == 0 ? order->cause.code : -1;
	int signo = order->cause.signal;

	if (is_there && proc_has_ended(proc) && order->kind != TASK_RUN) {
		code = proc->end.kind == REAP_EXITED ? proc->end.status : -1;
		signo = proc->end.kind == REAP_EXITED ? 0 : proc->end.status;
	}
	add_number(environment, "SUPD_PID", pid != 0, (int)pid);
	add_number(environment, "SUPD_EXIT_CODE", code >= 0, code);
	(void)environment_set(environment, "SUPD_SIGNAL",
	                      signo == 0 ? "" : signal_name(signo) + strlen("SIG"));
}

/* What DECISIONS 27 adds to the environment of the actor; -errno. */
static int
build_environment(const struct processes *room, const struct actor *actor,
                  const struct task_order *order, const char *mark,
                  struct launching *launching)
{
	/* A process that is to come is of the generation after this one. */
	const bool is_before = order->kind == TASK_HOOK && order->which == HOOK_PRE_START;
	struct environment *environment = &launching->launch->environment;
	struct node_view view = {0};

	if (core_valid(room->engine->core, order->ref))
		view = engine_view(room->engine, order->ref);
	int r = launch_begin_environment(launching->launch, actor, mark);
	if (r < 0)
		return r;
	(void)environment_set(environment, "SUPD_HOOK", task_name(order));
	(void)environment_set(environment, "SUPD_REASON",
	                      task_reason_names[order->reason]);
	CLEANUP(strbuf_done) struct strbuf cause = STRBUF(CAUSE_NAME_MAX);
	cause_key(&cause, &order->cause);
	(void)environment_set(environment, "SUPD_CAUSE", strbuf_str(&cause));
	add_process(environment, room, order);
	add_watched(environment, room, actor, order);
	add_origin(environment, room, order);
	(void)environment_add(environment, "SUPD_GENERATION", "%u",
	                      view.run.generation + is_before);
	(void)environment_add(environment, "SUPD_RESTART_COUNT", "%llu",
	                      (unsigned long long)view.run.restarts);
	return environment_end(environment, &launching->result.step);
}

/* ---- the process ------------------------------------------------------------------- */

/* The containment of this place, for one more; -errno. */
static int
open_containment(struct tasks *tasks, struct task *task, const struct actor *actor,
                 int *ret_cgroup_fd)
{
	struct processes *room = tasks->room;
	const bool in_cgroup = launch_in_cgroup(room->cgroups, actor);
	struct containment *containment = &task->child.containment;
	const uint32_t place = (uint32_t)(task - tasks->at);
	int r = 0;

	if (containment->is_cgroup && !in_cgroup)
		(void)containment_close(containment, room->cgroups);
	if (!containment->is_cgroup)
		r = containment_open(containment, in_cgroup ? room->cgroups : NULL,
		                     task_leaf(tasks, place), task_mark(room, place));
	if (r < 0)
		return r;
	containment->mark = task_mark(room, place);
	return containment_prepare(containment, room->cgroups, ret_cgroup_fd);
}

static int
launch_it(struct tasks *tasks, struct task *task, const struct actor *actor, char **argv,
          struct launching *launching)
{
	struct processes *room = tasks->room;
	struct spawn_result *ret = &launching->result;
	int cgroup_fd = -1;

	int r = open_containment(tasks, task, actor, &cgroup_fd);
	if (r < 0) {
		ret->step = SPAWN_STEP_CGROUP;
		return r;
	}
	r = identity_settle(room->launcher, actor, &ret->step);
	if (r < 0)
		goto done;
	ret->step = SPAWN_STEP_ENVIRONMENT;
	r = build_environment(room, actor, &task->order,
	                      proc_mark_text(&task->child.containment.mark).text,
	                      launching);
	if (r == 0)
		r = launch_helper(launching, actor, argv, cgroup_fd);
done:
	containment_shut(&task->child.containment, tasks->cgroups);
	return r;
}

/* True if a process of an earlier order like this one was given up, and is not gone. */
static bool
is_left(const struct tasks *tasks, const struct task_order *order)
{
	const struct task *task = tasks->at;

	while (task < tasks->at + LEDGER_TASKS_MAX &&
	       (!task->is_left || task->order.ref.slot != order->ref.slot ||
	        task->order.ref.tenant != order->ref.tenant ||
	        task->order.kind != order->kind || task->order.which != order->which))
		task++;
	return task < tasks->at + LEDGER_TASKS_MAX;
}

/* Begin the start that was ordered at this place; returns as launch_begin() does. */
int
task_begin(struct tasks *tasks, struct task *task, struct launching *launching)
{
	struct ledger_spawn *intent = launching->intent;
	struct processes *room = tasks->room;
	const struct actor *actor = actors_get(room->actors, task->order.ref);
	char **argv = actor == NULL ? NULL : argv_of(room, actor, &task->order);

	if (argv == NULL || task->child.killing)
		return -ECANCELED;
	launching->result.step = SPAWN_STEP_EXEC;
	if (is_left(tasks, &task->order))
		return -EBUSY;
	/* A new guardian that finds this place here and a pid knows the task of the
	 * process.
	 */
	intent->ref = task->order.ref;
	intent->task = (uint32_t)(task - tasks->at) + 1;
	atomic_store(&intent->life, 1);
	return launch_it(tasks, task, actor, argv, launching);
}

static void
note_spawned(struct tasks *tasks, struct task *task, const struct spawn_result *result)
{
	const uint32_t owner = PROCS_TASK | (uint32_t)(task - tasks->at);
	struct procs *procs = tasks->room->procs;

	task->child.pid = result->pid;
	task->child.pidfd = fd_raise(result->pidfd);
	containment_born(&task->child.containment, result->pid);
	task->child.containment.is_foreign = task->child.adopted;
	/* Take older news of this pid first: see proc_born(). */
	if (!task->child.adopted)
		ends_take_exits(procs);
	/* There is room: procs_reserve(). */
	(void)map_put(&procs->table->by_pid, (uint64_t)result->pid, owner);
	if (task->child.pidfd >= 0)
		(void)epoll_ctl(
		    procs->epoll_fd, EPOLL_CTL_ADD, task->child.pidfd,
		    &(struct epoll_event){.events = EPOLLIN, .data.u32 = owner});
	if (task->order.timeout_ms != DURATION_INFINITE)
		task->deadline_ms = clock_due_ms(task->order.timeout_ms);
	task_record(tasks, task);
}

/* The start is over.  What cannot be started has failed, and is told of like one that has
 * ended: never from within here. */
void
task_over(struct tasks *tasks, struct task *task, int r,
          const struct spawn_result *result)
{
	task->is_coming = false;
	if (r == 0 || result->pid > 0) {
		note_spawned(tasks, task, result);
		/* A failed start counts when the process is gone: its containment is not
		 * empty. */
		if (r < 0 || task->child.killing)
			task_kill(tasks, task, r < 0);
	} else {
		task->result.step = result->step;
		task->result.error = -r;
		tasks->n_ended++;
		tasks->is_fresh = true;
		task_record(tasks, task);
	}
	tasks_arm(tasks);
}

/* Have started what this place was given an order for. */
void
tasks_start(struct tasks *tasks, struct task *task)
{
	const uint32_t place = (uint32_t)(task - tasks->at);

	/* There is room: tasks_new(). */
	(void)map_put(&tasks->owners, task_key(task->order.ref, task->order.kind), place);
	tasks->n++;
	task->is_coming = true;
	task_record(tasks, task);
	births_order(tasks->room->procs, PROCS_TASK | place);
}
