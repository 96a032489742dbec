/* SPDX-License-Identifier: ISC */
/* hindrance.c - why SIGKILL does not end a process. */
#include "config.h"

#include "os/process/hindrance.h"

#include "os/process/proc_file.h"

/*
 * What keeps this process from ending: a tracer that does not wait for it, or what it
 * waits for in the kernel (proc(5), State, TracerPid and wchan).  Where a process is
 * traced in one of its threads only, that is not seen here.
 */
void
hindrance_read(pid_t pid, struct hindrance *ret)
{
	struct proc_stat line = {.state = '?'};

	(void)proc_stat_rough(pid, &line);
	*ret = (struct hindrance){.state = line.state, .tracer = line.tracer};
	proc_wchan_read(pid, ret->wchan);
}
