/* SPDX-License-Identifier: ISC */
/* past.c - incarnations of free names, so that a later actor is not taken for an earlier
 * one. */
#include "config.h"

#include "ledger/ledger.h"

#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "ledger/layout.h"

/* Reserved in the values of the ring. */
#define EMPTY 0

static struct past_ring *
ring_of(const struct ledger *ledger)
{
	return ledger_at(ledger, ledger->layout.past);
}

static uint64_t
hash_path(const char *path)
{
	return sum_bytes(path, strlen(path), 0);
}

static uint64_t
value_of(uint64_t hash, uint32_t incarnation)
{
	uint32_t check = sum_fold(sum_bytes(&hash, sizeof(hash), incarnation));

	/* A used entry must not look like an empty one. */
	return (uint64_t)(check | 1) << 32 | incarnation;
}

static bool
is_sound(const struct past *past)
{
	uint64_t value = atomic_load(&past->value);

	return value != EMPTY && value == value_of(past->hash, (uint32_t)value);
}

/*
 * Find again by hash what is in the ring; a damaged entry is a forgotten one.  Returns 0,
 * or -ENOMEM, which cannot be the second time.
 */
int
past_index(struct ledger *ledger)
{
	const struct past_ring *ring = ring_of(ledger);
	int r = map_reserve(&ledger->past, LEDGER_PAST_MAX);

	for (uint32_t i = 0; i < LEDGER_PAST_MAX && r == 0; i++)
		if (is_sound(&ring->at[i]))
			r = map_put(&ledger->past, ring->at[i].hash, i);
	return r;
}

/* A place for one more: the oldest is forgotten when the ring is full. */
static struct past *
take_place(struct ledger *ledger, uint64_t hash)
{
	struct past_ring *ring = ring_of(ledger);
	uint64_t next = atomic_load(&ring->next);
	struct past *past = &ring->at[next % LEDGER_PAST_MAX];
	int r;

	/* First, so that death does not leave the newest as the next to go. */
	atomic_store_explicit(&ring->next, next + 1, memory_order_release);
	if (is_sound(past))
		map_remove(&ledger->past, past->hash);
	atomic_store_explicit(&past->value, EMPTY, memory_order_seq_cst);
	past->hash = hash;
	r = map_put(&ledger->past, hash, (uint32_t)(next % LEDGER_PAST_MAX));
	/* There is room for as many as the ring has. */
	ASSERT(r == 0);
	return past;
}

/*
 * Remember that the last actor of this name had this incarnation.  When there are
 * LEDGER_PAST_MAX names the one that came first is forgotten.
 */
void
ledger_set_past(struct ledger *ledger, const char *path, uint32_t incarnation)
{
	uint64_t hash = hash_path(path);
	struct past *past;
	uint32_t i;

	if (map_get(&ledger->past, hash, &i))
		past = &ring_of(ledger)->at[i];
	else
		past = take_place(ledger, hash);
	atomic_store_explicit(&past->value, value_of(hash, incarnation),
	                      memory_order_release);
}

/* The incarnation that the last actor of this name had; 0: it is not known. */
uint32_t
ledger_past(const struct ledger *ledger, const char *path)
{
	uint64_t hash = hash_path(path);
	const struct past *past;
	uint32_t i;

	if (!map_get(&ledger->past, hash, &i))
		return 0;
	past = &ring_of(ledger)->at[i];
	return past->hash == hash && is_sound(past) ? (uint32_t)atomic_load(&past->value)
	                                            : 0;
}
