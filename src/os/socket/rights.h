/* SPDX-License-Identifier: ISC */
/* rights.h - unix stream sockets on which clients could send descriptors.
 *
 * The kernel discards descriptors that the receiver has no room for, in the receiver: if
 * the sender has closed its copies meanwhile, that is the last close, which may wait
 * without end (see closer.h).  Since Linux 6.16 a socket can refuse descriptors
 * (SO_PASSRIGHTS); with an older kernel supd looks for them before it reads the data.
 */
#ifndef OS_SOCKET_RIGHTS_H
#define OS_SOCKET_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void rights_refuse(int socket_fd);
bool rights_may_come(int socket_fd);
ssize_t rights_receive(int socket_fd, void *ret, size_t size);
bool rights_may_wait(int socket_fd);

#endif
