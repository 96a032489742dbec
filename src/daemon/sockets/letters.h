/* SPDX-License-Identifier: ISC */
/* letters.h - listens at the mailboxes of actors that have no process.
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
#ifndef DAEMON_LETTERS_H
#define DAEMON_LETTERS_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/core.h"

struct actor;
struct lending;
struct letters;
struct mailbox;
struct shell;

struct letters *letters_new(struct shell *shell, struct err *err);
void letters_free(struct letters *letters);
struct lending *letters_lending(const struct letters *letters);

/* Something has happened to this actor: it is looked at when the turn is over. */
void letters_touch(struct letters *letters, struct ref ref);

/* Other sockets are in force: look at all actors. */
void letters_touch_all(struct letters *letters);

/* After the core's turn. */
void letters_on_turn(struct letters *letters);

/* The sockets for a new process of this actor, its own and handled ones: the i-th; NULL:
 * there are fewer. */
struct mailbox *letters_hand_over(const struct shell *shell, const struct actor *actor,
                                  size_t i);

/* This socket goes. */
void letters_forget(struct mailbox *mailbox);

#endif
