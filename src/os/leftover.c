/* SPDX-License-Identifier: ISC */
/* leftover.c - processes that a supd which died left behind. */
#include "config.h"

#include "os/leftover.h"

#include "os/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "os/proc-file.h"

#define ENVIRON_MAX (128 * 1024)
/* How long the kernel may take to end all that were killed, and to end an exec, and how
 * often that is seen. */
#define DEATH_TIMEOUT_MS 3000
#define LOOK_AGAIN_MS    5

/* A search for the processes of some users, and the findings up to now. */
struct hunt {
	const char *variable;
	const uid_t *uids;
	size_t n_uids;
	struct map killed;   /* pids */
	struct map sessions; /* sessions of processes of those users */
	char *environment;   /* of the process that is looked at */
	size_t environment_len;
	pid_t walker; /* not 0: only find out whether another one of theirs lives */
	pid_t owner;  /* the answer; 0: none does */
	struct leftovers found;
	size_t n_unsure; /* processes whose environment the last look came too early for */
};

/* Of the kernel, and of a process that is about to be a zombie: see sched.h. */
#define FLAGS_WITHOUT_MEMORY (UINT32_C(0x00200000) | UINT32_C(0x00000004))

/* Is the process one of the users'? */
static bool
is_of_user(const struct hunt *hunt, pid_t pid)
{
	uid_t uid;

	if (hunt->n_uids == 0)
		return true;
	if (proc_uid_read(pid, &uid) < 0)
		return false;
	for (size_t i = 0; i < hunt->n_uids; i++)
		if (hunt->uids[i] == uid)
			return true;
	return false;
}

/* The value of a variable of the process that is looked at; NULL: it has none. */
static const char *
value_of(const struct hunt *hunt, const char *name)
{
	const char *at = hunt->environment;
	const char *end = at + hunt->environment_len;
	const size_t len = strlen(name);

	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
		if ((size_t)(end - at) > len && memcmp(at, name, len) == 0)
			return at + len;
	return NULL;
}

/*
 * For a process whose environment is empty: is it in the midst of an exec?  The kernel has
 * a moment, long on a busy machine, in which the old environment is gone and the new one
 * is not there yet.  Only the users' own count: others must not be able to hold us up.
 */
static bool
is_executing(const struct hunt *hunt, pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, &stat) == 0 && !stat.is_bare &&
	       !proc_stat_is_dead(&stat) && (stat.flags & FLAGS_WITHOUT_MEMORY) == 0 &&
	       is_of_user(hunt, pid);
}

/* An actor's process has this variable and a SUPD_ID; a person's shell may have the first
 * for supctl, and is left alone. */
static bool
is_marked(struct hunt *hunt, pid_t pid)
{
	const char *value;
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, hunt->environment, ENVIRON_MAX - 1);
	(void)close(fd);
	hunt->environment_len = n > 0 ? (size_t)n : 0;
	hunt->environment[hunt->environment_len] = '\0';
	if (n == 0 && is_executing(hunt, pid))
		hunt->n_unsure++;
	value = value_of(hunt, hunt->variable);
	return value != NULL && *value == '\0' && value_of(hunt, "SUPD_ID=") != NULL;
}

/* In a container of its own another supd may have a socket of the same name. */
static bool
is_in_our_namespace(pid_t pid)
{
	struct stat its, ours;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &its) == 0 && stat("/proc/self/ns/pid", &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

/*
 * Any user may put a mark into the environment of a process.  So the mark counts only if
 * the process, or another process in the same session, belongs to one of the users: an
 * actor may have dropped its rights since.
 */
static bool
is_theirs(struct hunt *hunt, pid_t pid)
{
	const pid_t session = getsid(pid);
	uint32_t value;

	if (hunt->n_uids == 0)
		return true;
	if (is_of_user(hunt, pid))
		return session <= 0 ||
		       map_put(&hunt->sessions, (uint64_t)session, 0) == 0;
	return session > 0 && map_get(&hunt->sessions, (uint64_t)session, &value);
}

/* Kill it, once; its pid is looked at again when it is held. */
static void
kill_one(struct hunt *hunt, pid_t pid)
{
	uint32_t value;
	int fd;

	if (map_get(&hunt->killed, (uint64_t)pid, &value))
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0 && is_marked(hunt, pid) &&
	    syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0 &&
	    map_put(&hunt->killed, (uint64_t)pid, 0) == 0)
		hunt->found.n_killed++;
	if (fd >= 0)
		(void)close(fd);
}

/* Identify a walker: by its pid and the time of its start.  "" if the process is none. */
void
leftover_mark(pid_t walker, char ret[LEFTOVER_MARK_MAX])
{
	uint64_t start;
	pid_t parent;

	ret[0] = '\0';
	if (proc_look(walker, &parent, &start) == 0)
		(void)snprintf(ret, LEFTOVER_MARK_MAX, "%d-%llu", (int)walker,
		               (unsigned long long)start);
}

/* Does this process run a program of our name?  Others cannot be a walker. */
static bool
is_of_our_name(pid_t pid)
{
	char path[64], its[PATH_MAX] = "", ours[PATH_MAX] = "";
	const char *slash, *own_slash;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, its, sizeof(its) - 1) < 0 ||
	    readlink("/proc/self/exe", ours, sizeof(ours) - 1) < 0)
		return false;
	slash = strrchr(its, '/');
	own_slash = strrchr(ours, '/');
	return slash != NULL && own_slash != NULL &&
	       strcspn(slash, " ") == strcspn(own_slash, " ") &&
	       strncmp(slash, own_slash, strcspn(slash, " ")) == 0;
}

