/* SPDX-License-Identifier: ISC */
/* keeper.h - the guardian's end of the link: what the walker keeps, what it tells.
 */
#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct conf;
struct keeper;
struct shell;

/* What is done with the news that the walker sends. */
struct keeper_news {
	void (*on_signal)(struct shell *shell,
	                  int signo);          /* the walker got this signal */
	void (*on_exits)(struct shell *shell); /* children of it have ended */
	void (*on_death)(struct shell *shell); /* the walker is gone */
};

/* Listen on this link, which is the caller's; NULL and a sentence. */
struct keeper *keeper_new(struct shell *shell, int link_fd,
                          const struct keeper_news *news, struct err *err);
void keeper_free(struct keeper *keeper);

/* True if the walker is gone. */
bool keeper_walker_died(const struct shell *shell);

/* The start has succeeded: from now on our death is a crash of a supd that ran.
 * Descriptors that no room took are dropped. */
void keeper_settled(struct shell *shell);

/* A turn begins, or is over: a walker that has asked, or lets us rest, is told. */
void keeper_turn(struct shell *shell, bool begins);
/* In the midst of work that may take seconds: the walker is to know that we are alive.
 * Cheap; at most one message a second is sent. */
void keeper_beat(struct shell *shell);
/* The same as a callback; its argument is the shell. */
void keeper_beat_of(void *shell);

/* How many descriptors the walker keeps for the actors of this configuration, at least.
 */
uint32_t keeper_count(const struct conf *conf);

/* Can the walker keep so many more, and what must be kept in any case?  To be asked
 * before anything is changed that relies on it. */
bool keeper_has_room(struct shell *shell, uint32_t n);

/* Have the walker hold this lock of the runtime directory instead of the one before. */
void keeper_lock(struct shell *shell, int fd);

/* Have the walker give the ledger in force to the next guardian. */
void keeper_keep_ledger(struct shell *shell);

/* A frozen configuration that the walker kept; NULL and a sentence. */
int keeper_keep_conf(struct shell *shell, const struct conf *conf, uint64_t id,
                     struct err *err);
struct conf *keeper_take_conf(struct shell *shell, uint64_t id, struct err *err);

/* That of the highest number, when it is not known which was in force. */
struct conf *keeper_take_newest_conf(struct shell *shell, struct err *err);

/* What supd exits with, once this guardian ends with 0.  0 or -errno. */
int keeper_status(struct shell *shell, int status);

/* Have the walker run this binary from now on; we end next.  0 or -errno. */
int keeper_upgrade(struct shell *shell, int binary_fd);

/* A line for the service manager (sd_notify(3)), which listens to the walker only. */
void keeper_notify(struct shell *shell, const char *text);

/* Have the walker keep a copy of this descriptor, for the next guardian. */
void shell_keep(struct shell *shell, uint64_t key, int fd);

/* What was kept under this key for us; the caller's now.  -1: nothing, or taken already.
 */
int shell_take(struct shell *shell, uint64_t key);

/* It need not be kept any longer. */
void shell_release(struct shell *shell, uint64_t key);

#endif
