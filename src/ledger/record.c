/* SPDX-License-Identifier: ISC */
/* record.c - what is kept twice: a record for each slot, and facts of supd as a whole. */
#include "config.h"

#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "ledger/layout.h"

/* Facts have no slot. */
#define FACTS_SEED UINT64_MAX
#define TASK_SEED  (UINT64_C(1) << 32) /* above all slots */

/* ---- two copies -------------------------------------------------------------------- */

static struct twin_copy *
copy_of(struct twin *twin, uint64_t generation, size_t bytes)
{
	char *first = (char *)(twin + 1);

	return (struct twin_copy *)(first + (generation & 1) *
	                                        (sizeof(struct twin_copy) + bytes));
}

static uint64_t
copy_sum(const struct twin_copy *copy, size_t bytes, uint64_t seed)
{
	return sum_bytes(copy + 1, bytes, seed ^ copy->generation << 32);
}

/* Is the copy where this generation belongs complete, and of this generation? */
static bool
has_generation(struct twin *twin, uint64_t generation, size_t bytes, uint64_t seed)
{
	const struct twin_copy *copy = copy_of(twin, generation, bytes);

	return copy->generation == generation && copy->sum == copy_sum(copy, bytes, seed);
}

/* The newest that is complete: death before the switch does not undo it. */
static uint64_t
newest_generation(struct twin *twin, size_t bytes, uint64_t seed)
{
	uint64_t current = atomic_load_explicit(&twin->current, memory_order_acquire);

	return current + has_generation(twin, current + 1, bytes, seed);
}

