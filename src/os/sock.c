/* SPDX-License-Identifier: ISC */
/* sock.c - sockets to listen on: tcp and unix, opened close-on-exec and non-blocking. */
#include "config.h"

#include "os/sock.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCK_TYPE = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };

static int
listen_at(const struct addrinfo *at, bool v6only, int backlog)
{
	const int only = v6only, on = 1;
	int fd = socket(at->ai_family, SOCK_TYPE, 0);
	int code;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (at->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) == 0) &&
	    bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, backlog) == 0)
		return fd_raise(fd);
	code = errno;
	(void)close(fd);
	return -code;
}

/* Every address of this machine: one socket for both families, or IPv4 without IPv6. */
static int
listen_anywhere(uint16_t port, int backlog)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct addrinfo at = {
	    .ai_family = AF_INET6,
	    .ai_addr = (struct sockaddr *)&six,
	    .ai_addrlen = sizeof(six),
	};
	int r = listen_at(&at, false, backlog);

	if (r != -EAFNOSUPPORT && r != -EADDRNOTAVAIL)
		return r;
	at.ai_family = AF_INET;
	at.ai_addr = (struct sockaddr *)&four;
	at.ai_addrlen = sizeof(four);
	return listen_at(&at, false, backlog);
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
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
	struct addrinfo *list = NULL;
	char service[8];
	int r;

	if (host == NULL || host[0] == '\0' || strcmp(host, "*") == 0) {
		r = listen_anywhere(port, backlog);
		if (r < 0)
			err_set(err, -r, "listen on tcp port %u", port);
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
	if (r != 0) {
		err_set(err, 0, "find the address of %s: %s", host, gai_strerror(r));
		return -EADDRNOTAVAIL;
	}
	r = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = list; at != NULL && r < 0; at = at->ai_next)
		r = listen_at(at, true, backlog);
	freeaddrinfo(list);
	if (r < 0)
		err_set(err, -r, "listen on tcp %s port %u", host, port);
	return r;
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
 * Connect to the stream socket at path.  Never waits: a listener whose queue is full is
 * -EAGAIN.  Returns a non-blocking descriptor, at or above FD_WINDOW, or -errno.
 */
int
sock_connect_unix(const char *path)
{
	struct sockaddr_un address;
	int fd, r;

	r = unix_address(path, &address);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_TYPE, 0);
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
 * Does somebody hold the unix socket at path?  Only a refused connection, or no file at
 * all, says no; in doubt (a full queue, another type of socket, no permission) yes.
 */
bool
sock_unix_is_live(const char *path)
{
	int fd = sock_connect_unix(path);

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

/* bind(2) makes the file with the mode that the umask leaves: set it around the call. */
static int
bind_with_mode(int fd, const struct sockaddr_un *address, mode_t mode)
{
	mode_t old = umask(~mode & 0777);
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address));
	int code = errno;

	(void)umask(old);
	return r == 0 ? 0 : -code;
}

static int
bind_replacing(int fd, const struct sockaddr_un *address, mode_t mode)
{
	int r = bind_with_mode(fd, address, mode);

	if (r != -EADDRINUSE)
		return r;
	r = remove_leftover(address->sun_path);
	return r < 0 ? r : bind_with_mode(fd, address, mode);
}

/*
 * Open a unix stream socket that listens, its file with this mode and owner ((uid_t)-1
 * and (gid_t)-1: unchanged).  Both are in place before the first client can connect.
 *
 * What a dead owner left at path is replaced; a file of another kind, or a socket that
 * somebody still listens on, is not: -EADDRINUSE.  Two that start in the same instant
 * are to be kept apart by the caller's lock.  The directory must exist.
 *
 * Returns the descriptor, at or above FD_WINDOW, or -errno with a sentence.
 */
int
sock_listen_unix(const char *path, int backlog, mode_t mode, uid_t uid, gid_t gid,
                 struct err *err)
{
	const bool has_owner = uid != (uid_t)-1 || gid != (gid_t)-1;
	struct sockaddr_un address;
	int fd = -1;
	int r = unix_address(path, &address);

	if (r < 0)
		goto fail;
	fd = socket(AF_UNIX, SOCK_TYPE, 0);
	if (fd < 0) {
		r = -errno;
		goto fail;
	}
	r = bind_replacing(fd, &address, mode);
	if (r < 0)
		goto fail;
	/* Until listen(2) every connection is refused. */
	if ((has_owner && fchownat(AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	    listen(fd, backlog) < 0) {
		r = -errno;
		(void)unlink(path);
		goto fail;
	}
	return fd_raise(fd);
fail:
	err_set(err, -r, "listen on unix socket %s", path);
	if (fd >= 0)
		(void)close(fd);
	return r;
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

/* Who is at the other end of a unix connection.  Returns 0 or -errno. */
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
 * Is gid the peer's group, or one of its supplementary groups?  SO_PEERGROUPS has only
 * the latter.  What cannot be found out is a no.
 */
bool
sock_peer_has_group(const struct sock_peer *peer, gid_t gid)
{
	socklen_t len = 0;
	gid_t *groups;
	bool found = false;

	if (peer->gid == gid)
		return true;
	/* Asked with no room it tells how much is needed. */
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 ||
	    errno != ERANGE || len == 0)
		return false;
	groups = malloc(len);
	if (groups == NULL)
		return false;
	if (getsockopt(peer->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		for (size_t i = 0; i < len / sizeof(*groups); i++)
			found = found || groups[i] == gid;
	free(groups);
	return found;
}
