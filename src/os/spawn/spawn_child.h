/* SPDX-License-Identifier: ISC */
/* spawn_child.h - what the child does between clone and exec; for spawn*.c only.
 *
 * The child shares its parent's memory, and at first its table of descriptors: it calls
 * the kernel and nothing else, and touches no descriptor before the table is its own.
 */
#ifndef OS_SPAWN_SPAWN_CHILD_H
#define OS_SPAWN_SPAWN_CHILD_H

#include <stdatomic.h>

#include "base/names.h"
#include "os/spawn/spawn.h"

#define SPAWN_SIGNAL_MAX 64

struct spawn_child {
	const struct spawn *spawn;
	struct spawn_trace *trace;
	struct spawn_shared *shared;
	uid_t uid; /* that it will have */
	uid_t parent_uid;
	int root_fd; /* the parent's root, for a child with another one; else -1 */
	int null_fd;
	bool is_shared;  /* the table of descriptors is the parent's; they are staged */
	bool is_joining; /* the child has to enter its cgroup by itself */
	uint64_t patience_ms; /* the parent waits so long for `lives` to be 0 */
	bool is_late;         /* it has waited longer, and sent SIGKILL */
	_Atomic int lives; /* the kernel sets it to 0: our memory is not used any more */
	bool writes_oom;   /* the child sets this oom_score_adj, which is not ours */
	int oom_score_adj;
	int exec_fd;             /* close-on-exec, to be kept until then; or -1 */
	int keep;                /* of a shared table, what is below this is needed */
	uint64_t to_reset;       /* signals to set to their default */
	int from[SPAWN_FDS_MAX]; /* where descriptor i is staged */
	bool is_borrowed[SPAWN_FDS_MAX]; /* the parent staged it there */
};

/* Where a child that shares our memory works.  Its stack lies below. */
struct spawn_place {
	struct spawn_child child;
	struct spawn_place *next; /* among those that hang */
};

int spawn_start_shared(struct spawner *spawner, struct spawn_child *child, void *stack,
                       size_t stack_size, struct spawn_result *ret);
int spawn_start_copied(struct spawner *spawner, struct spawn_child *child,
                       struct spawn_result *ret);
int spawn_child_run(void *arg);
void spawn_child_begin(const struct spawn_child *child, enum spawn_step step);
_Noreturn void spawn_child_fail(const struct spawn_child *child, enum spawn_step step,
                                int which);
void spawn_open_files(const struct spawn_child *child);
void spawn_read_environment(const struct spawn_child *child);
void spawn_oom_score_adj(const struct spawn_child *child);
void spawn_priorities(const struct spawn_child *child);
void spawn_before_ids(const struct spawn_child *child);
void spawn_after_ids(const struct spawn_child *child);
bool spawn_signal_is_ignored(int signo);

#endif