/* The walker that the process names, if that walker lives, is not ours, and belongs to a
 * user that we trust: any user may name any process. 0: none. */
static pid_t
find_owner(const struct hunt *hunt)
{
	const char *value = value_of(hunt, "SUPD_WALKER=");
	pid_t pid = value == NULL ? 0 : (pid_t)strtol(value, NULL, 10);
	char mark[LEFTOVER_MARK_MAX];
	uid_t uid;

	if (pid <= 0 || pid == hunt->walker)
		return 0;
	leftover_mark(pid, mark);
	if (strcmp(mark, value) != 0 || proc_is_ending(pid) ||
	    proc_uid_read(pid, &uid) < 0 || (uid != 0 && uid != geteuid()))
		return 0;
	return is_of_our_name(pid) ? pid : 0;
}

/* Note a process: killed before, or now. */
static void
note(struct hunt *hunt, pid_t pid)
{
	struct leftover *left = &hunt->found.left[hunt->found.n_left % LEFTOVERS_SHOWN];
	const char *path = value_of(hunt, "SUPD_PATH=");

	left->pid = pid;
	(void)snprintf(left->path, sizeof(left->path), "%s", path == NULL ? "" : path);
	hunt->found.n_left++;
	kill_one(hunt, pid);
}

/* One look at all processes; 0 or -errno. */
static int
look(struct hunt *hunt)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	if (proc == NULL)
		return -errno;
	hunt->found.n_left = hunt->n_unsure = 0;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
			continue;
		if (!is_marked(hunt, pid) || !is_in_our_namespace(pid) ||
		    !is_theirs(hunt, pid))
			continue;
		if (hunt->walker == 0)
			note(hunt, pid);
		else if (hunt->owner == 0)
			hunt->owner = find_owner(hunt);
	}
	(void)closedir(proc);
	return 0;
}

/*
 * Before leftover_kill() with the same arguments: is there a walker, other than ours,
 * that lives and has started any of these processes?  Returns its pid; 0: there is none,
 * or no memory.
 */
pid_t
leftover_owner(const char *variable, const uid_t *uids, size_t n_uids, pid_t walker)
{
	struct hunt hunt = {
	    .variable = variable, .uids = uids, .n_uids = n_uids, .walker = walker};

	hunt.environment = malloc(ENVIRON_MAX);
	if (hunt.environment == NULL)
		return 0;
	map_init(&hunt.killed);
	map_init(&hunt.sessions);
	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms += LOOK_AGAIN_MS) {
		if (look(&hunt) < 0 || hunt.owner != 0 || hunt.n_unsure == 0)
			break;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
	map_done(&hunt.killed);
	map_done(&hunt.sessions);
	free(hunt.environment);
	return hunt.owner;
}

/*
 * Kill every process of an actor that has this variable
 * ("SUPD_SOCKET=/run/supd/control.sock") in the environment that it was started with,
 * and what they fork meanwhile: all at once, and with one wait of three seconds at most
 * for all of them.  For the one who holds the lock of that supd's directory: nobody
 * supervises them any more.  `uids`: of these users only; none: of any, where the
 * variable is known to nobody else.
 *
 * Returns 0, also when some are left, which cannot be killed; or -errno.
 */
int
leftover_kill(const char *variable, const uid_t *uids, size_t n_uids,
              struct leftovers *ret)
{
	struct hunt hunt = {.variable = variable, .uids = uids, .n_uids = n_uids};
	size_t before;
	int r = 0;

	*ret = hunt.found;
	hunt.environment = malloc(ENVIRON_MAX);
	if (hunt.environment == NULL)
		return -ENOMEM;
	map_init(&hunt.killed);
	map_init(&hunt.sessions);
	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms += LOOK_AGAIN_MS) {
		before = hunt.found.n_killed;
		r = look(&hunt);
		if (r < 0 || (hunt.found.n_left == 0 && hunt.n_unsure == 0 &&
		              hunt.found.n_killed == before))
			break;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
	map_done(&hunt.killed);
	map_done(&hunt.sessions);
	free(hunt.environment);
	*ret = hunt.found;
	return r;
}

/*
 * Kill everything that descends from a walker whose guardian has died, and from us, who
 * have started nothing yet: the actors, whatever they did to their environment.  What is
 * in the walker's own session was there before supd.  Waits for their end.
 *
 * Returns 0; -EBUSY when something would not die; or another -errno.
 */
int
leftover_kill_below(pid_t walker, size_t *ret_killed)
{
	struct proc_sweep *sweep = proc_sweep_new();
	const pid_t session = getsid(walker);
	struct map nobody;
	int count, r = 0;

	*ret_killed = 0;
	if (sweep == NULL)
		return -ENOMEM;
	map_init(&nobody);
	proc_sweep_include(sweep, walker);
	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms++) {
		r = proc_sweep_take(sweep, &nobody);
		count = proc_sweep_kill(sweep, session);
		if ((size_t)count > *ret_killed)
			*ret_killed = (size_t)count;
		if (r < 0 || (count == 0 && !proc_sweep_has(sweep, -1, "")))
			break;
		r = -EBUSY;
		(void)poll(NULL, 0, 1);
	}
	proc_sweep_free(sweep);
	return r;
}
