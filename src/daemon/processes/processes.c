/* SPDX-License-Identifier: ISC */
/* processes.c - the processes of actors, their tasks and probes: the state of this room.
 */
#include "config.h"

#include "daemon/processes/processes.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/processes/prober.h"
#include "daemon/processes/tasks.h"

struct processes *
processes_new(const struct processes *with, procs_helper_failed *on_helper_failed,
              void *data, struct err *err)
{
	struct processes *processes = err_calloc(sizeof(*processes), err, "processes");

	if (processes == NULL)
		return NULL;
	*processes = *with;
	if ((processes->tasks = tasks_new(processes, procs_task_done, err)) != NULL &&
	    (processes->prober = prober_new(processes, err)) != NULL &&
	    (processes->procs = procs_new(processes, on_helper_failed, data, err)) !=
	        NULL)
		return processes;
	processes_free(processes);
	return NULL;
}

void
processes_free(struct processes *processes)
{
	if (processes == NULL)
		return;
	prober_free(processes->prober);
	tasks_free(processes->tasks);
	procs_free(processes->procs);
	free(processes);
}
