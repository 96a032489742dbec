/* SPDX-License-Identifier: ISC */
/* roster.h - actors, a line each: path, state, pid, uptime, restarts, remarks.
 *
 * Filled from a stream of actors in start order (parents before their children), and a
 * supervisor becomes "degraded" when a failed child comes by.
 */
#ifndef CTL_ROSTER_H
#define CTL_ROSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/text/actor.h"
#include "ctl/text/table.h"

#define ROSTER_DEPTH_MAX 64

/* Where a running supervisor, of which children may still come, is in the table. */
struct ancestor {
	size_t row;
	size_t path_offset; /* of its cell, in table.text */
	size_t path_len;
	bool running;
};

struct roster {
	struct table table;
	struct ancestor ancestors[ROSTER_DEPTH_MAX];
};

void roster_init(struct roster *roster);
void roster_done(struct roster *roster);
void roster_add(struct roster *roster, const struct actor_view *actor);
int roster_print(struct roster *roster, struct out *out, const char *indent);
size_t roster_path_depth(struct span path);

#endif
