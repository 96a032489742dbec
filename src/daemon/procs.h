/* SPDX-License-Identifier: ISC */
/* procs.h - the processes of the actors. */
#ifndef DAEMON_PROCS_H
#define DAEMON_PROCS_H

#include "core/core.h"

struct procs;

/* Send a signal to the main process of an actor; -ESRCH when it has none, -errno. */
int procs_signal(struct procs *procs, struct ref ref, int signo);

#endif
