/* SPDX-License-Identifier: ISC */
/* show.h - an actor in a block of lines: all that supd says about it. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stdbool.h>

#include "ctl/wire/ctl.h"

int show(struct ctl *ctl, const char *name, bool *down);

void show_label(struct out *out, const char *label);
void show_when(struct out *out, const char *before, struct span when, bool with_ms);
/* Actors that were received, one behind the other as JSON. */
struct shown_collection {
	struct strbuf text;
	bool supervisors; /* there is one among them */
	bool down;        /* an actor among them is not running */
};

struct actor_view;
int show_actor(struct ctl *ctl, const struct actor_view *actor,
               const struct shown_collection *all);
/* show_details.c */
void show_details(struct out *out, const struct actor_view *actor);
/* show_output.c */
int show_output(struct ctl *ctl, const struct actor_view *actor,
                const struct shown_collection *all);

#endif
