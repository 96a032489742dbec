/* SPDX-License-Identifier: ISC */
/* mailbox_file.c - the files by which clients find the sockets of the actors. */
#include "config.h"

#include <sys/socket.h>

#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"
#include "os/socket/sockfile.h"
#include "os/socket/sockwork.h"

/* The file of a unix socket or a fifo. */
static struct sock_file
file_of(const struct conf_socket *socket)
{
	static const int types[SOCKET_KIND_MAX] = {
	    [SOCKET_UNIX] = SOCK_STREAM,
	    [SOCKET_UNIX_DGRAM] = SOCK_DGRAM,
	    [SOCKET_UNIX_SEQPACKET] = SOCK_SEQPACKET,
	};

	return (struct sock_file){
	    .path = socket->address,
	    .type = types[socket->kind],
	    .backlog = socket->backlog,
	    .mode = socket->mode,
	    .uid = socket->uid,
	    .gid = socket->gid,
	    .user = socket->asked_user,
	    .group = socket->asked_group,
	};
}

/* Have a child do this with the file of a mailbox, if it has one: as sockwork_do(). */
int
mailbox_do_file(struct sockwork *work, const struct mailbox *mailbox,
                enum sockwork_kind kind, struct err *err)
{
	struct sock_file file = file_of(mailbox->socket);

	if (socket_has_port(mailbox->socket->kind))
		return 0;
	file.fd = mailbox->fd;
	return sockwork_do(work, mailbox->key, kind, &file, err);
}

/* It may have removed the files of its sockets: then they are restored, and clients find
 * the way to the next process. */
void
mailboxes_mend(struct sockets *sockets, const struct actor *actor)
{
	uint32_t index = 0;
	const struct mailboxes *mailboxes = mailboxes_for(sockets, actor, &index);
	const struct mailbox *mailbox;
	struct sockwork work;
	struct err err;

	sockwork_begin(&work, sockets->bounded, MAILBOX_FILES_MS);
	for (size_t i = 0;
	     mailboxes != NULL && (mailbox = mailboxes_of(mailboxes, index, i)) != NULL;
	     i++) {
		const struct conf_socket *socket = mailbox->socket;

		/* Mostly the file is there: that is seen without a child. */
		if (mailbox->fd < 0 || mailbox->is_inherited ||
		    socket_has_port(socket->kind) || sockfile_is_there(socket->address))
			continue;
		int r = mailbox_do_file(&work, mailbox, SOCKWORK_RESTORE, &err);
		if (r > 0)
			log_line(LOG_LEVEL_NOTICE,
			         "%s: socket %s: %s was removed: restored", actor->path,
			         socket->name, socket->address);
		else if (r < 0)
			log_line(LOG_LEVEL_ERROR, "%s: socket %s is not restored: %s",
			         actor->path, socket->name, err.text);
	}
	sockwork_done(&work);
}
