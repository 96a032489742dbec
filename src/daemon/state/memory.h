/* SPDX-License-Identifier: ISC */
/* memory.h - what the guardian does when there is no memory for what cannot wait.
 *
 * Most calls that need memory are refused without it.  The event loop cannot be: it has a
 * reserve, and when that is used up the guardian ends.  No actor is lost by that: the
 * walker starts the next guardian.
 */
#ifndef DAEMON_MEMORY_H
#define DAEMON_MEMORY_H

void memory_begin(void);
void *memory_for_loop(void *take, long size);
_Noreturn void memory_give_up(void);

#endif
