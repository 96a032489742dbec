/* SPDX-License-Identifier: ISC */
/* harmless.h - may a descriptor that came from elsewhere be held and closed by us? */
#ifndef OS_SOCKET_HARMLESS_H
#define OS_SOCKET_HARMLESS_H

#include <stdbool.h>
#include <stdio.h>

bool fd_is_socket_or_pipe(int fd);
bool fd_is_harmless(int fd);

/* For tests: true if the file system of this mount, as in /proc/PID/mountinfo, is
 * local. */
bool harmless_has_mount(FILE *mountinfo, unsigned long mount_id);

#endif
