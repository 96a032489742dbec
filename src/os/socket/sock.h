/* SPDX-License-Identifier: ISC */
/* sock.h - sockets that others come to, opened close-on-exec and non-blocking.
 *
 * A socket that is passed to a program should block, as programs expect it to:
 * sock_set_blocking().
 */
#ifndef OS_SOCKET_SOCK_H
#define OS_SOCKET_SOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"

/* Who connected, as of connect(2). */
struct sock_peer {
	int fd; /* the connection, borrowed: asked for the groups when they matter */
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/* What a descriptor is, and where others find it. */
struct sock_name {
	bool is_fifo; /* then no other field is known */
	int family;   /* AF_UNIX, or AF_INET for IPv6, too */
	int type;
	uint16_t port;
	char address[108]; /* numeric, "" for all of both families; or a path */
};

/* A socket or a fifo that has a name in the file system. */
struct sock_file {
	int fd; /* borrowed: what is open already, not looked at to open it */
	const char *path;
	/* What it has instead below the current directory, the user that can lead the
	 * path elsewhere, and if several can; as sockplace_find().  NULL and 0: nothing,
	 * none. */
	const char *name;
	uid_t chooser;
	bool is_contested;
	bool is_shared; /* others than root may give the name to another file */
	int type;       /* unix sockets: SOCK_STREAM, SOCK_SEQPACKET or SOCK_DGRAM */
	int backlog;    /* … but the last one */
	mode_t mode;
	uid_t uid; /* (uid_t)-1, and (gid_t)-1: the caller's own */
	gid_t gid;
	/* Names in place of the two, for sockwork_do() alone: see there; NULL: none. */
	const char *user;
	const char *group;
	bool refuses_rights; /* descriptors cannot be sent to it: see rights.h */
};

int sock_listen_tcp(const char *host, uint16_t port, int backlog, struct err *err);
int sock_bind_tcp(const char *host, uint16_t port, struct err *err);
int sock_bind_udp(const char *host, uint16_t port, struct err *err);
int sock_open_unix(const struct sock_file *file, struct err *err);
int sock_open_fifo(const struct sock_file *file, struct err *err);
int sock_connect_unix(const char *path, int type);
bool sock_unix_is_live(const char *path);
bool sock_is_left(const char *path);
int sock_name(int fd, struct sock_name *ret);
int sock_set_blocking(int fd, bool blocking);
int sock_peer(int fd, struct sock_peer *ret);
bool sock_peer_has_group(const struct sock_peer *peer, gid_t gid);

#endif
