/* SPDX-License-Identifier: ISC */
/* cgroup_leaf.c - one actor's cgroup: make, look into, signal, kill, remove. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sum.h"
#include "os/cgroup/cgroup.h"
#include "os/cgroup/cgroup_tree.h"
#include "os/self/fd.h"

/* The way from the directory of actors to that of those with limits. */
#define LIMITED     "../limited/"
#define LIMITED_LEN (sizeof(LIMITED) - 1)

enum { HASH_DIGITS = 16 };

#define LEAF_PATH_MAX (CGROUP_PATH_MAX + CGROUP_LEAF_MAX + 16)

struct leaf_file {
	char text[CGROUP_LEAF_MAX + 16];
};

static void
write_name(const char *path, char *ret)
{
	uint64_t hash = FNV_BEGIN;
	size_t len = 0;

	if (*path == '/')
		path++;
	for (; path[len] != '\0'; len++) {
		hash = fnv_add(hash, (unsigned char)path[len]);
		if (len < NAME_MAX)
			ret[len] = path[len] == '/' ? ':' : path[len];
	}
	ret[len < NAME_MAX ? len : NAME_MAX] = '\0';
	if (len > NAME_MAX)
		(void)snprintf(ret + NAME_MAX - HASH_DIGITS - 1, HASH_DIGITS + 2,
		               "~%016" PRIx64, hash);
}

/*
 * "/user/app/api" is "user:app:api": flat, since a directory named after an actor alone
 * could be called as a control file.  What is too long for a file is cut, and a hash of
 * all of it tells it from its likes (FNV-1a).
 */
void
cgroup_leaf_name(const char *path, char ret_leaf[CGROUP_LEAF_MAX])
{
	write_name(path, ret_leaf);
}

/* The same among those with limits. */
void
cgroup_leaf_name_limited(const char *path, char ret_leaf[CGROUP_LEAF_MAX])
{
	memcpy(ret_leaf, LIMITED, LIMITED_LEN);
	write_name(path, ret_leaf + LIMITED_LEN);
}
_Static_assert(LIMITED_LEN + NAME_MAX < CGROUP_LEAF_MAX, "room for the longest name");

/* The name of one of its files, below the directory of all actors. */
static struct leaf_file
file_of(const char *leaf, const char *file)
{
	struct leaf_file name;

	(void)snprintf(name.text, sizeof(name.text), "%s/%s", leaf, file);
	return name;
}

/* Make the leaf.  Returns 1; 0: the leaf exists already, whatever has happened to it; or
 * -errno. */
int
cgroup_leaf_make(const struct cgroup_root *root, const char *leaf)
{
	if (mkdirat(root->fd, leaf, 0755) == 0)
		return 1;
	return errno == EEXIST ? 0 : -errno;
}

