/* SPDX-License-Identifier: ISC */
/* exits.h - how the walker's children ended: a ring that outlives every guardian.
 *
 * The walker peeks at a child that ended, adds it here, and only then reaps it: so what
 * is here is known, and what is not here still holds its pid.  The guardian takes each
 * record when it has put down elsewhere what follows from it.  When the ring is full the
 * walker leaves the rest unreaped until there is room.  One writer, one reader; the death
 * of either at any instruction loses and doubles nothing.  What the walker writes the
 * guardian cannot: a guardian gone mad destroys no record.
 */
#ifndef LEDGER_EXITS_H
#define LEDGER_EXITS_H

#include <stdbool.h>

#include "base/err.h"
#include "os/process/reap.h"

#define EXITS_MAX 8192

struct exits;

struct exits *exits_new(struct err *err);
struct exits *exits_resume(int take_fd, struct err *err);
struct exits *exits_open(int take_fd, struct err *err);
void exits_free(struct exits *exits);
int exits_fd(const struct exits *exits);
bool exits_is_full(const struct exits *exits);
bool exits_add(struct exits *exits, const struct reap *reap);
bool exits_peek(const struct exits *exits, struct reap *ret);
void exits_take(struct exits *exits);

#endif
