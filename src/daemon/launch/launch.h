/* SPDX-License-Identifier: ISC */
/* launch.h - from an actor's configuration to a running process. */
#ifndef DAEMON_LAUNCH_H
#define DAEMON_LAUNCH_H

#include "base/err.h"
#include "daemon/launch/environment.h"
#include "daemon/state/actors.h"
#include "os/process/containment.h"
#include "os/spawn/spawn.h"

#define LAUNCH_LIMITS_MAX 32

/* What launches take from the other rooms; borrowed. */
struct launcher {
	const struct actors *actors; /* with the configuration in force */
	const struct ledger_facts *facts;
	const struct origin *origin;
	struct system *system; /* supd's own actors */
	struct sockets *sockets;
	struct messages *messages;
	struct keeper *keeper;
	struct cgroup_root *cgroups;
	struct spawner *spawner;
	struct bounded *bounded; /* users are looked up in these children */
};

/* What a child reads until its exec: each start under way has a struct launch. */
struct launch {
	const struct launcher *launcher;
	struct environment environment;
	struct spawn spawn;
	struct spawn_limit limits[LAUNCH_LIMITS_MAX];
	int fds[SPAWN_FDS_MAX];
};

/* A start under way: what the caller lends, and the result. */
struct launching {
	struct launch *launch;
	struct ledger_spawn *intent;
	struct spawn_place *place; /* the place of the start, once it has begun */
	struct spawn_result result;
};

int launch_init(struct launch *launch, const struct launcher *launcher, struct err *err);
int launch_draw_secret(struct ledger_facts *facts);
bool launch_in_cgroup(const struct cgroup_root *cgroups, const struct actor *actor);
int launch_begin_environment(struct launch *launch, const struct actor *actor,
                             const char *mark);
int launch_begin(struct launching *launching, const struct actor *actor, uint32_t life,
                 struct containment *containment);
int launch_helper(struct launching *launching, const struct actor *actor, char **argv,
                  int cgroup_fd);

#endif
