/* SPDX-License-Identifier: ISC */
/* strays.h - what is left of actors that nobody supervised, and SIGKILL does not end.
 *
 * Such a process is its actor's process until it is gone: unkillable (core/unkillable.c),
 * and held by a pidfd as one that was told by MAINPID=.  Where an actor has several, the
 * next takes the place of the one that is gone.  A guardian after us has the one that is
 * held at the time of our death.
 */
#ifndef DAEMON_STRAYS_H
#define DAEMON_STRAYS_H

#include "os/leftover.h"

#include <stdbool.h>

struct proc;
struct procs;

void strays_take(struct procs *procs, const struct leftovers *found);
bool strays_mend(struct procs *procs, struct proc *proc, const struct leftovers *found);

#endif
