/* SPDX-License-Identifier: ISC */
/* spawn-child.h - what the child does between clone and exec; for spawn.c only.
 *
 * The child shares its parent's memory, and at first its table of descriptors: it calls
 * the kernel and nothing else, and touches no descriptor before the table is its own.
 */
#ifndef OS_SPAWN_CHILD_H
#define OS_SPAWN_CHILD_H

#include "base/names.h"
#include "os/spawn.h"

#include <stdatomic.h>

#define SPAWN_SIGNAL_MAX 64

struct spawn_child {
	const struct spawn *spawn;
	struct spawn_trace *trace;
	int null_fd;
	bool has_close_range;
	bool is_shared;    /* the table of descriptors is the parent's; they are staged */
	bool is_joining;   /* it has to enter its cgroup by itself */
	bool is_watched;   /* the parent waits for `lives` to be 0, and not for ever */
	_Atomic int lives; /* the kernel sets it to 0: our memory is not used any more */
	int exec_fd;       /* close-on-exec, to be kept until then; or -1 */
	int keep;          /* of a shared table, what is below this is needed */
	uint64_t to_reset; /* signals to set to their default */
	int from[SPAWN_FDS_MAX];         /* where descriptor i is staged */
	bool is_borrowed[SPAWN_FDS_MAX]; /* the parent staged it there */
};

int spawn_child_run(void *arg);
_Noreturn void spawn_child_fail(const struct spawn_child *child, enum spawn_step step,
                                int which);
void spawn_write_number(char *at, int number);
void spawn_oom_score_adj(const struct spawn_child *child);
void spawn_priorities(const struct spawn_child *child);
void spawn_before_ids(const struct spawn_child *child);
void spawn_after_ids(const struct spawn_child *child);
bool spawn_signal_is_ignored(int signo);
bool spawn_close_range_exists(void);

#endif
