/* SPDX-License-Identifier: ISC */
/* stores.h - `fd_store`: descriptors that a process puts down for its successor.
 *
 * They come with FDSTORE=1 over sd_notify(3) and go, by name, with FDSTOREREMOVE=1.  The
 * walker keeps a copy of each, and of a table with their names: so they outlive us, too.
 */
#ifndef DAEMON_STORES_H
#define DAEMON_STORES_H

#include <stddef.h>

#include "base/err.h"
#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/state/actors.h"
#include "os/socket/sdnotify.h"

struct ev_loop;
struct keeper;

/* Room for the name of a descriptor, with its NUL. */
#define STORE_NAME_MAX 256

struct stores *stores_new(struct ev_loop *loop, struct keeper *keeper, struct err *err);
void stores_free(struct stores *stores);
int stores_reserve(struct stores *stores, uint32_t slots);

/* Go on with what this actor has put down under a guardian before us. */
void stores_adopt(struct stores *stores, struct ref ref);

/* True if this actor puts down the descriptors that are with the message. */
bool stores_wants(const struct actor *actor, const struct notify_message *message);

/* Do what the message says about the store.  Stored descriptors are -1 in the message
 * afterwards, the others stay the caller's.  A descriptor is refused if its file could
 * keep its holders waiting (os/socket/harmless.h).  The same message may come twice. */
void stores_take(struct stores *stores, const struct actor *actor,
                 struct notify_message *message);

/* What a new process is to get, in the order in which it was put down; the descriptors
 * are borrowed, the names until the next change.  Returns how many. */
size_t stores_of(const struct stores *stores, struct ref ref, int fds[CONF_FD_STORE_MAX],
                 const char *names[CONF_FD_STORE_MAX]);

/* All that it has put down is given up. */
void stores_clear(struct stores *stores, struct ref ref);

#endif
