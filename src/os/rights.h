/* SPDX-License-Identifier: ISC */
/* rights.h - unix stream sockets whose other ends could send descriptors.
 *
 * The kernel throws away descriptors that the receiver has no room for, in the receiver:
 * if the sender has closed its own meanwhile, that is their last close, which may wait
 * without end (see closer.h).  Since Linux 6.16 a socket can refuse them
 * (SO_PASSRIGHTS); with an older kernel they are seen by looking at the data first.
 */
#ifndef OS_RIGHTS_H
#define OS_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void rights_refuse(int socket_fd);
bool rights_may_come(int socket_fd);
ssize_t rights_receive(int socket_fd, void *ret, size_t size);
bool rights_may_wait(int socket_fd);

#endif
