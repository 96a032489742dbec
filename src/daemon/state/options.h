/* SPDX-License-Identifier: ISC */
/* options.h - the command line that supd was started with, and where this guardian comes
 * from. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "os/process/containment.h"
#include "os/process/leftover.h"

struct supd_options {
	char **argv;           /* the user's */
	const char *can_adopt; /* see candidate.h */
	const char *conf_file, *runtime_dir;
	int log_level;   /* -1: as the file says */
	int log_target;  /* -1: as the file says */
	int log_show;    /* -1: as the file says */
	bool background; /* -d */
	bool has_seed;
	uint64_t seed;
};

/* What is known once it has started, and does not change afterwards. */
struct origin {
	const struct supd_options *options;
	const char *conf_file; /* the configuration, where a call names no other file */
	const char *runtime_dir;
	/* supd's binary as it was started; the file there may be another now */
	const char *binary;
	char *control_path;   /* of the control socket; owned */
	char **environ;       /* as supd was started */
	struct rlimit nofile; /* as supd was started with: what actors inherit */
	char controllers[CGROUP_CONTROLLERS_MAX]; /* of the machine */
	pid_t walker_pid;
	/* pid and start of the walker, as in the environment of actors */
	char walker_mark[LEFTOVER_MARK_MAX];
	uint32_t crashes;   /* guardians before that crashed or hung, */
	uint64_t outage_ms; /* and how long no guardian was there, before it */
};

/* Owners of children; the owner of a child about a socket has the key of the vault. */
enum { BOUNDED_USERS, BOUNDED_CONF, BOUNDED_LEAVES };

#endif
