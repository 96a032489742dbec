/* SPDX-License-Identifier: ISC */
/* control_auth.c - who may do what: by the peer's credentials, as of its connect. */
#include "config.h"

#include "daemon/control_private.h"
#include "daemon/shell.h"

#include <unistd.h>

/*
 * May this client do what needs `access`?  Asked for each call, with the configuration as
 * it is now: control is uid 0, supd's own and members of control.group; those who control
 * and members of observers may look; introspection is for everybody.
 */
bool
auth_allows(const struct conn *conn, enum access access)
{
	const struct conf *conf = conn->control->shell->conf;
	const struct sock_peer *peer = &conn->peer;

	if (access == ACCESS_EVERYBODY)
		return true;
	if (peer->uid == 0 || peer->uid == geteuid())
		return true;
	if (conf->has_control_group && sock_peer_has_group(peer, conf->control_gid))
		return true;
	return access == ACCESS_OBSERVE && conf->has_observers &&
	       sock_peer_has_group(peer, conf->observers_gid);
}
