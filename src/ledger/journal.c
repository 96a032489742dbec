/* SPDX-License-Identifier: ISC */
/* journal.c - the core, its checkpoint, and what was given to it since. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "ledger/layout.h"
#include "ledger/ledger.h"

static uint32_t
epoch_of(uint64_t commit)
{
	return (uint32_t)(commit >> 32);
}

/* The epoch after this one, of the other parity; never 0, which means no epoch. */
static uint32_t
epoch_after(uint32_t epoch)
{
	return epoch == UINT32_MAX ? 2 : epoch + 1;
}

static uint64_t
commit_of(uint32_t epoch, uint32_t entries)
{
	return (uint64_t)epoch << 32 | entries;
}

static uint64_t
commit_now(const struct ledger *ledger)
{
	return atomic_load_explicit(&ledger->header->commit, memory_order_acquire);
}

/* No later store may be moved before this one, which makes the entries valid. */
static void
set_commit(struct ledger *ledger, uint64_t commit)
{
	atomic_store_explicit(&ledger->header->commit, commit, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

static void *
core_copy(const struct ledger *ledger, uint32_t which)
{
	return ledger_at(ledger, ledger->layout.cores[which]);
}

/*
 * The live copy of the core: core_bytes for the caller to step in.  ledger_checkpoint()
 * makes it the checkpoint and another place the live copy: ask again after each.
 */
void *
ledger_core(const struct ledger *ledger)
{
	return core_copy(ledger, ~ledger_epoch(ledger) & 1);
}

/* False: no guardian can have written it. */
static bool
find_performed(const struct ledger *ledger, uint32_t *ret_n)
{
	uint64_t performed = atomic_load(&ledger->header->performed);
	uint32_t epoch = ledger_epoch(ledger);

	/* Death between the checkpoint and the number that belongs to it leaves the
	 * number of the checkpoint before. */
	*ret_n = epoch_of(performed) == epoch ? (uint32_t)performed : 0;
	return epoch_of(performed) == epoch ||
	       epoch_after(epoch_of(performed)) == epoch || performed == 0;
}

static uint64_t
sum_used(const char *core, const struct core_used *used, uint32_t epoch)
{
	return sum_bytes(core + used->later_at, used->later,
	                 sum_bytes(core, used->first, epoch));
}

static void
copy_used(char *to, const char *from, const struct core_used *used)
{
	memcpy(to, from, used->first);
	memcpy(to + used->later_at, from + used->later_at, used->later);
}

/*
 * What the live copy is now is the checkpoint, the journal is empty, no action of it was
 * performed: all at once.  Call it between turns, when everything was performed that the
 * core asked for.  The core is at another address then: ledger_core() tells which.
 *
 * Only what is used of it counts: the rest is whatever it was, in both copies.
 *
 * The first one makes the ledger valid.  Costs a sum and a copy of the core.
 */
void
ledger_checkpoint(struct ledger *ledger, const struct core_used *used)
{
	struct header *header = ledger->header;
	uint32_t epoch = epoch_after(ledger_epoch(ledger));
	void *live = ledger_core(ledger);

	header->core_used[epoch & 1] = *used;
	header->core_sums[epoch & 1] = sum_used(live, used, epoch);
	set_commit(ledger, commit_of(epoch, 0));
	atomic_store_explicit(&header->performed, commit_of(epoch, 0),
	                      memory_order_release);
	copy_used(ledger_core(ledger), live, used);
}

/*
 * After the death of the one before: the live copy is the checkpoint again, for the
 * journal to be replayed into.  All of it was looked at: entries, the number of performed
 * actions and the records can be read from here on.
 *
 * Returns 0; -ENODATA when there was no checkpoint; -EBADMSG when no guardian can have
 * written what is there, and the live copy is as it was.
 */
int
ledger_restore(struct ledger *ledger)
{
	const struct header *header = ledger->header;
	uint32_t epoch = ledger_epoch(ledger);
	const void *checkpoint = core_copy(ledger, epoch & 1);
	const struct core_used used = header->core_used[epoch & 1];
	uint32_t performed;

	if ((uint32_t)commit_now(ledger) > header->journal ||
	    !find_performed(ledger, &performed))
		return -EBADMSG;
	if (epoch == 0)
		return -ENODATA;
	if (used.first > header->core_bytes || used.later_at > header->core_bytes ||
	    used.later > header->core_bytes - used.later_at ||
	    header->core_sums[epoch & 1] != sum_used(checkpoint, &used, epoch))
		return -EBADMSG;
	for (uint32_t i = 0; i < ledger_entries(ledger); i++)
		if (ledger_entry(ledger, i) == NULL)
			return -EBADMSG;
	if (!records_are_possible(ledger))
		return -EBADMSG;
	copy_used(ledger_core(ledger), checkpoint, &used);
	return 0;
}

/* ---- the journal ----------------------------------------------------------------- */

static struct journal_entry *
entry_at(const struct ledger *ledger, uint32_t i)
{
	return (struct journal_entry *)ledger_at(ledger, ledger->layout.journal) + i;
}

static uint32_t
entry_sum(const struct journal_entry *entry, uint32_t epoch, uint32_t i)
{
	return sum_fold(
	    sum_bytes(entry, offsetof(struct journal_entry, sum), commit_of(epoch, i)));
}

/* True if so many more fit in before a checkpoint is needed. */
bool
ledger_has_room(const struct ledger *ledger, uint32_t entries)
{
	return entries + ledger->n_prepared <=
	       ledger->header->journal - ledger_entries(ledger);
}

/* Copy an event without its padding, which the checksum covers, too. */
static void
copy_event(struct event *to, const struct event *from)
{
	_Static_assert(sizeof(struct event) == 120, "a new field is to be copied here");

	memset(to, 0, sizeof(*to));
	to->kind = from->kind;
	to->ref = from->ref;
	to->life = from->life;
	to->code = from->code;
	to->signal = from->signal;
	to->error = from->error;
	to->core = from->core;
	to->oom = from->oom;
	to->gone = from->gone;
	to->hold = from->hold;
	to->token = from->token;
	to->wait_for = from->wait_for;
	to->period_ms = from->period_ms;
	to->stamp = from->stamp;
	memcpy(to->key, from->key, strnlen(from->key, sizeof(to->key) - 1));
	to->serial = from->serial;
	to->late = from->late;
	to->stop = from->stop;
	/* What was borrowed is gone by the time it is read: its number stays. */
	to->addition_id = from->addition_id;
}

/*
 * Put down what the core is given next; it counts from ledger_commit() on, together with
 * whatever else was prepared.  There must be room, and a checkpoint.  JOURNAL_SETTLE has
 * no event: NULL.
 */
void
ledger_prepare(struct ledger *ledger, enum journal_kind kind, uint64_t now_ms,
               const struct event *event, uint64_t tag)
{
	uint64_t commit = commit_now(ledger);
	uint32_t i = (uint32_t)commit + ledger->n_prepared;
	struct journal_entry *entry = entry_at(ledger, i);

	ASSERT(epoch_of(commit) != 0);
	ASSERT(i < ledger->header->journal);
	entry->now_ms = now_ms;
	entry->tag = tag;
	entry->kind = kind;
	if (event != NULL)
		copy_event(&entry->event, event);
	else
		memset(&entry->event, 0, sizeof(entry->event));
	entry->sum = entry_sum(entry, epoch_of(commit), i);
	ledger->n_prepared++;
}

/*
 * When this returns a successor will give the core all that was prepared; before that,
 * nothing of it.
 */
void
ledger_commit(struct ledger *ledger)
{
	const uint32_t n = ledger->n_prepared;

	ledger->n_prepared = 0;
	if (n > 0)
		set_commit(ledger, commit_now(ledger) + n);
}

/* How many entries there are since the checkpoint. */
uint32_t
ledger_entries(const struct ledger *ledger)
{
	uint32_t n = (uint32_t)commit_now(ledger);

	return n < ledger->header->journal ? n : ledger->header->journal;
}

/* An entry, the oldest is 0; NULL: there is none, or it is damaged. */
const struct journal_entry *
ledger_entry(const struct ledger *ledger, uint32_t i)
{
	const struct journal_entry *entry = entry_at(ledger, i);

	return i >= ledger_entries(ledger) ||
	               entry->sum != entry_sum(entry, ledger_epoch(ledger), i)
	           ? NULL
	           : entry;
}

/* How many actions were performed since the checkpoint. */
uint32_t
ledger_performed(const struct ledger *ledger)
{
	uint32_t n;

	return find_performed(ledger, &n) ? n : 0;
}

/* Note that `n` of the actions that came since the checkpoint were performed. */
void
ledger_set_performed(struct ledger *ledger, uint32_t n)
{
	atomic_store_explicit(&ledger->header->performed,
	                      commit_of(ledger_epoch(ledger), n), memory_order_release);
}

/* The checkpoints of a ledger that has none get the numbers after those of the old one.
 */
void
journal_number_on(struct ledger *ledger, const struct ledger *old)
{
	set_commit(ledger, commit_of(ledger_epoch(old), 0));
}

/* Another number after each change of the core, which all are in the journal; 0: there is
 * no core. */
uint64_t
ledger_state(const struct ledger *ledger)
{
	return commit_now(ledger);
}

/* The number of the newest checkpoint, 0 before the first; each has another number. */
uint32_t
ledger_epoch(const struct ledger *ledger)
{
	return epoch_of(commit_now(ledger));
}
