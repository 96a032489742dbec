/* SPDX-License-Identifier: ISC */
/* control_auth.c - permissions: by the peer's credentials, as of its connect. */
#include "config.h"

#include <unistd.h>

#include "daemon/server/control_private.h"
#include "daemon/state/actors.h"

/*
 * True if this client may do what needs `access`.  Asked for each call, with the present
 * configuration: control is uid 0, supd's own uid and members of control.group; these
 * and members of observers may look; introspection is for all users.
 */
bool
auth_allows(const struct conn *conn, enum access access)
{
	const struct conf *conf = conn->control->uses.actors->conf;
	const struct sock_peer *peer = &conn->peer;

	if (access == ACCESS_EVERYBODY || peer->uid == 0 || peer->uid == geteuid())
		return true;
	return (conf->has_control_group &&
	        sock_peer_has_group(peer, conf->control_gid)) ||
	       (access == ACCESS_OBSERVE && conf->has_observers &&
	        sock_peer_has_group(peer, conf->observers_gid));
}
