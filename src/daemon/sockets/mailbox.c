/* SPDX-License-Identifier: ISC */
/* mailbox.c - the sockets of the actors: opened once, passed to every process. */
#include "config.h"

#include "daemon/sockets/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sum.h"
#include "daemon/sockets/grown.h"
#include "daemon/sockets/inherited.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/system.h"
#include "ledger/link.h"
#include "os/self/fd.h"
#include "os/socket/sock.h"
#include "os/socket/sockwork.h"

static void
release(struct mailboxes *mailboxes)
{
	for (uint32_t i = 0; i < mailboxes->n; i++)
		standin_forget(&mailboxes->at[i]);
	free(mailboxes->at);
	map_done(&mailboxes->by_key);
	free(mailboxes->first);
	free(mailboxes->handled);
	free(mailboxes->first_handled);
	*mailboxes = (struct mailboxes){0};
}

/* True if its file has another mode or owner now, as far as that is known. */
static bool
has_other_file(const struct conf_socket *socket, const struct conf_socket *before)
{
	return socket->mode != before->mode || socket->uid != before->uid ||
	       socket->gid != before->gid || socket->asked_user != NULL ||
	       socket->asked_group != NULL || before->asked_user != NULL ||
	       before->asked_group != NULL;
}

/* One that was taken over may have got another backlog, mode or owner; before is NULL
 * where what it had is not known. */
static void
adjust(struct sockwork *work, const struct mailbox *mailbox, const struct mailbox *before)
{
	const struct conf_socket *socket = mailbox->socket;
	struct err err;

	if (mailbox->is_inherited)
		return;
	if (socket_accepts(socket->kind) && listen(mailbox->fd, socket->backlog) < 0)
		(void)log_errno(-errno, "backlog of %s", socket->address);
	if (before != NULL && !has_other_file(socket, before->socket))
		return;
	if (mailbox_do_file(work, mailbox, SOCKWORK_ADJUST, &err) < 0)
		log_line(LOG_LEVEL_ERROR, "mode and owner: %s", err.text);
}

/*
 * The key in the walker's vault: kind and address, the same for every owner.  With port 0
 * each owner gets another port.
 */
static uint64_t
key_of(const struct conf *conf, const struct mailbox *mailbox)
{
	const struct conf_socket *socket = mailbox->socket;
	const char *path = conf->actors[mailbox->actor].path;
	uint64_t name = sum_bytes(socket->address, strlen(socket->address),
	                          (uint64_t)socket->kind << 16 | socket->port);

	if (socket_has_port(socket->kind) && socket->port == 0) {
		name = sum_bytes(path, strlen(path), name);
		name = sum_bytes(socket->name, strlen(socket->name), name);
	}
	return VAULT_KEY(VAULT_SOCKET, name);
}

static int
open_new(struct sockwork *work, const struct mailbox *mailbox, struct err *err)
{
	const struct conf_socket *socket = mailbox->socket;

	if (socket->kind == SOCKET_TCP)
		return sock_listen_tcp(socket->address, socket->port, socket->backlog,
		                       err);
	return socket->kind == SOCKET_UDP
	           ? sock_bind_udp(socket->address, socket->port, err)
	           : mailbox_do_file(work, mailbox, SOCKWORK_OPEN, err);
}

/* The same socket in the configuration before, of any actor; NULL: none. */
static const struct mailbox *
find_old(const struct mailboxes *old, const struct mailbox *wanted)
{
	uint32_t i;

	return old != NULL && map_get(&old->by_key, wanted->key, &i) && old->at[i].fd >= 0
	           ? &old->at[i]
	           : NULL;
}

/* True if the configuration before had this socket, and could not open it either. */
static bool
was_missing(const struct mailboxes *old, const struct mailbox *wanted)
{
	uint32_t i;

	return map_get(&old->by_key, wanted->key, &i) && old->at[i].fd < 0;
}

