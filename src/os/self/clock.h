/* SPDX-License-Identifier: ISC */
/* clock.h - the monotonic clock for decisions, the wall clock for people. */
#ifndef OS_SELF_CLOCK_H
#define OS_SELF_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_TEXT_MAX 40

uint64_t clock_mono_ns(void);
uint64_t clock_mono_ms(void);
uint64_t clock_due_ms(uint64_t delay_ms);
uint64_t clock_wall_us(void);
int clock_wait_ms(uint64_t now_ms, uint64_t until_ms);
void clock_ignore_steps(void);
/* "2026-11-21T09:12:33.123Z"; digits is 3 or 6. */
const char *clock_format(uint64_t wall_us, unsigned int digits, char buf[CLOCK_TEXT_MAX]);

#endif
