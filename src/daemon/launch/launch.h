/* SPDX-License-Identifier: ISC */
/* launch.h - from an actor's configuration to a running process. */
#ifndef DAEMON_LAUNCH_H
#define DAEMON_LAUNCH_H

#include "base/err.h"
#include "daemon/launch/environment.h"
#include "daemon/state/actors.h"
#include "os/process/containment.h"
#include "os/spawn/spawn.h"

struct shell;

#define LAUNCH_LIMITS_MAX 32

/* What a child reads until its exec: each start under way has a struct launch. */
struct launch {
	struct environment environment;
	struct spawn spawn;
	struct spawn_limit limits[LAUNCH_LIMITS_MAX];
	int fds[SPAWN_FDS_MAX];
};

int launch_init(struct launch *launch, char **own_environ, struct err *err);
void launch_done(struct launch *launch);
int launch_draw_secret(struct shell *shell);
void launch_mark_begin(const struct shell *shell, char ret[PROC_MARK_MAX]);
void launch_mark(const struct shell *shell, uint32_t slot, uint32_t life,
                 char ret[PROC_MARK_MAX]);
bool launch_in_cgroup(const struct shell *shell, const struct actor *actor);
int launch_begin(struct launch *launch, struct shell *shell, const struct actor *actor,
                 uint32_t life, struct containment *containment,
                 struct spawn_trace *trace, struct spawn_place **ret_place,
                 struct spawn_result *ret);
int launch_helper(struct launch *launch, struct shell *shell, const struct actor *actor,
                  char **argv, int cgroup_fd, struct spawn_trace *trace,
                  struct spawn_place **ret_place, struct spawn_result *ret);

#endif
