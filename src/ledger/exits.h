/* SPDX-License-Identifier: ISC */
/* exits.h - what walker and guardian share: how the walker's children ended, a ring that
 * outlives every guardian; and whether the guardian is in a turn.
 *
 * The walker peeks at a child that ended, adds it here, and only then reaps it: so what
 * is here is known, and what is not here still holds its pid.  The guardian takes each
 * record when it has put down elsewhere what follows from it.  When the ring is full the
 * walker leaves the rest unreaped until there is room.  One writer, one reader; the death
 * of either at any instruction loses and doubles nothing.  What the walker writes the
 * guardian cannot: a guardian gone mad destroys no record.
 *
 * The guardian's pulse changes when a turn begins, and when it is over.  So the walker
 * sees that a guardian that has answered sleeps, and need not ask again before the
 * guardian says that it has woken up.
 */
#ifndef LEDGER_EXITS_H
#define LEDGER_EXITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/process/reap.h"

#define EXITS_MAX 8192

struct exits *exits_new(struct err *err);
struct exits *exits_resume(int take_fd, struct err *err);
struct exits *exits_open(int take_fd, struct err *err);
void exits_free(struct exits *exits);
int exits_fd(const struct exits *exits);
bool exits_is_full(const struct exits *exits);
bool exits_add(struct exits *exits, const struct reap *reap);
bool exits_peek(const struct exits *exits, struct reap *ret);
void exits_take(struct exits *exits);

void exits_new_pulse(struct exits *exits);
bool exits_let_rest(struct exits *exits);
void exits_rouse(struct exits *exits);
bool exits_wake(struct exits *exits);
void exits_sleep(struct exits *exits);

#endif
