/* SPDX-License-Identifier: ISC */
/* standin.h - listens at the mailboxes of actors that have no process.
 *
 * A client of an actor that starts on demand starts the actor.  A client of an actor that
 * is down waits, or is sent away, or the actor's handler is started.  Sockets that only
 * start an actor are watched from here; sockets with clients to be answered are lent to
 * /system/letters (lending.h).
 *
 * While an actor has a process supd takes nothing from the actor's sockets, and they
 * block.  No state of this has to survive the guardian: the core and the queues of the
 * sockets tell what is to be done.
 */
#ifndef DAEMON_STANDIN_H
#define DAEMON_STANDIN_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"

struct actor;
struct sockets;

struct standin *standin_new(struct sockets *sockets, struct err *err);
void standin_free(struct standin *standin);

/* Something has happened to this actor: it is looked at when the turn is over. */
void standin_touch(struct standin *standin, struct ref ref);

/* Other sockets are in force: look at all actors. */
void standin_touch_all(struct standin *standin);

/* After the core's turn. */
void standin_on_turn(struct standin *standin);

/* The sockets for a new process of this actor, its own and handled ones: the i-th; NULL:
 * there are fewer. */
struct mailbox *standin_hand_over(const struct sockets *sockets,
                                  const struct actor *actor, size_t i);

/* This socket goes. */
void standin_forget(struct mailbox *mailbox);

#endif
