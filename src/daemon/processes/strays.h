/* SPDX-License-Identifier: ISC */
/* strays.h - leftovers that SIGKILL does not end.
 *
 * A stray is its actor's process until it is gone: unkillable (core/move/unkillable.c),
 * and held by a pidfd as a process named by MAINPID=.  Where an actor has several, the
 * next takes the place of the former.  The next guardian knows the stray that is held at
 * the time of our death.
 */
#ifndef DAEMON_STRAYS_H
#define DAEMON_STRAYS_H

#include <stdbool.h>

#include "os/process/leftover.h"

struct procs;

void strays_take(struct procs *procs, const struct leftovers *found);

#endif
