/* SPDX-License-Identifier: ISC */
/* sockets.h - the sockets of actors, and the helper processes for them: the state of this
 * room. */
#ifndef DAEMON_SOCKETS_H
#define DAEMON_SOCKETS_H

#include "base/err.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"

struct given;
struct standin;

struct sockets {
	struct mailboxes mailboxes; /* of the configuration in force */
	struct given *given;        /* sockets that supd was started with, or NULL */
	struct helpers *helpers;    /* processes that touch the objects of others */
	struct standin *standin;
};

/* Open all but the mailboxes, with what supd was started with; 0, or -errno with a
 * sentence. */
int sockets_open(struct sockets *sockets, struct shell *shell,
                 helpers_kill_process *kill_process, struct given *take_given,
                 struct err *err);

#endif
