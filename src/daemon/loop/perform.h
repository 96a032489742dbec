/* SPDX-License-Identifier: ISC */
/* perform.h - each action of the core to exactly one room. */
#ifndef DAEMON_PERFORM_H
#define DAEMON_PERFORM_H

#include "core/core.h"

struct supd;

/* Carry out actions of a list, in order, from this one on, until the budget is used up or
 * it is later than post->until_ms, but for those that a guardian before us has performed
 * already.  Returns the number of the next action.  Never calls the core; what comes of
 * it is posted. */
uint32_t perform(struct supd *supd, const struct action_list *actions, uint32_t from,
                 uint32_t *budget);

#endif
