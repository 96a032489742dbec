/* SPDX-License-Identifier: ISC */
/* fuzz.h - what a target is, for libFuzzer (make fuzz) and for drive.c (make check).
 *
 * A target takes any bytes and comes back; what is wrong ends the program.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* How many inputs drive.c makes of those in the corpus. */
extern const unsigned int fuzz_runs;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
