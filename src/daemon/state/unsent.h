/* SPDX-License-Identifier: ISC */
/* unsent.h - what the walker is to keep, or to drop, and was not told yet.
 *
 * A descriptor cannot be sent while this user has too many on their way: those of any
 * process of the user count (unix(7), ETOOMANYREFS).  Until it can, a copy is held here
 * and sent again at a pace.  There are few of them, in a table of fixed size.
 */
#ifndef DAEMON_UNSENT_H
#define DAEMON_UNSENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/link.h"

struct bounded;
struct ev_loop;
struct log_pace;

struct unsent *unsent_new(struct ev_loop *loop, struct bounded *closers, int link_fd,
                          struct log_pace *pace);
void unsent_free(struct unsent *unsent);
void unsent_send(struct unsent *unsent, enum link_kind kind, uint64_t key, int fd);
void unsent_store_all(struct unsent *unsent, const uint64_t *keys, const int *fds,
                      size_t n);
int unsent_flush(struct unsent *unsent);

#endif
