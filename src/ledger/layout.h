/* SPDX-License-Identifier: ISC */
/* layout.h - inside the ledger: what is where in the memory that survives.
 *
 * Nothing in the memory is believed before its checksum was looked at; numbers that are
 * used as an index are bounded wherever they are read.
 */
#ifndef LEDGER_LAYOUT_H
#define LEDGER_LAYOUT_H

#include "base/map.h"
#include "ledger/ledger.h"

#include <stdatomic.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would be held by the dead");

#define LEDGER_MAGIC UINT64_C(0x6764656c64707573) /* "supdledg", little-endian */

/* Two copies of something behind this, each a struct twin_copy with its bytes.  The low
 * bit of `current`, a generation, says which one counts. */
struct twin {
	_Atomic uint64_t current; /* 0: never written */
};

struct twin_copy {
	uint64_t generation;
	uint64_t sum;
};

#define TWIN_BYTES(bytes) (sizeof(struct twin) + 2 * (sizeof(struct twin_copy) + (bytes)))

struct header {
	/* Never changes; the first two are where they are in every version. */
	uint64_t magic;
	uint32_t version;
	uint32_t slots;
	uint64_t shape; /* layout_shape() */
	uint64_t bytes; /* of the whole */
	uint64_t core_bytes;
	uint64_t events_bytes;
	uint32_t journal;
	uint32_t unused;
	uint64_t sum; /* of everything above */

	/* epoch << 32 | entries in the journal.  The second follows the first: they
	 * differ by one step at most, unless one of them was changed by accident. */
	_Atomic uint64_t commit;
	_Atomic uint64_t echo;
	_Atomic uint64_t performed; /* check << 32 | actions */
	uint64_t core_sums[2];
	struct ledger_spawn spawn;
	char facts[TWIN_BYTES(sizeof(struct ledger_facts))]
	    __attribute__((aligned(sizeof(uint64_t))));
};

#define RECORD_BYTES TWIN_BYTES(sizeof(struct ledger_record))
#define TASK_BYTES   TWIN_BYTES(sizeof(struct ledger_task))

/* A name that is free; `value` is check << 32 | incarnation, 0: nothing is here. */
struct past {
	uint64_t hash;
	_Atomic uint64_t value;
};

struct past_ring {
	_Atomic uint64_t next; /* how many there were; the place of the next one */
	struct past at[LEDGER_PAST_MAX];
};

/* Offsets from the header. */
struct layout {
	size_t cores[2];
	size_t journal;
	size_t records;
	size_t tasks;
	size_t statuses;
	size_t past;
	size_t tokens;
	size_t events;
	size_t bytes;
};

struct ledger {
	int fd;
	struct header *header;
	size_t bytes; /* mapped */
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
void twin_write(struct twin *twin, const void *data, size_t bytes, uint64_t seed);
int twin_read(struct twin *twin, size_t bytes, uint64_t seed, void *ret);

/* past.c */
int past_index(struct ledger *ledger);

#endif
