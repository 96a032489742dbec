/* SPDX-License-Identifier: ISC */
/* roster.h - actors, a line each.
 *
 * A list has a header: path, state, pid, uptime, restarts, and what is remarkable; all
 * columns but the last are one word.  What became of actors is told without a header, by
 * path, state, process and remark.
 */
#ifndef CTL_ROSTER_H
#define CTL_ROSTER_H

#include "ctl/text/actor.h"
#include "ctl/text/table.h"

#define ROSTER_DEPTH_MAX 64

struct roster {
	struct table table;
	bool is_list; /* the first row of the table is the header */
};

void roster_init(struct roster *roster);
void roster_init_outcome(struct roster *roster);
void roster_done(struct roster *roster);
void roster_add(struct roster *roster, const struct actor_view *actor);
size_t roster_rows(const struct roster *roster);
int roster_print(struct roster *roster, struct out *out, const char *indent);
size_t roster_path_depth(struct span path);

#endif
