/* SPDX-License-Identifier: ISC */
/* file.h - the bytes of a target as a file. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
bool fuzz_is_alone(const uint8_t *data, size_t size);

#endif
