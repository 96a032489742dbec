/* SPDX-License-Identifier: ISC */
/* pass.h - messages with descriptors, over a unix socket that keeps them apart. */
#ifndef OS_SELF_PASS_H
#define OS_SELF_PASS_H

#include <stddef.h>
#include <sys/types.h>

#define PASS_FDS_MAX 253 /* SCM_MAX_FD */

/* The descriptors of a message. */
struct pass_fds {
	int *at;
	size_t n;
};

int pass_pair(int ret_fds[2]);
int pass_send(int fd, const void *data, size_t len, const struct pass_fds *fds,
              int flags);
ssize_t pass_receive(int fd, int flags, void *ret_data, size_t size,
                     struct pass_fds *fds);

#endif
