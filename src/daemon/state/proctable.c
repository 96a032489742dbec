/* SPDX-License-Identifier: ISC */
/* proctable.c - the table of the actors' processes: what is known of them, by slot. */
#include "config.h"

#include "daemon/state/proctable.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "ledger/ledger.h"
#include "os/process/proc.h"

void
proc_enter(struct proc *proc, enum proc_state state)
{
	proc->state = state;
}

bool
proc_is_coming(const struct proc *proc)
{
	return proc->state == PROC_AFTER_PREDECESSOR || proc->state == PROC_UNDER_WAY;
}

bool
proc_is_used(const struct proc *proc)
{
	return proc->state != PROC_NONE && proc->state != PROC_GONE;
}

bool
proc_has_ended(const struct proc *proc)
{
	return proc->state == PROC_LEFT || proc->state == PROC_GONE;
}

struct proc *
proc_of(const struct proctable *table, struct ref ref, uint32_t life)
{
	struct proc *proc = proc_now(table, ref);

	return proc != NULL && proc->life == life ? proc : NULL;
}

struct proc *
proc_now(const struct proctable *table, struct ref ref)
{
	struct proc *proc = ref.slot < table->cap ? &table->at[ref.slot] : NULL;

	return proc != NULL && proc_is_used(proc) && proc->ref.tenant == ref.tenant
	           ? proc
	           : NULL;
}

struct proc *
proc_by_pid(const struct proctable *table, pid_t pid)
{
	uint32_t slot;

	return map_get(&table->by_pid, (uint64_t)pid, &slot) && (slot & PROCS_TASK) == 0
	           ? &table->at[slot]
	           : NULL;
}

bool
proctable_contains(const struct proctable *table, struct ref ref, pid_t pid, uid_t uid)
{
	const struct proc *proc = proc_now(table, ref);

	return proc != NULL && pid > 0 &&
	       (proc->child.pid == pid ||
	        containment_has(&proc->child.containment, table->cgroups, pid, uid));
}

bool
proctable_is_main(const struct proctable *table, struct ref ref, pid_t pid)
{
	const struct proc *proc = proc_now(table, ref);

	return proc != NULL && pid > 0 && proc->child.pid == pid;
}

bool
proctable_is_coming(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = proc_now(table, ref);

	return proc != NULL && proc->state == PROC_UNDER_WAY;
}

uint32_t
proctable_life(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = proc_now(table, ref);

	return proc == NULL ? 0 : proc->life;
}

bool
proctable_is_ending(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = proc_now(table, ref);

	return proc == NULL || proc->child.pid == 0 || proc_is_ending(proc->child.pid);
}

uint64_t
proctable_match_from(const struct proctable *table, struct ref ref, bool is_stderr)
{
	const struct proc *proc = proc_now(table, ref);

	return proc == NULL ? 0 : proc->match_from[is_stderr];
}

bool
proctable_has_left(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = proc_now(table, ref);

	return proc != NULL && proc->state == PROC_LEFT && proc->rest.is_listed;
}

const struct reap *
proctable_last_end(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = ref.slot < table->cap ? &table->at[ref.slot] : NULL;

	return proc != NULL && proc_has_ended(proc) ? &proc->end : NULL;
}

pid_t
proctable_pid(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = ref.slot < table->cap ? &table->at[ref.slot] : NULL;

	if (proc == NULL)
		return 0;
	return proc_has_ended(proc) ? proc->end.pid : proc->child.pid;
}

const char *
proctable_failed_step(const struct proctable *table, struct ref ref)
{
	const struct proc *proc = ref.slot < table->cap ? &table->at[ref.slot] : NULL;

	return proc != NULL && proc->failed.step != SPAWN_STEP_NONE
	           ? spawn_step_names[proc->failed.step]
	           : "";
}

int
proctable_reserve(struct proctable *table, uint32_t slots)
{
	struct proc none = {.ref = REF_NONE, .child.pidfd = -1};

	containment_init(&none.child.containment);
	return map_reserve(&table->by_pid, slots + LEDGER_TASKS_MAX) == 0 &&
	               ARRAY_EXTEND(table->at, slots, table->cap, &none)
	           ? 0
	           : -ENOMEM;
}

struct proctable *
proctable_new(const struct cgroup_root *cgroups)
{
	struct proctable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->cgroups = cgroups;
	return table;
}

void
proctable_free(struct proctable *table)
{
	if (table == NULL)
		return;
	map_done(&table->by_pid);
	free(table->at);
	free(table);
}
