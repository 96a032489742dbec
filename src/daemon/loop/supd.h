/* SPDX-License-Identifier: ISC */
/* supd.h - one run of supd, from a configuration file to an exit status. */
#ifndef DAEMON_SUPD_H
#define DAEMON_SUPD_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/text/conf.h"

#define SUPD_PATH_MAX 4096

struct handover;

struct supd_options {
	char **argv;           /* the user's */
	const char *can_adopt; /* see candidate.h */
	const char *conf_file;
	const char *runtime_dir;
	int log_level;  /* -1: as the file says */
	int log_target; /* -1: as the file says */
	bool has_seed;
	uint64_t seed;
};

const char *supd_default_conf(char buf[SUPD_PATH_MAX]);
const char *supd_default_runtime_dir(char buf[SUPD_PATH_MAX]);
int supd_run(const struct supd_options *options, struct handover *handover);

#endif
