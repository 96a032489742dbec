/* SPDX-License-Identifier: ISC */
/* adopt.c - take over the state and the processes of a guardian that died. */
#include "config.h"

#include "daemon/recovery/adopt.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/launch/limiting.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/notify.h"
#include "daemon/messages/readiness.h"
#include "daemon/messages/stores.h"
#include "daemon/metrics/metrics.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs_private.h"
#include "daemon/processes/tasks_private.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/before.h"
#include "daemon/reload/reload.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/shell.h"
#include "daemon/state/system.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"
#include "os/self/clock.h"

/* How long children that were on their way to exec may take to get there. */
#define EXEC_TIMEOUT_MS 5000

/* ---- is it whole? ------------------------------------------------------------------ */

static int
check_ledger(struct ledger *ledger, struct ledger_facts *ret, struct err *err)
{
	const char *wrong = "a part of it is not what a guardian writes";
	int r = ledger_facts(ledger, ret);

	if (r == 0)
		r = ledger_restore(ledger);
	if (r == 0)
		wrong = core_check(ledger_core(ledger));
	if (wrong != NULL)
		err_set(err, 0, "the ledger is damaged: %s", wrong);
	return wrong != NULL ? -EBADMSG : 0;
}

int
adopt_open(struct shell *shell, struct ledger **ret_ledger, struct err *err)
{
	struct handover *handover = keeper_handover(shell->keeper);
	struct ledger_facts facts;
	struct ledger *ledger;

	ledger = ledger_open(handover->ledger_fd, err);
	handover->ledger_fd = -1;
	if (ledger == NULL)
		return -EBADMSG;
	if (check_ledger(ledger, &facts, err) < 0) {
		ledger_free(ledger);
		return -EBADMSG;
	}
	shell->actors.conf = keeper_take_conf(shell->keeper, facts.conf_id, err);
	if (shell->actors.conf == NULL) {
		ledger_free(ledger);
		return -EBADMSG;
	}
	shell->recording.facts = facts;
	before_adopt(shell);
	*ret_ledger = ledger;
	return 0;
}

/* ---- the tables -------------------------------------------------------------------- */

static int
find_conf(struct shell *shell, const struct ledger_record *record, struct conf **ret,
          struct err *err)
{
	if (record->conf_id == 0) {
		*ret = system_conf(shell->system);
		return record->conf_index < SYSTEM_ACTORS ? 0 : -EBADMSG;
	}
	if ((record->conf_id & ADDITION_BIT) != 0) {
		const struct grown *grown = additions_find(shell, record->conf_id);

		*ret = grown == NULL ? NULL : grown->conf;
		if (grown != NULL && record->conf_index < grown->spec.n)
			return 0;
		err_set(err, 0, "an actor that was added at run time is unknown");
		return -EBADMSG;
	}
	*ret = shell->actors.conf;
	if (record->conf_id != shell->recording.facts.conf_id &&
	    reload_adopt_retired(shell, record->conf_id, ret, err) < 0)
		return -EBADMSG;
	if (record->conf_index < (*ret)->n_actors)
		return 0;
	err_set(err, 0, "the ledger names an actor that the configuration does not have");
	return -EBADMSG;
}

static int
restore_actor(struct shell *shell, const struct ledger_record *record, struct err *err)
{
	struct actor *actor;
	struct conf *conf;
	int r = find_conf(shell, record, &conf, err);

	if (r < 0)
		return r;
	r = actors_restore(&shell->actors, record->ref,
	                   conf->actors[record->conf_index].path, record->heir);
	if (r < 0) {
		err_set(err, -r, "an actor's name");
		return r;
	}
	actors_assign(&shell->actors, record->ref, conf, record->conf_id,
	              record->conf_index);
	actor = actors_get(&shell->actors, record->ref);
	actor->elder = record->elder;
	actor->conf_owner = record->removed ? conf : NULL;
	actor->grown = additions_find(shell, record->conf_id);
	if (actor->grown != NULL)
		additions_use(actor->grown);
	actor->pid = record->pid;
	actor->process_started_ms = record->process_started_ms;
	actor->sigstopped = record->sigstopped;
	actor->dead_letters = record->dead_letters;
	actor->failed_at_wall_us = record->failed_at_wall_us;
	if (ledger_status(shell->recording.ledger, record->ref.slot)[0] != '\0')
		actor->status =
		    strdup(ledger_status(shell->recording.ledger, record->ref.slot));
	return 0;
}

