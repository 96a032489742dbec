/* SPDX-License-Identifier: ISC */
/* sum.h - checksums and short hashes: against accidents, never against people.
 *
 * A sum: has this memory been torn, or changed by accident?  Same bytes, same seed, same
 * sum, on the same kind of machine; for what stays on it.
 *
 * FNV-1a, 64 bits: a short hash of short texts, the same on every machine and in every
 * version, for names outside of this process are made of it.
 */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t sum_bytes(const void *data, size_t len, uint64_t seed);
uint32_t sum_fold(uint64_t sum);

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* Add one byte to a hash. */
static inline uint64_t
fnv_add(uint64_t hash, unsigned int byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The hash of a text, without its NUL. */
static inline uint64_t
fnv_text(const char *text)
{
	uint64_t hash = FNV_BEGIN;

	for (; *text != '\0'; text++)
		hash = fnv_add(hash, (unsigned char)*text);
	return hash;
}

#endif