/* Sockets that are opened together. */
struct opening {
	struct sockets *sockets;
	struct sockwork work;
	const struct mailboxes
	    *old;      /* of the configuration before; NULL: there is none */
	bool is_added; /* for actors that are added at run time */
};

/* The path of the added or configured actor with that address; NULL: none. */
static const char *
find_owner(const struct opening *opening, const struct mailbox *wanted)
{
	const struct sockets *sockets = opening->sockets;
	const struct mailbox *found = NULL;

	if (opening->is_added)
		found = find_old(&sockets->mailboxes, wanted);
	if (found != NULL)
		return sockets->actors->conf->actors[found->actor].path;
	for (uint32_t i = 0; i < sockets->additions->n; i++) {
		const struct grown *grown = sockets->additions->at[i];

		found = grown->is_open ? find_old(&grown->mailboxes, wanted) : NULL;
		if (found != NULL)
			return grown->conf->actors[found->actor].path;
	}
	return NULL;
}

/* The descriptor of a socket: kept from before, or newly opened; -errno. */
static int
open_one(struct opening *opening, struct mailbox *mailbox, struct err *err)
{
	const struct mailbox *before = find_old(opening->old, mailbox);
	struct keeper *keeper = opening->sockets->keeper;

	if (mailbox->is_inherited)
		return 0;
	mailbox->is_kept = before != NULL && !before->is_inherited;
	int fd = mailbox->is_kept ? before->fd : keeper_take(keeper, mailbox->key);
	if (fd >= 0) {
		mailbox->fd = fd;
		if (!mailbox->is_kept)
			adjust(&opening->work, mailbox, NULL);
		return 0;
	}
	const char *owner = find_owner(opening, mailbox);
	if (owner != NULL)
		return err_set(err, EADDRINUSE, "%s is the socket of %s",
		               mailbox->socket->address, owner);
	fd = open_new(&opening->work, mailbox, err);
	if (fd < 0)
		return fd;
	mailbox->fd = fd;
	keeper_keep(keeper, mailbox->key, fd);
	return 0;
}

/* List the sockets of a configuration; 0 or -ENOMEM. */
static int
list_sockets(struct mailboxes *ret, const struct conf *conf)
{
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = conf->actors[i].process;

		ret->first[i] = ret->n;
		for (size_t s = 0; s < process->n_sockets; s++) {
			struct mailbox *mailbox = &ret->at[ret->n];

			*mailbox = (struct mailbox){
			    .fd = -1, .socket = &process->sockets[s], .actor = i};
			mailbox->key = key_of(conf, mailbox);
			if (map_put(&ret->by_key, mailbox->key, ret->n++) < 0)
				return -ENOMEM;
		}
	}
	ret->first[conf->n_actors] = ret->n;
	return 0;
}

/*
 * Open them all.  One that cannot be opened is an error, and nothing is opened, when a
 * configuration takes the place of another one, unless that had not got it either.  At
 * the start of supd, and at an adoption, all others are open nevertheless: the start of
 * the actor tries again (DECISIONS 62).
 */
static int
open_all(struct opening *opening, struct mailboxes *mailboxes, const struct conf *conf,
         struct err *err)
{
	const struct mailboxes *old = opening->old;
	bool is_fatal = false;
	int r = 0;

	sockwork_begin(&opening->work, opening->sockets->bounded, MAILBOX_FILES_MS);
	for (uint32_t i = 0; i < mailboxes->n && !is_fatal; i++) {
		struct mailbox *mailbox = &mailboxes->at[i];

		r = open_one(opening, mailbox, err);
		if (r == 0)
			continue;
		err_prefix(err, "%s: socket %s", conf->actors[mailbox->actor].path,
		           mailbox->socket->name);
		is_fatal =
		    opening->is_added || (old != NULL && !was_missing(old, mailbox));
		if (!is_fatal)
			log_line(LOG_LEVEL_ERROR, "%s", err->text);
	}
	sockwork_done(&opening->work);
	if (is_fatal)
		mailboxes_cancel(opening->sockets, mailboxes);
	return is_fatal ? r : 0;
}