static void
restore_containment(struct shell *shell, struct proc *proc,
                    const struct ledger_record *record)
{
	pid_t main = record->pid != 0 ? record->pid : record->end.pid;
	char mark[PROC_MARK_MAX];

	launch_mark(&shell->recording.facts, record->ref.slot, record->life, mark);
	containment_adopt(&proc->child.containment,
	                  record->is_cgroup ? &shell->cgroups : NULL,
	                  shell->actors.at[record->ref.slot].path, mark);
	/* Another main process does not lead the session. */
	if (record->leader != 0)
		main = record->leader;
	if (record->is_limited)
		containment_adopt_limited(&proc->child.containment,
		                          shell->actors.at[record->ref.slot].path);
	proc->child.containment.session = main;
	proc->child.containment.is_main_alive = record->pid != 0 && record->leader == 0;
	if (record->pid != 0 && record->leader != 0)
		containment_told(&proc->child.containment, record->pid);
}

static void
restore_process(struct shell *shell, const struct ledger_record *record)
{
	struct procs *procs = shell->processes->procs;
	struct proc *proc = &procs->table->at[record->ref.slot];

	*proc = (struct proc){
	    .ref = record->ref,
	    .life = record->life,
	    .child =
	        {
	            .pid = record->pid,
	            .pidfd = -1,
	            .adopted = record->pid != 0,
	            .killing = record->asked.killing,
	        },
	    .state = (enum proc_state)record->state,
	    .stop = (enum proc_stop)record->asked.stop,
	    .freeze.is_wanted = record->frozen,
	    .uncompared = true,
	    .told = record->told,
	    .leader = record->leader,
	    .main_start = record->main_start,
	    .awaits = {record->awaits[0], record->awaits[1]},
	    .end = record->end,
	    .failed = {record->failed.step, record->failed.which, record->failed.error},
	    .stop_command = (enum stop_command)record->asked.stop_command,
	    .reloads = record->asked.reloads,
	};
	restore_containment(shell, proc, record);
	if (proc->child.pid != 0)
		(void)map_put(&procs->table->by_pid, (uint64_t)proc->child.pid,
		              proc->ref.slot);
	notify_adopt(shell->messages->notify, proc->ref);
	readiness_adopt(shell->messages->readiness, proc->ref);
	stores_adopt(shell->messages->stores, proc->ref);
}

static int
restore_slots(struct shell *shell, uint32_t slots, struct err *err)
{
	for (uint32_t slot = 0; slot < slots; slot++) {
		struct ledger_record record;
		int r = ledger_read(shell->recording.ledger, slot, &record);

		keeper_beat(shell->keeper);
		if (r < 0 || record.ref.slot == REF_NONE.slot)
			continue;
		r = restore_actor(shell, &record, err);
		if (r < 0)
			return r;
		restore_process(shell, &record);
	}
	return 0;
}

/* ---- the spawn under way ---- */

/* Forget the child that did not get as far as its program. */
static void
undo_birth(struct procs *procs, struct proc *proc)
{
	map_remove(&procs->table->by_pid, (uint64_t)proc->child.pid);
	actors_get(procs->actors, proc->ref)->pid = 0;
	proc->child.pid = 0;
	proc->child.adopted = false;
	containment_reaped(&proc->child.containment);
}

