/* SPDX-License-Identifier: ISC */
/* hangup.c - close the connections of a process that cannot do so itself. */
#include "config.h"

#include "os/socket/hangup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/self/fd.h"

/* True if this connection was accepted at an address; false for the listening socket. */
static bool
is_accepted_at(int fd, const struct sockaddr_un *name, socklen_t len)
{
	struct sockaddr_un own;
	socklen_t own_len = sizeof(own), size = sizeof(int);
	int is_listening = 1;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 &&
	       is_listening == 0 &&
	       getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
	       own_len == len && memcmp(&own, name, len) == 0;
}

/*
 * Shut down every connection that the process has accepted at the address at which
 * `listener`, a unix socket, listens: its peers see the end of it, although the process
 * sleeps in the kernel and still has its descriptors.  Needs the right to trace the
 * process, which its parent has.  Returns how many there were, or -errno.
 */
int
os_hang_up(pid_t pid, int listener)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	const struct dirent *entry;
	char path[64];
	int n = 0;

	if (getsockname(listener, (struct sockaddr *)&name, &len) < 0)
		return -errno;
	CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	CLEANUP_DIR DIR *all = opendir(path);
	while (all != NULL && (entry = readdir(all)) != NULL) {
		CLEANUP(fd_close) int fd = -1;

		if (isdigit((unsigned char)entry->d_name[0]))
			fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);
		if (fd >= 0 && is_accepted_at(fd, &name, len))
			n += shutdown(fd, SHUT_RDWR) == 0;
	}
	return n;
}
