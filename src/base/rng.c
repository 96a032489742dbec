/* SPDX-License-Identifier: ISC */
/* rng.c - a small seeded generator (splitmix64). */
#include "config.h"

#include "base/rng.h"

/* Start the sequence that belongs to `seed`. */
void
rng_seed(struct rng *rng, uint64_t seed)
{
	rng->state = seed;
}

/* The next 64 bits.  Steele, Lea and Flood's splitmix64. */
uint64_t
rng_next(struct rng *rng)
{
	uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A number in [0, bound), 0 for a bound of 0.  The bias is below bound/2^64. */
uint64_t
rng_below(struct rng *rng, uint64_t bound)
{
	return bound == 0 ? 0 : rng_next(rng) % bound;
}
