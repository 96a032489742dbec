/* SPDX-License-Identifier: ISC */
/* procs.c - the processes of the actors: born, told, asked. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/output.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "ledger/ledger.h"
#include "os/process/usage.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

/* ---- births ---- */

static void
spawn_failed(struct procs *procs, struct proc *proc, int error,
             const struct spawn_result *result)
{
	proc->failed.step = result->step;
	proc->failed.which = (int8_t)result->which;
	proc->failed.error = error;
	proc_post_failed(procs, proc);
	gone_close(procs, proc);
}

static void
proc_born(struct procs *procs, struct proc *proc, const struct spawn_result *result)
{
	struct processes *room = procs->room;
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
	                            .data.u32 = proc->ref.slot};
	struct actor *actor = actors_get(room->actors, proc->ref);

	proc_enter(proc, PROC_RUNS);
	proc->child.pid = result->pid;
	proc->child.pidfd = result->pidfd;
	containment_born(&proc->child.containment, result->pid);
	proc->child.containment.is_foreign = proc->child.adopted;
	/* Take older news of this pid first: they are about an earlier process.  Those of
	 * before an adoption were taken then. */
	if (!proc->child.adopted)
		ends_take_exits(procs);
	/* There is room: procs_reserve(). */
	(void)map_put(&procs->table->by_pid, (uint64_t)result->pid, proc->ref.slot);
	proc->needs_comparison = procs->room->engine->is_replaying;
	if (result->pidfd >= 0) {
		/* Out of the window of low numbers, which spawns need. */
		proc->child.pidfd = fd_raise(result->pidfd);
		(void)epoll_ctl(procs->epoll_fd, EPOLL_CTL_ADD, proc->child.pidfd,
		                &event);
	}
	if (actor != NULL) {
		actor->pid = result->pid;
		actor->reloading_us = 0;
		actor->process_started_ms = room->engine->now_ms;
		actor->sigstopped = false;
		free(actor->status);
		actor->status = NULL;
	}
	proc_record(procs, proc);
	proc_post(procs, proc, (struct event){.kind = EVENT_SPAWNED, .code = -1});
	/* What it has said meanwhile. */
	if (proc->ready_life == proc->life)
		proc_post(procs, proc, (struct event){.kind = EVENT_READY, .code = -1});
	notify_resume(room->messages->notify, proc->ref.slot);
}

/* The start has failed, but its child may not be gone. */
static void
remember_hung(struct procs *procs, struct proc *proc, const struct spawn_result *result)
{
	if (result->pid <= 0)
		return;
	log_line(LOG_LEVEL_WARNING,
	         "%s: process %d took too long (%s) and was killed, but does not end; "
	         "the actor is not started again before it is gone",
	         actors_path(procs->room->actors, proc->ref), (int)result->pid,
	         spawn_step_names[result->step]);
	(void)close(result->pidfd);
	/* No descriptor is needed: there may be none. */
	proc->hung = (struct proc_hung){result->pid, proc_ticks()};
}

/* Begin to start the process of the actor in this slot. */
static int
begin_process(struct procs *procs, struct proc *proc, struct launching *launching)
{
	struct ledger_spawn *intent = launching->intent;
	const struct actor *actor = actors_get(procs->actors, proc->ref);

	/* Removed, meanwhile: it has no place among the actors any more. */
	if (actor == NULL || actor->conf_owner != NULL)
		return -ECANCELED;
	launching->result.step = SPAWN_STEP_EXEC;
	if (proc->hung.pid > 0 && !proc_is_gone(proc->hung.pid, proc->hung.since))
		return -EBUSY;
	if (!proc->child.containment.is_cgroup && leaves_take(procs, proc->ref.slot)) {
		proc->child.containment.is_cgroup = true;
		proc->child.containment.path = actor->path;
	}
	/* A new guardian that finds a life here and a pid knows the actor of the process.
	 */
	intent->task = 0;
	intent->ref = proc->ref;
	atomic_store(&intent->life, proc->life);
	int r = launch_begin(launching, actor, proc->life, &proc->child.containment);
	if (r == 0)
		output_begun(procs->room->messages->output, actor, proc->match_from);
	return r;
}

static void
on_prepare(struct procs *procs, const uint32_t *owners, size_t n)
{
	const struct actor *actors[BIRTHS_PREPARED_MAX];
	size_t n_actors = 0;

	for (size_t i = 0; i < n; i++) {
		const struct actor *actor =
		    (owners[i] & PROCS_TASK) != 0
		        ? NULL
		        : actors_get(procs->actors, procs->table->at[owners[i]].ref);

		if (actor != NULL && actor->conf_owner == NULL)
			actors[n_actors++] = actor;
	}
	output_prepare(procs->room->messages->output, actors, n_actors);
}

static int
on_begin(struct procs *procs, uint32_t owner, struct launching *launching)
{
	struct tasks *tasks = procs->room->tasks;

	return (owner & PROCS_TASK) != 0
	           ? task_begin(tasks, &tasks->at[owner & ~PROCS_TASK], launching)
	           : begin_process(procs, &procs->table->at[owner], launching);
}

