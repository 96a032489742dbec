/* SPDX-License-Identifier: ISC */
/* sock.c - sockets that others come to, opened close-on-exec and non-blocking. */
#include "config.h"

#include "os/socket/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/self/drop.h"
#include "os/self/fd.h"
#include "os/self/fsuser.h"
#include "os/socket/rights.h"
#include "os/socket/sockfile.h"

#define NO_BACKLOG (-1) /* it does not listen */

enum { SOCK_FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK };

/*
 * Datagrams have no backlog, and no connections that linger: a second socket at their
 * address would take them away, so SO_REUSEADDR is for streams only.
 */
static int
open_at(const struct addrinfo *at, bool v6only, int backlog)
{
	const int only = v6only, on = 1;
	const bool is_stream = at->ai_socktype == SOCK_STREAM;
	int fd = socket(at->ai_family, at->ai_socktype | SOCK_FLAGS, 0);

	if (fd < 0)
		return -errno;
	if ((!is_stream ||
	     setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0) &&
	    (at->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) == 0) &&
	    bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
	    (!is_stream || backlog == NO_BACKLOG || listen(fd, backlog) == 0))
		return fd_raise(fd);
	int code = errno;
	(void)close(fd);
	return -code;
}

/* Every address of this machine: one socket for both families, or IPv4 without IPv6. */
static int
open_anywhere(int type, uint16_t port, int backlog)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct addrinfo at = {
	    .ai_family = AF_INET6,
	    .ai_socktype = type,
	    .ai_addr = (struct sockaddr *)&six,
	    .ai_addrlen = sizeof(six),
	};
	int r = open_at(&at, false, backlog);

	if (r != -EAFNOSUPPORT && r != -EADDRNOTAVAIL)
		return r;
	at.ai_family = AF_INET;
	at.ai_addr = (struct sockaddr *)&four;
	at.ai_addrlen = sizeof(four);
	return open_at(&at, false, backlog);
}

static int
open_port(const char *host, uint16_t port, int type, int backlog, struct err *err)
{
	const char *what = type == SOCK_STREAM ? "listen on tcp" : "bind to udp";
	struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_NUMERICHOST};
	struct addrinfo *list = NULL;
	char service[8];
	int r;

	if (host == NULL || host[0] == '\0' || strcmp(host, "*") == 0) {
		r = open_anywhere(type, port, backlog);
		if (r < 0)
			err_set(err, -r, "%s port %u", what, port);
		return r;
	}
	(void)snprintf(service, sizeof(service), "%u", port);
	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	r = getaddrinfo(host, service, &hints, &list);
	if (r == EAI_NONAME) {
		hints.ai_flags = AI_ADDRCONFIG;
		r = getaddrinfo(host, service, &hints, &list);
	}
	if (r != 0)
		return err_say(err, -EADDRNOTAVAIL, "find the address of %s: %s", host,
		               gai_strerror(r));
	r = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = list; at != NULL && r < 0; at = at->ai_next)
		r = open_at(at, true, backlog);
	freeaddrinfo(list);
	if (r < 0)
		err_set(err, -r, "%s %s port %u", what, host, port);
	return r;
}

/*
 * Open a TCP socket that listens.
 *
 * host is an address or a name; "", "*" and NULL are every address, of both families
 * where the machine has both.  An address that is written out means itself: "::" is IPv6
 * only.  Of a name the first address that can be bound is taken, IPv4 first for
 * "localhost"; looking one up may block, so this is for load time only.
 *
 * Returns the descriptor, at or above FD_WINDOW, or -errno with a sentence.
 */
int
sock_listen_tcp(const char *host, uint16_t port, int backlog, struct err *err)
{
	return open_port(host, port, SOCK_STREAM, backlog, err);
}

/* As sock_listen_tcp(), but it does not listen: no client is lost with it. */
int
sock_bind_tcp(const char *host, uint16_t port, struct err *err)
{
	return open_port(host, port, SOCK_STREAM, NO_BACKLOG, err);
}

