/* SPDX-License-Identifier: ISC */
/* sum.c - a fast checksum: four lanes of eight bytes, multiplied and rotated. */
#include "config.h"

#include "base/sum.h"

#include <string.h>

#define LANES 4
#define PRIME UINT64_C(0x9e3779b97f4a7c15)

/* Odd factors only: a word that changes always changes its lane. */
static uint64_t
stir(uint64_t lane, uint64_t word)
{
	lane ^= word;
	/* Else the top bits of all words would meet in one bit. */
	lane = lane << 29 | lane >> 35;
	return lane * PRIME;
}

static uint64_t
finish_sum(uint64_t sum)
{
	sum = (sum ^ (sum >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	sum = (sum ^ (sum >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return sum ^ (sum >> 32);
}

/*
 * The sum of len bytes.  One changed bit always changes it; anything else that happens by
 * accident does not with a probability of 2^-64.  About as fast as memory.
 */
uint64_t
sum_bytes(const void *data, size_t len, uint64_t seed)
{
	const unsigned char *at = data;
	uint64_t words[LANES] = {0};
	uint64_t lanes[LANES] = {seed, seed + PRIME, ~seed, seed ^ PRIME};
	uint64_t sum = finish_sum(seed ^ len);

	for (size_t left = len / sizeof(words); left > 0; left--) {
		memcpy(words, at, sizeof(words));
		at += sizeof(words);
#pragma GCC unroll 4
		for (int i = 0; i < LANES; i++)
			lanes[i] = stir(lanes[i], words[i]);
	}
	if (len % sizeof(words) != 0) {
		memset(words, 0, sizeof(words));
		memcpy(words, at, len % sizeof(words));
		for (int i = 0; i < LANES; i++)
			lanes[i] = stir(lanes[i], words[i]);
	}
	for (int i = 0; i < LANES; i++)
		sum = stir(sum, lanes[i]);
	return finish_sum(sum);
}

/* A sum in half the space. */
uint32_t
sum_fold(uint64_t sum)
{
	return (uint32_t)(sum ^ (sum >> 32));
}
