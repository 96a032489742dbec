/* SPDX-License-Identifier: ISC */
/* listen.h - the descriptors that a process is started with: sd_listen_fds(3). */
#ifndef OS_SOCKET_LISTEN_H
#define OS_SOCKET_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#define LISTEN_FDS_MAX   256 /* more than these nobody takes */
#define LISTEN_FDS_START 3

size_t listen_fds(char **variables, pid_t pid);
size_t listen_name(char **variables, size_t i, const char **ret_name);

#endif
