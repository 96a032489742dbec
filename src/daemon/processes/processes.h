/* SPDX-License-Identifier: ISC */
/* processes.h - the processes of actors, their helper processes and probes: the state of
 * this room. */
#ifndef DAEMON_PROCESSES_H
#define DAEMON_PROCESSES_H

#include "base/err.h"
#include "daemon/processes/procs.h"

struct prober;
struct shell;
struct tasks;

struct processes {
	struct procs *procs;
	struct tasks *tasks;
	struct prober *prober;
};

/* Begin; NULL and a sentence. */
struct processes *processes_new(struct shell *shell,
                                procs_helper_failed *on_helper_failed, struct err *err);
void processes_free(struct processes *processes);

#endif
