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
#include "daemon/reload/follow.h"
#include "daemon/reload/reload.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/events.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "ledger/handover.h"
#include "ledger/ledger.h"

/* ---- is it whole? ------------------------------------------------------------------ */

static int
check_ledger(struct ledger *ledger, struct ledger_facts *ret, struct err *err)
{
	const char *wrong = "a part of it is not what a guardian writes";
	int r = ledger_restore(ledger);

	if (r == 0)
		r = ledger_facts(ledger, ret);
	if (r == 0)
		wrong = core_check(ledger_core(ledger));
	if (wrong != NULL)
		err_set(err, 0, "the ledger is damaged: %s", wrong);
	return wrong != NULL ? -EBADMSG : 0;
}

int
adopt_open(struct keeper *keeper, struct actors *actors, struct recording *recording,
           struct ledger **ret_ledger, struct err *err)
{
	struct handover *handover = keeper_handover(keeper);
	struct ledger_facts facts;

	struct ledger *ledger = ledger_open(handover->ledger_fd, err);
	handover->ledger_fd = -1;
	if (ledger == NULL)
		return -EBADMSG;
	if (check_ledger(ledger, &facts, err) < 0 ||
	    (actors->conf = keeper_take_conf(keeper, facts.conf_id, err)) == NULL) {
		ledger_free(ledger);
		return -EBADMSG;
	}
	recording->facts = facts;
	*ret_ledger = ledger;
	return 0;
}

/* ---- the tables -------------------------------------------------------------------- */

static int
find_conf(struct reloader *reloader, const struct ledger_record *record,
          struct conf **ret, struct err *err)
{
	if (record->conf_id == 0) {
		*ret = system_conf(reloader->system);
		return record->conf_index < SYSTEM_ACTORS ? 0 : -EBADMSG;
	}
	if ((record->conf_id & ADDITION_BIT) != 0) {
		const struct grown *grown =
		    additions_find(reloader->additions, record->conf_id);

		*ret = grown == NULL ? NULL : grown->conf;
		if (grown != NULL && record->conf_index < grown->spec.n)
			return 0;
		return err_say(
		    err, -EBADMSG,
		    "the configuration of an actor that was added at run time is "
		    "missing");
	}
	*ret = reloader->actors->conf;
	if (record->conf_id != reloader->recording->facts.conf_id &&
	    reload_adopt_retired(reloader, record->conf_id, ret, err) < 0)
		return -EBADMSG;
	if (record->conf_index < (*ret)->n_actors)
		return 0;
	return err_say(err, -EBADMSG,
	               "the ledger names an actor that the configuration does not have");
}

static int
restore_actor(struct reloader *reloader, const struct ledger_record *record,
              struct err *err)
{
	struct conf *conf;
	int r = find_conf(reloader, record, &conf, err);

	if (r < 0)
		return r;
	r = actors_restore(reloader->actors, record->ref,
	                   conf->actors[record->conf_index].path, record->successor);
	if (r < 0)
		return err_set(err, -r, "an actor's name");
	actors_assign(reloader->actors, record->ref, conf, record->conf_id,
	              record->conf_index);
	struct actor *actor = actors_get(reloader->actors, record->ref);
	actor->predecessor = record->predecessor;
	actor->conf_owner = record->removed ? conf : NULL;
	actor->grown = additions_find(reloader->additions, record->conf_id);
	if (actor->grown != NULL)
		additions_use(actor->grown);
	actor->pid = record->pid;
	actor->process_started_ms = record->process_started_ms;
	actor->sigstopped = record->sigstopped;
	actor->dead_letters = record->dead_letters;
	actor->failed_at_wall_us = record->failed_at_wall_us;
	if (ledger_status(reloader->recording->ledger, record->ref.slot)[0] != '\0')
		actor->status =
		    strdup(ledger_status(reloader->recording->ledger, record->ref.slot));
	return 0;
}

static void
restore_containment(struct processes *processes, struct proc *proc,
                    const struct ledger_record *record)
{
	const struct proc_mark mark = {processes->recording->facts.secret,
	                               record->ref.slot, record->life};
	pid_t main = record->pid != 0 ? record->pid : record->end.pid;

	containment_adopt(&proc->child.containment,
	                  record->is_cgroup ? processes->cgroups : NULL,
	                  processes->actors->at[record->ref.slot].path, mark);
	/* A main process that MAINPID= named does not lead the session. */
	if (record->leader != 0)
		main = record->leader;
	if (record->is_limited)
		containment_adopt_limited(&proc->child.containment,
		                          processes->actors->at[record->ref.slot].path);
	proc->child.containment.session = main;
	proc->child.containment.is_main_alive = record->pid != 0 && record->leader == 0;
	if (record->pid != 0 && record->leader != 0)
		containment_told(&proc->child.containment, record->pid);
}

static void
restore_process(struct processes *processes, const struct ledger_record *record)
{
	struct procs *procs = processes->procs;
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
	    .needs_comparison = true,
	    .ready_life = record->ready_life,
	    .leader = record->leader,
	    .main_start = record->main_start,
	    .match_from = {record->match_from[0], record->match_from[1]},
	    .end = record->end,
	    .failed = {record->failed.error, (enum spawn_step)record->failed.step,
	               record->failed.which},
	    .hung = {record->hung, record->hung_since},
	    .stop_command = (enum stop_command)record->asked.stop_command,
	    .reloads = record->asked.reloads,
	};
	restore_containment(processes, proc, record);
	if (proc->child.pid != 0)
		(void)map_put(&procs->table->by_pid, (uint64_t)proc->child.pid,
		              proc->ref.slot);
	notify_adopt(processes->messages->notify, proc->ref);
	readiness_adopt(processes->messages->readiness, proc->ref);
	stores_adopt(processes->messages->stores, proc->ref);
}

