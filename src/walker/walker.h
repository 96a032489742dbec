/* SPDX-License-Identifier: ISC */
/* walker.h - the outermost process: starts the guardian again, reaps, and holds.
 *
 * It holds what is to survive a guardian: the ledger, the record of ended processes, the
 * vault of descriptors, the lock of the runtime directory.  It reads no configuration,
 * parses nothing, allocates nothing after its start, and wakes up only when something
 * has happened, and every few seconds to ask whether the guardian is alive: so there is
 * little in it that can fail.
 */
#ifndef WALKER_WALKER_H
#define WALKER_WALKER_H

#include <stdint.h>

#include "os/self/role.h"

/* The guardian has its end of the link at ROLE_FD. */
#define ROLE_GUARDIAN "@guardian"
#define ROLE_WALKER   "@walker"

struct walker_times {
	uint64_t adopt_ms; /* so long a guardian may take until it supervises */
	uint64_t trial_ms; /* so long a new binary has to supervise until it is trusted */
};
#define WALKER_ADOPT_MS 120000
#define WALKER_TRIAL_MS 10000

int walker_run(const char *runtime_dir, char **argv, const struct walker_times *times);
int walker_resume(char **argv);
uint64_t walker_kind(void);

#endif