/* The directory of the leaf, at or above FD_WINDOW and the caller's to close; -errno. */
int
cgroup_leaf_open(const struct cgroup_root *root, const char *leaf)
{
	int fd = openat(root->fd, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_raise(fd);
}

/* Remove the leaf.  Returns 0; -EBUSY while a process lives in the leaf; or -errno. */
int
cgroup_leaf_remove(const struct cgroup_root *root, const char *leaf)
{
	char path[LEAF_PATH_MAX];

	if (unlinkat(root->fd, leaf, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY)
		return -errno;
	/* Perhaps it has only cgroups that the actor made. */
	(void)snprintf(path, sizeof(path), "%s/actors/%s", root->path, leaf);
	return cgroup_tree_remove(path);
}

/*
 * Replace the leaf by a fresh leaf of the same name.  Returns 0, -EBUSY if a process
 * lives in the old leaf, or -errno.
 */
int
cgroup_leaf_renew(const struct cgroup_root *root, const char *leaf)
{
	int r = cgroup_leaf_remove(root, leaf);

	if (r == 0)
		r = cgroup_leaf_make(root, leaf);
	return r < 0 ? r : 0;
}

/*
 * Does a process live in the leaf or below?  Read through events_fd if that is not -1,
 * which re-arms a watch on the file.  Returns 1, 0, or -errno.  Zombies do not count.
 */
int
cgroup_leaf_populated(const struct cgroup_root *root, const char *leaf, int events_fd)
{
	char buf[128];
	int r;

	if (events_fd >= 0) {
		r = (int)pread(events_fd, buf, sizeof(buf) - 1, 0);
		if (r < 0)
			return errno == ENODEV ? 0 : -errno;
		buf[r] = '\0';
	} else {
		r = cgroup_read(root->fd, file_of(leaf, "cgroup.events").text, buf,
		                sizeof(buf));
		if (r < 0)
			return r == -ENODEV || r == -ENOENT ? 0 : r;
	}
	const char *at = strstr(buf, "populated ");
	return at != NULL && at[strlen("populated ")] == '1';
}

/* A descriptor of its cgroup.events, which the caller closes; or -errno. */
int
cgroup_leaf_events(const struct cgroup_root *root, const char *leaf)
{
	int fd =
	    openat(root->fd, file_of(leaf, "cgroup.events").text, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_raise(fd);
}

/*
 * Let root->watch_fd tell, with this token, when the leaf of cgroup_leaf_events()
 * changes: once for each change, about ten milliseconds late (the kernel holds them
 * back).  Ask cgroup_leaf_populated() after this, not before.  The watch ends with
 * EPOLL_CTL_DEL.  Returns 0 or -errno.
 */
int
cgroup_leaf_watch(struct cgroup_root *root, int events_fd, uint64_t token)
{
	return epoll_ctl(root->watch_fd, EPOLL_CTL_ADD, events_fd,
	                 &(struct epoll_event){.events = EPOLLPRI | EPOLLET,
	                                       .data.u64 = token}) < 0
	           ? -errno
	           : 0;
}

/* True if this process is in the leaf, or below. */
bool
cgroup_leaf_has(const struct cgroup_root *root, const char *leaf, pid_t pid)
{
	const bool is_limited = strncmp(leaf, LIMITED, LIMITED_LEN) == 0;
	char file[64], wanted[LEAF_PATH_MAX];
	CLEANUP_FREE char *line = NULL;
	size_t size = 0, len;
	bool has = false;

	(void)snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	len = (size_t)snprintf(wanted, sizeof(wanted), "0::%s/%s%s",
	                       (strcmp(root->name, "/") == 0 ? "" : root->name),
	                       is_limited ? "limited/" : "actors/",
	                       is_limited ? leaf + LIMITED_LEN : leaf);
	CLEANUP_FILE FILE *cgroups = fopen(file, "re");
	if (cgroups == NULL)
		return false;
	while (!has && getline(&line, &size, cgroups) > 0)
		has = strncmp(line, wanted, len) == 0 &&
		      (line[len] == '\n' || line[len] == '/' || line[len] == ' ');
	return has;
}

/* Call on_pid for each process in it, or below; returns as cgroup_tree_each(). */
int
cgroup_leaf_each(const struct cgroup_root *root, const char *leaf,
                 int (*on_pid)(pid_t pid, void *arg), void *arg)
{
	return cgroup_tree_each(root->fd, leaf, on_pid, arg);
}

/* Write a file of the leaf, such as "memory.max".  Returns 0 or -errno. */
int
cgroup_leaf_set(const struct cgroup_root *root, const char *leaf, const char *file,
                const char *text)
{
	return cgroup_write(root->fd, file_of(leaf, file).text, text);
}

/*
 * A number out of one of its files: all that is in it, or with a key the sum of what
 * stands behind "key " or "key=".  Returns 0 or -errno; -ENODATA: no number is there.
 */
int
cgroup_leaf_number(const struct cgroup_root *root, const char *leaf, const char *file,
                   const char *key, uint64_t *ret)
{
	char buf[4096];
	const size_t len = key == NULL ? 0 : strlen(key);
	uint64_t sum = 0;
	char *save, *end;
	bool found = false;

	int r = cgroup_read(root->fd, file_of(leaf, file).text, buf, sizeof(buf));

	if (r < 0)
		return r;
	for (char *word = strtok_r(buf, " \n", &save); word != NULL;
	     word = strtok_r(NULL, " \n", &save)) {
		const char *value = word;

		if (len > 0 && strncmp(word, key, len) != 0)
			continue;
		if (len > 0)
			value = word[len] == '='    ? word + len + 1
			        : word[len] == '\0' ? strtok_r(NULL, " \n", &save)
			                            : "";
		if (value != NULL && *value >= '0' && *value <= '9') {
			sum += strtoull(value, &end, 10);
			found = true;
		}
	}
	if (!found)
		return -ENODATA;
	*ret = sum;
	return 0;
}

struct signalling {
	const struct cgroup_root *root;
	const char *leaf;
	int signo, count, code;
};

static int
signal_one(pid_t pid, void *arg)
{
	struct signalling *s = arg;
	CLEANUP(fd_close) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno == ESRCH)
		return 0;
	/* The pidfd was opened first: if the pid is in the leaf now, the pidfd means that
	 * process. */
	if (cgroup_leaf_has(s->root, s->leaf, pid)) {
		int r = fd >= 0
		            ? (int)syscall(SYS_pidfd_send_signal, fd, s->signo, NULL, 0)
		            : kill(pid, s->signo);
		if (r == 0)
			s->count++;
		else if (errno != ESRCH)
			s->code = -errno;
	}
	return 0;
}

/*
 * Signal every process in it.  One that is forked meanwhile may be missed.  Returns how
 * many were signalled, or the last -errno when none could be.
 */
int
cgroup_leaf_signal(const struct cgroup_root *root, const char *leaf, int signo)
{
	struct signalling s = {.root = root, .leaf = leaf, .signo = signo};
	int r = cgroup_leaf_each(root, leaf, signal_one, &s);

	if (r < 0)
		return r;
	return s.count > 0 ? s.count : s.code;
}

/*
 * Let everything in it, and whatever is forked or moved into it, stand still or go on.
 * What is frozen can be killed, and hears of other signals when it goes on.  Returns 0,
 * also when the leaf is not there any more, or -errno.
 */
int
cgroup_leaf_freeze(const struct cgroup_root *root, const char *leaf, bool freeze)
{
	int r = cgroup_write(root->fd, file_of(leaf, "cgroup.freeze").text,
	                     freeze ? "1" : "0");

	return r == -ENODEV || r == -ENOENT ? 0 : r;
}

/*
 * Kill everything in it, however it forks.  The processes are dying when this returns;
 * ask until it is not populated.  Returns 0 or -errno.
 */
int
cgroup_leaf_kill(const struct cgroup_root *root, const char *leaf)
{
	int r = cgroup_write(root->fd, file_of(leaf, "cgroup.kill").text, "1");

	/* cgroup.kill passes over a process after the end of its first thread. */
	if (r == 0)
		r = cgroup_leaf_signal(root, leaf, SIGKILL);
	return r >= 0 || r == -ENODEV || r == -ENOENT ? 0 : r;
}