/* The containment of a child that was started without an acknowledgement. */
static void
enter_containment(struct shell *shell, struct proc *proc, const struct actor *actor,
                  uint32_t life)
{
	char mark[PROC_MARK_MAX];

	launch_mark(&shell->recording.facts, proc->ref.slot, life, mark);
	if (launch_in_cgroup(&shell->cgroups, actor)) {
		/* Not where it was before, if limits were given or taken meanwhile. */
		containment_adopt(&proc->child.containment, &shell->cgroups, actor->path,
		                  mark);
		if (limiting_is_wanted(&shell->cgroups, actor))
			containment_adopt_limited(&proc->child.containment, actor->path);
	}
	containment_mark(&proc->child.containment, mark);
	containment_born(&proc->child.containment, proc->child.pid);
	proc->child.containment.is_foreign = true;
}

/*
 * The child did not get as far as its program: the start has failed in a step, or, if the
 * child was killed before that, there was no start at all.  In that case the action that
 * asks for it again starts it, or, if that action was performed already, compare() or the
 * end of its predecessor does.
 */
static void
fail_spawn(struct procs *procs, struct proc *proc, const struct ledger_spawn *spawn,
           bool was_deferred)
{
	if (!proc_has_ended(proc))
		undo_birth(procs, proc);
	proc_enter(proc, PROC_NONE);
	gone_drop(procs, proc);
	proc->failed.step = (enum spawn_step)spawn->trace.step;
	proc->failed.which = spawn->trace.which;
	proc->failed.error = proc->failed.step != SPAWN_STEP_NONE ? spawn->trace.code : 0;
	if (proc->failed.step != SPAWN_STEP_NONE)
		return;
	if (was_deferred)
		proc_enter(proc, PROC_AFTER_ELDER);
	else
		proc->life--;
}

/* A start that the dead guardian had under way. */
struct unfinished {
	struct ledger_spawn *spawn;
	bool is_entered; /* its child is in the tables, and what became of it is asked */
	bool is_known;   /* there is none, or the tables had it before */
	bool was_deferred;
};

/* Is there nothing to be found out about this start? */
static bool
is_known(const struct shell *shell, const struct ledger_spawn *spawn)
{
	const struct proc *proc = &shell->processes->procs->table->at[spawn->ref.slot];
	const uint32_t life = atomic_load(&spawn->life);

	if (life == 0 || spawn->trace.pid == 0)
		return true;
	if (spawn->task != 0)
		return tasks_know_spawn(shell->processes->tasks, spawn);
	return actors_get(&shell->actors, spawn->ref) == NULL ||
	       (proc->life == life && (proc->child.pid != 0 || proc_has_ended(proc) ||
	                               proc->failed.error != 0));
}

static bool
is_pid_taken(const struct shell *shell, pid_t pid)
{
	return proc_by_pid(shell->proctable, pid) != NULL ||
	       task_by_pid(shell->processes->tasks, pid) != NULL;
}

static void
enter_spawn(struct shell *shell, struct unfinished *start)
{
	const struct ledger_spawn *spawn = start->spawn;
	struct actor *actor = actors_get(&shell->actors, spawn->ref);
	struct procs *procs = shell->processes->procs;
	const pid_t pid = spawn->trace.pid;
	struct proc *proc;

	start->is_entered = true;
	if (spawn->task != 0) {
		tasks_enter_spawn(shell->processes->tasks, spawn);
		return;
	}
	proc = &procs->table->at[spawn->ref.slot];
	start->was_deferred =
	    proc->life == atomic_load(&spawn->life) && proc_is_coming(proc);
	*proc = (struct proc){
	    .child = {.pid = pid,
	              .pidfd = -1,
	              .adopted = true,
	              .containment = proc->child.containment},
	    .ref = spawn->ref,
	    .life = atomic_load(&spawn->life),
	    .state = PROC_RUNS,
	    .uncompared = true,
	    .told = proc->told,
	};
	enter_containment(shell, proc, actor, proc->life);
	actor->pid = pid;
	actor->process_started_ms = shell->engine.now_ms;
	(void)map_put(&procs->table->by_pid, (uint64_t)pid, spawn->ref.slot);
}