/* Say in the log what is wrong with a file of variables, if that is why it failed. */
static void
log_said(const struct procs *procs, struct ref ref, const struct spawn_result *result)
{
	if (result->said[0] != '\0')
		log_line(LOG_LEVEL_ERROR, "%s: environment_file: %s",
		         actors_path(procs->room->actors, ref), result->said);
}

/* A start is over: the core is told. */
static void
on_over(struct procs *procs, uint32_t owner, int r, const struct spawn_result *result)
{
	struct tasks *tasks = procs->room->tasks;
	const bool is_task = (owner & PROCS_TASK) != 0;
	struct task *task = is_task ? &tasks->at[owner & ~PROCS_TASK] : NULL;
	struct proc *proc = is_task ? NULL : &procs->table->at[owner];

	log_said(procs, is_task ? task->order.ref : proc->ref, result);
	if (is_task) {
		task_over(tasks, task, r, result);
	} else if (r == 0) {
		proc_born(procs, proc, result);
	} else {
		remember_hung(procs, proc, result);
		spawn_failed(procs, proc, -r, result);
	}
}

static const struct birth_ways ways = {on_prepare, on_begin, on_over};

/* Have the process started. */
static void
order(struct procs *procs, struct proc *proc)
{
	/* Until then a record says that the start was not begun. */
	proc_enter(proc, PROC_UNDER_WAY);
	births_order(procs, proc->ref.slot);
}

void
procs_spawn(struct procs *procs, struct ref ref, uint32_t life)
{
	struct processes *room = procs->room;
	const struct actor *actor = actors_get(room->actors, ref);
	struct proc *proc = &procs->table->at[ref.slot];

	ASSERT(actor != NULL);
	/* A guardian before us was that far already, or further. */
	if (proc->life == life && proc->ref.tenant == ref.tenant)
		return;
	ASSERT(!proc_is_used(proc));
	*proc = (struct proc){
	    .child = {.pidfd = -1, .containment = proc->child.containment},
	    .ref = ref,
	    .life = life,
	    .hung = proc->hung,
	};
	if (!procs_waits_for(room, actor->predecessor)) {
		order(procs, proc);
	} else {
		proc_enter(proc, PROC_AFTER_PREDECESSOR);
		proc_record(procs, proc);
	}
}

/* True if a predecessor of the same name has to go first.  A deleted predecessor is gone,
 * though its slot is still in use.
 */
bool
procs_waits_for(const struct processes *room, struct ref predecessor)
{
	return actors_get(room->actors, predecessor) != NULL &&
	       core_valid(room->engine->core, predecessor);
}

/* The predecessor of this actor is gone. */
void
procs_inherit(struct procs *procs, struct ref successor)
{
	struct proc *proc = actors_get(procs->actors, successor) == NULL
	                        ? NULL
	                        : &procs->table->at[successor.slot];

	if (proc != NULL && proc->state == PROC_AFTER_PREDECESSOR &&
	    proc->ref.tenant == successor.tenant)
		order(procs, proc);
}

static void
continue_if_stopped(struct procs *procs, struct proc *proc, const struct actor *actor)
{
	/* A stopped process cannot react to the signal. */
	if (proc->child.pid != 0 &&
	    (actor->sigstopped || os_reap_is_stopped(proc->child.pidfd)))
		(void)child_signal(procs, &proc->child, SIGCONT);
}

/*
 * Ask it to end: the main process, or, when that is gone already, whatever is left.  One
 * that does not answer to its watchdog is asked with another signal.
 */
void
procs_stop(struct procs *procs, struct ref ref, uint32_t life, bool watchdog_expired)
{
	struct proc *proc = proc_of(procs->table, ref, life);
	const struct actor *actor = actors_get(procs->actors, ref);

	if (proc == NULL || actor == NULL)
		return;
	if (proc->stop == STOP_NOT_ASKED || procs->room->engine->is_replaying) {
		proc->stop =
		    procs->room->engine->is_replaying ? STOP_ASKED_LATE : STOP_ASKED;
		proc_record(procs, proc);
	}
	if (!watchdog_expired && procs_ask_by_command(procs, proc, actor)) {
		continue_if_stopped(procs, proc, actor);
		return;
	}
	int signo = watchdog_expired ? actor->conf->process->orders.watchdog_signal
	                             : actor->conf->process->orders.stop_signal;
	if (proc->child.pid != 0) {
		(void)child_signal(procs, &proc->child, signo);
		continue_if_stopped(procs, proc, actor);
		return;
	}
	if (containment_needs_sweep(&proc->child.containment))
		(void)proc_sweep_take(procs->sweeper, &procs->table->by_pid);
	(void)containment_signal(&proc->child.containment, procs->cgroups, procs->sweeper,
	                         signo);
	(void)containment_signal(&proc->child.containment, procs->cgroups, procs->sweeper,
	                         SIGCONT);
}

