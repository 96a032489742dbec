/* SPDX-License-Identifier: ISC */
/* control.h - the control socket: Varlink calls become events for the core and reads of
 * its state; replies, streams, permissions.
 *
 * Never blocks on a client and is bounded in connections, bytes and calls.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include <stdbool.h>

#include "base/err.h"

struct control_uses;
struct upgrade_story;

struct control *control_new(const struct control_uses *uses, struct err *err);
void control_free(struct control *control);

/* True if the socket's file, by which clients find it, exists, or it cannot be looked at
 * now.  The first file that is seen and live is taken for it. */
bool control_is_found(struct control *control);

/* Make that file anew, with a socket of its own; connections that are open stay.  0, or
 * -errno with a sentence. */
int control_listen_again(struct control *control, struct err *err);

/* After every turn: new events may be there, states may have changed. */
void control_on_turn(struct control *control);

bool control_has_clients(const struct control *control);

/* True if another turn is wanted although nothing has happened. */
bool control_is_waiting(const struct control *control);

/* Between two turns: make room for the new binary, if that was agreed upon; or forget it,
 * if supd is shutting down. */
void control_upgrade_if_due(struct control *control);

/* After an upgrade, or a return to the old binary: answer the client that called Upgrade.
 */
void control_answer_caller(struct control *control, const struct upgrade_story *story);

/* supd is about to exit: a last attempt to hand out what is queued, never blocking. */
void control_flush(struct control *control);

#endif
