/* SPDX-License-Identifier: ISC */
/* control_rights.c - descriptors that clients send over the control socket: all refused.
 *
 * Where the kernel can, it refuses them for us.  Where it cannot, a connection whose
 * queue may hold some is closed by a child: see os/socket/closer.h.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "daemon/server/control_private.h"
#include "daemon/state/log.h"
#include "os/socket/closer.h"
#include "os/socket/rights.h"

/* Children that close for one user are counted apart from those of actors. */
static uint64_t
owner_of(uid_t uid)
{
	return UINT64_C(1) << 32 | uid;
}

/* As recv(2) with MSG_DONTWAIT; a client that sends descriptors is as one that fails. */
ssize_t
rights_read(struct conn *conn, void *ret, size_t size)
{
	if (!conn->may_bring)
		return recv(conn->fd, ret, size, MSG_DONTWAIT);
	ssize_t n = rights_receive(conn->fd, ret, size);
	if (n < 0 && errno == EPERM)
		log_paced(&conn->control->rights_pace, LOG_LEVEL_WARNING,
		          "a client of the control socket (pid %d, uid %u) sends "
		          "descriptors: its connection is closed",
		          (int)conn->peer.pid, (unsigned int)conn->peer.uid);
	return n;
}

/*
 * Close a client's connection.  While too many children hang with those of its user it
 * stays open, and with CONTROL_LEFT_MAX of these no client is accepted.
 */
void
rights_close(struct control *control, int take_fd, uid_t uid)
{
	if (!rights_may_come(take_fd) || !rights_may_wait(take_fd)) {
		(void)close(take_fd);
		return;
	}
	if (closer_close(control->uses.closers, owner_of(uid), &take_fd, 1) == 0)
		return;
	(void)shutdown(take_fd, SHUT_RDWR);
	ASSERT(control->n_left < CONTROL_LEFT_MAX);
	control->left[control->n_left++] = (struct left){.fd = take_fd, .uid = uid};
}

/*
 * Before a client is let in: close one of those that were left open, if a child can be
 * had.  false: as many are left as may be, so that no further client can be let in.
 */
bool
rights_tend(struct control *control)
{
	const struct left left = control->left[0];

	if (control->n_left > 0) {
		control->n_left--;
		memmove(control->left, control->left + 1, control->n_left * sizeof(left));
		/* The others have their turn before it is tried again. */
		if (closer_close(control->uses.closers, owner_of(left.uid), &left.fd, 1) <
		    0)
			control->left[control->n_left++] = left;
	}
	return control->n_left + control->n_conns < CONTROL_LEFT_MAX;
}
