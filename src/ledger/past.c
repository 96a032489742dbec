/* SPDX-License-Identifier: ISC */
/* past.c - incarnations of free names, so that a later actor is not taken for an earlier
 * one. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/sum.h"
#include "ledger/layout.h"
#include "ledger/ledger.h"

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

/* 0: nothing is here. */
static uint32_t
incarnation_of(const struct past *past)
{
	return atomic_load_explicit(&past->incarnation, memory_order_acquire);
}

/*
 * Make the index of the ring by hash anew.  Returns 0, or -ENOMEM, but never at a second
 * call.
 */
int
past_index(struct ledger *ledger)
{
	const struct past_ring *ring = ring_of(ledger);
	int r = map_reserve(&ledger->past, LEDGER_PAST_MAX);

	for (uint32_t i = 0; i < LEDGER_PAST_MAX && r == 0; i++)
		if (incarnation_of(&ring->at[i]) != 0)
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

	/* First, so that death does not leave the newest as the next to go. */
	atomic_store_explicit(&ring->next, next + 1, memory_order_release);
	if (incarnation_of(past) != 0)
		map_remove(&ledger->past, past->hash);
	atomic_store_explicit(&past->incarnation, 0, memory_order_seq_cst);
	atomic_signal_fence(memory_order_seq_cst);
	past->hash = hash;
	int r = map_put(&ledger->past, hash, (uint32_t)(next % LEDGER_PAST_MAX));
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
	atomic_store_explicit(&past->incarnation, incarnation, memory_order_release);
}

/* The incarnation that the last actor of this name had; 0: it is not known. */
uint32_t
ledger_past(const struct ledger *ledger, const char *path)
{
	uint32_t i;

	return map_get(&ledger->past, hash_path(path), &i)
	           ? incarnation_of(&ring_of(ledger)->at[i])
	           : 0;
}
