/* SPDX-License-Identifier: ISC */
/* cgroup.c - supd's place in the cgroup v2 tree. */
#include "config.h"

#include "os/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bounds.h"
#include "base/cleanup.h"
#include "os/cgroup/cgroup_tree.h"
#include "os/self/fd.h"

/* Where supd itself lives. */
#define LEAF "/supd"
/* Where its actors do. */
#define ACTORS     "/actors"
#define ACTORS_LEN strlen(ACTORS)

/* The leaves with limits, relative to that directory. */
#define LIMITED "../limited"

enum { CREATE_TRIES = 20, DEATH_TRIES = 2000 };

/* No cgroup: what cgroup_root_close() leaves. */
void
cgroup_root_init(struct cgroup_root *root)
{
	*root = (struct cgroup_root){.fd = -1, .watch_fd = -1};
}

/* Cut the leaf that cgroup_enter() moved us to: "actors" is beside it. */
static void
step_out(struct cgroup_root *root)
{
	char actors[CGROUP_PATH_MAX + 32];
	size_t path_len = strlen(root->path), name_len = strlen(root->name);
	const size_t len = strlen(LEAF);

	if (path_len <= len || strcmp(root->path + path_len - len, LEAF) != 0 ||
	    name_len < len || strcmp(root->name + name_len - len, LEAF) != 0)
		return;
	path_len -= len;
	(void)snprintf(actors, sizeof(actors), "%.*s/actors", (int)path_len, root->path);
	if (access(actors, F_OK) < 0)
		return;
	root->is_inner = true;
	root->path[path_len] = '\0';
	root->name[name_len == len ? 1 : name_len - len] = '\0';
}

