/* SPDX-License-Identifier: ISC */
/* adopt.h - take over what a guardian that died has left: its state and its processes.
 *
 * In three steps.  What can be wrong with the ledger is found first, and changes nothing.
 * Then the tables are filled, the core is brought to where it was, and what the dead one
 * did not get to is performed.  Last, records and core are compared, and what the core
 * does not know is posted for the first turn.
 */
#ifndef DAEMON_ADOPT_H
#define DAEMON_ADOPT_H

#include <stdbool.h>

#include "base/err.h"

struct actors;
struct keeper;
struct ledger;
struct processes;
struct recording;
struct reloader;
struct reporter;
struct trial;

/* What the walker kept is whole and can be read: the ledger and the configuration in
 * force, which are put into the recording and the actors.  -EBADMSG and a sentence:
 * nothing can be adopted. */
int adopt_open(struct keeper *keeper, struct actors *actors, struct recording *recording,
               struct ledger **ret_ledger, struct err *err);

/* Fill the tables; -errno (memory): try again with a new process. */
int adopt_tables(struct reloader *reloader, struct ledger *ledger, struct err *err);

/* The journal was replayed: post what the core does not know. */
void adopt_compare(struct processes *processes, const struct reporter *reporter,
                   struct trial *trial);

#endif
