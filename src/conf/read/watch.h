/* SPDX-License-Identifier: ISC */
/* watch.h - `watch`: the ends that an actor is told of (private to conf/). */
#ifndef CONF_WATCH_H
#define CONF_WATCH_H

#include "conf/read/read.h"

/* A whole configuration, and where warnings about it go. */
struct lint_watch {
	const struct conf *conf;
	struct conf_reports *reports;
};

void watches_lint(const struct lint_watch *lint);

#endif
