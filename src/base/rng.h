/* SPDX-License-Identifier: ISC */
/* rng.h - a small seeded generator (splitmix64): same seed, same numbers, everywhere.
 *
 * For jitter and simulation, never for secrets.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

struct rng {
	uint64_t state;
};

void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound);

#endif
