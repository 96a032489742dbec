/* SPDX-License-Identifier: ISC */
/* respawn.h - when does the next process begin after one has ended?
 *
 * At once after a process that lived; after a process that hardly lived there is a wait,
 * which
 * doubles until a process lives for long.  There is no giving up.
 *
 * Plain data, no I/O: times are milliseconds of one clock, passed in.  Nothing here
 * fails.
 */
#ifndef WALKER_RESPAWN_H
#define WALKER_RESPAWN_H

#include <stdint.h>

struct respawn {
	uint64_t began_ms, next_ms;
	uint64_t delay_ms; /* of the last wait */
};

void respawn_begin(struct respawn *respawn, uint64_t now_ms);
uint64_t respawn_end(struct respawn *respawn, uint64_t now_ms);

#endif
