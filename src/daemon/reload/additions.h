/* SPDX-License-Identifier: ISC */
/* additions.h - actors that were added at run time: their configurations, and the log in
 * the walker's vault from which a successor has them.
 *
 * An addition is a configuration of its own, with a number; it is in the log before the
 * core is told, and goes when the last of its actors is gone.
 */
#ifndef DAEMON_ADDITIONS_H
#define DAEMON_ADDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/text/conf.h"
#include "core/core.h"
#include "daemon/sockets/grown.h"

struct keeper;
struct reloader;

/* Of all that were added and are still there, in bytes. */
#define ADDITIONS_BYTES_MAX (256 * 1024 * 1024)

/* Numbers of configurations with this bit are those of additions. */
#define ADDITION_BIT (UINT64_C(1) << 55)

/* None; NULL without memory. */
struct additions *additions_new(void);
void additions_free(struct additions *additions);

/* Take over what the walker kept, before the tables are restored. */
int additions_adopt(struct reloader *reloader, struct err *err);

/* Drop the additions that the walker kept: the tree is a new tree. */
void additions_drop_kept(struct keeper *keeper);

/* Have a composed configuration, which is the caller's, ready for the core: in the log,
 * with room everywhere.  The event of it may be posted, and is stepped in the next turn.
 * NULL and a sentence; -EDQUOT in err->code: there are too many. */
struct grown *additions_prepare(struct reloader *reloader, const struct conf *conf,
                                struct ref parent, struct err *err);

/* The addition of this number, or NULL. */
struct grown *additions_find(const struct additions *additions, uint64_t id);

/* True if an actor of this path is about to be added in the next turn. */
bool additions_has_posted(const struct additions *additions, const char *path);

/* The core has taken one of its actors in. */
void additions_name(struct reloader *reloader, const struct action *action);

/* At an adoption: those that are in the tree have their sockets. */
void additions_open(struct additions *additions, struct sockets *sockets);

/* supd ends in order: their sockets go. */
void additions_close(struct additions *additions, struct sockets *sockets);

/* How many sockets they have. */
uint64_t additions_count_sockets(const struct additions *additions);

/* At an adoption: an actor of it is in the tree. */
void additions_use(struct grown *grown);

/* One of its actors is gone from the tree. */
void additions_release(struct reloader *reloader, struct grown *grown);

/* After the core's turn: what it did not want goes. */
void additions_on_turn(struct reloader *reloader);

#endif
