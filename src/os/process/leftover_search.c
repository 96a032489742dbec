/* SPDX-License-Identifier: ISC */
/* leftover_search.c - the child that looks for processes of a supd which died. */
#include "config.h"

#include "os/process/leftover_search.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "os/process/proc.h"
#include "os/process/proc_file.h"
#include "os/self/clock.h"
#include "os/self/fd.h"

#define ENVIRON_MAX (128 * 1024)
/* How often the search looks whether killed processes have ended, and after how many
 * looks it goes through all processes again. */
#define LOOK_AGAIN_MS 5
#define LOOKS         20

/* A search for the processes of some users. */
struct hunt {
	const struct leftover_hunt *of;
	struct findings *found;
	struct map by_pid;   /* the places of the killed */
	struct map sessions; /* sessions of processes of those users */
	char *environment;   /* of the process that is looked at */
	size_t environment_len;
	pid_t parent, walker;
	/* of the last look: processes of theirs, and those that executed a program */
	size_t n_theirs, n_unsure;
};

/* Before a process is looked at; false: it did not let go of a child before. */
static bool
look_at(const struct hunt *hunt, pid_t pid)
{
	struct findings *found = hunt->found;

	for (size_t i = 0; i < found->n_silent; i++)
		if (found->silent[i] == pid)
			return false;
	found->at = pid;
	found->step++;
	return true;
}

/* True if the process is one of the users'. */
static bool
is_of_user(const struct hunt *hunt, pid_t pid)
{
	uid_t uid;

	if (hunt->of->n_uids == 0)
		return true;
	if (proc_uid_read(pid, &uid) < 0)
		return false;
	for (size_t i = 0; i < hunt->of->n_uids; i++)
		if (hunt->of->uids[i] == uid)
			return true;
	return false;
}

/* The value of a variable of the process that is looked at; NULL: it has none. */
static const char *
value_of(const struct hunt *hunt, const char *name)
{
	const char *at = hunt->environment;
	const char *last = at + hunt->environment_len; /* its NUL */
	const size_t len = strlen(name);

	for (; at < last; at += strnlen(at, (size_t)(last - at)) + 1)
		if ((size_t)(last - at) > len && memcmp(at, name, len) == 0)
			return at + len;
	return NULL;
}

/* True if a process with an empty environment is in the midst of an exec. */
static bool
is_executing(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_direct(pid, &stat) == 0 && proc_stat_is_executing(&stat);
}

/* True for a process of an actor, which has this variable and a SUPD_ID. A person's shell
 * may have the variable for supctl, and is left alone. */
static bool
is_marked(struct hunt *hunt, pid_t pid)
{
	const char *variable = hunt->of->variable, *value;
	CLEANUP(fd_close) int fd = proc_environ_open(pid);
	ssize_t n = fd >= 0 ? read(fd, hunt->environment, ENVIRON_MAX - 1)
	                    : -(fd == -EACCES || fd == -EPERM);

	hunt->environment_len = n > 0 ? (size_t)n : 0;
	hunt->environment[hunt->environment_len] = '\0';
	if (n == 0 && is_executing(pid))
		hunt->n_unsure++;
	/* Most have it nowhere, and need not be taken apart. */
	value = memmem(hunt->environment, hunt->environment_len, variable,
	               strlen(variable)) != NULL
	            ? value_of(hunt, variable)
	            : NULL;
	return value != NULL && *value == '\0' && value_of(hunt, "SUPD_ID=") != NULL;
}

/* False for a process of a container: another supd there may have a socket of the same
 * name. */
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
 * True if a mark of this process would count.  Any user may put a mark into the
 * environment of a process, so the process, or another in the same session, must belong
 * to one of the users: an actor may have dropped its rights since.  Other processes are
 * not looked at, and cannot delay us.
 */
static bool
may_be_theirs(const struct hunt *hunt, pid_t pid)
{
	const pid_t session = getsid(pid);
	struct proc_stat stat;
	uint32_t value;

	if (hunt->of->n_uids > 0 && !is_of_user(hunt, pid) &&
	    !(session > 0 && map_get(&hunt->sessions, (uint64_t)session, &value)))
		return false;
	/* Threads of the kernel have no session, and nothing else. */
	return session != 0 || proc_stat_direct(pid, &stat) < 0 ||
	       (stat.flags & PROC_IS_OF_KERNEL) == 0;
}

/* Remember the session of a marked process, since other processes of that session count,
 * too; false: there is no memory. */
static bool
is_theirs(struct hunt *hunt, pid_t pid)
{
	const pid_t session = getsid(pid);

	return session <= 0 || map_put(&hunt->sessions, (uint64_t)session, 0) == 0;
}

/* True if the process still exists.  While a process ends /proc shows nothing else of it.
 */
bool
leftover_is_there(const struct leftover *left)
{
	struct proc_stat line;

	return proc_stat_read(left->pid, &line) == 0 &&
	       proc_same_start(line.start, left->start) && !proc_stat_is_dead(&line);
}

/* True if the killed process still exists, or this search cannot look at it. */
static bool
is_left(const struct hunt *hunt, const struct killed *killed)
{
	return !look_at(hunt, killed->process.pid) || leftover_is_there(&killed->process);
}

