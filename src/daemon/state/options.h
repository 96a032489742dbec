/* SPDX-License-Identifier: ISC */
/* options.h - the command line that supd was started with. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct supd_options {
	char **argv;           /* the user's */
	const char *can_adopt; /* see candidate.h */
	const char *conf_file;
	const char *runtime_dir;
	int log_level;   /* -1: as the file says */
	int log_target;  /* -1: as the file says */
	int log_show;    /* -1: as the file says */
	bool background; /* -d */
	bool has_seed;
	uint64_t seed;
};

#endif
