/* SPDX-License-Identifier: ISC */
/* settle.h - actors that were started have to live for a while before that is a success.
 *
 * An actor counts as started when its program is executed, unless its configuration says
 * otherwise: one that dies at once was started all the same.  These functions look at the
 * actors of a command until each of their processes has lived for --settle, a second by
 * default, and tell of those that failed.
 */
#ifndef CTL_SETTLE_H
#define CTL_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "ctl/text/actor.h"

struct settle {
	struct ctl *ctl;
	uint64_t ms;       /* 0: nothing is waited for */
	uint64_t begin_us; /* failures before the command are not its doing */
	uint64_t begin_ms; /* the same on the client's clock */
	struct settle_entry *entries;
	size_t n, cap;
	struct map by_path;
	bool failed;    /* out of memory */
	bool pending;   /* while looking: one has to be looked at again */
	uint64_t in_ms; /* … so soon */
};

int settle_init(struct settle *settle, struct ctl *ctl);
void settle_done(struct settle *settle);
void settle_add(struct settle *settle, const struct actor_view *actor);
void settle_expect(struct settle *settle, const char *path, bool is_removed);
int settle_wait(struct settle *settle);

#endif
