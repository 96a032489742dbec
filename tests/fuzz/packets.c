/* SPDX-License-Identifier: ISC */
/* packets.c - the bytes of a target as packets with descriptors. */
#include "config.h"

#include "tests/fuzz/packets.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "os/self/fd.h"

#define FDS_MAX 8
/* More than a page of leases has. */
#define FILE_BYTES (64 * 1024)

/* All descriptors are this file. */
static int
some_file(void)
{
	int fd = memfd_create("packets", MFD_CLOEXEC);

	ASSERT(fd >= 0);
	ASSERT(ftruncate(fd, FILE_BYTES) == 0);
	return fd;
}

static void
add_fds(struct msghdr *header, struct cmsghdr *c, int fd, size_t n)
{
	header->msg_control = c;
	header->msg_controllen = CMSG_SPACE(sizeof(fd) * n);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd) * n);
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(fd), &fd, sizeof(fd));
}

/*
 * Send the next packet, if the socket takes it: a byte says how many descriptors it has,
 * two say how long it is, the low byte first, and its bytes follow.  False: none is left.
 */
bool
packets_send(struct packets *packets, int fd)
{
	union {
		struct cmsghdr align;
		char data[CMSG_SPACE(sizeof(int) * FDS_MAX)];
	} control = {0};
	struct iovec part = {0};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	size_t n_fds, len;
	int file;

	if (packets->left < 4)
		return false;
	n_fds = packets->at[0] % (FDS_MAX + 1);
	len = packets->at[1] | (size_t)packets->at[2] << 8;
	packets->at += 3;
	packets->left -= 3;
	len = len < packets->left ? len : packets->left;
	file = some_file();
	/* sendmsg(2) does not write there. */
	part.iov_base = (void *)(uintptr_t)packets->at;
	part.iov_len = len;
	if (n_fds > 0)
		add_fds(&header, &control.align, file, n_fds);
	(void)sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(file);
	packets->at += len;
	packets->left -= len;
	return true;
}

struct free_fds
free_fds(void)
{
	const struct free_fds found = {fcntl(STDIN_FILENO, F_DUPFD, 0),
	                               fcntl(STDIN_FILENO, F_DUPFD, FD_WINDOW)};

	(void)close(found.low);
	(void)close(found.high);
	return found;
}

/* Were all descriptors closed that were opened since then? */
void
free_fds_check(const struct free_fds *before)
{
	const struct free_fds now = free_fds();

	ASSERT(now.low == before->low);
	ASSERT(now.high == before->high);
}
