/* SPDX-License-Identifier: ISC */
/* sockplace.h - the directory of a socket's file, and the user that chooses it.
 *
 * The owner of a directory can put a link in place of a directory in it.  Where supd is
 * root's, it would make, change and remove files wherever that link leads.  So the way is
 * walked, and the walk follows no link that others than root can change; what is done
 * then is done in the directory that it found.  The path, the address of the socket, is
 * bound with the rights of the user that can change where it leads; if several can, the
 * name in that directory is the address.
 */
#ifndef OS_SOCKET_SOCKPLACE_H
#define OS_SOCKET_SOCKPLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct sockplace {
	int dir_fd;       /* to be closed by the caller */
	const char *name; /* in that directory, a part of the path */
	uid_t uid; /* 0: no user alone can put another directory in its place … */
	bool is_contested;    /* … but several can */
	bool is_root_s_alone; /* no other user can give the name to another file */
};

int sockplace_find(const char *path, struct sockplace *ret, struct err *err);

#endif
