/* SPDX-License-Identifier: ISC */
/* glob.h - which actors does a pattern mean? */
#ifndef DAEMON_GLOB_H
#define DAEMON_GLOB_H

#include <stdbool.h>

bool glob_is_pattern(const char *text);
bool glob_selects(const char *glob, const char *path);
bool glob_selects_last_name(const char *glob, const char *path);
bool glob_filters(const char *glob, const char *path);
const char *glob_below_user(const char *path);

#endif
