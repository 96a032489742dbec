/* SPDX-License-Identifier: ISC */
/* mend.h - actors whose record in the ledger cannot be read: they are ended and begin
 * anew, the others notice nothing (DECISIONS 9).
 */
#ifndef DAEMON_MEND_H
#define DAEMON_MEND_H

#include "base/err.h"

struct shell;

/* All records that can be read are restored: name the actors in the other slots, by their
 * place in the tree.  -errno: that is not possible. */
int mend_names(struct shell *shell, struct err *err);

/* The core is where it was: kill what those actors have, and have it found ended. */
void mend_processes(struct shell *shell);

#endif
