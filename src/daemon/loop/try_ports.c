/* SPDX-License-Identifier: ISC */
/* try_ports.c - `supd --check`: can the ports and paths of sockets be had? */
#include "config.h"

#include "daemon/loop/try_ports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/text/reports.h"
#include "daemon/loop/supd.h"
#include "os/self/fd.h"
#include "os/socket/sock.h"
#include "os/socket/sockplace.h"

/* True if a supd uses this runtime directory: it holds its own ports. */
static bool
is_in_use(const char *runtime_dir)
{
	char path[SUPD_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/supd.lock", runtime_dir);
	CLEANUP(fd_close)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	/* Of another user's supd only that is known. */
	return fd < 0 ? errno == EACCES
	              : flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Why the port cannot be had, in words; NULL: it can.  A port of 0 is any. */
static const char *
why_not(const struct conf_socket *sock, const char *runtime_dir)
{
	struct err err;
	CLEANUP(fd_close)
	int fd = sock->kind == SOCKET_TCP
	             ? sock_bind_tcp(sock->address, sock->port, &err)
	             : sock_bind_udp(sock->address, sock->port, &err);

	if (fd >= 0)
		return NULL;
	if (fd == -EADDRINUSE)
		return is_in_use(runtime_dir)
		           ? NULL
		           : "another process has this port; end that process, or "
		             "write another port";
	if (fd == -EADDRNOTAVAIL)
		return "no network interface of this machine has that address";
	return fd == -EACCES
	           ? "a port below 1024 is for root, or for CAP_NET_BIND_SERVICE"
	           : strerror(-fd);
}

/* Warn at this spot if root would not make a file on that path. */
static void
try_place(const struct conf_socket *sock, const struct spot *spot,
          struct conf_reports *reports)
{
	struct sockplace place;
	struct err err;

	if (geteuid() != 0)
		return;
	(void)sockplace_find(sock->address, &place, &err);
	fd_close(&place.dir_fd);
	if (err.text[0] != '\0')
		reports_add(reports, CONF_WARNING, spot, sock->name, err.text);
}

/* Warn at this spot if it is no port, and no path, that `owner` can have. */
static void
try_port(const struct conf_socket *sock, const struct spot *spot, const char *owner,
         const char *runtime_dir, struct conf_reports *reports)
{
	char message[512];

	if (!socket_has_port(sock->kind)) {
		try_place(sock, spot, reports);
		return;
	}
	const char *why = why_not(sock, runtime_dir);
	if (why == NULL)
		return;
	(void)snprintf(
	    message, sizeof(message), "%.100s port %u of %.200s cannot be had: %s",
	    sock->address[0] != '\0' ? sock->address : "*", sock->port, owner, why);
	reports_add(reports, CONF_WARNING, spot, sock->name, message);
}

/*
 * Warn of each tcp and udp socket, that of the metrics too, that could not be opened now.
 * Nothing listens, and nothing stays open.  Of sockets that are files only the way is
 * looked at.
 */
void
try_ports(const struct conf *conf, const char *runtime_dir, struct conf_reports *reports)
{
	char name[] = "metrics.listen";
	const struct conf_socket metrics = {.name = name,
	                                    .kind = conf->metrics_kind,
	                                    .address = conf->metrics_address,
	                                    .port = conf->metrics_port};

	if (conf->has_metrics)
		try_port(&metrics,
		         &(const struct spot){conf->files[conf->metrics_place.file],
		                              conf->metrics_place.line,
		                              conf->metrics_column},
		         "metrics", runtime_dir, reports);
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = conf->actors[i].process;

		for (size_t k = 0; k < process->n_sockets; k++) {
			const struct conf_socket *sock = &process->sockets[k];

			try_port(sock,
			         &(const struct spot){conf->files[sock->place.file],
			                              sock->place.line, sock->column},
			         conf->actors[i].path, runtime_dir, reports);
		}
	}
}
