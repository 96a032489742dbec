/* SPDX-License-Identifier: ISC */
/* link.c - one message a packet between walker and guardian, with its descriptors. */
#include "config.h"

#include "ledger/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/fd.h"

/* How many milliseconds a sender waits for descriptors that are on their way. */
#define FLIGHT_TRIES 20

#define HEAD_BYTES offsetof(struct link_message, keys)

const char *const link_names[] = {LINK_MAP(AS_NAME)};

/*
 * Make the link: ret_fds[0] is the walker's end and does not wait, ret_fds[1] is the
 * guardian's and does.  Both are close-on-exec.  Returns 0 or -errno.
 */
int
link_pair(int ret_fds[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	fds[0] = fd_raise(fds[0]);
	fds[1] = fd_raise(fds[1]);
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
		int code = errno;

		(void)close(fds[0]);
		(void)close(fds[1]);
		return -code;
	}
	memcpy(ret_fds, fds, sizeof(fds));
	return 0;
}

/*
 * The guardian's end, as it was born with it: is it a link, made by our parent?  A role
 * that a user chose has none.  Returns its new number, close-on-exec and at or above
 * FD_WINDOW, or -EPERM.
 */
int
link_adopt(int fd)
{
	int domain = 0, type = 0;
	struct ucred peer = {0};
	socklen_t size = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return -EPERM;
	size = sizeof(peer);
	if (domain != AF_UNIX || type != SOCK_SEQPACKET ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    peer.pid != getppid())
		return -EPERM;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd_raise(fd);
}

/* How long a message of this head is; 0 for one that cannot be. */
static size_t
bytes_of(uint32_t kind, uint32_t n)
{
	switch (kind) {
	case LINK_STORE:
	case LINK_FETCH:
		return n <= LINK_STORE_MAX ? HEAD_BYTES + n * sizeof(uint64_t) : 0;
	case LINK_DROP:
	case LINK_VAULT:
		return n <= LINK_FDS_MAX ? HEAD_BYTES + n * sizeof(uint64_t) : 0;
	case LINK_NOTIFY:
		return n < LINK_TEXT_MAX ? HEAD_BYTES + n : 0;
	case LINK_HELLO:
		return HEAD_BYTES + sizeof(struct link_hello);
	default:
		return kind < LINK_KIND_MAX ? HEAD_BYTES : 0;
	}
}

/* True if a message of this kind may come with so many descriptors. */
static bool
may_have(const struct link_message *message, size_t n_fds)
{
	switch (message->kind) {
	case LINK_STORE:
	case LINK_VAULT:
		return n_fds == message->n;
	case LINK_LEDGER:
	case LINK_UPGRADE:
	case LINK_LOCK:
		return n_fds == 1;
	case LINK_HELLO:
		return n_fds == (message->hello.has_ledger ? 2U : 1U);
	default:
		return n_fds == 0;
	}
}

/* More descriptors are in flight than this user may have.  Wait for the reader, but not
 * for long: they may belong to another process of the same user, and stay unread. false:
 * this end does not wait, or has waited. */
static bool
wait_for_flight(int fd, int tries)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_NONBLOCK || tries >= FLIGHT_TRIES)
		return false;
	(void)poll(&(struct pollfd){.fd = -1}, 1, 1);
	return true;
}

/* Send with these flags; -errno. */
static int
send_with(int fd, const struct link_message *message, const int *fds, size_t n_fds,
          int flags)
{
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(sizeof(int) * LINK_FDS_MAX)];
	} control = {0};
	/* sendmsg(2) does not write there. */
	struct iovec part = {.iov_base = (void *)(uintptr_t)message,
	                     .iov_len = bytes_of(message->kind, message->n)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

	ASSERT(part.iov_len > 0);
	ASSERT(n_fds <= LINK_FDS_MAX);
	if (n_fds > 0) {
		struct cmsghdr *c = &control.align;

		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	for (int tries = 0;;) {
		int r = sendmsg(fd, &header, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;

		if (r == -EINTR || (r == -ETOOMANYREFS && (flags & MSG_DONTWAIT) == 0 &&
		                    wait_for_flight(fd, tries++)))
			continue;
		return r == -ECONNRESET ? -EPIPE : r;
	}
}

/*
 * Send one message and copies of n_fds descriptors, which stay the caller's.
 *
 * Returns 0; -EPIPE when the other side is gone; another -errno when it was not sent,
 * such as -ENOMEM.  At an end that does not wait -EAGAIN when the link is full.
 * -ETOOMANYREFS, at the other end after some milliseconds, when this user has too many
 * descriptors on their way: poll(2) may call the link writable then, so try again later.
 */
int
link_send(int fd, const struct link_message *message, const int *fds, size_t n_fds)
{
	return send_with(fd, message, fds, n_fds, 0);
}

/* As link_send(), without waiting, for both ends. */
int
link_try(int fd, const struct link_message *message, const int *fds, size_t n_fds)
{
	return send_with(fd, message, fds, n_fds, MSG_DONTWAIT);
}

/* Take the descriptors, out of the way of those that a spawn arranges. */
static size_t
take_descriptors(struct msghdr *header, int ret_fds[LINK_FDS_MAX])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL;
	     c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(ret_fds, CMSG_DATA(c), n * sizeof(int));
		}
	}
	for (size_t i = 0; i < n; i++)
		ret_fds[i] = fd_raise(ret_fds[i]);
	return n;
}

static ssize_t
receive(int fd, struct msghdr *header, int flags)
{
	ssize_t n;

	/* A peer that died with messages of ours unread is told once by ECONNRESET; what
	 * it sent before comes after that. */
	do {
		n = recvmsg(fd, header, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n < 0 ? -errno : n;
}

/*
 * Receive the next message; flags is 0 or MSG_DONTWAIT.
 *
 * Returns 1; its descriptors are the caller's, close-on-exec, at or above FD_WINDOW where
 * there is room.  Text ends with a NUL that n does not count.  0 when the other side is
 * gone and everything that it sent was received.
 *
 * -EAGAIN: nothing is there yet.  -EMFILE: not all of the descriptors could be taken (a
 * limit on open ones), so none were: those that came are closed, ret says what it was.
 * -EBADMSG: it was no message of ours, or had not the descriptors that such a one has,
 * which are closed.  After these three one can go on.
 */
int
link_receive(int fd, int flags, struct link_message *ret, int ret_fds[LINK_FDS_MAX],
             size_t *ret_n_fds)
{
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(sizeof(int) * LINK_FDS_MAX)];
	} control;
	struct msghdr header = {
	    .msg_iov = &(struct iovec){.iov_base = ret, .iov_len = sizeof(*ret)},
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof(control),
	};
	ssize_t n = receive(fd, &header, flags);
	int r = 1;

	if (n < 0)
		return (int)n;
	size_t n_fds = take_descriptors(&header, ret_fds);
	/* An empty packet is taken for the end, and may have descriptors all the same. */
	if (n == 0)
		r = 0;
	else if ((size_t)n < HEAD_BYTES || header.msg_flags & MSG_TRUNC ||
	         (size_t)n != bytes_of(ret->kind, ret->n))
		r = -EBADMSG;
	else if (header.msg_flags & MSG_CTRUNC)
		r = -EMFILE;
	else if (!may_have(ret, n_fds))
		r = -EBADMSG;
	for (size_t i = 0; r <= 0 && i < n_fds; i++)
		fd_close(&ret_fds[i]);
	if (r == 1 && ret->kind == LINK_NOTIFY)
		ret->text[ret->n] = '\0';
	*ret_n_fds = r == 1 ? n_fds : 0;
	return r;
}
