/* SPDX-License-Identifier: ISC */
/* record.c - what is kept twice: a record for each slot, and facts of supd as a whole. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "ledger/layout.h"
#include "ledger/ledger.h"

/* ---- two copies -------------------------------------------------------------------- */

/* Write to the copy that does not count, and let it count by one store. */
static void
copies_write(struct copies *copies, const void *data, size_t bytes)
{
	uint64_t next = atomic_load_explicit(&copies->written, memory_order_relaxed) + 1;

	memcpy((char *)(copies + 1) + (next & 1) * bytes, data, bytes);
	atomic_store_explicit(&copies->written, next, memory_order_release);
	/* No later store of this thread is moved before this store. */
	atomic_signal_fence(memory_order_seq_cst);
}

/* Read the copy that counts. 0, or -ENOENT if none was written yet. */
static int
copies_read(const struct copies *copies, size_t bytes, void *ret)
{
	uint64_t written = atomic_load_explicit(&copies->written, memory_order_acquire);

	if (written == 0)
		return -ENOENT;
	memcpy(ret, (const char *)(copies + 1) + (written & 1) * bytes, bytes);
	return 0;
}

/* ---- records ----------------------------------------------------------------------- */

static struct copies *
record_at(const struct ledger *ledger, uint32_t slot)
{
	ASSERT(slot < ledger->header->slots);
	return ledger_at(ledger, ledger->layout.records + (size_t)slot * RECORD_BYTES);
}

/* The record of a slot, from now on; death before leaves the one before. */
void
ledger_write(struct ledger *ledger, uint32_t slot, const struct ledger_record *record)
{
	copies_write(record_at(ledger, slot), record, sizeof(*record));
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
	int r = copies_read(record_at(ledger, slot), sizeof(*ret), ret);

	return r < 0 || is_possible(ret, slot) ? r : -EBADMSG;
}

/* ---- tasks ------------------------------------------------------------------------- */

static struct copies *
task_at(const struct ledger *ledger, uint32_t place)
{
	ASSERT(place < LEDGER_TASKS_MAX);
	return ledger_at(ledger, ledger->layout.tasks + (size_t)place * TASK_BYTES);
}

/* The task of a place, from now on; death before leaves the one before. */
void
ledger_write_task(struct ledger *ledger, uint32_t place, const struct ledger_task *task)
{
	copies_write(task_at(ledger, place), task, sizeof(*task));
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
	int r = copies_read(task_at(ledger, place), sizeof(*ret), ret);

	return r < 0 || is_possible_task(ledger, ret) ? r : -EBADMSG;
}

/* True if a guardian can have written all records. */
bool
records_are_possible(const struct ledger *ledger)
{
	struct ledger_record record;
	struct ledger_task task;

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
	copies_write((struct copies *)ledger->header->facts, facts, sizeof(*facts));
}

/* The facts.  Returns 0, or -ENOENT when there never were any. */
int
ledger_facts(const struct ledger *ledger, struct ledger_facts *ret)
{
	int r = copies_read((struct copies *)ledger->header->facts, sizeof(*ret), ret);

	if (r == 0)
		ret->version[sizeof(ret->version) - 1] = '\0';
	return r;
}
