/* SPDX-License-Identifier: ISC */
/* needs.h - `needs` and `watch`: other actors that an actor depends on (private to
 * conf/). */
#ifndef CONF_NEEDS_H
#define CONF_NEEDS_H

#include "conf/read/keys.h"

uint32_t needs_find(const struct conf *conf, const char *path);
uint32_t needs_next_replica(const struct conf *conf, uint32_t replica);
void needs_check(struct reader *reader);
void needs_circles(struct reader *reader);
void needs_lint(const struct lint *lint);
void watches_lint(const struct lint *lint);

#endif
