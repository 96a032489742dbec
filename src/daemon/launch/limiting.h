/* SPDX-License-Identifier: ISC */
/* limiting.h - what all processes of an actor together may use: its cgroup's limits. */
#ifndef DAEMON_LIMITING_H
#define DAEMON_LIMITING_H

#include <stdbool.h>

#include "daemon/state/actors.h"
#include "os/process/containment.h"

bool limiting_is_wanted(struct cgroup_root *root, const struct actor *actor);
int limiting_apply(const struct cgroup_root *root, const struct conf *conf,
                   const struct actor *actor, const struct containment *containment,
                   int *ret_which);

#endif
