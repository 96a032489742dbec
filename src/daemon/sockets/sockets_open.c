/* SPDX-License-Identifier: ISC */
/* sockets_open.c - the sockets of actors, and the helper processes for them: the room
 * opens. */
#include "config.h"

#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"

int
sockets_open(struct sockets *sockets, helpers_kill_process *kill_process, void *data,
             struct err *err)
{
	sockets->helpers = helpers_new(sockets, kill_process, data, err);
	if (sockets->helpers == NULL)
		return -err->code;
	sockets->standin = standin_new(sockets, err);
	return sockets->standin == NULL ? -err->code : 0;
}
