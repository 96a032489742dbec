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

#include <stdint.h>

/* The roles, as argv[1]: whoever plays one has descriptor 3 from the walker. */
#define ROLE_GUARDIAN "@guardian"
#define ROLE_WALKER   "@walker"
#define ROLE_FD       3

struct walker_options {
	const char *runtime_dir;
	char **argv; /* the user's, passed on to each guardian behind its role */
};

int walker_run(const struct walker_options *options);
int walker_resume(char **argv);
uint64_t walker_kind(void);

#endif
