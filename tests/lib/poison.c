/* SPDX-License-Identifier: ISC */
/* poison.c - to be preloaded: a process of supd dies of a message with "poison" in it. */
#include "config.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t
recv(int fd, void *ret, size_t n, int flags)
{
	ssize_t r = syscall(SYS_recvfrom, fd, ret, n, flags, NULL, NULL);

	if (r > 0 && memmem(ret, (size_t)r, "poison", strlen("poison")) != NULL)
		(void)raise(SIGKILL);
	return r;
}
