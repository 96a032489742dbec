/* SPDX-License-Identifier: ISC */
/* mailbox.h - the sockets of the actors: opened once, passed to every process.
 *
 * They outlive the processes: while one is down its clients wait in the backlog and are
 * served by its successor.  The walker keeps copies: they outlive us, too.
 */
#ifndef DAEMON_MAILBOX_H
#define DAEMON_MAILBOX_H

#include "base/err.h"
#include "conf/conf.h"

#include <stddef.h>
#include <stdint.h>

struct shell;

/* All sockets of one configuration, in the order of its actors. */
struct mailboxes {
	int *fds;
	uint32_t *first; /* of actor i: fds[first[i]] … fds[first[i + 1] - 1] */
	uint32_t n_actors;
	uint32_t n_fds;
	char *kept; /* fds[i] was taken over from the configuration before */
};

void mailboxes_init(struct mailboxes *mailboxes);
int mailboxes_open(struct shell *shell, struct mailboxes *ret, const struct conf *conf,
                   const struct mailboxes *old, const struct conf *old_conf,
                   struct err *err);
void mailboxes_cancel(struct shell *shell, struct mailboxes *mailboxes,
                      const struct conf *conf);
void mailboxes_retire(struct shell *shell, struct mailboxes *old,
                      const struct conf *old_conf, const struct mailboxes *successor);
void mailboxes_close(struct shell *shell, struct mailboxes *mailboxes,
                     const struct conf *conf);
const int *mailboxes_of(const struct mailboxes *mailboxes, uint32_t actor, size_t *ret_n);

#endif
