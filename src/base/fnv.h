/* SPDX-License-Identifier: ISC */
/* fnv.h - FNV-1a, 64 bits: a short hash of short texts.
 *
 * The same on every machine and in every version, for names outside of this process are
 * made of it.  Texts of one hash are easily found: it is no protection.
 */
#ifndef BASE_FNV_H
#define BASE_FNV_H

#include <stdint.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* The hash of what was hashed so far, and this byte. */
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