static uint32_t
count_sockets(const struct conf *conf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		n += (uint32_t)conf->actors[i].process->n_sockets;
	return n;
}

/* Index the handlers, now that all sockets are listed. */
static void
index_handled(struct mailboxes *mailboxes)
{
	uint32_t *first = mailboxes->first_handled;
	uint32_t at = 0;

	for (uint32_t i = 0; i < mailboxes->n; i++)
		if (mailboxes->at[i].socket->handler != CONF_NONE)
			first[mailboxes->at[i].socket->handler]++;
	for (uint32_t i = 0; i <= mailboxes->n_actors; i++) {
		const uint32_t n = first[i];

		first[i] = at;
		at += n;
	}
	for (uint32_t i = 0; i < mailboxes->n; i++)
		if (mailboxes->at[i].socket->handler != CONF_NONE)
			mailboxes->handled[first[mailboxes->at[i].socket->handler]++] = i;
	/* Filling moved each to where the next one begins. */
	for (uint32_t i = mailboxes->n_actors; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

/* The table of all sockets of the configuration, none of them open. */
static int
make_table(struct mailboxes *ret, const struct conf *conf, struct err *err)
{
	const uint32_t n = count_sockets(conf);

	*ret = (struct mailboxes){
	    .at = calloc(n + 1, sizeof(*ret->at)),
	    .first = calloc(conf->n_actors + 1, sizeof(uint32_t)),
	    .n_actors = conf->n_actors,
	    .handled = calloc(n + 1, sizeof(uint32_t)),
	    .first_handled = calloc(conf->n_actors + 1, sizeof(uint32_t)),
	};
	if (ret->at == NULL || ret->first == NULL || ret->handled == NULL ||
	    ret->first_handled == NULL || list_sockets(ret, conf) < 0) {
		release(ret);
		return err_set(err, ENOMEM, "table of sockets");
	}
	index_handled(ret);
	return 0;
}

/*
 * Open every socket of the configuration; those that the ones before (NULL: none) have
 * already are taken over.  On an error everything that was opened is closed again and
 * what was before is as it was.
 */
int
mailboxes_open(struct sockets *sockets, struct mailboxes *ret, const struct conf *conf,
               const struct mailboxes *old, struct err *err)
{
	int r = make_table(ret, conf, err);

	if (r < 0)
		return r;
	inherited_assign(sockets->inherited, ret);
	return open_all(&(struct opening){.sockets = sockets, .old = old}, ret, conf,
	                err);
}

/* The same for actors that are added at run time: what supd was given is not for them. */
int
mailboxes_open_added(struct sockets *sockets, struct mailboxes *ret,
                     const struct conf *conf, struct err *err)
{
	int r = make_table(ret, conf, err);

	return r < 0 ? r
	             : open_all(&(struct opening){.sockets = sockets, .is_added = true},
	                        ret, conf, err);
}

static void
close_one(struct sockets *sockets, struct sockwork *work, struct mailbox *mailbox)
{
	struct err err;

	standin_forget(mailbox);
	if (mailbox->fd < 0 || mailbox->is_inherited)
		return;
	if (mailbox_do_file(work, mailbox, SOCKWORK_REMOVE, &err) < 0)
		log_line(LOG_LEVEL_WARNING, "%s: its file is left", err.text);
	/* The walker has a copy until it is told: what is in the queue goes there. */
	(void)close(mailbox->fd);
	keeper_release(sockets->keeper, mailbox->key);
}

/* Undo mailboxes_open(): what was taken over stays with its old owner. */
void
mailboxes_cancel(struct sockets *sockets, struct mailboxes *mailboxes)
{
	struct sockwork work;

	sockwork_begin(&work, sockets->bounded, MAILBOX_FILES_MS);
	for (uint32_t i = 0; i < mailboxes->n; i++)
		if (!mailboxes->at[i].is_kept)
			close_one(sockets, &work, &mailboxes->at[i]);
	sockwork_done(&work);
	release(mailboxes);
}

static bool
has_taken_over(const struct mailboxes *successor, const struct mailbox *mailbox)
{
	const struct mailbox *now = find_old(successor, mailbox);

	return now != NULL && now->fd == mailbox->fd;
}

/* The successor is in force: so is its idea of what it took over, and the rest is closed.
 */
void
mailboxes_retire(struct sockets *sockets, struct mailboxes *old,
                 const struct mailboxes *successor)
{
	struct sockwork work;

	sockwork_begin(&work, sockets->bounded, MAILBOX_FILES_MS);
	for (uint32_t i = 0; i < successor->n; i++)
		if (successor->at[i].is_kept)
			adjust(&work, &successor->at[i],
			       find_old(old, &successor->at[i]));
	for (uint32_t i = 0; i < old->n; i++)
		if (!has_taken_over(successor, &old->at[i]))
			close_one(sockets, &work, &old->at[i]);
	sockwork_done(&work);
	release(old);
}

/* supd ends in order: the sockets and their files go. */
void
mailboxes_close(struct sockets *sockets, struct mailboxes *mailboxes)
{
	mailboxes_retire(sockets, mailboxes, &(struct mailboxes){0});
}

const struct mailboxes *
mailboxes_for(const struct sockets *sockets, const struct actor *actor,
              uint32_t *ret_index)
{
	if (actor->conf_owner != NULL || system_has(actor))
		return NULL;
	if (actor->grown != NULL) {
		*ret_index = (uint32_t)(actor->conf - actor->grown->conf->actors);
		return &actor->grown->mailboxes;
	}
	*ret_index = actors_index(sockets->actors, actor);
	return &sockets->mailboxes;
}

/* Open those of the actor's sockets that could not be opened so far: 0, or -errno. */
int
mailboxes_reopen(struct sockets *sockets, const struct actor *actor)
{
	uint32_t index = 0;
	const struct mailboxes *mailboxes = mailboxes_for(sockets, actor, &index);
	struct opening opening = {.sockets = sockets,
	                          .is_added = mailboxes != &sockets->mailboxes};
	struct mailbox *mailbox;
	struct err err;
	int r = 0;

	sockwork_begin(&opening.work, sockets->bounded, MAILBOX_FILES_MS);
	for (size_t i = 0; mailboxes != NULL && r == 0 &&
	                   (mailbox = mailboxes_of(mailboxes, index, i)) != NULL;
	     i++)
		if (mailbox->fd < 0)
			r = open_one(&opening, mailbox, &err);
	sockwork_done(&opening.work);
	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "%s: socket %s: %s", actor->path,
		         mailbox->socket->name, err.text);
	return r;
}

/* True if one of the sockets of this actor of the configuration is not open. */
bool
mailboxes_are_missing(const struct mailboxes *mailboxes, uint32_t actor)
{
	const struct mailbox *mailbox;

	for (size_t i = 0; (mailbox = mailboxes_of(mailboxes, actor, i)) != NULL; i++)
		if (mailbox->fd < 0)
			return true;
	return false;
}

struct mailbox *
mailboxes_of(const struct mailboxes *mailboxes, uint32_t actor, size_t i)
{
	if (actor >= mailboxes->n_actors ||
	    i >= mailboxes->first[actor + 1] - mailboxes->first[actor])
		return NULL;
	return &mailboxes->at[mailboxes->first[actor] + i];
}

struct mailbox *
mailboxes_handled(const struct mailboxes *mailboxes, uint32_t actor, size_t i)
{
	const uint32_t *first = mailboxes->first_handled;

	if (actor >= mailboxes->n_actors || i >= first[actor + 1] - first[actor])
		return NULL;
	return &mailboxes->at[mailboxes->handled[first[actor] + i]];
}
