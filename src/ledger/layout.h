/* SPDX-License-Identifier: ISC */
/* layout.h - inside the ledger: what is where in the memory that survives.
 *
 * Numbers that are used as an index are bounded wherever they are read.
 */
#ifndef LEDGER_LAYOUT_H
#define LEDGER_LAYOUT_H

#include <stdatomic.h>

#include "base/map.h"
#include "ledger/ledger.h"

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be held by the dead");

#define LEDGER_MAGIC UINT64_C(0x6764656c64707573) /* "supdledg", little-endian */

struct header {
	/* Never changes; the first two are where they are in every version. */
	uint64_t magic;
	uint32_t version, slots;
	uint64_t shape; /* layout_shape() */
	uint64_t bytes; /* of the whole */
	uint64_t core_bytes, events_bytes;
	uint32_t journal, unused;
	uint64_t sum; /* of everything above */

	_Atomic uint64_t commit;    /* epoch << 32 | entries in the journal */
	_Atomic uint64_t performed; /* epoch << 32 | actions */
	uint64_t core_sums[2];
	struct core_used core_used[2]; /* of each core: its sum covers no more */
	struct ledger_spawn spawns[LEDGER_SPAWNS];

	/* A record, a task or the facts on the way to their place. */
	_Atomic uint64_t pending_at; /* the place; 0: nothing is on the way */
	uint64_t pending_bytes;
	union {
		struct ledger_record record;
		struct ledger_task task;
		struct ledger_facts facts;
	} pending;
};

/* A name that is free. */
struct past {
	uint64_t hash;
	_Atomic uint32_t incarnation; /* 0: nothing is here */
	uint32_t unused;
};

struct past_ring {
	_Atomic uint64_t next; /* how many there were; the place of the next one */
	struct past at[LEDGER_PAST_MAX];
};

/* Offsets from the header. */
struct layout {
	size_t cores[2], journal;
	size_t facts, records, tasks; /* each is written as a whole */
	size_t statuses, past;
	size_t tokens, events, bytes;
};

struct ledger {
	int fd;
	struct header *header;
	size_t bytes; /* mapped */
	size_t taken; /* of a new one: memory that the kernel has given */
	size_t core_sure;
	struct layout layout;
	uint32_t n_prepared; /* entries behind those that count */
	struct map past;     /* hash to place in the ring */
};

static inline void *
ledger_at(const struct ledger *ledger, size_t offset)
{
	return (char *)ledger->header + offset;
}

/* layout.c */
void layout_of(const struct ledger_size *size, struct layout *ret);
uint64_t layout_shape(void);

/* journal.c */
void journal_number_on(struct ledger *ledger, const struct ledger *old);

/* record.c */
bool records_are_possible(struct ledger *ledger);

/* past.c */
int past_index(struct ledger *ledger);

#endif
