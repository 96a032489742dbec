/* SPDX-License-Identifier: ISC */
/* control.h - the control socket: Varlink calls become events for the core and reads of
 * its state; replies, streams and who may do what.
 *
 * Never blocks on a client and is bounded in connections, bytes and calls.
 */
#ifndef DAEMON_CONTROL_H
#define DAEMON_CONTROL_H

#include "base/err.h"
#include "core/core.h"

/* Actors that calls wait for, all together: also what the core must have room for. */
#define CONTROL_WAITERS_MAX 4096

struct control;
struct shell;

struct control *control_new(struct shell *shell, struct err *err);
void control_free(struct control *control);

/* An ACTION_REPLY of the core, during perform: remember it and answer the caller. */
void control_on_reply(struct control *control, const struct action *action);

/* The ledger is another one: what is remembered of commands is in there. */
void control_use_ledger(struct control *control);

/* After every turn: new events may be there, states may have changed. */
void control_on_turn(struct control *control);

/* supd is about to exit: a last attempt to hand out what is queued, never blocking. */
void control_flush(struct control *control);

#endif
