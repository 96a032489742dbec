/* SPDX-License-Identifier: ISC */
/* load_child.h - what the child does that reads or composes a configuration; for
 * loading.c only. */
#ifndef DAEMON_LOAD_CHILD_H
#define DAEMON_LOAD_CHILD_H

#include <stdint.h>

#include "base/err.h"
#include "conf/text/conf.h"

struct load {
	const char *file;
	const struct conf_addition *addition; /* NULL: the file is read … */
	/* … else an addition to this configuration; with numbers: so many replicas of it
	 */
	const struct conf *conf;
	const uint32_t *numbers;
	uint32_t n_numbers;
	const struct conf_taker *taker; /* of each of them; else NULL */
	struct conf_options options;
};

/* The first thing that the child says, with the frozen configuration if there is one. */
struct load_result {
	int code;
	struct err err;
};

/* The reports that the child has written after that, in the parent. */
void load_take_reports(const char *answer, size_t size, struct conf_reports *reports);

void load_it(int fd, void *data);
void load_replicas(int fd, void *data);

#endif
