/* SPDX-License-Identifier: ISC */
/* loop.h - the turn: collect what happened, step the core, perform, sleep.
 *
 * Runs before the event loop blocks.  Everything that callbacks posted is stepped with
 * one time; whatever performing posts is stepped in the same turn, but a restart waits
 * for the next: so a shutdown always gets in.  A turn with much to do is parted: between
 * two parts the loop looks at what happened, which waits for the end of the turn, and
 * clients are answered what needs no core at rest.
 */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <stdint.h>

#include "base/err.h"

struct supd;

struct loop *loop_new(struct supd *supd, struct err *err);

/* Bring the core of a ledger that was restored to where the guardian before us was, and
 * perform what that one did not get to.  What performing posts waits for the first turn.
 * -EBADMSG: the journal is damaged.
 */
int loop_replay(struct loop *loop);

/* Run until the core says that supd is done. */
void loop_run(struct loop *loop);

#endif