/* Continue a main process that was stopped from outside. */
void
procs_continue(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs->table, ref, life);
	struct actor *actor = actors_get(procs->actors, ref);

	if (proc == NULL || actor == NULL || proc->child.pid == 0)
		return;
	/* First this, so that it is told if the process stops itself again. */
	actor->sigstopped = false;
	proc_record(procs, proc);
	(void)child_signal(procs, &proc->child, SIGCONT);
}

/* Kill the process and all its descendants. */
void
procs_kill(struct procs *procs, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_of(procs->table, ref, life);

	if (proc == NULL)
		return;
	if (!proc->child.killing) {
		proc->child.killing = true;
		if (proc->stop == STOP_NOT_ASKED)
			proc->stop = STOP_ASKED;
		proc_record(procs, proc);
	}
	tasks_kill(procs->room->tasks, ref, TASK_STOP, true);
	child_kill_all(procs, &proc->child);
}

static void
clear(struct procs *procs, struct proc *proc)
{
	fd_close(&proc->child.pidfd);
	containment_shut(&proc->child.containment, procs->cgroups);
	(void)containment_close(&proc->child.containment, procs->cgroups);
	*proc = (struct proc){.ref = REF_NONE, .child.pidfd = -1};
	containment_init(&proc->child.containment);
}

/* The slot is given back; the core waited until nothing was left. */
void
procs_forget(struct procs *procs, struct ref ref)
{
	tasks_forget(procs->room->tasks, ref);
	if (ref.slot >= procs->table->cap ||
	    procs->table->at[ref.slot].ref.tenant != ref.tenant)
		return;
	leaves_end(procs);
	clear(procs, &procs->table->at[ref.slot]);
}

int
procs_signal(struct procs *procs, struct ref ref, int signo)
{
	if (proc_now(procs->table, ref) == NULL ||
	    procs->table->at[ref.slot].child.pid == 0)
		return -ESRCH;
	return child_signal(procs, &procs->table->at[ref.slot].child, signo);
}

/* ---- asked ---- */

void
procs_add_up(const struct procs *procs)
{
	(void)cgroup_leaf_number(procs->cgroups, ".", "cpu.stat", "usage_usec",
	                         &(uint64_t){0});
}

void
procs_look_alone(const struct procs *procs)
{
	proc_ask_nobody();
	cgroup_root_reopen(procs->cgroups);
}

bool
procs_usage(const struct procs *procs, struct ref ref, struct usage *ret)
{
	const struct proc *proc = proc_now(procs->table, ref);

	return proc != NULL && proc->child.pid != 0 &&
	       usage_read(&proc->child.containment, procs->cgroups, proc->child.pid,
	                  ret) == 0;
}

/* ---- all of them ---- */

int
procs_reserve(struct procs *procs, uint32_t slots)
{
	if (slots <= procs->table->cap)
		return 0;
	if (!ARRAY_RESIZE(procs->freeze_pending, slots) ||
	    births_reserve(&procs->births, slots) < 0)
		return -ENOMEM;
	return proctable_reserve(procs->table, slots);
}

void
procs_keep_leaves(struct procs *procs, uint64_t max)
{
	procs->cgroups->kept_max = max;
	for (uint32_t slot = 0; slot < procs->table->cap && procs->cgroups->n_kept > max;
	     slot++)
		containment_shut(&procs->table->at[slot].child.containment,
		                 procs->cgroups);
}

struct procs *
procs_new(struct processes *room, procs_helper_failed *on_helper_failed, void *data,
          struct err *err)
{
	struct procs *procs = err_calloc(sizeof(*procs), err, "table of processes");

	if (procs == NULL)
		return NULL;
	*procs = (struct procs){
	    .room = room,
	    .loop = room->loop,
	    .actors = room->actors,
	    .cgroups = room->cgroups,
	    .exits = room->exits,
	    .walker_pid = room->origin->walker_pid,
	    .on_helper_failed = on_helper_failed,
	    .helper_failed_data = data,
	    .table = room->proctable,
	    .leftovers = PROCS_NONE,
	    .child_fd = -1,
	    .epoll_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC)),
	    .sweeper = proc_sweep_new(room->origin->walker_pid),
	};
	freezing_init(procs);
	int r = births_init(procs, &ways, err);
	if (r == 0 && (procs->epoll_fd < 0 || procs->sweeper == NULL)) {
		r = -errno;
		err_set(err, errno, "watch processes");
	} else if (r == 0) {
		r = deaths_watch(procs);
		if (r < 0)
			err_set(err, -r, "watch processes");
	}
	if (r < 0) {
		procs_free(procs);
		return NULL;
	}
	return procs;
}

void
procs_free(struct procs *procs)
{
	if (procs == NULL)
		return;
	births_done(procs);
	deaths_unwatch(procs);
	freezing_done(procs);
	for (uint32_t slot = 0; slot < procs->table->cap; slot++)
		clear(procs, &procs->table->at[slot]);
	fd_close(&procs->epoll_fd);
	proc_sweep_free(procs->sweeper);
	leftovers_done(&procs->strays);
	free(procs);
}
