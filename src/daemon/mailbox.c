/* SPDX-License-Identifier: ISC */
/* mailbox.c - the sockets of the actors: opened once, passed to every process. */
#include "config.h"

#include "daemon/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/sum.h"
#include "daemon/log.h"
#include "daemon/shell.h"
#include "ledger/link.h"
#include "os/fd.h"
#include "os/sock.h"

/* None open. */
void
mailboxes_init(struct mailboxes *mailboxes)
{
	*mailboxes = (struct mailboxes){0};
}

static void
release(struct mailboxes *mailboxes)
{
	free(mailboxes->fds);
	free(mailboxes->first);
	free(mailboxes->kept);
	mailboxes_init(mailboxes);
}

static bool
is_same(const struct conf_socket *a, const struct conf_socket *b)
{
	return a->kind == b->kind && a->port == b->port &&
	       strcmp(a->address, b->address) == 0;
}

/* One that was taken over may have got another backlog, mode or owner. */
static void
adjust(int fd, const struct conf_socket *socket)
{
	if (listen(fd, socket->backlog) < 0)
		(void)log_errno(-errno, "backlog of %s", socket->address);
	if (socket->kind != SOCKET_UNIX)
		return;
	if (chmod(socket->address, socket->mode) < 0 ||
	    chown(socket->address, socket->uid, socket->gid) < 0)
		(void)log_errno(-errno, "mode and owner of %s", socket->address);
}

static uint32_t
count_sockets(const struct conf *conf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		n += (uint32_t)conf->actors[i].process.n_sockets;
	return n;
}

/* Under which name the walker keeps it: what it listens to, whoever has it. */
static uint64_t
key_of(const struct conf_socket *socket)
{
	uint64_t name = sum_bytes(socket->address, strlen(socket->address),
	                          (uint64_t)socket->kind << 16 | socket->port);

	return VAULT_KEY(VAULT_SOCKET, name);
}

static int
open_one(struct shell *shell, const struct conf_socket *socket, struct err *err)
{
	int fd = shell_take(shell, key_of(socket));

	if (fd >= 0) {
		adjust(fd, socket);
		return fd;
	}
	if (socket->kind == SOCKET_TCP)
		fd = sock_listen_tcp(socket->address, socket->port, socket->backlog, err);
	else
		fd = sock_listen_unix(socket->address, socket->backlog, socket->mode,
		                      socket->uid, socket->gid, err);
	if (fd < 0)
		return fd;
	/* Programs expect what they would have opened themselves: an accept that waits.
	 */
	(void)sock_set_blocking(fd, true);
	fd = fd_raise(fd);
	shell_keep(shell, key_of(socket), fd);
	return fd;
}

/* The same socket in the configuration before, or -1: sockets are looked up by name of
 * their address, whoever had them. */
static int
find_old(const struct mailboxes *old, const struct conf *old_conf,
         const struct conf_socket *wanted)
{
	uint32_t at = 0;

	if (old_conf == NULL)
		return -1;
	for (uint32_t i = 0; i < old_conf->n_actors; i++) {
		const struct conf_process *process = &old_conf->actors[i].process;

		for (size_t s = 0; s < process->n_sockets; s++, at++)
			if (is_same(&process->sockets[s], wanted))
				return old->fds[at];
	}
	return -1;
}

static int
open_actor(struct shell *shell, struct mailboxes *ret, const struct conf_actor *actor,
           const struct mailboxes *old, const struct conf *old_conf, struct err *err)
{
	for (size_t s = 0; s < actor->process.n_sockets; s++) {
		const struct conf_socket *socket = &actor->process.sockets[s];
		int fd = find_old(old, old_conf, socket);

		ret->kept[ret->n_fds] = fd >= 0;
		if (fd >= 0)
			adjust(fd, socket);
		else
			fd = open_one(shell, socket, err);
		if (fd < 0)
			err_prefix(err, "%s: socket %s", actor->path, socket->name);
		/* Whoever has it goes on with it; the others need not end for that. */
		if (fd < 0 && shell->is_adopting)
			log_line(LOG_LEVEL_ERROR, "%s; its next process has none",
			         err->text);
		else if (fd < 0)
			return fd;
		ret->fds[ret->n_fds++] = fd;
	}
	return 0;
}

/*
 * Open every socket of the configuration; those that the one before has already are
 * taken over.  On an error everything that was opened is closed again and the
 * configuration before is as it was.
 */
int
mailboxes_open(struct shell *shell, struct mailboxes *ret, const struct conf *conf,
               const struct mailboxes *old, const struct conf *old_conf, struct err *err)
{
	uint32_t n = count_sockets(conf);

	mailboxes_init(ret);
	ret->fds = calloc(n + 1, sizeof(int));
	ret->kept = calloc(n + 1, 1);
	ret->first = calloc(conf->n_actors + 1, sizeof(uint32_t));
	if (ret->fds == NULL || ret->kept == NULL || ret->first == NULL) {
		release(ret);
		err_set(err, ENOMEM, "table of sockets");
		return -ENOMEM;
	}
	ret->n_actors = conf->n_actors;
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		int r;

		ret->first[i] = ret->n_fds;
		r = open_actor(shell, ret, &conf->actors[i], old, old_conf, err);
		if (r < 0) {
			mailboxes_cancel(shell, ret, conf);
			return r;
		}
	}
	ret->first[conf->n_actors] = ret->n_fds;
	return 0;
}

static void
close_one(struct shell *shell, int fd, const struct conf_socket *socket)
{
	if (fd < 0)
		return;
	shell_release(shell, key_of(socket));
	if (socket->kind == SOCKET_UNIX)
		(void)unlink(socket->address);
	(void)close(fd);
}

/* Undo mailboxes_open(): what was taken over stays with its old owner. */
void
mailboxes_cancel(struct shell *shell, struct mailboxes *mailboxes,
                 const struct conf *conf)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = &conf->actors[i].process;

		for (size_t s = 0; s < process->n_sockets; s++, at++) {
			if (at < mailboxes->n_fds && !mailboxes->kept[at])
				close_one(shell, mailboxes->fds[at],
				          &process->sockets[s]);
		}
	}
	release(mailboxes);
}

static bool
has_fd(const struct mailboxes *mailboxes, int fd)
{
	for (uint32_t i = 0; i < mailboxes->n_fds; i++)
		if (mailboxes->fds[i] == fd)
			return true;
	return false;
}

/* The successor is in force: close what it did not take over. */
void
mailboxes_retire(struct shell *shell, struct mailboxes *old, const struct conf *old_conf,
                 const struct mailboxes *successor)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < old_conf->n_actors; i++) {
		const struct conf_process *process = &old_conf->actors[i].process;

		for (size_t s = 0; s < process->n_sockets; s++, at++)
			if (!has_fd(successor, old->fds[at]))
				close_one(shell, old->fds[at], &process->sockets[s]);
	}
	release(old);
}

/* supd ends in order: the sockets and the files of the unix ones go. */
void
mailboxes_close(struct shell *shell, struct mailboxes *mailboxes, const struct conf *conf)
{
	const struct mailboxes none = {0};

	if (mailboxes->fds != NULL)
		mailboxes_retire(shell, mailboxes, conf, &none);
}

/* The sockets of actor i of the configuration, in file order. */
const int *
mailboxes_of(const struct mailboxes *mailboxes, uint32_t actor, size_t *ret_n)
{
	ASSERT(actor < mailboxes->n_actors);
	*ret_n = mailboxes->first[actor + 1] - mailboxes->first[actor];
	return mailboxes->fds + mailboxes->first[actor];
}
