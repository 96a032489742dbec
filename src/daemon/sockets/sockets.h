/* SPDX-License-Identifier: ISC */
/* sockets.h - the sockets of actors, and the helper processes for them: the state of this
 * room. */
#ifndef DAEMON_SOCKETS_H
#define DAEMON_SOCKETS_H

#include "base/err.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"

struct sockets {
	/* What the room uses; borrowed. */
	struct ev_loop *loop;
	const struct engine *engine;
	struct actors *actors;
	struct events *events;
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	const struct additions *additions;
	struct bounded *bounded; /* files of sockets are touched in these children */
	/* Its own. */
	struct mailboxes mailboxes;  /* of the configuration in force */
	struct inherited *inherited; /* sockets that supd was started with, or NULL */
	struct helpers *helpers;     /* processes that touch the objects of others */
	struct standin *standin;
};

/* Open all but the mailboxes, with what the room uses; `data` is for kill_process().  0,
 * or -errno with a sentence. */
int sockets_open(struct sockets *sockets, helpers_kill_process *kill_process, void *data,
                 struct err *err);

#endif
