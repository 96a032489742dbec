/* SPDX-License-Identifier: ISC */
/* spawn_child.h - what the child does between clone and exec; for spawn*.c only.
 *
 * The child shares its parent's memory, which goes on beside it, and at first its table
 * of descriptors: it calls the kernel and nothing else, by spawn_call(), which leaves the
 * parent's errno alone, and touches no descriptor before the table is its own.
 */
#ifndef OS_SPAWN_SPAWN_CHILD_H
#define OS_SPAWN_SPAWN_CHILD_H

#include <stdatomic.h>

#include "base/names.h"
#include "os/spawn/clone3.h"
#include "os/spawn/spawn.h"

#define SPAWN_SIGNAL_MAX 64

/* What a child writes for its parent, where the two share no other memory. */
struct spawn_shared {
	struct spawn_trace trace; /* of callers that bring none */
	struct err err;           /* what is wrong with an environment file */
};

struct spawn_child {
	const struct spawn *spawn;
	struct spawn_trace *trace;
	struct spawn_shared *shared;
	uid_t uid; /* that it will have */
	uid_t parent_uid;
	int root_fd; /* the parent's root, for a child with another one; else -1 */
	int null_fd;
	bool is_shared;    /* the table of descriptors is the parent's; they are staged */
	bool is_joining;   /* the child has to enter its cgroup by itself */
	_Atomic int lives; /* the kernel sets it to 0: our memory is not used any more */
	bool writes_oom; /* the child sets this oom_score_adj: it is born with another */
	int oom_score_adj;
	int exec_fd;             /* close-on-exec, to be kept until then; or -1 */
	int keep;                /* of a shared table, what is below this is needed */
	uint64_t to_reset;       /* signals to set to their default */
	int from[SPAWN_FDS_MAX]; /* where descriptor i is staged */
};

/* How a descriptor of the child got to its place in the window. */
enum spawn_stage { STAGE_NOT, STAGE_NULL, STAGE_COPY };

/* A start under way: what the child works with.  The stack of one that shares our memory
 * lies below. */
struct spawn_place {
	struct spawn_child child;
	struct spawn_place *next; /* in its list */
	bool in_memory;           /* the child shares our memory … */
	bool is_foreign;          /* … and becomes another user in it */
	bool is_late;             /* it has taken too long, and was sent SIGKILL */
	bool is_adopted;          /* another process began it: os_spawn_adopt() */
	int end_fd;               /* closed by the exec of one that does not; else -1 */
	pid_t pid;
	int pidfd;
	uint64_t begun_ms;
	uint64_t patience_ms; /* it may take so long */
	uint8_t stage[SPAWN_FDS_MAX];
};

static inline long
spawn_call(long number, long a, long b, long c)
{
	return os_quiet_syscall(number, a, b, c, 0, 0);
}

/* spawn_place.c */
struct spawn_place *spawn_place_take(struct spawner *spawner);
void spawn_place_give(struct spawner *spawner, struct spawn_place *place);
void spawn_place_leave(struct spawner *spawner, struct spawn_place *place);
void spawn_places_free(struct spawner *spawner);
char *spawn_place_stack(const struct spawn_place *place);

/* spawn_window.c */
void spawn_window_fill(struct spawner *spawner);
void spawn_window_empty(struct spawner *spawner, int from);
bool spawn_window_stage(struct spawner *spawner, struct spawn_place *place);
void spawn_window_unstage(struct spawner *spawner, struct spawn_place *place);

/* spawn_memory.c */
bool spawn_memory_lend(struct spawner *spawner, struct spawn_place *place);
void spawn_memory_return(struct spawner *spawner, struct spawn_place *place);
void spawn_memory_left(struct spawner *spawner, const struct spawn_place *place);
bool spawn_memory_is_told(void);

/* spawn_clone.c */
int spawn_clone_shared(struct spawner *spawner, struct spawn_place *place);
int spawn_clone_copied(struct spawner *spawner, struct spawn_place *place);

/* In the child. */
int spawn_child_run(void *arg);
void spawn_child_begin(const struct spawn_child *child, enum spawn_step step);
_Noreturn void spawn_child_fail(const struct spawn_child *child, enum spawn_step step,
                                int which, long error);
void spawn_open_files(const struct spawn_child *child);
void spawn_read_environment(const struct spawn_child *child);
void spawn_oom_score_adj(const struct spawn_child *child);
void spawn_priorities(const struct spawn_child *child);
void spawn_before_ids(const struct spawn_child *child);
void spawn_after_ids(const struct spawn_child *child);
bool spawn_signal_is_ignored(int signo);

#endif
