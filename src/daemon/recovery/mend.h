/* SPDX-License-Identifier: ISC */
/* mend.h - repair: actors with an unreadable record in the ledger are ended and begin
 * anew, the other actors notice nothing (DECISIONS 9).
 */
#ifndef DAEMON_MEND_H
#define DAEMON_MEND_H

#include "base/err.h"

struct shell;

/* All records that can be read are restored: name the actors in the other slots, by their
 * place in the tree.  -errno: that is not possible. */
int mend_names(struct shell *shell, struct err *err);

/* The core is restored: kill the processes of those actors, and let their ends be found,
 * or hold those that do not end. */
void mend_processes(struct shell *shell);

#endif
