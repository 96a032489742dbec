/* SPDX-License-Identifier: ISC */
/* signals.h - known signals at the start, and as descriptors afterwards. */
#ifndef OS_SELF_SIGNALS_H
#define OS_SELF_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* A set of signals, of those below 32. */
#define SIGNAL_BIT(signo) (UINT32_C(1) << (signo))

bool signals_is_ignored(int signo);
void signals_reset(void);
int signals_open(uint32_t wanted);
int signals_listen(int signo);
uint32_t signals_take(int fd);

#endif