/* Open a UDP socket; host as for sock_listen_tcp(), and so is what it returns. */
int
sock_bind_udp(const char *host, uint16_t port, struct err *err)
{
	return open_port(host, port, SOCK_DGRAM, 0, err);
}

static int
unix_address(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	if (len == 0)
		return -EINVAL;
	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, path, len);
	return 0;
}

/*
 * Connect to the socket at path, of type SOCK_STREAM or SOCK_DGRAM.  Never waits: a
 * listener with a full queue is -EAGAIN.  Returns a non-blocking descriptor, at or above
 * FD_WINDOW, or -errno.
 */
int
sock_connect_unix(const char *path, int type)
{
	struct sockaddr_un address;

	int r = unix_address(path, &address);
	if (r < 0)
		return r;
	int fd = socket(AF_UNIX, type | SOCK_FLAGS, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	return fd_raise(fd);
}

/*
 * True if a process holds the unix socket at path.  Only a refused connection, or a
 * missing file, says no; in doubt (a full queue, another type of socket, no permission)
 * the answer is yes.
 */
bool
sock_unix_is_live(const char *path)
{
	int fd = sock_connect_unix(path, SOCK_STREAM);

	if (fd >= 0)
		(void)close(fd);
	return fd != -ECONNREFUSED && fd != -ENOENT;
}

/* Take away what a dead owner left; -EADDRINUSE if it lives or is no socket. */
static int
remove_leftover(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || sock_unix_is_live(path))
		return -EADDRINUSE;
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Where its file is found. */
static const char *
place_of(const struct sock_file *file)
{
	return file->name != NULL ? file->name : file->path;
}

/* The address has to be the whole path, which may lead elsewhere by now: only to where
 * the user that has changed it may make files. */
static int
bind_as_chooser(int fd, const struct sockaddr_un *address, uid_t chooser)
{
	const struct sockaddr *at = (const struct sockaddr *)address;

	if (chooser == 0)
		return bind(fd, at, sizeof(*address)) == 0 ? 0 : -errno;
	int r = fsuser_become(chooser, DROP_GID, NULL, 0);
	if (r == 0)
		r = fsuser_search();
	if (r == 0 && bind(fd, at, sizeof(*address)) < 0)
		r = -errno;
	fsuser_return();
	return r;
}

/* bind(2) makes the file with the mode that the umask leaves: set it around the call. */
static int
bind_with_mode(int fd, const struct sockaddr_un *address, const struct sock_file *file)
{
	mode_t old = umask(~file->mode & 0777);
	int r = bind_as_chooser(fd, address, file->chooser);

	(void)umask(old);
	return r;
}

static int
bind_replacing(int fd, const struct sockaddr_un *address, const struct sock_file *file)
{
	int r = bind_with_mode(fd, address, file);

	if (r != -EADDRINUSE)
		return r;
	r = remove_leftover(place_of(file));
	return r < 0 ? r : bind_with_mode(fd, address, file);
}

/* Set owner and mode before the first client can connect. */
static int
own_and_listen(int fd, const struct sock_file *file)
{
	const bool has_owner = file->uid != (uid_t)-1 || file->gid != (gid_t)-1;
	int at = -1;
	int r = 0;

	/* Until listen(2) every connection is refused.  Nothing but this socket is given
	 * away, whatever others may have put there meanwhile. */
	if (file->refuses_rights)
		rights_refuse(fd);
	if (has_owner) {
		at = sockfile_find(fd, place_of(file), !file->is_contested);
		r = at < 0 ? at : sockfile_adjust(at, file->mode, file->uid, file->gid);
	}
	fd_close(&at);
	if (r == 0 && file->type != SOCK_DGRAM && listen(fd, file->backlog) < 0)
		r = -errno;
	return r;
}

/*
 * Open a unix socket of this type, its file with this mode and owner.  A file left at
 * path by a dead owner is replaced; a file of another kind, or a socket with a living
 * owner, is not: -EADDRINUSE.  Two processes that start in the same instant are to be
 * kept apart by the caller's lock.  The directory must exist.  Returns the descriptor, at
 * or above FD_WINDOW, or -errno with a sentence.
 */
int
sock_open_unix(const struct sock_file *file, struct err *err)
{
	struct sockaddr_un address;
	int r = unix_address(file->is_contested ? file->name : file->path, &address);

	int fd = r < 0 ? -1 : socket(AF_UNIX, file->type | SOCK_FLAGS, 0);
	if (r == 0 && fd < 0)
		r = -errno;
	if (r == 0)
		r = bind_replacing(fd, &address, file);
	if (r == 0) {
		r = own_and_listen(fd, file);
		if (r == 0)
			return fd_raise(fd);
		(void)unlink(place_of(file));
	}
	err_set(err, -r, "listen on unix socket %s", file->path);
	fd_close(&fd);
	return r;
}

static void
name_inet(int fd, const struct sockaddr_storage *from, struct sock_name *ret)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;
	int only = 0;
	socklen_t len = sizeof(only);

	ret->family = AF_INET;
	if (from->ss_family == AF_INET) {
		ret->port = ntohs(four->sin_port);
		(void)inet_ntop(AF_INET, &four->sin_addr, ret->address,
		                sizeof(ret->address));
		return;
	}
	ret->port = ntohs(six->sin6_port);
	(void)getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len);
	if (only != 0 || !IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr))
		(void)inet_ntop(AF_INET6, &six->sin6_addr, ret->address,
		                sizeof(ret->address));
}