/* Write to the older copy and make it count. */
void
twin_write(struct twin *twin, const void *data, size_t bytes, uint64_t seed)
{
	uint64_t generation = newest_generation(twin, bytes, seed);
	struct twin_copy *copy = copy_of(twin, generation + 1, bytes);

	/* The writer before may have died before its switch: what is overwritten now must
	 * not be what counts. */
	atomic_store_explicit(&twin->current, generation, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	generation++;
	memcpy(copy + 1, data, bytes);
	copy->generation = generation;
	copy->sum = copy_sum(copy, bytes, seed);
	atomic_store_explicit(&twin->current, generation, memory_order_release);
}

/*
 * The newest of the two.  0; -ENOENT when there never was one; -EBADMSG when the one that
 * counts is damaged: the older one would be the past, which was acted on since.
 */
int
twin_read(struct twin *twin, size_t bytes, uint64_t seed, void *ret)
{
	uint64_t current = atomic_load_explicit(&twin->current, memory_order_acquire);
	uint64_t newest = newest_generation(twin, bytes, seed);
	bool sound = current == 0 ? copy_of(twin, 0, bytes)->generation == 0
	                          : has_generation(twin, current, bytes, seed);

	if (!sound)
		return -EBADMSG;
	if (newest == 0)
		return -ENOENT;
	memcpy(ret, copy_of(twin, newest, bytes) + 1, bytes);
	return 0;
}

/* ---- records ------------------------------------------------------------------------
 */

static struct twin *
record_at(const struct ledger *ledger, uint32_t slot)
{
	ASSERT(slot < ledger->header->slots);
	return ledger_at(ledger, ledger->layout.records + (size_t)slot * RECORD_BYTES);
}

/* The record of a slot, from now on; death before leaves the one before. */
void
ledger_write(struct ledger *ledger, uint32_t slot, const struct ledger_record *record)
{
	struct ledger_record clean = *record;
	struct reap *end = &clean.end;

	/* The checksum covers the padding between the fields, too. */
	_Static_assert(sizeof(struct ledger_record) == 160,
	               "padding: look at ledger_write");
	_Static_assert(sizeof(struct reap) == 40, "padding: look at ledger_write");
	memset((char *)end + offsetof(struct reap, status) + sizeof(end->status), 0,
	       offsetof(struct reap, utime_us) - offsetof(struct reap, status) -
	           sizeof(end->status));
	twin_write(record_at(ledger, slot), &clean, sizeof(clean), slot);
}

/*
 * The record of a slot.  Returns 0; -ENOENT when it was never written; -EBADMSG when it
 * is damaged: by no death of a writer, that leaves one or the other whole.
 */
int
ledger_read(const struct ledger *ledger, uint32_t slot, struct ledger_record *ret)
{
	return twin_read(record_at(ledger, slot), sizeof(*ret), slot, ret);
}

/* ---- helper processes ---------------------------------------------------------------
 */

static struct twin *
task_at(const struct ledger *ledger, uint32_t place)
{
	ASSERT(place < LEDGER_TASKS_MAX);
	return ledger_at(ledger, ledger->layout.tasks + (size_t)place * TASK_BYTES);
}

/* The task of a place, from now on; death before leaves the one before. */
void
ledger_write_task(struct ledger *ledger, uint32_t place, const struct ledger_task *task)
{
	struct ledger_task clean = *task;

	/* The checksum covers the padding between the fields, too. */
	_Static_assert(sizeof(struct ledger_task) == 160,
	               "padding: look at ledger_write_task");
	memset((char *)&clean + offsetof(struct ledger_task, is_left) + 1, 0,
	       offsetof(struct ledger_task, end) - offsetof(struct ledger_task, is_left) -
	           1);
	twin_write(task_at(ledger, place), &clean, sizeof(clean), TASK_SEED + place);
}

/* The task of a place.  Returns 0, -ENOENT or -EBADMSG as ledger_read(). */
int
ledger_read_task(const struct ledger *ledger, uint32_t place, struct ledger_task *ret)
{
	return twin_read(task_at(ledger, place), sizeof(*ret), TASK_SEED + place, ret);
}

/* ---- status texts -------------------------------------------------------------------
 */

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

/* What was set last, "" at first.  Not summed: it ends, but may be damaged. */
const char *
ledger_status(const struct ledger *ledger, uint32_t slot)
{
	char *status = status_at(ledger, slot);

	if (status[LEDGER_STATUS_MAX - 1] != '\0')
		status[LEDGER_STATUS_MAX - 1] = '\0';
	return status;
}

/* ---- a spawn, and supd as a whole -----------------------------------------------------
 */

/* What is on the way to be started: one at a time.  Not summed: others write here. */
struct ledger_spawn *
ledger_spawn(const struct ledger *ledger)
{
	return &ledger->header->spawn;
}

/* The facts, from now on; death before leaves those before. */
void
ledger_set_facts(struct ledger *ledger, const struct ledger_facts *facts)
{
	struct ledger_facts clean;

	memset(&clean, 0, sizeof(clean));
	clean.secret[0] = facts->secret[0];
	clean.secret[1] = facts->secret[1];
	clean.conf_id = facts->conf_id;
	clean.started_ms = facts->started_ms;
	clean.upgrade_ms = facts->upgrade_ms;
	clean.trial_since_ms = facts->trial_since_ms;
	clean.trial_until_ms = facts->trial_until_ms;
	clean.conf_wall_us = facts->conf_wall_us;
	clean.before_wall_us = facts->before_wall_us;
	clean.trial_ends_early = facts->trial_ends_early;
	clean.is_ready = facts->is_ready;
	clean.shutting_down = facts->shutting_down;
	memcpy(clean.version, facts->version,
	       strnlen(facts->version, sizeof(clean.version) - 1));
	_Static_assert(sizeof(clean) == 112, "a new field is to be copied here");
	twin_write((struct twin *)ledger->header->facts, &clean, sizeof(clean),
	           FACTS_SEED);
}

/* The facts.  Returns 0, -ENOENT or -EBADMSG as ledger_read(). */
int
ledger_facts(const struct ledger *ledger, struct ledger_facts *ret)
{
	return twin_read((struct twin *)ledger->header->facts, sizeof(*ret), FACTS_SEED,
	                 ret);
}
