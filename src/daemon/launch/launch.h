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

/* What all launches share. */
struct launcher {
	struct environment environment;
};

int launcher_init(struct launcher *launcher, char **own_environ, struct err *err);
void launcher_done(struct launcher *launcher);
int launch_draw_secret(struct shell *shell);
void launch_mark_begin(const struct shell *shell, char ret[PROC_MARK_MAX]);
void launch_mark(const struct shell *shell, uint32_t slot, uint32_t life,
                 char ret[PROC_MARK_MAX]);
bool launch_in_cgroup(const struct shell *shell, const struct actor *actor);
int launch(struct launcher *launcher, struct shell *shell, const struct actor *actor,
           uint32_t life, struct containment *containment, struct spawn_result *ret);

int launch_helper(struct launcher *launcher, struct shell *shell,
                  const struct actor *actor, char **argv, int cgroup_fd,
                  struct spawn_result *ret);

#endif
