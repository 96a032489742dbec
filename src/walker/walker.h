/* SPDX-License-Identifier: ISC */
/* walker.h - the outermost process: starts the guardian again, reaps, and holds.
 *
 * It holds what is to survive a guardian: the ledger, the record of ended processes, the
 * vault of descriptors, the lock of the runtime directory.  It reads no configuration,
 * parses nothing, allocates nothing after its start, and wakes up only when something
 * has happened: so there is little in it that can fail.
 */
#ifndef WALKER_WALKER_H
#define WALKER_WALKER_H

#include "os/role.h"

#include <stdint.h>

/* The guardian has its end of the link at ROLE_FD. */
#define ROLE_GUARDIAN "@guardian"
#define ROLE_WALKER   "@walker"

/* So long a guardian may take until it supervises. */
#define WALKER_ADOPT_MS 120000

int walker_run(const char *runtime_dir, char **argv, uint64_t adopt_ms);
int walker_resume(char **argv);
uint64_t walker_kind(void);

#endif
