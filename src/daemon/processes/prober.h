/* SPDX-License-Identifier: ISC */
/* prober.h - asks actors whether they are ready, or well, as the core wants to know.
 *
 * One question an actor at a time: a new one makes the one before it void.  Connections
 * are made by /system/probe, PROBER_MAX at once, the others wait for their turn; what is
 * to be executed is a task.  The time is counted here: what is not answered in it is a
 * bad answer, but only if /system/probe had begun to ask; what it cannot do, or was told
 * before it died and could not be asked in time again, is none.
 *
 * The core remembers which question it waits for: a new guardian asks it again, and of
 * two answers to one question the core takes the first.
 */
#ifndef DAEMON_PROBER_H
#define DAEMON_PROBER_H

#include "conf/text/conf.h"
#include "core/core.h"
#include "helper/wire.h"

struct processes;

/* How many probes by connection are under way at once. */
#define PROBER_MAX HELPER_QUESTIONS_MAX

struct prober *prober_new(struct processes *room, struct err *err);
void prober_free(struct prober *prober);

/* As the core asks.  May be called while actions are performed. */
void prober_ask(struct prober *prober, const struct action *action);

/* The process of the actor has ended: cancel its probes. */
void prober_end_life(struct prober *prober, struct ref ref);

/* Other specifications are in force: what is not asked any more ends with the turn. */
void prober_look_again(struct prober *prober);

/* After the core's turn. */
void prober_on_turn(struct prober *prober);

#endif
