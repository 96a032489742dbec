/* SPDX-License-Identifier: ISC */
/* pass.c - messages with descriptors, over a unix socket that keeps them apart. */
#include "config.h"

#include "os/self/pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"

/* Room for the control part, aligned as the kernel wants it. */
union pass_control {
	struct cmsghdr align;
	char data[CMSG_SPACE(sizeof(int) * PASS_FDS_MAX)];
};

/*
 * Both ends of a new channel, which are alike: close-on-exec, and neither waits.  Returns
 * 0 or -errno.
 */
int
pass_pair(int ret_fds[2])
{
	const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

	return socketpair(AF_UNIX, type, 0, ret_fds) == 0 ? 0 : -errno;
}

/*
 * Send one message with descriptors (NULL: none), which stay the caller's.  `flags` as
 * for sendmsg(2): MSG_DONTWAIT to get -EAGAIN from a full socket.  Returns 0 or -errno.
 */
int
pass_send(int fd, const void *data, size_t len, const struct pass_fds *fds, int flags)
{
	const size_t n_fds = fds != NULL ? fds->n : 0;
	struct msghdr header = {
	    .msg_iov = &(struct iovec){.iov_base = (void *)(size_t)data, .iov_len = len},
	    .msg_iovlen = 1};
	union pass_control control;
	ssize_t n;

	ASSERT(n_fds <= PASS_FDS_MAX);
	if (n_fds > 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds->at, sizeof(int) * n_fds);
	}
	do {
		n = sendmsg(fd, &header, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void
close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)close(fds[i]);
}

/*
 * Receive one message of at most `size` bytes and its descriptors, close-on-exec, which
 * are the caller's from now on: there is room for fds->n of them, which says then how
 * many came (NULL: there is room for none).  `flags` as for recvmsg(2).
 *
 * Returns its length; 0 at the end of the connection; -errno.  -EMSGSIZE: the message
 * was too long, or had more descriptors than there is room for: it is gone and its
 * descriptors are closed.
 */
ssize_t
pass_receive(int fd, int flags, void *ret_data, size_t size, struct pass_fds *fds)
{
	const size_t fds_max = fds != NULL ? fds->n : 0;
	union pass_control control;
	struct msghdr header = {
	    .msg_iov = &(struct iovec){.iov_base = ret_data, .iov_len = size},
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof(control),
	};
	size_t n_fds = 0;
	int received[PASS_FDS_MAX];
	ssize_t n;

	if (fds != NULL)
		fds->n = 0;
	do {
		n = recvmsg(fd, &header, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL;
	     c = CMSG_NXTHDR(&header, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(received, CMSG_DATA(c), n_fds * sizeof(int));
		}
	}
	if (n_fds > fds_max || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		close_all(received, n_fds);
		return -EMSGSIZE;
	}
	if (n_fds > 0) {
		memcpy(fds->at, received, n_fds * sizeof(int));
		fds->n = n_fds;
	}
	return n;
}