static int
find_own(struct cgroup_root *root, struct err *err)
{
	CLEANUP_FILE FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FILE FILE *self = fopen("/proc/self/cgroup", "re");
	struct statfs fs;
	int r = -ENOENT;

	if (mountinfo != NULL && self != NULL)
		r = cgroup_locate(mountinfo, self, root->path, root->name);
	if (r < 0)
		return err_say(err, r, "supd's own cgroup v2 directory cannot be found");
	if (statfs(root->path, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_say(err, -ENOENT, "%s is not a cgroup v2 directory",
		               root->path);
	step_out(root);
	return 0;
}

/*
 * May we make directories here and put processes below?  Delegation to a user is being
 * the owner of both (systemd's Delegate=); root may anywhere, unless it is read-only.
 */
static int
check_writable(const char *path, struct err *err)
{
	char procs[CGROUP_PATH_MAX + 32];

	(void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 &&
	    faccessat(AT_FDCWD, procs, W_OK, AT_EACCESS) == 0)
		return 0;
	return err_set(err, errno, "cgroup %s is not delegated to us", path);
}

/* True if this cgroup holds this process alone; the root of the hierarchy never does. */
static bool
is_alone(const char *path)
{
	char buf[64], mine[32];

	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(mine, sizeof(mine), "%d\n", getpid());
	return fd >= 0 && cgroup_read(fd, "cgroup.procs", buf, sizeof(buf)) > 0 &&
	       strcmp(buf, mine) == 0;
}

/* Make and lock path/actors.  -EWOULDBLOCK: another supd lives there.  No other user may
 * open it, or they could lock it. */
static int
open_actors(struct cgroup_root *root)
{
	char actors[CGROUP_PATH_MAX + 32], type[32];

	(void)snprintf(actors, sizeof(actors), "%s/actors", root->path);
	if (mkdir(actors, 0711) < 0 && errno != EEXIST)
		return -errno;
	int fd = fd_raise(open(actors, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return -errno;
	/* One of before. */
	(void)fchmod(fd, 0711);
	int r = flock(fd, LOCK_EX | LOCK_NB) < 0
	            ? -errno
	            : cgroup_read(fd, "cgroup.type", type, sizeof(type));
	/* Below a threaded cgroup no whole process can live. */
	if (r >= 0 && strcmp(type, "domain\n") != 0)
		r = -EOPNOTSUPP;
	if (r < 0) {
		(void)close(fd);
		if (r != -EWOULDBLOCK)
			(void)rmdir(actors);
		return r;
	}
	root->fd = fd;
	return 0;
}

/* In a child that has none of our descriptors: open the directory of actors, unlocked. */
void
cgroup_root_reopen(struct cgroup_root *root)
{
	char actors[CGROUP_PATH_MAX + 32];

	(void)snprintf(actors, sizeof(actors), "%s/actors", root->path);
	root->fd = open(actors, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* True if this is the name of a directory of a supd that has died.  One that has just
 * been made is not locked yet: so its pid decides first. */
static bool
is_stale(const char *name)
{
	char *end;

	if (strncmp(name, "supd-", 5) != 0 || name[5] < '1' || name[5] > '9')
		return false;
	long pid = strtol(name + 5, &end, 10);
	return *end == '\0' && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Remove the directories "supd-PID" of dead supds; a leaf with a living process stays.
 */
static void
remove_stale(const char *own)
{
	CLEANUP_DIR DIR *dir = opendir(own);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		char path[CGROUP_PATH_MAX + 2 * CGROUP_LEAF_MAX];

		if (!is_stale(entry->d_name))
			continue;
		size_t len = (size_t)snprintf(path, sizeof(path), "%s/%s/actors", own,
		                              entry->d_name);
		CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			continue;
		path[len - strlen("/actors")] = '\0';
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)cgroup_tree_remove(path);
	}
}

/* A directory of our own below `own`, where others live too. */
static int
create_below(struct cgroup_root *root)
{
	const size_t path_len = strlen(root->path);
	const size_t name_len = strcmp(root->name, "/") == 0 ? 0 : strlen(root->name);
	int r = -EEXIST;

	if (path_len + 64 > sizeof(root->path) || name_len + 64 > sizeof(root->name))
		return -ENAMETOOLONG;
	remove_stale(root->path);
	/* In another pid namespace another supd may have the same pid; and a supd that
	 * cleans up may remove the new directory before we have locked it. */
	for (int i = 0; r < 0 && i < CREATE_TRIES; i++) {
		char leaf[48];

		(void)snprintf(leaf, sizeof(leaf), i == 0 ? "/supd-%d" : "/supd-%d-%d",
		               getpid(), i);
		memcpy(root->path + path_len, leaf, strlen(leaf) + 1);
		memcpy(root->name + name_len, leaf, strlen(leaf) + 1);
		if (mkdir(root->path, 0755) < 0) {
			r = -errno;
			if (r != -EEXIST)
				break;
			continue;
		}
		r = open_actors(root);
		if (r < 0)
			(void)rmdir(root->path);
		if (r == -EOPNOTSUPP)
			break;
	}
	root->is_created = r == 0;
	return r;
}

/* Kill what lives in a leaf, and wait for its end. */
static void
kill_leftover(struct cgroup_root *root, const char *leaf)
{
	for (int i = 0; i < DEATH_TRIES; i++) {
		if (cgroup_leaf_populated(root, leaf, -1) <= 0)
			break;
		(void)cgroup_leaf_kill(root, leaf);
		(void)nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
	}
	(void)cgroup_leaf_remove(root, leaf);
}

/* Those of a dead supd in one of the directories that are ours now: "." or LIMITED. */
static void
kill_leftovers(struct cgroup_root *root, const char *below)
{
	CLEANUP_DIR DIR *dir =
	    fdopendir(openat(root->fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char leaf[CGROUP_LEAF_MAX];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		(void)snprintf(leaf, sizeof(leaf), "%s/%s", below, entry->d_name);
		kill_leftover(root, below[1] == '\0' ? entry->d_name : leaf);
	}
}

/* Our cgroup becomes an inner one, which must hold no process to get controllers. */
static void
move_into_leaf(struct cgroup_root *root)
{
	char path[CGROUP_PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s" LEAF, root->path);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Staying outside matters only for actors with controllers. */
	root->is_moved = cgroup_write(fd, "cgroup.procs", "0") == 0;
}

static void
move_out_of_leaf(const char *path)
{
	char leaf[CGROUP_PATH_MAX + 32];
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		(void)cgroup_write(fd, "cgroup.procs", "0");
	(void)snprintf(leaf, sizeof(leaf), "%s" LEAF, path);
	(void)rmdir(leaf);
}

/*
 * Move this process, and so all its future children, into the leaf for supd itself, where
 * our cgroup is delegated and no other process lives in it: cgroup_root_open() of a child
 * then finds the directory that we came from.  Returns 0 and that directory, for
 * cgroup_leave(); or -errno, and nothing has changed.
 */
int
cgroup_enter(char ret_path[CGROUP_PATH_MAX])
{
	struct cgroup_root root;

	cgroup_root_init(&root);
	int r = find_own(&root, NULL);
	if (r < 0)
		return r;
	r = check_writable(root.path, NULL);
	if (r < 0)
		return r;
	if (root.is_inner || !is_alone(root.path))
		return -EBUSY;
	r = open_actors(&root);
	if (r < 0)
		return r;
	move_into_leaf(&root);
	fd_close(&root.fd);
	if (!root.is_moved) {
		cgroup_leave(root.path);
		return -EPERM;
	}
	memcpy(ret_path, root.path, sizeof(root.path));
	return 0;
}

/* Back to where cgroup_enter() was called, and remove what it made unless it is used. */
void
cgroup_leave(const char *path)
{
	char actors[CGROUP_PATH_MAX + 32];

	cgroup_root_unlimit(path);
	move_out_of_leaf(path);
	(void)snprintf(actors, sizeof(actors), "%s/actors", path);
	(void)rmdir(actors);
}

/*
 * Take possession of a directory for the cgroups of actors, removing or killing what a
 * dead supd left in it.  May wait for the end of leftovers, two seconds each at most:
 * for start-up only.
 *
 * Returns 0, or -errno with a sentence that says why cgroups cannot be used here; then
 * root is as after cgroup_root_init().
 */
int
cgroup_root_open(struct cgroup_root *root, struct err *err)
{
	cgroup_root_init(root);
	int r = find_own(root, err);
	if (r < 0)
		goto fail;
	r = check_writable(root->path, err);
	if (r < 0)
		goto fail;
	r = -EWOULDBLOCK;
	if (root->is_inner || is_alone(root->path))
		r = open_actors(root);
	if (r == -EWOULDBLOCK)
		r = create_below(root);
	if (r == 0) {
		root->watch_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
		r = root->watch_fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		err_set(err, -r, "make cgroup %s", root->path);
		goto fail;
	}
	if (!root->is_created) {
		kill_leftovers(root, ".");
		kill_leftovers(root, LIMITED);
		if (!root->is_inner)
			move_into_leaf(root);
	}
	return 0;
fail:
	cgroup_root_close(root);
	return r;
}

/* Where the directory of actors that this descriptor is open on lies: root's path and
 * name, which are our own cgroup's so far. */
static int
follow(struct cgroup_root *root)
{
	char link[32], actors[CGROUP_PATH_MAX];
	const size_t own = strlen(root->path);
	const size_t name_len = strcmp(root->name, "/") == 0 ? 0 : strlen(root->name);

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root->fd);
	ssize_t len = readlink(link, actors, sizeof(actors) - 1);
	if (len < 0)
		return -errno;
	actors[len] = '\0';
	if (strncmp(actors, root->path, own) != 0 || (size_t)len < own + ACTORS_LEN ||
	    strcmp(actors + len - ACTORS_LEN, ACTORS) != 0 ||
	    name_len + (size_t)len - own >= sizeof(root->name))
		return -EXDEV;
	actors[(size_t)len - ACTORS_LEN] = '\0';
	root->is_created = actors[own] != '\0';
	memcpy(root->name + name_len, actors + own, strlen(actors + own) + 1);
	memcpy(root->path, actors, strlen(actors) + 1);
	return 0;
}

/*
 * Go on with the directory that a supd before us had, by a copy of its descriptor: all
 * stays as it is.  Returns 0, or -errno with a sentence; then root is as after
 * cgroup_root_init().
 */
int
cgroup_root_adopt(struct cgroup_root *root, int take_fd, struct err *err)
{
	cgroup_root_init(root);
	int r = find_own(root, err);
	root->fd = take_fd;
	if (r == 0) {
		r = follow(root);
		root->watch_fd = fd_raise(epoll_create1(EPOLL_CLOEXEC));
		if (r == 0 && root->watch_fd < 0)
			r = -errno;
		if (r < 0)
			err_set(err, -r, "take over the cgroups in %s", root->path);
	}
	if (r < 0) {
		fd_close(&root->fd);
		fd_close(&root->watch_fd);
		cgroup_root_init(root);
		return r;
	}
	if (faccessat(root->fd, LIMITED, F_OK, 0) == 0)
		(void)cgroup_root_limit(root);
	return 0;
}

/*
 * Leave the directory as it was found.  Leaves with living processes stay; so does the
 * directory while another process of supd holds its lock.
 */
void
cgroup_root_close(struct cgroup_root *root)
{
	char path[CGROUP_PATH_MAX + 32];

	if (root->fd >= 0)
		cgroup_root_unlimit(root->path);
	if (root->is_moved)
		move_out_of_leaf(root->path);
	if (root->fd >= 0) {
		(void)snprintf(path, sizeof(path), "%s/actors", root->path);
		(void)cgroup_tree_remove(path);
		if (root->is_created)
			(void)rmdir(root->path);
		/* The next supd finds the place by this directory; cgroup_leave() removes
		 * it. */
		if (root->is_inner)
			(void)mkdir(path, 0755);
	}
	fd_close(&root->fd);
	fd_close(&root->watch_fd);
	cgroup_root_init(root);
}

/*
 * The tokens of watched leaves that changed since the last call; up to max, without
 * waiting.  To be called when watch_fd is readable.  Returns how many, or -errno.
 */
int
cgroup_root_next(struct cgroup_root *root, uint64_t *ret_tokens, size_t max)
{
	struct epoll_event events[64];

	int n =
	    epoll_wait(root->watch_fd, events, (int)SMALLER(max, ARRAY_SIZE(events)), 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++)
		ret_tokens[i] = events[i].data.u64;
	return n;
}
