/* SPDX-License-Identifier: ISC */
/* watchdog.h - is a process silent for too long, and what is its superior told meanwhile?
 *
 * The watched process must prove itself within a time.  After that the watchdog asks from
 * time to time whether the process is alive, and the process has to answer; its superior,
 * a service manager, may want to hear of it, too.  A process that is silent for too long
 * is aborted, then killed, and left behind if even that does not end it: it sleeps in the
 * kernel and executes nothing any more.  In between the superior is kept patient, but not
 * for ever.
 *
 * Plain data, no I/O: times are milliseconds of one clock, passed in; the acts are the
 * caller's.  Nothing here fails.
 */
#ifndef WALKER_WATCHDOG_H
#define WALKER_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* How long after an answer the guardian is asked again; at the beginning sooner, and
 * twice as late each time; and how late when it sleeps and will say that it has woken up
 * ... */
#define WATCHDOG_ASK_MS  4000
#define WATCHDOG_SOON_MS 500
#define WATCHDOG_REST_MS 60000
/* ... and so long it may be silent then.  Both, the two times below and what its
 * successor needs to take over are 10 s together. */
#define WATCHDOG_ANSWER_MS 3000
/* SIGKILL comes so long after SIGABRT, and the successor so long after SIGKILL. */
#define WATCHDOG_ABORT_MS 1000
#define WATCHDOG_KILL_MS  1000
/* What shows signs of life, but never comes around to answer, is busy for so long at
 * most, and for so much longer with each actor. */
#define WATCHDOG_TURN_MS          60000
#define WATCHDOG_TURN_MS_AN_ACTOR 10
/* What takes over what there is may be silent for so long: 10 s, and a millisecond
 * for each actor. */
#define WATCHDOG_TAKE_OVER_MS(n_actors) (10000 + (uint64_t)(n_actors))
/* How long the superior is kept patient; after that its own remedy is the better choice.
 */
#define WATCHDOG_GRACE_MS 300000

enum watchdog_state {
	WATCHDOG_NONE,    /* there is nothing to be watched */
	WATCHDOG_PROVING, /* it has begun */
	WATCHDOG_PROVED,
	WATCHDOG_ABORTED,
	WATCHDOG_KILLED,
};

enum watchdog_act {
	WATCHDOG_WAIT,
	WATCHDOG_PING, /* tell the superior */
	WATCHDOG_ASK,
	WATCHDOG_ABORT,
	WATCHDOG_KILL,
	WATCHDOG_LEAVE, /* told again every WATCHDOG_KILL_MS until the caller has done so
	                 */
};

struct watchdog {
	uint64_t period_ms; /* of the superior; 0: it wants to hear nothing */
	uint64_t total_ms;  /* time until the process must have proved itself ... */
	uint64_t quiet_ms;  /* ... and be silent meanwhile */
	/* time without an answer after which the process counts as hung */
	uint64_t turn_ms;
	enum watchdog_state state;
	uint64_t since_ms;    /* of the state */
	uint64_t heard_ms;    /* the last sign of life */
	uint64_t asked_ms;    /* asked, and silent since then; 0: it is not */
	uint64_t question_ms; /* the last question, or the last answer */
	uint64_t ask_ms;      /* from then to the next question */
	uint64_t
	    unanswered_ms;  /* the first question that was not answered; 0: all were */
	uint64_t pinged_ms; /* when the superior last heard of a sign of life */
	uint64_t lost_ms;   /* since when nothing does the work */
};

void watchdog_init(struct watchdog *watchdog, uint64_t period_ms, uint64_t now_ms);
void watchdog_begin(struct watchdog *watchdog, uint64_t total_ms, uint64_t quiet_ms,
                    uint64_t now_ms);
void watchdog_enter(struct watchdog *watchdog, enum watchdog_state state,
                    uint64_t now_ms);
void watchdog_expect(struct watchdog *watchdog, uint32_t n_actors);
void watchdog_hear(struct watchdog *watchdog, uint64_t now_ms);
void watchdog_answered(struct watchdog *watchdog, uint64_t now_ms);
void watchdog_pinged(struct watchdog *watchdog, uint64_t now_ms);
void watchdog_rests(struct watchdog *watchdog);
void watchdog_rouse(struct watchdog *watchdog, uint64_t now_ms);
bool watchdog_hurry(struct watchdog *watchdog, uint64_t now_ms);
bool watchdog_has_bitten(const struct watchdog *watchdog);
uint64_t watchdog_deadline_ms(const struct watchdog *watchdog);
enum watchdog_act watchdog_next(struct watchdog *watchdog, uint64_t now_ms);

#endif
