/* SPDX-License-Identifier: ISC */
/* seat.h - the files by which supd is found: runtime directory, lock, control socket.
 *
 * Something may remove them: a cleaner, a mistake, a logout.  That is noticed, told, and
 * they are made anew.  Actors and open connections do not depend on them.
 */
#ifndef DAEMON_SEAT_H
#define DAEMON_SEAT_H

#include "base/err.h"

struct seat;
struct shell;

/* Watch over the files, which there are when the control server is; what is missing is
 * made anew at once.  NULL without memory. */
struct seat *seat_new(struct shell *shell, struct err *err);
void seat_free(struct seat *seat);

/* Look now; NULL is fine. */
void seat_check(struct seat *seat);

#endif