/* Remember what is about to be killed; false: it is gone, or there is no memory. */
static bool
put_down(struct hunt *hunt, pid_t pid)
{
	const char *path = value_of(hunt, "SUPD_PATH=");
	struct findings *found = hunt->found;
	pid_t parent;

	if (found->n == KILLED_MAX)
		return true;
	struct leftover *left = &found->killed[found->n].process;
	*left = (struct leftover){.pid = pid};
	if (proc_look(pid, &parent, &left->start) < 0 ||
	    proc_uid_read(pid, &left->uid) < 0 ||
	    map_put(&hunt->by_pid, (uint64_t)pid, (uint32_t)found->n) < 0)
		return false;
	(void)snprintf(left->path, sizeof(left->path), "%s", path == NULL ? "" : path);
	found->n++;
	return true;
}

/* Kill it, once; its pid is looked at again when it is held. */
static void
kill_one(struct hunt *hunt, pid_t pid)
{
	uint32_t place;

	if (map_get(&hunt->by_pid, (uint64_t)pid, &place) &&
	    leftover_is_there(&hunt->found->killed[place].process))
		return;
	CLEANUP(fd_close) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0 && is_marked(hunt, pid) && put_down(hunt, pid)) {
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		hunt->found->n_killed++;
	}
}

/* True if this process runs a program of our name.  Others cannot be a walker. */
static bool
is_of_our_name(pid_t pid)
{
	char path[64], its[PATH_MAX] = "", ours[PATH_MAX] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, its, sizeof(its) - 1) < 0 ||
	    readlink("/proc/self/exe", ours, sizeof(ours) - 1) < 0)
		return false;
	const char *slash = strrchr(its, '/');
	const char *own_slash = strrchr(ours, '/');
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

	if (pid <= 0 || pid == hunt->walker || !look_at(hunt, pid))
		return 0;
	leftover_mark(pid, mark);
	if (strcmp(mark, value) != 0 || proc_is_ending(pid) ||
	    proc_uid_read(pid, &uid) < 0 || (uid != 0 && uid != geteuid()))
		return 0;
	return is_of_our_name(pid) ? pid : 0;
}

/* One look at all processes; 0 or -errno. */
static int
look(struct hunt *hunt)
{
	CLEANUP_DIR DIR *proc = opendir("/proc");
	const struct dirent *entry;
	const pid_t own = getpid();

	if (proc == NULL)
		return -errno;
	hunt->n_theirs = hunt->n_unsure = 0;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == own ||
		    pid == hunt->parent || !look_at(hunt, pid) ||
		    !may_be_theirs(hunt, pid) || !is_marked(hunt, pid) ||
		    !is_in_our_namespace(pid) || !is_theirs(hunt, pid))
			continue;
		hunt->n_theirs++;
		if (hunt->walker == 0)
			kill_one(hunt, pid);
		else if (hunt->found->owner == 0)
			hunt->found->owner = find_owner(hunt);
	}
	return 0;
}

/* Ask for the owner: again for as long as a process executes a program. */
static int
search_owner(struct hunt *hunt)
{
	struct findings *found = hunt->found;
	int r = 0;

	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms += LOOK_AGAIN_MS) {
		r = look(hunt);
		if (r < 0 || found->owner != 0)
			break;
		found->none =
		    hunt->n_theirs == 0 && hunt->n_unsure == 0 && found->n_silent == 0;
		if (hunt->n_unsure == 0)
			break;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
	return r;
}

/* The number of killed processes that have not ended yet. */
static size_t
count_left(const struct hunt *hunt)
{
	size_t n = 0;

	for (size_t i = 0; i < hunt->found->n; i++)
		n += is_left(hunt, &hunt->found->killed[i]);
	return n;
}

/* Wait until none is left, or it is time to look at all processes again. */
static void
wait_a_moment(const struct hunt *hunt, uint64_t end_ms)
{
	for (int i = 0; i < LOOKS && clock_mono_ms() < end_ms; i++) {
		hunt->found->step++;
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
		if (hunt->n_unsure > 0 || count_left(hunt) == 0)
			return;
	}
}

/* Kill them all, and wait for their end. */
static int
search_and_kill(struct hunt *hunt)
{
	const uint64_t end_ms = clock_mono_ms() + DEATH_TIMEOUT_MS;
	struct findings *found = hunt->found;
	size_t before;
	int r;

	do {
		before = found->n_killed;
		r = look(hunt);
		if (r < 0 || (found->n_killed == before && hunt->n_unsure == 0 &&
		              count_left(hunt) == 0))
			break;
		wait_a_moment(hunt, end_ms);
	} while (clock_mono_ms() < end_ms);
	for (size_t i = 0; i < found->n; i++)
		found->killed[i].is_left = is_left(hunt, &found->killed[i]);
	return r;
}

/* What the child does, `data` being a struct leftover_search: it goes on where the child
 * before it came to a stop. */
void
leftover_search(int fd UNUSED, void *data)
{
	struct leftover_search *search = data;
	struct findings *found = &search->found;
	struct hunt hunt = {.of = search->of,
	                    .found = found,
	                    .environment = malloc(ENVIRON_MAX),
	                    .parent = search->parent,
	                    .walker = search->walker};
	int r = hunt.environment == NULL ? -ENOMEM : 0;

	for (size_t i = 0; i < found->n && r == 0; i++)
		r = map_put(&hunt.by_pid, (uint64_t)found->killed[i].process.pid,
		            (uint32_t)i);
	if (r == 0)
		r = hunt.walker != 0 ? search_owner(&hunt) : search_and_kill(&hunt);
	/* The child ends now, with its memory. */
	found->error = r;
	found->is_over = true;
}