/*
 * What is behind a descriptor, as far as it tells.  -ENOTSOCK: neither a fifo nor a
 * socket of a family that we know; or another -errno.
 */
int
sock_name(int fd, struct sock_name *ret)
{
	struct sockaddr_storage at = {0};
	const struct sockaddr_un *file = (const struct sockaddr_un *)&at;
	socklen_t at_len = sizeof(at), type_len = sizeof(ret->type);
	struct stat st;

	*ret = (struct sock_name){0};
	if (fstat(fd, &st) < 0)
		return -errno;
	ret->is_fifo = S_ISFIFO(st.st_mode);
	if (ret->is_fifo)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &ret->type, &type_len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &at_len) < 0)
		return -errno;
	if (at.ss_family == AF_INET || at.ss_family == AF_INET6) {
		name_inet(fd, &at, ret);
		return 0;
	}
	if (at.ss_family != AF_UNIX)
		return -ENOTSOCK;
	ret->family = AF_UNIX;
	if (at_len > offsetof(struct sockaddr_un, sun_path))
		memcpy(ret->address, file->sun_path, sizeof(file->sun_path) - 1);
	return 0;
}

/* Let reads and accepts wait, or not.  Returns 0 or -errno. */
int
sock_set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) == 0 ? 0 : -errno;
}

/* The credentials of the other end of a unix connection.  Returns 0 or -errno. */
int
sock_peer(int fd, struct sock_peer *ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*ret = (struct sock_peer){
	    .fd = fd, .pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
	return 0;
}

/*
 * True if gid is the peer's group, or one of its supplementary groups.  SO_PEERGROUPS
 * has only the latter.  What cannot be found out is a no.
 */
bool
sock_peer_has_group(const struct sock_peer *peer, gid_t gid)
{
	socklen_t len = 0;

	if (peer->gid == gid)
		return true;
	/* Asked with no room it tells how much is needed. */
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 ||
	    errno != ERANGE || len == 0)
		return false;
	CLEANUP_FREE gid_t *groups = malloc(len);
	if (groups == NULL ||
	    getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(*groups); i++)
		if (groups[i] == gid)
			return true;
	return false;
}
