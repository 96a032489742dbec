/* SPDX-License-Identifier: ISC */
/* closer.h - close in a child (bounded.h) what another program has sent us.
 *
 * close(2) of a file may wait for its file system.  The same is true where the last
 * reference goes with a datagram that is thrown away.  The child shares our descriptors
 * (systemd's asynchronous_close()).  One that hangs keeps the table of descriptors of a
 * process that has died meanwhile, connections of clients included.
 */
#ifndef OS_SOCKET_CLOSER_H
#define OS_SOCKET_CLOSER_H

#include <stddef.h>
#include <stdint.h>

#include "os/self/bounded.h"

/* The number of descriptors that a child closes. */
#define CLOSER_FDS_MAX 253

int closer_close(struct bounded *bounded, uint64_t owner, const int *take_fds, size_t n);
int closer_drop(struct bounded *bounded, uint64_t owner, int socket_fd,
                uint64_t stamp_ns);

#endif