/* Enter all that can be; true: of the others, earlier processes of their pids have ended,
 * and the walker has told of that. */
static bool
enter_spawns(struct shell *shell, struct unfinished starts[LEDGER_SPAWNS])
{
	bool is_left = false;

	for (uint32_t place = 0; place < LEDGER_SPAWNS; place++) {
		struct unfinished *start = &starts[place];

		if (start->is_known || start->is_entered)
			continue;
		if (is_pid_taken(shell, start->spawn->trace.pid))
			is_left = true;
		else
			enter_spawn(shell, start);
	}
	return is_left;
}

/* What became of a start that was under way? */
static void
finish_spawn(struct shell *shell, struct unfinished *start, uint64_t end_ms)
{
	struct procs *procs = shell->processes->procs;
	const struct ledger_spawn *spawn = start->spawn;
	struct proc *proc = &procs->table->at[spawn->ref.slot];

	if (spawn->task != 0) {
		tasks_finish_spawn(shell->processes->tasks, spawn, end_ms);
		return;
	}
	if (!procs_is_born(procs, spawn, end_ms, &proc->child))
		fail_spawn(procs, proc, spawn, start->was_deferred);
	proc_record(procs, proc);
}

/*
 * Each start is finished, and its place is free; what was not begun compare() begins. All
 * are entered before the first is waited for: an end that the walker tells of meanwhile
 * has to find its child.
 */
static void
finish_spawns(struct shell *shell)
{
	const uint64_t end_ms = clock_mono_ms() + EXEC_TIMEOUT_MS;
	struct unfinished starts[LEDGER_SPAWNS] = {0};

	for (uint32_t place = 0; place < LEDGER_SPAWNS; place++) {
		starts[place].spawn = ledger_spawn(shell->recording.ledger, place);
		starts[place].is_known = is_known(shell, starts[place].spawn);
	}
	while (enter_spawns(shell, starts) && ends_take_exit(shell->processes->procs))
		continue;
	for (uint32_t place = 0; place < LEDGER_SPAWNS; place++) {
		struct unfinished *start = &starts[place];

		if (!start->is_known && !start->is_entered)
			enter_spawn(shell, start);
		if (start->is_entered)
			finish_spawn(shell, start, end_ms);
		keeper_beat(shell->keeper);
		atomic_store(&start->spawn->life, 0);
	}
}

/* ---- all of it ---- */

/* Actions with an event in the stream were performed, even if the count is lower. */
static void
count_performed(struct shell *shell)
{
	const uint64_t by = events_by(&shell->events, shell->events.next_seq - 1);
	const uint32_t number = (uint32_t)by;

	if (by >> 32 == ledger_epoch(shell->recording.ledger) &&
	    number > ledger_performed(shell->recording.ledger))
		ledger_set_performed(shell->recording.ledger, number);
}

int
adopt_tables(struct shell *shell, struct ledger *ledger, struct err *err)
{
	struct ledger_size size;
	int r;

	ledger_size(ledger, &size);
	reload_use_ledger(shell, ledger);
	r = reload_reserve(shell, size.slots, err);
	if (r == 0)
		r = additions_adopt(shell, err);
	if (r == 0)
		r = restore_slots(shell, size.slots, err);
	if (r == 0)
		r = mailboxes_open(shell->sockets, &shell->sockets->mailboxes,
		                   shell->actors.conf, NULL, err);
	if (r < 0)
		return r;
	metrics_begin(shell->metrics, shell->actors.conf);
	additions_open(shell);
	proc_sweep_include_left(shell->processes->procs->sweeper,
	                        keeper_handover(shell->keeper)->hello.left,
	                        LINK_LEFT_MAX);
	tasks_restore(shell->processes->tasks);
	finish_spawns(shell);
	ends_take_exits(shell->processes->procs);
	mainpid_adopt(shell->processes->procs);
	fosters_adopt(shell->processes->procs);
	helpers_adopt(shell->sockets->helpers);
	count_performed(shell);
	return 0;
}
