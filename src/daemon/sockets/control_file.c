/* SPDX-License-Identifier: ISC */
/* control_file.c - the file of the control socket. */
#include "config.h"

#include "daemon/sockets/control_file.h"

#include <sys/socket.h>

#include "daemon/state/shell.h"
#include "ledger/link.h"
#include "os/socket/sock.h"

/* Look at the file of the socket, in a child: the path is what its author chose. */
int
control_file_look(struct shell *shell, bool connects, struct sockwork_seen *ret)
{
	return sockwork_look(&shell->bounded, VAULT_KEY(VAULT_CONTROL, 0),
	                     shell->origin.control_path, connects, ret);
}

/* The same for what is to be done with it. */
int
control_file_do(struct shell *shell, enum sockwork_kind kind, gid_t gid, struct err *err)
{
	const struct sock_file file = {
	    .path = shell->origin.control_path,
	    .type = SOCK_STREAM,
	    .backlog = CONTROL_CONNS_MAX,
	    .mode = shell->actors.conf != NULL ? shell->actors.conf->control_mode : 0,
	    .uid = (uid_t)-1,
	    .gid = gid,
	    .refuses_rights = true,
	};

	return sockwork_once(&shell->bounded, VAULT_KEY(VAULT_CONTROL, 0), kind, &file,
	                     err);
}
