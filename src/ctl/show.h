/* SPDX-License-Identifier: ISC */
/* show.h - an actor in a block of lines: all that supd says about it. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include "ctl/ctl.h"

#include <stdbool.h>

int show(struct ctl *ctl, const char *name, bool *down);

#endif
