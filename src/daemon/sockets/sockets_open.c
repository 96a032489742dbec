/* SPDX-License-Identifier: ISC */
/* sockets_open.c - the sockets of actors, and the helper processes for them: the room
 * opens. */
#include "config.h"

#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"

int
sockets_open(struct sockets *sockets, struct shell *shell,
             helpers_kill_process *kill_process, struct given *take_given,
             struct err *err)
{
	sockets->given = take_given;
	sockets->helpers = helpers_new(shell, kill_process, err);
	if (sockets->helpers == NULL)
		return -err->code;
	sockets->standin = standin_new(shell, err);
	return sockets->standin == NULL ? -err->code : 0;
}
