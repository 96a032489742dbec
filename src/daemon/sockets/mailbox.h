/* SPDX-License-Identifier: ISC */
/* mailbox.h - the sockets of the actors: opened once, passed to every process.
 *
 * They outlive the processes: while one is down its clients wait in the backlog and are
 * served by its successor.  The walker keeps copies: they outlive us, too.
 */
#ifndef DAEMON_MAILBOX_H
#define DAEMON_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "conf/text/conf.h"
#include "os/socket/sockwork.h"

struct actor;
struct sockets;

/* Files of sockets may hang: the guardian has so much time for them at once. */
#define MAILBOX_FILES_MS 2000

/* One socket. */
struct mailbox {
	int fd;                           /* -1: not opened yet */
	const struct conf_socket *socket; /* borrowed from the configuration */
	uint32_t actor;                   /* index of the owner in the configuration */
	uint64_t key;                     /* in the walker's vault */
	bool is_kept;      /* it was taken over from the configuration before */
	bool is_inherited; /* supd was started with it, and does not close it */
	/* standin.c: the listener while the actor has no process */
	struct letterbox *letterbox;
};

/* All sockets of one configuration, in the order of its actors. */
struct mailboxes {
	struct mailbox *at;
	uint32_t n;
	struct map by_key;
	uint32_t *first; /* of actor i: at[first[i]] … at[first[i + 1] - 1] */
	uint32_t n_actors;
	uint32_t *handled; /* of all handlers: indexes of what they stand in for, … */
	uint32_t *first_handled; /* … of actor i from here on, as in `first` */
};

int mailboxes_open_added(struct sockets *sockets, struct mailboxes *ret,
                         const struct conf *conf, struct err *err);
int mailboxes_open(struct sockets *sockets, struct mailboxes *ret,
                   const struct conf *conf, const struct mailboxes *old, struct err *err);
void mailboxes_cancel(struct sockets *sockets, struct mailboxes *mailboxes);
void mailboxes_retire(struct sockets *sockets, struct mailboxes *old,
                      const struct mailboxes *successor);
void mailboxes_close(struct sockets *sockets, struct mailboxes *mailboxes);

int mailboxes_reopen(struct sockets *sockets, const struct actor *actor);
bool mailboxes_are_missing(const struct mailboxes *mailboxes, uint32_t actor);

int mailbox_do_file(struct sockwork *work, const struct mailbox *mailbox,
                    enum sockwork_kind kind, struct err *err);

/* A process of the actor has ended. */
void mailboxes_mend(struct sockets *sockets, const struct actor *actor);

/* The table with the sockets of an actor, and the index of the actor in its
 * configuration; NULL: it has none. */
const struct mailboxes *mailboxes_for(const struct sockets *sockets,
                                      const struct actor *actor, uint32_t *ret_index);

/* The i-th of the sockets of an actor; NULL: it has fewer. */
struct mailbox *mailboxes_of(const struct mailboxes *mailboxes, uint32_t actor, size_t i);

/* The i-th socket that the actor is a handler of; NULL: there are fewer. */
struct mailbox *mailboxes_handled(const struct mailboxes *mailboxes, uint32_t actor,
                                  size_t i);

#endif
