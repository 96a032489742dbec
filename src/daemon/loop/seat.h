/* SPDX-License-Identifier: ISC */
/* seat.h - the files by which supd is found: runtime directory, lock, control socket.
 *
 * Something may remove them: a cleaner, a mistake, a logout.  That is noticed, told, and
 * they are made anew.  Actors and open connections do not depend on them.
 */
#ifndef DAEMON_SEAT_H
#define DAEMON_SEAT_H

#include "base/err.h"

struct supd;

/* Watch over the files, which there are when the control server is; what is missing is
 * made anew at once.  0, or -errno with a sentence. */
int seat_open(struct supd *supd, struct err *err);
void seat_close(void);

/* Look now, if the files are watched over already. */
void seat_check(void);

#endif
