/* SPDX-License-Identifier: ISC */
/* grown.h - what is known of the actors that were added at run time (reload/additions.h).
 */
#ifndef DAEMON_GROWN_H
#define DAEMON_GROWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "core/core.h"
#include "daemon/sockets/mailbox.h"

struct actors;

/* One addition. */
struct grown {
	uint64_t id;
	struct conf *conf;
	struct mailboxes mailboxes; /* its open sockets */
	bool is_open;
	struct addition spec;        /* as the core is told of it */
	struct spec *specs;          /* complete, one an actor, while posted */
	char *paths[CORE_ADDED_MAX]; /* of its actors, until they are in the tree */
	uint32_t n_users;            /* number of its actors in the tree */
	bool is_posted;              /* the core is to be told in the next turn */
	uint64_t at;                 /* in the log … */
	size_t bytes;                /* … and how much of it */
};

struct additions {
	struct map by_id; /* to the index in `at` */
	struct grown **at;
	size_t cap;
	uint32_t n;
	uint32_t n_posted;
	uint32_t n_idle;         /* without users, but a child may read them */
	struct core_size posted; /* what the core will need for the posted additions */
	uint64_t next_id;
	uint64_t generation; /* of the log */
	size_t live_bytes;
	struct additions_log *log; /* mapped, or NULL */
	int log_fd;
};

/* The configuration that an actor came with. */
const struct conf *conf_of_actor(const struct actors *actors, const struct actor *actor);

#endif
