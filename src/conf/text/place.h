/* SPDX-License-Identifier: ISC */
/* place.h - paths of a file that are relative to the file, or to a home (private to
 * conf/). */
#ifndef CONF_PLACE_H
#define CONF_PLACE_H

#include "conf/text/arena.h"

char *place_directory(struct arena *arena, const char *file);
char *place_path(struct arena *arena, const char *path, const char *file,
                 const char *home);

#endif
