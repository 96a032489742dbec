/* SPDX-License-Identifier: ISC */
/* sock.h - sockets to listen on: tcp and unix, opened close-on-exec and non-blocking.
 *
 * A socket that is passed to a program should block, as programs expect it to:
 * sock_set_blocking().
 */
#ifndef OS_SOCK_H
#define OS_SOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Who connected, as of connect(2). */
struct sock_peer {
	int fd; /* the connection, borrowed: asked for the groups when they matter */
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

int sock_listen_tcp(const char *host, uint16_t port, int backlog, struct err *err);
int sock_listen_unix(const char *path, int backlog, mode_t mode, uid_t uid, gid_t gid,
                     struct err *err);
int sock_connect_unix(const char *path);
bool sock_unix_is_live(const char *path);
int sock_set_blocking(int fd, bool blocking);
int sock_peer(int fd, struct sock_peer *ret);
bool sock_peer_has_group(const struct sock_peer *peer, gid_t gid);

#endif
