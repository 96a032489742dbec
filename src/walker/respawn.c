/* SPDX-License-Identifier: ISC */
/* respawn.c - when does the next one begin after one that has ended? */
#include "config.h"

#include "walker/respawn.h"

#include "base/bounds.h"

/* DECISIONS 37. */
#define LIFE_SHORT_MS 1000
#define LIFE_GOOD_MS  10000
#define DELAY_MIN_MS  100
#define DELAY_MAX_MS  5000

/* One begins. */
void
respawn_begin(struct respawn *respawn, uint64_t now_ms)
{
	respawn->began_ms = now_ms;
}

/* It has ended: the next one is due at next_ms, which is so long from now. */
uint64_t
respawn_end(struct respawn *respawn, uint64_t now_ms)
{
	uint64_t life_ms = now_ms - respawn->began_ms;

	respawn->next_ms = now_ms;
	if (life_ms >= LIFE_GOOD_MS)
		respawn->delay_ms = 0;
	if (life_ms >= LIFE_SHORT_MS)
		return 0;
	respawn->delay_ms = respawn->delay_ms == 0
	                        ? DELAY_MIN_MS
	                        : SMALLER(2 * respawn->delay_ms, DELAY_MAX_MS);
	respawn->next_ms += respawn->delay_ms;
	return respawn->delay_ms;
}
