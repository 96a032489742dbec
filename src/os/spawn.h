/* SPDX-License-Identifier: ISC */
/* spawn.h - start a program as a child with a clean world.
 *
 * The cost does not depend on the parent's memory nor, where the kernel allows, on its
 * open descriptors (clone3 with CLONE_VM, CLONE_VFORK, CLONE_PIDFD, CLONE_FILES, then
 * close_range with CLOSE_RANGE_UNSHARE; plain vfork where that is refused).  Every
 * signal disposition and the mask are reset, the child is the leader of a session of its
 * own, and it has the descriptors that were asked for and no others.
 *
 * Allocates nothing.  The caller keeps everything alive until os_spawn() returns, which
 * is when the child has exec'd or failed.
 */
#ifndef OS_SPAWN_H
#define OS_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SPAWN_FDS_MAX 64

#define SPAWN_STEP_MAP(X)                     \
	X(SPAWN_STEP_NONE, "none")            \
	X(SPAWN_STEP_CLONE, "fork")           \
	X(SPAWN_STEP_FDS, "descriptors")      \
	X(SPAWN_STEP_SESSION, "setsid")       \
	X(SPAWN_STEP_CGROUP, "cgroup")        \
	X(SPAWN_STEP_LIMIT, "setrlimit")      \
	X(SPAWN_STEP_GROUPS, "setgroups")     \
	X(SPAWN_STEP_GID, "setgid")           \
	X(SPAWN_STEP_UID, "setuid")           \
	X(SPAWN_STEP_DIRECTORY, "chdir")      \
	X(SPAWN_STEP_EXEC, "exec")

struct spawn_limit {
	int resource;
	struct rlimit value;
};

struct spawn {
	const char *file;        /* a path with a slash, or a name to look up in path */
	const char *path;        /* PATH for that look-up; NULL: the system's default */
	char *const *argv;
	char **envp;             /* an entry "LISTEN_PID=" + 10 digits room is filled in */
	char *listen_pid;        /* where to write the child's pid, or NULL */
	const int *fds;          /* fds[i] becomes descriptor i of the child; -1: /dev/null */
	size_t n_fds;            /* at least 3 */
	int cgroup_fd;           /* directory to be born in, or -1 */
	bool has_ids;
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	const struct spawn_limit *limits;
	size_t n_limits;
	mode_t umask;
	const char *directory;
	bool foreground;         /* stay in the caller's session: no setsid */
};

struct spawn_result {
	pid_t pid;
	int pidfd;        /* owned by the caller, CLOEXEC; -1 where there is none */
	const char *step; /* of a failure: which step */
};

int os_spawn_init(void);
int os_spawn(const struct spawn *spawn, struct spawn_result *ret);

#endif
