/* SPDX-License-Identifier: ISC */
/* rooms.h - the rooms of one supd: opened from the bottom up, closed from the top down.
 */
#ifndef DAEMON_ROOMS_H
#define DAEMON_ROOMS_H

struct err;
struct keeper_news;
struct supd;
struct start;

/* Open everything that runs around the tree, each room with what it uses of those below
 * it.  0 or an exit status. */
int rooms_open(struct supd *supd, struct start *start, const struct keeper_news *news);

/* The control server, when all other rooms are open; NULL and a sentence. */
struct control *rooms_open_control(struct supd *supd, struct err *err);

/* Close what was opened, and give all memory back. */
void rooms_close(struct supd *supd, const struct start *start);

#endif
