/* SPDX-License-Identifier: ISC */
/* grown.c - the configuration of an actor, also where it was added at run time. */
#include "config.h"

#include "daemon/sockets/grown.h"

#include "daemon/state/actors.h"

const struct conf *
conf_of_actor(const struct actors *actors, const struct actor *actor)
{
	if (actor->grown != NULL)
		return actor->grown->conf;
	return actor->conf_owner != NULL ? actor->conf_owner : actors->conf;
}
