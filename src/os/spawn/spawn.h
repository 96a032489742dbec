/* SPDX-License-Identifier: ISC */
/* spawn.h - start a program as a child with a clean world.
 *
 * The cost depends neither on the parent's memory nor, where the kernel allows, on its
 * open descriptors: clone3 with CLONE_VM, CLONE_PIDFD and CLONE_FILES, then close_range
 * with CLOSE_RANGE_UNSHARE as the child's first act.  With too many descriptors for the
 * window below FD_WINDOW the table is copied; where clone3 is refused the memory, too.
 *
 * A start lasts a few seconds at most (SPAWN_PATIENCE_MS), whatever the child's files and
 * other processes of its user do.  os_spawn() waits for it.  os_spawn_begin() does not:
 * any number of starts may be under way, and os_spawn_is_over() tells when one has come
 * to its program or has failed.  os_spawn_adopt() goes on with a start of another
 * process.
 *
 * The child has the descriptors that were asked for and no others, every signal
 * disposition at its default, an empty mask, and a session of its own.  The caller keeps
 * everything alive until os_spawn() or os_spawn_end() returns.
 */
#ifndef OS_SPAWN_SPAWN_H
#define OS_SPAWN_SPAWN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/err.h"
#include "base/names.h"
#include "os/self/fd.h"

#define SPAWN_FDS_MAX       256
#define SPAWN_FD_CLOSED     INT_MIN /* among the descriptors of a child: a hole */
#define SPAWN_UMASK_INHERIT ((mode_t)-1)
/* How long a child may take until its program is executed.  Where the parent waits for
 * it, each that hangs already halves it, down to a quarter: many together must not keep
 * the parent from all else. */
#define SPAWN_PATIENCE_MS  3000
#define SPAWN_HALVINGS_MAX 2
/* The numbers of the window below this are kept when descriptors are scarce. */
#define SPAWN_WINDOW_LEAST 32
/* How many children may hang in our memory at once; later children get a copy of it. */
#define SPAWN_HUNG_MAX 64

/* The last ones are for callers: what failed before there was a child. */
#define SPAWN_STEP_MAP(X)                                  \
	X(SPAWN_STEP_NONE, "none")                         \
	X(SPAWN_STEP_CLONE, "fork")                        \
	X(SPAWN_STEP_FDS, "descriptors")                   \
	X(SPAWN_STEP_SESSION, "setsid")                    \
	X(SPAWN_STEP_CGROUP, "cgroup")                     \
	X(SPAWN_STEP_OOM, "oom_score_adj")                 \
	X(SPAWN_STEP_LIMIT, "setrlimit")                   \
	X(SPAWN_STEP_NICE, "setpriority")                  \
	X(SPAWN_STEP_CPUS, "sched_setaffinity")            \
	X(SPAWN_STEP_SCHEDULER, "sched_setscheduler")      \
	X(SPAWN_STEP_IO_PRIORITY, "ioprio_set")            \
	X(SPAWN_STEP_ROOT, "chroot")                       \
	X(SPAWN_STEP_BOUNDING, "bounding")                 \
	X(SPAWN_STEP_GROUPS, "setgroups")                  \
	X(SPAWN_STEP_GID, "setgid")                        \
	X(SPAWN_STEP_UID, "setuid")                        \
	X(SPAWN_STEP_AMBIENT, "ambient")                   \
	X(SPAWN_STEP_NO_NEW_PRIVILEGES, "no_new_privs")    \
	X(SPAWN_STEP_DIRECTORY, "chdir")                   \
	X(SPAWN_STEP_EXEC, "exec")                         \
	X(SPAWN_STEP_ENVIRONMENT, "environment")           \
	X(SPAWN_STEP_ENVIRONMENT_FILE, "environment_file") \
	X(SPAWN_STEP_SOCKET, "open socket")                \
	X(SPAWN_STEP_USER, "find user")                    \
	X(SPAWN_STEP_GROUP, "find group")                  \
	X(SPAWN_STEP_INPUT, "open stdin")                  \
	X(SPAWN_STEP_OUTPUT, "open output")                \
	X(SPAWN_STEP_REMOVED, "removed")

/* What is known of a child between clone and exec, in memory that may outlive us. */
struct spawn_trace {
	volatile int32_t pid;  /* written by the kernel before the child does anything */
	volatile int32_t step; /* what failed in the child: enum spawn_step; 0: nothing */
	volatile int32_t
	    code; /* errno of the failed step; before that, the slow step under way */
	volatile int32_t which; /* as in struct spawn_result */
};

enum spawn_step { SPAWN_STEP_MAP(AS_ENUM) SPAWN_STEP_MAX } ONE_BYTE;

