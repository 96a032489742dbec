/* SPDX-License-Identifier: ISC */
/* given.c - the sockets that supd was started with, as by a systemd socket unit. */
#include "config.h"

#include "daemon/sockets/given.h"

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

struct given_one {
	int fd;
	const char *name; /* so many bytes of the environment */
	size_t name_len;
	struct sock_name is; /* what it is */
};

struct given {
	size_t n;
	struct given_one at[LISTEN_FDS_MAX];
};

/* What supd was started with, of what the walker kept; NULL: nothing, or no memory. */
struct given *
given_new(struct keeper *keeper, char **variables, pid_t walker_pid)
{
	const size_t n = listen_fds(variables, walker_pid);
	struct given *given = n == 0 ? NULL : calloc(1, sizeof(*given));

	if (given == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct given_one *one = &given->at[given->n];

		one->fd = keeper_take(keeper, VAULT_KEY(VAULT_GIVEN, i));
		one->name_len = listen_name(variables, i, &one->name);
		if (one->fd < 0)
			continue;
		if (sock_name(one->fd, &one->is) < 0)
			log_line(LOG_LEVEL_WARNING,
			         "descriptor %zu that supd was started with (%.*s) is "
			         "neither a socket nor a fifo",
			         i, (int)one->name_len, one->name);
		given->n++;
	}
	return given;
}

void
given_free(struct given *given)
{
	if (given == NULL)
		return;
	for (size_t i = 0; i < given->n; i++)
		fd_close(&given->at[i].fd);
	free(given);
}

static bool
is_kind(const struct given_one *one, enum socket_kind kind)
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
is_called(const struct given_one *one, const struct conf_socket *socket)
{
	return strlen(socket->name) == one->name_len &&
	       strncmp(socket->name, one->name, one->name_len) == 0;
}

/* A fifo does not tell its name. */
static bool
is_at(const struct given_one *one, const struct conf_socket *socket)
{
	return !one->is.is_fifo && strcmp(one->is.address, socket->address) == 0 &&
	       one->is.port == socket->port;
}

enum pass { BY_BOTH, BY_NAME, BY_ADDRESS, PASSES };

static bool
matches(const struct given_one *one, const struct conf_socket *socket, enum pass pass)
{
	if (!is_kind(one, socket->kind))
		return false;
	if (pass == BY_BOTH)
		return is_called(one, socket) && is_at(one, socket);
	return pass == BY_NAME ? is_called(one, socket) : is_at(one, socket);
}

static void
assign(const struct given_one *one, struct mailboxes *mailboxes, enum pass pass,
       bool *is_used)
{
	for (uint32_t i = 0; i < mailboxes->n && !*is_used; i++) {
		struct mailbox *mailbox = &mailboxes->at[i];

		if (mailbox->is_given || !matches(one, mailbox->socket, pass))
			continue;
		mailbox->fd = one->fd;
		mailbox->is_given = true;
		*is_used = true;
	}
}

void
given_assign(const struct given *given, struct mailboxes *mailboxes)
{
	bool is_used[LISTEN_FDS_MAX] = {false};

	if (given == NULL)
		return;
	for (int pass = 0; pass < PASSES; pass++)
		for (size_t i = 0; i < given->n; i++)
			assign(&given->at[i], mailboxes, (enum pass)pass, &is_used[i]);
	for (size_t i = 0; i < given->n; i++)
		if (!is_used[i])
			log_line(LOG_LEVEL_WARNING,
			         "no actor has a socket of the kind and the name of "
			         "`%.*s`, with which supd was started",
			         (int)given->at[i].name_len, given->at[i].name);
}
