/* SPDX-License-Identifier: ISC */
/* leftover.c - processes that a supd which died left behind. */
#include "config.h"

#include "os/process/leftover.h"

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
#include "os/process/proc.h"
#include "os/process/proc_file.h"
#include "os/process/proc_sweep.h"
#include "os/self/clock.h"

#define ENVIRON_MAX (128 * 1024)
/* How long the kernel may take to end all that were killed, and to end an exec; how often
 * that is seen, and after how many times all processes are looked at again. */
#define DEATH_TIMEOUT_MS 3000
#define LOOK_AGAIN_MS    5
#define LOOKS            20

/* A search for the processes of some users, and the findings up to now. */
struct hunt {
	const struct leftover_hunt *of;
	struct leftover *killed; /* n_killed of them */
	size_t n_killed;
	size_t cap;
	struct map by_pid;   /* their places */
	struct map sessions; /* sessions of processes of those users */
	char *environment;   /* of the process that is looked at */
	size_t environment_len;
	pid_t walker; /* not 0: only find out whether another one of theirs lives */
	pid_t owner;  /* the answer; 0: none does */
	/* of the last look: processes of theirs, and those that executed a program */
	size_t n_theirs;
	size_t n_unsure;
};

/* Is the process one of the users'? */
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

/* Is a process with an empty environment in the midst of an exec?  Only processes of
 * these users count: other users must not be able to delay us. */
static bool
is_executing(const struct hunt *hunt, pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, &stat) == 0 && proc_stat_is_executing(&stat) &&
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
	value = value_of(hunt, hunt->of->variable);
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

	if (hunt->of->n_uids == 0)
		return true;
	if (is_of_user(hunt, pid))
		return session <= 0 ||
		       map_put(&hunt->sessions, (uint64_t)session, 0) == 0;
	return session > 0 && map_get(&hunt->sessions, (uint64_t)session, &value);
}

/* True if the process still exists.  While a process ends /proc shows nothing else of it.
 */
static bool
is_there(const struct leftover *left)
{
	struct proc_stat line;

	return proc_stat_read(left->pid, &line) == 0 && line.start == left->start &&
	       !proc_stat_is_dead(&line);
}

/* Remember what is about to be killed; false: it is gone, or there is no memory. */
static bool
put_down(struct hunt *hunt, pid_t pid)
{
	const char *path = value_of(hunt, "SUPD_PATH=");
	struct leftover *left;
	pid_t parent;

	if (hunt->n_killed == hunt->cap) {
		const size_t cap = hunt->cap == 0 ? 16 : 2 * hunt->cap;

		left = reallocarray(hunt->killed, cap, sizeof(*left));
		if (left == NULL)
			return false;
		hunt->killed = left;
		hunt->cap = cap;
	}
	left = &hunt->killed[hunt->n_killed];
	*left = (struct leftover){.pid = pid};
	if (proc_look(pid, &parent, &left->start) < 0 ||
	    proc_uid_read(pid, &left->uid) < 0 ||
	    map_put(&hunt->by_pid, (uint64_t)pid, (uint32_t)hunt->n_killed) < 0)
		return false;
	(void)snprintf(left->path, sizeof(left->path), "%s", path == NULL ? "" : path);
	return true;
}

/* Kill it, once; its pid is looked at again when it is held. */
static void
kill_one(struct hunt *hunt, pid_t pid)
{
	uint32_t place;
	int fd;

	if (map_get(&hunt->by_pid, (uint64_t)pid, &place) &&
	    is_there(&hunt->killed[place]))
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0 && is_marked(hunt, pid) && put_down(hunt, pid)) {
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		hunt->n_killed++;
	}
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

/* One look at all processes; 0 or -errno. */
static int
look(struct hunt *hunt)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	const pid_t own = getpid();

	if (proc == NULL)
		return -errno;
	hunt->n_theirs = hunt->n_unsure = 0;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == own)
			continue;
		if (!is_marked(hunt, pid) || !is_in_our_namespace(pid) ||
		    !is_theirs(hunt, pid))
			continue;
		hunt->n_theirs++;
		if (hunt->walker == 0)
			kill_one(hunt, pid);
		else if (hunt->owner == 0)
			hunt->owner = find_owner(hunt);
	}
	(void)closedir(proc);
	return 0;
}

static void
beat(const struct leftover_hunt *of)
{
	if (of->beat != NULL)
		of->beat(of->arg);
}

static int
begin(struct hunt *hunt, const struct leftover_hunt *of)
{
	*hunt = (struct hunt){.of = of, .environment = malloc(ENVIRON_MAX)};
	if (hunt->environment == NULL)
		return -ENOMEM;
	map_init(&hunt->by_pid);
	map_init(&hunt->sessions);
	return 0;
}

static void
end(struct hunt *hunt)
{
	map_done(&hunt->by_pid);
	map_done(&hunt->sessions);
	free(hunt->environment);
}

/*
 * Before leftover_kill() of the same: is there a walker, other than ours, that lives and
 * has started any of these processes?  Returns its pid; 0: there is none, or no memory.
 * *ret_none: there are no processes of theirs, so that none need be killed.
 */
