/* SPDX-License-Identifier: ISC */
/* hung.h - children that were given up before their program: not gone, and nothing else.
 *
 * os_spawn() gives up a child that takes too long.  It has been killed and never executes
 * a program, but may stand in a system call for ever, in its actor's cgroup and with our
 * memory.  Until it is gone its actor is not started again.  It is reaped like every
 * child that is not known.  A guardian after us need not know of it: it is the walker's.
 */
#ifndef DAEMON_HUNG_H
#define DAEMON_HUNG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

struct hung_child;

/* Zeroed: there is none. */
struct hung {
	struct hung_child *at;
	size_t n;
	size_t cap;
};

void hung_add(struct hung *hung, struct ref ref, int pidfd);
bool hung_has(struct hung *hung, struct ref ref);
void hung_done(struct hung *hung);

#endif
