/* SPDX-License-Identifier: ISC */
/* hindrance.h - why SIGKILL does not end a process, as far as /proc tells. */
#ifndef OS_PROCESS_HINDRANCE_H
#define OS_PROCESS_HINDRANCE_H

#include <sys/types.h>

#include "os/process/proc.h"

struct hindrance {
	char state;                 /* as in proc(5): D, Z, t …; '?': not known */
	pid_t tracer;               /* 0: none */
	char wchan[PROC_WCHAN_MAX]; /* where in the kernel it waits, or "" */
};

void hindrance_read(pid_t pid, struct hindrance *ret);

#endif
