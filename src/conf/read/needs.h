/* SPDX-License-Identifier: ISC */
/* needs.h - `needs` and `watch`: other actors that an actor depends on (private to
 * conf/). */
#ifndef CONF_NEEDS_H
#define CONF_NEEDS_H

#include "conf/read/read.h"

uint32_t needs_find(const struct conf *conf, const char *path);
uint32_t needs_next_replica(const struct conf *conf, uint32_t replica);
void needs_check(struct reader *reader);
void needs_circles(struct reader *reader);
void needs_lint(const struct conf *conf, struct conf_reports *reports);

/* A whole configuration, and where warnings about it go. */
struct lint_watch {
	const struct conf *conf;
	struct conf_reports *reports;
};

void watches_lint(const struct lint_watch *lint);

#endif