pid_t
leftover_owner(const struct leftover_hunt *of, pid_t walker, bool *ret_none)
{
	struct hunt hunt;

	*ret_none = false;
	if (begin(&hunt, of) < 0)
		return 0;
	hunt.walker = walker;
	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms += LOOK_AGAIN_MS) {
		if (look(&hunt) < 0 || hunt.owner != 0)
			break;
		*ret_none = hunt.n_theirs == 0 && hunt.n_unsure == 0;
		if (hunt.n_unsure == 0)
			break;
		beat(of);
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	}
	end(&hunt);
	return hunt.owner;
}

/* How many of those that were killed are there still; wait a moment if any is. */
static size_t
count_left(const struct hunt *hunt)
{
	size_t n = 0;

	for (size_t i = 0; i < hunt->n_killed; i++)
		n += is_there(&hunt->killed[i]);
	return n;
}

/* Wait until none is left, or it is time to look at all processes again. */
static void
wait_a_moment(const struct hunt *hunt, uint64_t end_ms)
{
	for (int i = 0; i < LOOKS && clock_mono_ms() < end_ms; i++) {
		beat(hunt->of);
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
		if (hunt->n_unsure > 0 || count_left(hunt) == 0)
			return;
	}
}

/* Keep the killed processes that still exist in the list. */
static void
take_left(struct hunt *hunt, struct leftovers *ret)
{
	*ret = (struct leftovers){.n_killed = hunt->n_killed, .left = hunt->killed};
	for (size_t i = 0; i < hunt->n_killed; i++) {
		if (!is_there(&hunt->killed[i]))
			continue;
		ret->n_left++;
		if (ret->n < LEFTOVERS_MAX)
			ret->left[ret->n++] = hunt->killed[i];
	}
}

/*
 * Kill every process of an actor that was started with this variable
 * ("SUPD_SOCKET=/run/supd/control.sock"), and its new children: all at once, and with a
 * single wait of three seconds at most.  To be called by the holder of the lock of that
 * supd's directory, as these processes have no supervisor. `uids`: processes of these
 * users only; none: of any user, where the variable is a secret.
 *
 * Returns 0, also when some are left, which cannot be killed; or -errno.
 */
int
leftover_kill(const struct leftover_hunt *of, struct leftovers *ret)
{
	const uint64_t end_ms = clock_mono_ms() + DEATH_TIMEOUT_MS;
	struct hunt hunt;
	size_t before;
	int r;

	*ret = (struct leftovers){0};
	if (begin(&hunt, of) < 0)
		return -ENOMEM;
	do {
		beat(of);
		before = hunt.n_killed;
		r = look(&hunt);
		if (r < 0 || (hunt.n_killed == before && hunt.n_unsure == 0 &&
		              count_left(&hunt) == 0))
			break;
		wait_a_moment(&hunt, end_ms);
	} while (clock_mono_ms() < end_ms);
	take_left(&hunt, ret);
	end(&hunt);
	return r;
}

/* Put one more into a list; false without memory. */
bool
leftovers_add(struct leftovers *list, const struct leftover *left)
{
	struct leftover *all = reallocarray(list->left, list->n + 1, sizeof(*list->left));

	if (all == NULL)
		return false;
	list->left = all;
	all[list->n++] = *left;
	return true;
}

/* Take an existing leftover of this actor out of a list; false: none. */
bool
leftovers_take(struct leftovers *list, const char *path, struct leftover *ret)
{
	size_t i = 0;

	while (i < list->n) {
		if (strncmp(list->left[i].path, path, LEFTOVER_PATH_MAX - 1) != 0) {
			i++;
			continue;
		}
		*ret = list->left[i];
		list->left[i] = list->left[--list->n];
		if (is_there(ret))
			return true;
	}
	return false;
}

/* Give back the list; nothing is in it then. */
void
leftovers_done(struct leftovers *found)
{
	free(found->left);
	*found = (struct leftovers){0};
}

/*
 * Kill all descendants of a walker but us: the actors, whatever their environment.
 * Processes of the walker's own session were there before supd.  Waits for their end.
 *
 * Returns 0; -EBUSY when a process would not die; or another -errno.
 */
int
leftover_kill_below(const struct leftover_hunt *of, pid_t walker, const pid_t *left,
                    size_t n_left, size_t *ret_killed)
{
	const uint64_t end_ms = clock_mono_ms() + DEATH_TIMEOUT_MS;
	struct proc_sweep *sweep = proc_sweep_new(walker);
	const pid_t session = getsid(walker);
	struct map nobody;
	int count, r;

	*ret_killed = 0;
	if (sweep == NULL)
		return -ENOMEM;
	map_init(&nobody);
	proc_sweep_include_left(sweep, left, n_left);
	do {
		beat(of);
		r = proc_sweep_take(sweep, &nobody);
		count = proc_sweep_kill(sweep, session);
		if ((size_t)count > *ret_killed)
			*ret_killed = (size_t)count;
		if (r < 0 || (count == 0 && !proc_sweep_has(sweep, -1, "")))
			break;
		r = -EBUSY;
		(void)poll(NULL, 0, 1);
	} while (clock_mono_ms() < end_ms);
	proc_sweep_free(sweep);
	return r;
}
