/* SPDX-License-Identifier: ISC */
/* contained.h - processes that hide, in a containment, for tests. */
#ifndef TESTS_OS_CONTAINED_H
#define TESTS_OS_CONTAINED_H

#include <check.h>

#include "base/map.h"
#include "os/cgroup/cgroup_tree.h"
#include "os/process/containment.h"
#include "os/spawn/spawn.h"

enum { PATIENCE_MS = 20000 };

/* Of the fixture; without the right to cgroups root.fd is -1. */
extern struct spawner spawner;
extern struct cgroup_root root;
extern struct proc_sweep *sweep;
extern struct map known;
extern char hider[4200];

/* The mark of this life of an actor. */
struct proc_mark a_mark(uint32_t life);
void set_up(void);
void set_up_unprivileged(void);
void tear_down(void);
void start(struct containment *c, const char *mode, struct spawn_result *ret);
void turn(struct containment *c);
void kill_all(struct containment *c);
void wait_for_main(struct containment *c);
void close_result(struct spawn_result *child);

#endif
