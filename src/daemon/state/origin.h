/* SPDX-License-Identifier: ISC */
/* origin.h - where this guardian comes from: what is known once it has started, and does
 * not change afterwards. */
#ifndef DAEMON_ORIGIN_H
#define DAEMON_ORIGIN_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "os/cgroup/cgroup.h"
#include "os/process/leftover.h"

struct supd_options;

struct origin {
	const struct supd_options *options;
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
	uint32_t crashes;   /* guardians that crashed or hung before this one, */
	uint64_t outage_ms; /* and how long no guardian was there, before it */
};

#endif
