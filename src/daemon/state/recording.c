/* SPDX-License-Identifier: ISC */
/* recording.c - the ledger, and what the guardian puts down in it. */
#include "config.h"

#include "daemon/state/recording.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "daemon/state/actors.h"
#include "daemon/state/proctable.h"
#include "ledger/ledger.h"

static void
add_process(struct ledger_record *record, const struct proc *proc)
{
	record->life = proc->life;
	record->pid = proc->child.pid;
	record->failed = (struct ledger_failed){
	    .error = (int16_t)proc->failed.error,
	    .step = (uint8_t)proc->failed.step,
	    .which = proc->failed.which,
	};
	record->ready_life = proc->ready_life;
	record->leader = proc->leader;
	record->main_start = proc->main_start;
	record->hung = proc->hung.pid;
	record->hung_since = proc->hung.since;
	memcpy(record->match_from, proc->match_from, sizeof(record->match_from));
	/* A start that is under way has not begun for a new guardian. */
	record->state =
	    (uint8_t)(proc_is_coming(proc) ? PROC_AFTER_PREDECESSOR : proc->state);
	record->asked = (struct ledger_asked){
	    .stop = (uint8_t)proc->stop,
	    .killing = proc->child.killing,
	    .stop_command = (uint8_t)proc->stop_command,
	    .reloads = proc->reloads,
	};
	record->frozen = proc->freeze.is_wanted || proc->freeze.is_pending;
	record->is_cgroup = proc->child.containment.is_cgroup;
	record->is_limited = proc->child.containment.is_limited;
	record->end = proc->end;
}

/*
 * Put down what is known of the tenant of this slot and of its process.  To be called
 * before what is known can be learned from nowhere else any more: before a zombie is
 * reaped, before a message is taken from its queue.
 */
void
record_slot(struct recording *recording, uint32_t slot)
{
	const struct actor *actor = &recording->actors->at[slot];
	struct ledger_record record = {
	    .ref = actor->ref,
	    .predecessor = actor->predecessor,
	    .successor = actor->successor,
	    .conf_id = actor->conf_id,
	    .conf_index = actor->conf_index,
	    .removed = actor->conf_owner != NULL,
	    .sigstopped = actor->sigstopped,
	    .process_started_ms = actor->process_started_ms,
	    .dead_letters = actor->dead_letters,
	    .failed_at_wall_us = actor->failed_at_wall_us,
	};

	ASSERT(slot < recording->actors->cap);
	add_process(&record, &recording->proctable->at[slot]);
	ledger_write(recording->ledger, slot, &record);
}

bool
record_ready(struct recording *recording, struct ref ref)
{
	struct proc *proc = proc_now(recording->proctable, ref);

	if (proc == NULL || proc->ready_life == proc->life)
		return false;
	proc->ready_life = proc->life;
	record_slot(recording, ref.slot);
	return !proc_is_coming(proc);
}

/* Put down what concerns supd as a whole. */
void
record_facts(struct recording *recording)
{
	struct ledger_facts *facts = &recording->facts;

	/* With a precision, so that the compiler keeps the text in one piece: tests make
	 * binaries of another version out of this one. */
	(void)snprintf(facts->version, sizeof(facts->version), "%.*s",
	               (int)sizeof(facts->version) - 1, PACKAGE_VERSION);
	ledger_set_facts(recording->ledger, facts);
}
