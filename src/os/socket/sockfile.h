/* SPDX-License-Identifier: ISC */
/* sockfile.h - the file by which others find a unix socket or a fifo, and its second
 * name.
 */
#ifndef OS_SOCKET_SOCKFILE_H
#define OS_SOCKET_SOCKFILE_H

#include <stdbool.h>
#include <sys/types.h>

int sockfile_find(int fd, const char *path, bool may_decide);
int sockfile_adjust(int file, mode_t mode, uid_t uid, gid_t gid);
int sockfile_secure(int file, const char *path, bool is_new);
int sockfile_restore(int file, const char *path);
void sockfile_remove(int file, const char *path);
bool sockfile_is_there(const char *path);

#endif
