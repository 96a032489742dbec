/* SPDX-License-Identifier: ISC */
/* moment.h - points in time as people and machines write them.
 *
 * A moment is microseconds of CLOCK_REALTIME since 1970.
 */
#ifndef BASE_MOMENT_H
#define BASE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* What moment_parse_past() reads, for messages. */
#define MOMENT_FORMS                                                      \
	"14:30, today, yesterday, 10m, '5 min ago', 2026-11-21 14:30 or " \
	"2026-11-21T14:30:00Z"

/* Bytes that hold any moment of moment_print(). */
#define MOMENT_BYTES 32

uint64_t moment_now(void);
void moment_print(uint64_t us, char ret[MOMENT_BYTES]);
int moment_parse(const char *text, uint64_t *ret_us);
int moment_parse_past(const char *text, uint64_t now_us, uint64_t *ret_us);

#endif
