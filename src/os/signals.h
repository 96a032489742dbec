/* SPDX-License-Identifier: ISC */
/* signals.h - start from known signals, whatever the parent left behind. */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

void signals_reset(void);

#endif
