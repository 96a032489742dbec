/* SPDX-License-Identifier: ISC */
/* watchdog.h - is it silent for too long, and who speaks for it meanwhile?
 *
 * The one that is watched must prove itself within a time, and after that show signs of
 * life as often as its superior, a service manager, wants to hear of them.  One that does
 * not is aborted, and killed where that is not enough.  In between the superior is kept
 * patient, but not for ever.
 *
 * Plain data, no I/O: times are milliseconds of one clock, passed in; the acts are the
 * caller's.  Nothing here fails.
 */
#ifndef BASE_WATCHDOG_H
#define BASE_WATCHDOG_H

#include <stdint.h>

/* SIGKILL comes so long after SIGABRT. */
#define WATCHDOG_ABORT_MS 1000
/* So long the superior is kept patient; after that its own remedy is the better one. */
#define WATCHDOG_GRACE_MS 300000

enum watchdog_state {
	WATCHDOG_NONE,    /* there is nobody to be watched */
	WATCHDOG_PROVING, /* it has begun */
	WATCHDOG_PROVED,
	WATCHDOG_ABORTED,
	WATCHDOG_KILLED,
};

enum watchdog_act { WATCHDOG_WAIT, WATCHDOG_PING, WATCHDOG_ABORT, WATCHDOG_KILL };

struct watchdog {
	uint64_t period_ms; /* of the superior; 0: it wants to hear nothing */
	uint64_t prove_ms;  /* so long it may take until it has proved itself */
	enum watchdog_state state;
	uint64_t since_ms;  /* of the state, or of the last sign of life */
	uint64_t pinged_ms; /* when the superior last heard of one */
	uint64_t lost_ms;   /* since when nobody does the work */
};

void watchdog_init(struct watchdog *watchdog, uint64_t period_ms, uint64_t prove_ms,
                   uint64_t now_ms);
void watchdog_enter(struct watchdog *watchdog, enum watchdog_state state,
                    uint64_t now_ms);
void watchdog_hear(struct watchdog *watchdog, uint64_t now_ms);
uint64_t watchdog_deadline_ms(const struct watchdog *watchdog);
enum watchdog_act watchdog_next(struct watchdog *watchdog, uint64_t now_ms);

#endif
