/* SPDX-License-Identifier: ISC */
/* grown.c - the configuration of an actor, also where it was added at run time. */
#include "config.h"

#include "daemon/sockets/grown.h"

#include "daemon/state/actors.h"
#include "daemon/state/shell.h"

const struct conf *
shell_conf_of(const struct shell *shell, const struct actor *actor)
{
	if (actor->grown != NULL)
		return actor->grown->conf;
	return actor->conf_owner != NULL ? actor->conf_owner : shell->actors.conf;
}
