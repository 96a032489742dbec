/* SPDX-License-Identifier: ISC */
/* sum.h - a fast checksum: has this memory been torn, or changed by accident?
 *
 * Same bytes, same seed, same sum, on the same kind of machine; for what stays on it.
 * Against accidents, never against people.
 */
#ifndef BASE_SUM_H
#define BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t sum_bytes(const void *data, size_t len, uint64_t seed);
uint32_t sum_fold(uint64_t sum);

#endif
