/* SPDX-License-Identifier: ISC */
/* control_file.c - the file of the control socket. */
#include "config.h"

#include "daemon/sockets/control_file.h"

#include <sys/socket.h>

#include "conf/text/conf.h"
#include "ledger/link.h"
#include "os/socket/sock.h"

/* Look at the file of the socket, in a child: the path is what its author chose. */
int
control_file_look(const struct control_file *file, bool connects,
                  struct sockwork_seen *ret)
{
	return sockwork_look(
	    file->bounded, VAULT_KEY(VAULT_CONTROL, 0),
	    &(struct sockwork_query){file->path, connects, file->timeout_ms / 2}, ret);
}

/* The same for what is to be done with it. */
int
control_file_do(const struct control_file *file, enum sockwork_kind kind,
                const struct conf *conf, gid_t gid, struct err *err)
{
	struct sockwork work;

	sockwork_begin(&work, file->bounded, file->timeout_ms);
	int r = sockwork_do(&work, VAULT_KEY(VAULT_CONTROL, 0), kind,
	                    &(const struct sock_file){
	                        .fd = file->fd,
	                        .path = file->path,
	                        .type = SOCK_STREAM,
	                        .backlog = CONTROL_CONNS_MAX,
	                        .mode = conf != NULL ? conf->control_mode : 0,
	                        .uid = (uid_t)-1,
	                        .gid = gid,
	                        .refuses_rights = true,
	                    },
	                    err);
	sockwork_done(&work);
	return r;
}