/* What one process needs to spawn others: probed once, kept by the caller. */
struct spawner {
	struct spawn_place *free; /* for the next children; more are made when needed */
	struct spawn_place *hung; /* of children that do not end */
	unsigned int n_hung;
	unsigned int n_sharing; /* children under way that share our memory … */
	int shared_oom;         /* … have this oom_score_adj, and so have we */
	unsigned int
	    n_foreign; /* children in our memory, hung ones too, of other users */
	unsigned int patience_ms; /* SPAWN_PATIENCE_MS */
	uid_t uid;
	int null_fd;              /* /dev/null */
	size_t n_slots;           /* numbers of the window, as in is_slot */
	bool is_slot[FD_WINDOW];  /* numbers held with /dev/null, for staging … */
	bool is_taken[FD_WINDOW]; /* … by a child under way */
	uint64_t ignored;         /* signals to reset that clone3 will not: bit n-1 */
	int oom_fd;               /* /proc/self/oom_score_adj; -1: there is none */
	int own_oom;              /* what this process has */
	int child_oom;            /* … and children without a value of their own */
	bool has_kcmp;            /* the kernel tells whether a process has our memory */
	bool has_clone3;
	bool is_dumpable; /* we are, when no child of another user is in our memory */
};

struct spawn_limit {
	int resource;
	struct rlimit value;
};

struct spawn {
	const char *file; /* a path with a slash, or a name to look up in path */
	const char *path; /* PATH for that look-up; NULL: the system's default.  With
	                     environment_files: what envp says */
	char *const *argv;
	char *const *envp;
	/* Inside envp: 11 bytes for the child's pid, or NULL. */
	char *listen_pid;
	char *watchdog_pid;
	/* What descriptors 0 to 2 are instead: files that the child opens as its user,
	 * the first for reading, the others to append to; NULL: as fds says.  Where the
	 * third is the second they are one open file. */
	const char *files[3];
	/* Files of variables, with a "-" before the path where there need not be one: the
	 * child reads them as its user into the room, and calls on_file, which calls no
	 * more of the C library than a signal handler may, and puts the variables into
	 * envp; 0 or -errno with a sentence.  NULL: none. */
	char *const *environment_files;
	int (*on_file)(void *data, const char *path, char *text, size_t len,
	               struct err *err);
	void *on_file_data;
	char *room; /* one byte more than a file may have */
	size_t room_size;
	const int *fds; /* fds[i] becomes descriptor i of the child; -1: /dev/null, or
	                   SPAWN_FD_CLOSED */
	size_t n_fds;   /* 3 to SPAWN_FDS_MAX */
	int cgroup_fd;  /* directory of the cgroup to be born in, or -1 */
	bool has_ids;   /* set groups, gid and uid */
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	const struct spawn_limit *limits;
	size_t n_limits;
	const struct attributes *attributes; /* NULL: all is inherited */
	mode_t umask;                        /* or SPAWN_UMASK_INHERIT */
	const char *root;                    /* chroot(2); NULL: the caller's */
	const char *directory; /* below the root, if there is one; NULL: the caller's */
	bool foreground;       /* stay in the caller's session: no setsid */
	bool keeps_oom; /* without an oom_score_adj of its own: it has the caller's */
	bool is_apart;  /* never share memory: its cgroup may run out of its own */
	struct spawn_trace *trace; /* shared memory that the caller zeroed, or NULL */
};

/* Written on failure too: step says then what failed, and pid and pidfd are -1, unless
 * the child is still there: see os_spawn(). */
struct spawn_result {
	pid_t pid;
	int pidfd; /* owned by the caller, CLOEXEC; -1 where there is none */
	enum spawn_step step;
	int which; /* the limit (RLIMIT_x) or capability that it failed at, or -1 */
	const char *said; /* what is wrong with an environment file, "" if nothing is;
	                     valid until the next start */
};

extern const char *const spawn_step_names[];

int os_spawn_init(struct spawner *spawner, struct err *err);
void os_spawn_give_window(struct spawner *spawner);
void os_spawn_done(struct spawner *spawner);
void os_spawn_set_oom(struct spawner *spawner, int own, int of_children);
int os_spawn(struct spawner *spawner, const struct spawn *spawn,
             struct spawn_result *ret);

/* os_spawn() in parts. */
int os_spawn_begin(struct spawner *spawner, const struct spawn *spawn,
                   struct spawn_place **ret_place, struct spawn_result *ret);
int os_spawn_adopt(struct spawner *spawner, pid_t pid, uint64_t begun_ms,
                   struct spawn_trace *trace, struct spawn_place **ret_place);
bool os_spawn_is_over(struct spawn_place *place);
bool os_spawn_await(struct spawn_place *place, unsigned int us);
bool os_spawn_urge(struct spawn_place *place);
int os_spawn_end(struct spawner *spawner, struct spawn_place *take_place,
                 struct spawn_result *ret);

#endif
