/* SPDX-License-Identifier: ISC */
/* inherited.c - the sockets that supd was started with, as by a systemd socket unit. */
#include "config.h"

#include "daemon/sockets/inherited.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/sockets/mailbox.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/listen.h"
#include "os/socket/sock.h"

struct inherited_socket {
	int fd;
	const char *name; /* so many bytes of the environment */
	size_t name_len;
	struct sock_name is; /* what it is */
};

struct inherited {
	size_t n;
	struct inherited_socket at[LISTEN_FDS_MAX];
};

/* The sockets that supd was started with, of those that the walker kept; NULL: none, or
 * no memory. */
struct inherited *
inherited_new(struct keeper *keeper, char **variables, pid_t walker_pid)
{
	const size_t n = listen_fds(variables, walker_pid);
	struct inherited *inherited = n == 0 ? NULL : calloc(1, sizeof(*inherited));

	if (inherited == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct inherited_socket *one = &inherited->at[inherited->n];

		one->fd = keeper_take(keeper, VAULT_KEY(VAULT_GIVEN, i));
		one->name_len = listen_name(variables, i, &one->name);
		if (one->fd < 0)
			continue;
		if (sock_name(one->fd, &one->is) < 0)
			log_line(LOG_LEVEL_WARNING,
			         "descriptor %zu that supd was started with (%.*s) is "
			         "neither a socket nor a fifo",
			         i, (int)one->name_len, one->name);
		inherited->n++;
	}
	return inherited;
}

void
inherited_free(struct inherited *inherited)
{
	if (inherited == NULL)
		return;
	for (size_t i = 0; i < inherited->n; i++)
		fd_close(&inherited->at[i].fd);
	free(inherited);
}

static bool
is_kind(const struct inherited_socket *one, enum socket_kind kind)
{
	switch (kind) {
	case SOCKET_TCP:
	case SOCKET_UDP:
		return one->is.family == AF_INET &&
		       one->is.type == (kind == SOCKET_TCP ? SOCK_STREAM : SOCK_DGRAM);
	case SOCKET_UNIX:
		return one->is.family == AF_UNIX && one->is.type == SOCK_STREAM;
	case SOCKET_UNIX_DGRAM:
		return one->is.family == AF_UNIX && one->is.type == SOCK_DGRAM;
	case SOCKET_UNIX_SEQPACKET:
		return one->is.family == AF_UNIX && one->is.type == SOCK_SEQPACKET;
	case SOCKET_FIFO:
		return one->is.is_fifo;
	case SOCKET_KIND_MAX:
		break;
	}
	return false;
}

static bool
is_called(const struct inherited_socket *one, const struct conf_socket *socket)
{
	return strlen(socket->name) == one->name_len &&
	       strncmp(socket->name, one->name, one->name_len) == 0;
}

/* True if it has the address of the configuration; false for a fifo, which does not tell
 * its name. */
static bool
is_at(const struct inherited_socket *one, const struct conf_socket *socket)
{
	return !one->is.is_fifo && strcmp(one->is.address, socket->address) == 0 &&
	       one->is.port == socket->port;
}

enum pass { BY_BOTH, BY_NAME, BY_ADDRESS, PASSES };

static bool
matches(const struct inherited_socket *one, const struct conf_socket *socket,
        enum pass pass)
{
	if (!is_kind(one, socket->kind))
		return false;
	if (pass == BY_BOTH)
		return is_called(one, socket) && is_at(one, socket);
	return pass == BY_NAME ? is_called(one, socket) : is_at(one, socket);
}

static void
assign(const struct inherited_socket *one, struct mailboxes *mailboxes, enum pass pass,
       bool *is_used)
{
	for (uint32_t i = 0; i < mailboxes->n && !*is_used; i++) {
		struct mailbox *mailbox = &mailboxes->at[i];

		if (mailbox->is_inherited || !matches(one, mailbox->socket, pass))
			continue;
		mailbox->fd = one->fd;
		mailbox->is_inherited = true;
		*is_used = true;
	}
}

void
inherited_assign(const struct inherited *inherited, struct mailboxes *mailboxes)
{
	bool is_used[LISTEN_FDS_MAX] = {false};

	if (inherited == NULL)
		return;
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t i = 0; i < inherited->n; i++)
			assign(&inherited->at[i], mailboxes, (enum pass)pass,
			       &is_used[i]);
	for (size_t i = 0; i < inherited->n; i++)
		if (!is_used[i])
			log_line(LOG_LEVEL_WARNING,
			         "no actor has a socket of the kind and the name of "
			         "`%.*s`, with which supd was started",
			         (int)inherited->at[i].name_len, inherited->at[i].name);
}
