/* SPDX-License-Identifier: ISC */
/* units.h - durations, sizes and signals as people write them.
 *
 * A duration is milliseconds in a uint64_t; DURATION_INFINITE is "infinity".
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_INFINITE UINT64_MAX
/* The longest finite duration: 100 years.  Sums of two never overflow. */
#define DURATION_MS_MAX   UINT64_C(3155760000000)
#define DURATION_TEXT_MAX 32
#define SIZE_TEXT_MAX     24

int duration_parse(const char *text, uint64_t *ret_ms);
const char *duration_format(uint64_t ms, char buf[DURATION_TEXT_MAX]);
const char *age_format(uint64_t ms, char buf[DURATION_TEXT_MAX]);
int size_parse(const char *text, uint64_t *ret_bytes);
const char *size_format(uint64_t bytes, char buf[SIZE_TEXT_MAX]);
bool id_parse(const char *text, uint32_t *ret_id);
int signal_parse(const char *text);
const char *signal_name(int signo);

#endif
