/* SPDX-License-Identifier: ISC */
/* hang_fuse_child.c - what uses the file of hang_fuse.c, in a child: the programs of
 * MODE. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/hang_fuse.h"

static void
send_file(const char *path, const char *address, const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = strlen(address);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct iovec iov = {.iov_base = strdup(text), .iov_len = strlen(text)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {
	    .msg_name = &to,
	    .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
	                               (address[0] != '@')),
	    .msg_iov = &iov,
	    .msg_iovlen = 1,
	    .msg_control = &control,
	    .msg_controllen = sizeof(control),
	};

	if (fd < 0 || sock < 0 || length >= sizeof(to.sun_path))
		hang_fuse_fail(path);
	memcpy(to.sun_path, address, length);
	if (address[0] == '@')
		to.sun_path[0] = '\0';
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(sock, &message, 0) < 0)
		hang_fuse_fail(address);
	printf("sent\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

void
hang_fuse_child(const char *dir, char **mode)
{
	char path[4096], bytes[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/f", dir);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(mode[0], "exec") == 0) {
		(void)execv(path, mode);
		hang_fuse_fail(path);
	}
	if (strcmp(mode[0], "send") == 0 && mode[1] != NULL && mode[2] != NULL)
		send_file(path, mode[1], mode[2]);
	if (strcmp(mode[0], "read") != 0) {
		errno = EINVAL;
		hang_fuse_fail(mode[0]);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		hang_fuse_fail(path);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
	(void)close(fd);
	exit(0);
}
