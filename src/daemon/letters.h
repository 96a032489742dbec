/* SPDX-License-Identifier: ISC */
/* letters.h - listens at the mailboxes of those who have no process.
 *
 * Somebody comes to one that waits for clients: it is started.  Somebody comes to one
 * that is down: he waits, or is sent away (deadletter.c), or its handler is started.
 * While an actor has a process nobody listens here, and its sockets block.
 *
 * Nothing of this has to survive us: what is to be done is seen from the core and from
 * who is waiting.
 */
#ifndef DAEMON_LETTERS_H
#define DAEMON_LETTERS_H

#include "base/err.h"
#include "core/core.h"

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

struct actor;
struct letters;
struct mailbox;
struct shell;

struct letters *letters_new(struct shell *shell, struct err *err);
void letters_free(struct letters *letters);

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
