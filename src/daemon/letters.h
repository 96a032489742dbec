/* SPDX-License-Identifier: ISC */
/* letters.h - listens at the mailboxes of actors that have no process.
 *
 * A client comes to an actor that waits for clients: it is started.  A client comes to an
 * actor that is down: it waits, or it is sent away, or the actor's handler is started.
 * Sockets that only call an actor are watched from here; those whose clients are dealt
 * with are lent to /system/letters (lending.h).  While an actor has a process nothing of
 * supd takes from its sockets, and they block.
 *
 * Nothing of this has to survive the guardian: what is to be done is seen from the core
 * and from what waits at the sockets.
 */
#ifndef DAEMON_LETTERS_H
#define DAEMON_LETTERS_H

#include "base/err.h"
#include "core/core.h"

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

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

/* Other sockets are in force: everybody is looked at. */
void letters_touch_all(struct letters *letters);

/* After the core's turn. */
void letters_on_turn(struct letters *letters);

/* A process of this actor is about to have its sockets, and those that it stands in for:
 * the i-th of them; NULL: there are fewer. */
struct mailbox *letters_hand_over(const struct shell *shell, const struct actor *actor,
                                  size_t i);

/* This socket goes. */
void letters_forget(struct mailbox *mailbox);

#endif
