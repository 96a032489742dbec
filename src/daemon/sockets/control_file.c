/* SPDX-License-Identifier: ISC */
/* control_file.c - the file of the control socket. */
#include "config.h"

#include "daemon/sockets/control_file.h"

#include <sys/socket.h>

#include "conf/text/conf.h"
#include "ledger/link.h"
#include "os/socket/sock.h"

void
control_file_begin(struct control_file *file, int timeout_ms)
{
	sockwork_begin(&file->work, file->bounded, timeout_ms);
}

void
control_file_end(struct control_file *file)
{
	sockwork_done(&file->work);
	file->work.bounded = NULL;
}

int
control_file_do(struct control_file *file, enum sockwork_kind kind,
                const struct conf *conf, gid_t gid, struct err *err)
{
	const bool is_alone = file->work.bounded == NULL;

	if (is_alone)
		control_file_begin(file, CONTROL_FILE_MS);
	int r = sockwork_do(&file->work, VAULT_KEY(VAULT_CONTROL, 0), kind,
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
	if (is_alone)
		control_file_end(file);
	return r;
}
