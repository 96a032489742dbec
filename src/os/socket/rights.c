/* SPDX-License-Identifier: ISC */
/* rights.c - unix stream sockets on which clients could send descriptors. */
#include "config.h"

#include "os/socket/rights.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Newer than the headers that we build with. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/*
 * Let a sender of descriptors fail with EPERM, at this socket and at what is accepted
 * from it afterwards.  Before listen(2), so that none has connected yet; an older kernel
 * is no error: see rights_may_come().
 */
void
rights_refuse(int socket_fd)
{
	const int off = 0;

	(void)setsockopt(socket_fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}

/*
 * True if descriptors could come with the data of this connection.  Then it is to be
 * read with rights_receive(), and rights_may_wait() is asked before it is closed.
 */
bool
rights_may_come(int socket_fd)
{
	const int on = 1;
	int is_passing = 0;
	socklen_t size = sizeof(is_passing);

	if (getsockopt(socket_fd, SOL_SOCKET, SO_PASSRIGHTS, &is_passing, &size) == 0 &&
	    is_passing == 0)
		return false;
	/* Urgent data, which is thrown away on the way otherwise, can have some, too. */
	(void)setsockopt(socket_fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	return true;
}

/*
 * As recv(2) with MSG_DONTWAIT, for a connection of rights_may_come().  -1 with EPERM:
 * descriptors are with the next data, or right behind it; all of that stays there.
 */
ssize_t
rights_receive(int socket_fd, void *ret, size_t size)
{
	struct msghdr header = {.msg_iov =
	                            &(struct iovec){.iov_base = ret, .iov_len = size},
	                        .msg_iovlen = 1};
	/* While they are in the queue this closes none for the last time. */
	ssize_t n = recvmsg(socket_fd, &header, MSG_PEEK | MSG_DONTWAIT);

	if (n > 0 && (header.msg_flags & MSG_CTRUNC) != 0) {
		errno = EPERM;
		return -1;
	}
	/* No more than was seen to have none. */
	return n > 0 ? recv(socket_fd, ret, (size_t)n, MSG_DONTWAIT) : n;
}

/*
 * True if descriptors may wait to be read at this connection of rights_may_come(), so
 * that closing it would close them.  Nothing can be sent to it any more.
 */
bool
rights_may_wait(int socket_fd)
{
	int n_bytes = 0;

	return shutdown(socket_fd, SHUT_RD) < 0 ||
	       ioctl(socket_fd, SIOCINQ, &n_bytes) < 0 || n_bytes > 0;
}
