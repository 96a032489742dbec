/* SPDX-License-Identifier: ISC */
/* server.h - calls over the control socket: what the core and the turn tell them. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "core/core.h"

struct control;
struct shell;

/* A command is in the journal and the core has it: the call that it came with counts as
 * carried out, also for a guardian after this one. */
void control_on_posted(struct shell *shell, uint64_t token);

/* An ACTION_REPLY of the core, during perform: what became of a command, for the call
 * that asks again.  Also while there is no control server yet. */
void control_remember(struct shell *shell, const struct action *action);

/* An ACTION_REPLY of the core, during perform: remember it and answer the caller. */
void control_on_reply(struct control *control, const struct action *action);

#endif
