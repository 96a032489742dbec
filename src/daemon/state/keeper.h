/* SPDX-License-Identifier: ISC */
/* keeper.h - the guardian's end of the link: what the walker keeps, what it tells.
 */
#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bounded;
struct conf;
struct ev_loop;
struct exits;
struct handover;
struct ledger;

/* What is done with the news that the walker sends. */
struct keeper_news {
	void (*on_signal)(void *user, int signo); /* the walker got this signal */
	void (*on_exits)(void *user);             /* children of it have ended */
	void (*on_death)(void *user);             /* the walker is gone */
	void *user;
};

/* The keeper of what the walker has handed over, which is the caller's; NULL without
 * memory. */
struct keeper *keeper_new(struct handover *handover);
/* Listen to the walker, and send to it; `closers` close copies.  -ENOMEM. */
int keeper_listen(struct keeper *keeper, struct ev_loop *loop, struct bounded *closers,
                  const struct keeper_news *news);
void keeper_free(struct keeper *keeper);

/* What the walker has handed over; NULL once this guardian is settled. */
struct handover *keeper_handover(const struct keeper *keeper);

/* True if the walker is gone. */
bool keeper_walker_died(const struct keeper *keeper);

/* The start has succeeded: from now on our death is a crash of a supd that ran.
 * Descriptors that no room took are dropped. */
void keeper_settled(struct keeper *keeper);

/* A turn begins, or is over: a walker that has asked, or lets us rest, is told. */
void keeper_turn(struct keeper *keeper, struct exits *exits, bool begins);
/* In the midst of work that may take seconds: the walker is to know that we are alive.
 * Cheap; at most one message a second is sent. */
void keeper_beat(struct keeper *keeper);
/* The same as a callback; its argument is the keeper. */
void keeper_beat_of(void *keeper);

/* True if the walker can keep so many more, and what must be kept in any case.  To be
 * asked before anything is changed that relies on it. */
bool keeper_has_room(struct keeper *keeper, uint32_t n);

/* Have the walker hold this lock of the runtime directory instead of the one before. */
void keeper_lock(struct keeper *keeper, int fd);

/* Have the walker give the ledger in force to the next guardian. */
void keeper_keep_ledger(struct keeper *keeper, const struct ledger *ledger);

/* A frozen configuration that the walker kept; NULL and a sentence. */
int keeper_keep_conf(struct keeper *keeper, const struct conf *conf, uint64_t id,
                     struct err *err);
struct conf *keeper_take_conf(struct keeper *keeper, uint64_t id, struct err *err);

/* That of the highest number, when it is not known which was in force. */
struct conf *keeper_take_newest_conf(struct keeper *keeper, uint64_t *ret_id,
                                     struct err *err);

/* What supd exits with, once this guardian ends with 0.  0 or -errno. */
int keeper_status(struct keeper *keeper, int status);

/* Have the walker run this binary from now on; we end next.  0 or -errno. */
int keeper_upgrade(struct keeper *keeper, int binary_fd);

/* A line for the service manager (sd_notify(3)), which listens to the walker only. */
void keeper_notify(struct keeper *keeper, const char *text);

/* Have the walker keep a copy of this descriptor, for the next guardian. */
void keeper_keep(struct keeper *keeper, uint64_t key, int fd);

/* The same for several, LINK_STORE_MAX at most, under keys that the walker never had. */
void keeper_keep_all(struct keeper *keeper, const uint64_t *keys, const int *fds,
                     size_t n);

/* What was kept under this key for us; the caller's now.  -1: nothing, or taken already.
 */
int keeper_take(struct keeper *keeper, uint64_t key);

/*
 * Copies of what the walker keeps under these keys, LINK_STORE_MAX at most, which are the
 * caller's; -1 for each that is not kept.  0, or -errno: -EBUSY: it does not answer in
 * time, and is not asked again before it has; -EMFILE.
 */
int keeper_fetch(struct keeper *keeper, const uint64_t *keys, size_t n, int *ret_fds);

/* Ask for what keeper_fetch() will be called for next, so that it waits for less. */
void keeper_ask(struct keeper *keeper, uint64_t key);

/* It need not be kept any longer. */
void keeper_release(struct keeper *keeper, uint64_t key);

#endif
