/* SPDX-License-Identifier: ISC */
/* perform.h - each action of the core to exactly one room. */
#ifndef DAEMON_PERFORM_H
#define DAEMON_PERFORM_H

#include "core/core.h"

struct shell;

/* Carry out a list of actions, in order, but for those that a guardian before us has
 * performed already.  Never calls the core; what comes of it is posted. */
void perform(struct shell *shell, const struct action_list *actions);

#endif