static int
restore_slots(struct reloader *reloader, uint32_t slots, struct err *err)
{
	for (uint32_t slot = 0; slot < slots; slot++) {
		struct ledger_record record;
		int r = ledger_read(reloader->recording->ledger, slot, &record);

		keeper_beat(reloader->keeper);
		if (r < 0 || record.ref.slot == REF_NONE.slot)
			continue;
		r = restore_actor(reloader, &record, err);
		if (r < 0)
			return r;
		restore_process(reloader->processes, &record);
	}
	return 0;
}

/* ---- starts under way ---- */

/* The containment of a child that was started without an acknowledgement. */
static void
enter_containment(struct processes *processes, struct proc *proc,
                  const struct actor *actor)
{
	const struct proc_mark mark = {processes->recording->facts.secret, proc->ref.slot,
	                               proc->life};

	if (launch_in_cgroup(processes->cgroups, actor)) {
		/* Not where it was before, if limits were given or taken meanwhile. */
		containment_adopt(&proc->child.containment, processes->cgroups,
		                  actor->path, mark);
		if (limiting_is_wanted(processes->cgroups, actor))
			containment_adopt_limited(&proc->child.containment, actor->path);
	}
	proc->child.containment.mark = mark;
}

/* The process of an actor was on its way to its program: its start goes on, unless the
 * tables know what became of it. */
static int
adopt_actor_start(struct processes *processes, uint8_t place)
{
	const struct ledger_spawn *spawn =
	    ledger_spawn(processes->recording->ledger, place);
	const struct actor *actor = actors_get(processes->actors, spawn->ref);
	const uint32_t life = atomic_load(&spawn->life);
	struct procs *procs = processes->procs;

	if (actor == NULL)
		return 0;
	struct proc *proc = &procs->table->at[spawn->ref.slot];
	if (proc->life == life &&
	    (proc->child.pid != 0 || proc_has_ended(proc) || proc->failed.error != 0))
		return 0;
	*proc = (struct proc){
	    .child = {.pidfd = -1,
	              .adopted = true,
	              .containment = proc->child.containment},
	    .ref = spawn->ref,
	    .life = life,
	    .state = PROC_UNDER_WAY,
	    .needs_comparison = true,
	    .ready_life = proc->ready_life,
	    .hung = proc->hung,
	};
	enter_containment(processes, proc, actor);
	return births_adopt(procs, place, spawn->ref.slot);
}

/* Starts of the dead guardian go on, as if they were ours; the places of those that are
 * over are free. */
static int
adopt_starts(struct processes *processes, struct err *err)
{
	int r = 0;

	for (uint8_t place = 0; place < LEDGER_SPAWNS && r == 0; place++) {
		struct ledger_spawn *spawn =
		    ledger_spawn(processes->recording->ledger, place);

		if (atomic_load(&spawn->life) == 0)
			continue;
		if (spawn->trace.pid != 0)
			r = spawn->task != 0 ? tasks_adopt_start(processes->tasks, place)
			                     : adopt_actor_start(processes, place);
		if (processes->procs->births.at[place].start == NULL)
			atomic_store(&spawn->life, 0);
	}
	if (r < 0)
		err_set(err, -r, "starts under way");
	return r;
}

/* ---- all of it ---- */

/* Actions with an event in the stream were performed, even if the count is lower. */
static void
count_performed(const struct events *events, struct ledger *ledger)
{
	const uint64_t by = events_by(events, events->next_seq - 1);
	const uint32_t number = (uint32_t)by;

	if (by >> 32 == ledger_epoch(ledger) && number > ledger_performed(ledger))
		ledger_set_performed(ledger, number);
}

int
adopt_tables(struct reloader *reloader, struct ledger *ledger, struct err *err)
{
	struct ledger_size size;

	ledger_size(ledger, &size);
	reload_use_ledger(reloader, ledger);
	int r = reload_reserve(reloader, size.slots, err);
	if (r == 0)
		r = additions_adopt(reloader, err);
	if (r == 0)
		r = restore_slots(reloader, size.slots, err);
	if (r == 0)
		r = mailboxes_open(reloader->sockets, &reloader->sockets->mailboxes,
		                   reloader->actors->conf, NULL, err);
	if (r < 0)
		return r;
	follow_limits(&reloader->limits, reloader->actors->conf);
	metrics_begin(reloader->metrics, reloader->actors->conf);
	additions_open(reloader->additions, reloader->sockets);
	proc_sweep_include_left(reloader->processes->procs->sweeper,
	                        keeper_handover(reloader->keeper)->hello.left,
	                        LINK_LEFT_MAX);
	tasks_restore(reloader->processes->tasks);
	r = adopt_starts(reloader->processes, err);
	if (r < 0)
		return r;
	ends_take_exits(reloader->processes->procs);
	mainpid_adopt(reloader->processes->procs);
	fosters_adopt(reloader->processes->procs);
	helpers_adopt(reloader->sockets->helpers);
	count_performed(reloader->events, ledger);
	return 0;
}
