/* SPDX-License-Identifier: ISC */
/* server.h - calls over the control socket: what the core and the turn tell them. */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include "core/core.h"

struct control;
struct ledger;

/* What calls read, and change; borrowed. */
struct control_uses {
	struct ev_loop *loop;
	const struct engine *engine;
	struct actors *actors;
	struct events *events;
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	const struct origin *origin;
	struct procs *procs;
	struct trial *trial;
	struct spawner *spawner;
	struct bounded *closers; /* of descriptors that clients send */
	struct control_file *file;
	const struct reporter *reporter;
	const struct upgrader *upgrader;
	struct reloader *reloader;
};

/* A command is in the journal and the core has it: the call that it came with counts as
 * carried out, also for a guardian after this one. */
void control_on_posted(struct ledger *ledger, uint64_t token);

/* An ACTION_REPLY of the core, during perform: what became of a command, for the call
 * that asks again.  Also while there is no control server yet: NULL. */
void control_remember(struct control *control, struct ledger *ledger,
                      const struct engine *engine, const struct action *action);

/* An ACTION_REPLY of the core, during perform: remember it and answer the caller. */
void control_on_reply(struct control *control, const struct action *action);

#endif
