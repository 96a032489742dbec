/* SPDX-License-Identifier: ISC */
/* show.h - an actor in a block of lines: all that supd says about it. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stdbool.h>

#include "ctl/wire/ctl.h"

int show(struct ctl *ctl, const char *name, bool *down);

void show_label(struct out *out, const char *label);
void show_when(struct out *out, const char *before, struct span when, bool with_ms);
/* show_details.c */
struct actor_view;
void show_details(struct out *out, const struct actor_view *actor);
/* show_output.c */
int show_output(struct ctl *ctl, struct span path);

#endif
