/* SPDX-License-Identifier: ISC */
/* hangup.h - close the connections of a process that cannot do so itself. */
#ifndef OS_SOCKET_HANGUP_H
#define OS_SOCKET_HANGUP_H

#include <sys/types.h>

int os_hang_up(pid_t pid, int listener);

#endif
