/* SPDX-License-Identifier: ISC */
/* control_out.c - what a connection is to be sent; connections that are to be looked at
 * at the end of the turn. */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>

#include "daemon/server/control_private.h"

/* Look at this connection's call at the end of the turn. */
void
control_attend(struct conn *conn)
{
	if (conn->in_attention)
		return;
	conn->in_attention = true;
	TAILQ_INSERT_TAIL(&conn->control->attention, conn, attention_link);
}

/* The connection is not held back any more. */
void
share_forget(struct conn *conn)
{
	if (conn->held_back)
		conn->control->n_held_back--;
	conn->held_back = false;
}

/* Replies were taken: those that were held back look again in the next turn. */
void
share_freed(struct control *control)
{
	struct conn *conn;

	if (control->n_held_back == 0 || control->closing)
		return;
	TAILQ_FOREACH (conn, &control->conns, link) {
		if (conn->held_back)
			control_attend(conn);
	}
}

/* How many bytes are still to be sent. */
size_t
conn_unsent(const struct conn *conn)
{
	return conn->out.len - conn->sent;
}

/* Nothing can be delivered any more; what the client asked for already is still done. */
void
conn_go_mute(struct conn *conn)
{
	conn->over.out = true;
	strbuf_done(&conn->out);
	conn->sent = 0;
}

/* Send what the socket takes without blocking. */
void
conn_flush(struct conn *conn)
{
	while (conn_unsent(conn) > 0) {
		ssize_t n = send(conn->fd, conn->out.data + conn->sent, conn_unsent(conn),
		                 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			conn_go_mute(conn);
			return;
		}
		conn->sent += (size_t)n;
		share_freed(conn->control);
	}
	if (conn_unsent(conn) > 0) {
		/* Move only what is shorter than the room it gives back. */
		if (conn->sent > conn_unsent(conn)) {
			strbuf_consume(&conn->out, conn->sent);
			conn->sent = 0;
		}
		return;
	}
	conn->sent = 0;
	if (conn->out.cap > VARLINK_FEED_MAX)
		strbuf_done(&conn->out);
	else
		strbuf_clear(&conn->out);
}
