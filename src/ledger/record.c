/* SPDX-License-Identifier: ISC */
/* record.c - write as a whole: a record for each slot, tasks, and facts of supd. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "ledger/layout.h"
#include "ledger/ledger.h"

/* ---- as a whole -------------------------------------------------------------------- */

/* The pending bytes belong at this offset from now on; 0: none are pending.  No store of
 * this thread is moved across this one. */
static void
set_pending(struct header *header, uint64_t at)
{
	atomic_store_explicit(&header->pending_at, at, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Death before the bytes are pending leaves the old ones; after it the next guardian
 * completes the new ones, by put_in_place(). */
static void
write_whole(struct ledger *ledger, size_t at, const void *data, size_t bytes)
{
	memcpy(&ledger->header->pending, data, bytes);
	ledger->header->pending_bytes = bytes;
	set_pending(ledger->header, at);
	memcpy(ledger_at(ledger, at), data, bytes);
	set_pending(ledger->header, 0);
}

/* In the ledger of a guardian that died: complete the write in which it died.  False: no
 * guardian can have written there. */
static bool
put_in_place(struct ledger *ledger)
{
	struct header *header = ledger->header;
	const uint64_t at = atomic_load(&header->pending_at),
	               bytes = header->pending_bytes;

	if (at == 0)
		return true;
	if (at < ledger->layout.facts || bytes > sizeof(header->pending) ||
	    at > ledger->layout.journal - bytes)
		return false;
	memcpy(ledger_at(ledger, at), &header->pending, bytes);
	set_pending(header, 0);
	return true;
}

/* False: nothing was ever written about it, and it is all zero. */
static bool
is_written(struct ref ref)
{
	return ref.slot != 0 || ref.tenant != 0;
}

/* ---- records ----------------------------------------------------------------------- */

static size_t
record_at(const struct ledger *ledger, uint32_t slot)
{
	ASSERT(slot < ledger->header->slots);
	return ledger->layout.records + slot * sizeof(struct ledger_record);
}

/* The record of a slot, from now on; death before leaves the one before. */
void
ledger_write(struct ledger *ledger, uint32_t slot, const struct ledger_record *record)
{
	write_whole(ledger, record_at(ledger, slot), record, sizeof(*record));
}

/* True if a guardian could have written this about the slot. */
static bool
is_possible(const struct ledger_record *record, uint32_t slot)
{
	return (record->ref.slot == REF_NONE.slot || record->ref.slot == slot) &&
	       record->failed.step < SPAWN_STEP_MAX && record->pid >= 0 &&
	       record->leader >= 0 && record->end.kind <= REAP_CONTINUED;
}

/*
 * The record of a slot.  Returns 0; -ENOENT when it was never written; -EBADMSG when no
 * guardian can have written it.
 */
int
ledger_read(const struct ledger *ledger, uint32_t slot, struct ledger_record *ret)
{
	memcpy(ret, ledger_at(ledger, record_at(ledger, slot)), sizeof(*ret));
	return !is_written(ret->ref) ? -ENOENT : is_possible(ret, slot) ? 0 : -EBADMSG;
}

/* ---- tasks ------------------------------------------------------------------------- */

static size_t
task_at(const struct ledger *ledger, uint32_t place)
{
	ASSERT(place < LEDGER_TASKS_MAX);
	return ledger->layout.tasks + place * sizeof(struct ledger_task);
}

/* The task of a place, from now on; death before leaves the one before. */
void
ledger_write_task(struct ledger *ledger, uint32_t place, const struct ledger_task *task)
{
	write_whole(ledger, task_at(ledger, place), task, sizeof(*task));
}

static bool
is_possible_task(const struct ledger *ledger, const struct ledger_task *task)
{
	return (task->ref.slot == REF_NONE.slot ||
	        task->ref.slot < ledger->header->slots) &&
	       task->step < SPAWN_STEP_MAX && task->pid >= 0 &&
	       task->end.kind <= REAP_CONTINUED;
}

/* The task of a place.  Returns 0, -ENOENT or -EBADMSG as ledger_read(). */
int
ledger_read_task(const struct ledger *ledger, uint32_t place, struct ledger_task *ret)
{
	memcpy(ret, ledger_at(ledger, task_at(ledger, place)), sizeof(*ret));
	return !is_written(ret->ref)           ? -ENOENT
	       : is_possible_task(ledger, ret) ? 0
	                                       : -EBADMSG;
}

/* True if a guardian can have written all records, of which the last is completed. */
bool
records_are_possible(struct ledger *ledger)
{
	struct ledger_record record;
	struct ledger_task task;

	if (!put_in_place(ledger))
		return false;
	for (uint32_t slot = 0; slot < ledger->header->slots; slot++)
		if (ledger_read(ledger, slot, &record) == -EBADMSG)
			return false;
	for (uint32_t place = 0; place < LEDGER_TASKS_MAX; place++)
		if (ledger_read_task(ledger, place, &task) == -EBADMSG)
			return false;
	return true;
}

/* ---- status texts ------------------------------------------------------------------ */

static char *
status_at(const struct ledger *ledger, uint32_t slot)
{
	ASSERT(slot < ledger->header->slots);
	return ledger_at(ledger,
	                 ledger->layout.statuses + (size_t)slot * LEDGER_STATUS_MAX);
}

/*
 * What a process says of itself, cut off between two characters of UTF-8 where it is too
 * long.  Death while it is written leaves no text.
 */
void
ledger_set_status(struct ledger *ledger, uint32_t slot, const char *text)
{
	volatile char *first = status_at(ledger, slot);
	char *status = status_at(ledger, slot);
	size_t len = strnlen(text, LEDGER_STATUS_MAX);

	if (len == LEDGER_STATUS_MAX) {
		len--;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	*first = '\0';
	atomic_signal_fence(memory_order_seq_cst);
	if (len > 0) {
		memcpy(status + 1, text + 1, len - 1);
		status[len] = '\0';
		atomic_signal_fence(memory_order_seq_cst);
		*first = text[0];
	}
}

/* What was set last, "" at first; it always ends. */
const char *
ledger_status(const struct ledger *ledger, uint32_t slot)
{
	char *status = status_at(ledger, slot);

	if (status[LEDGER_STATUS_MAX - 1] != '\0')
		status[LEDGER_STATUS_MAX - 1] = '\0';
	return status;
}

/* ---- a spawn, and supd as a whole -------------------------------------------------- */

/* What is on the way to be started in one of the places.  The kernel and the child write
 * here, too. */
struct ledger_spawn *
ledger_spawn(const struct ledger *ledger, uint32_t place)
{
	ASSERT(place < LEDGER_SPAWNS);
	return &ledger->header->spawns[place];
}

/* The facts, from now on; death before leaves those before. */
void
ledger_set_facts(struct ledger *ledger, const struct ledger_facts *facts)
{
	write_whole(ledger, ledger->layout.facts, facts, sizeof(*facts));
}

/* The facts.  Returns 0, or -ENOENT when there never were any. */
int
ledger_facts(const struct ledger *ledger, struct ledger_facts *ret)
{
	memcpy(ret, ledger_at(ledger, ledger->layout.facts), sizeof(*ret));
	ret->version[sizeof(ret->version) - 1] = '\0';
	return ret->secret[0] == 0 && ret->secret[1] == 0 ? -ENOENT : 0;
}
