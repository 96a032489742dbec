/* SPDX-License-Identifier: ISC */
/* closer.h - close in a process that may hang what another program has sent us.
 *
 * close(2) enters the file system of the file: one in user space (FUSE) or on the network
 * answers when it likes, and SIGKILL does not end that wait.  The same is true where the
 * last reference goes with a datagram that is thrown away.  So a child does it that
 * shares our descriptors (systemd's asynchronous_close()); whatever becomes of it, we go
 * on.
 *
 * A child that hangs keeps the table of descriptors of a process that has died meanwhile,
 * connections of clients included: so there are few of them, and fewer for one owner.
 */
#ifndef OS_CLOSER_H
#define OS_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* So many children may be at work, and so many for one owner. */
#define CLOSERS_MAX     64
#define CLOSERS_OWN_MAX 4
/* The number of descriptors that a child closes. */
#define CLOSER_FDS_MAX 253

struct closer {
	pid_t pids[CLOSERS_MAX]; /* 0: the place is free */
	uint64_t owners[CLOSERS_MAX];
};

void closer_init(struct closer *closer);
void closer_done(struct closer *closer);
bool closer_has_room(struct closer *closer, uint64_t owner);
int closer_close(struct closer *closer, uint64_t owner, const int *take_fds, size_t n);
int closer_drop(struct closer *closer, uint64_t owner, int socket_fd, uint64_t stamp_ns);
bool closer_works(struct closer *closer, int id);

#endif
