/* SPDX-License-Identifier: ISC */
/* cgroup_tree.c - control files, and whole subtrees of cgroups. */
#include "config.h"

#include "os/cgroup/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/self/fd.h"

/*
 * Read the beginning of a control file, NUL-terminated.  Returns its length, cut to what
 * fits, or -errno.
 */
int
cgroup_read(int directory, const char *file, char *ret, size_t size)
{
	CLEANUP(fd_close) int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, ret, size - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return (int)n;
}

/* Write a control file.  Returns 0 or -errno. */
int
cgroup_write(int directory, const char *file, const char *text)
{
	CLEANUP(fd_close) int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/*
 * The walk over a tree of directories: one open directory for each level, so that nothing
 * is allocated but these.  Deeper than that no cgroup of ours is.
 */
#define DEPTH_MAX 32

struct walk {
	DIR *dirs[DEPTH_MAX];
	char names[DEPTH_MAX][NAME_MAX + 1]; /* as the level above has it */
	size_t n;
};

/* Go down into a directory; 0 or -errno. */
static int
walk_down(struct walk *walk, int at, const char *name)
{
	if (walk->n == DEPTH_MAX)
		return -ELOOP;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	walk->dirs[walk->n] = fdopendir(fd);
	if (walk->dirs[walk->n] == NULL) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	(void)snprintf(walk->names[walk->n], sizeof(walk->names[0]), "%s", name);
	walk->n++;
	return 0;
}

static void
walk_up(struct walk *walk)
{
	(void)closedir(walk->dirs[--walk->n]);
}

/* The next directory in the one that the walk is in, or NULL. */
static const char *
next_below(struct walk *walk)
{
	const struct dirent *entry;

	while ((entry = readdir(walk->dirs[walk->n - 1])) != NULL)
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	return NULL;
}

/* The visitor of each directory: before the directories below, and after them. */
struct visit {
	int (*on_enter)(int directory, void *arg);
	int (*on_leave)(int above, const char *name, void *arg);
	void *arg;
};

/* Visit one directory, and go on below or above; r is what came of it, the first that is
 * not 0 ends the walk. */
static int
walk_on(struct walk *walk, const struct visit *visit)
{
	const char *below = next_below(walk);
	int r = 0;

	if (below != NULL) {
		r = walk_down(walk, dirfd(walk->dirs[walk->n - 1]), below);
		/* It went meanwhile. */
		if (r == -ENOENT)
			return 0;
		if (r == 0 && visit->on_enter != NULL)
			r = visit->on_enter(dirfd(walk->dirs[walk->n - 1]), visit->arg);
		return r;
	}
	walk_up(walk);
	if (visit->on_leave != NULL)
		r = visit->on_leave(walk->n > 0 ? dirfd(walk->dirs[walk->n - 1])
		                                : AT_FDCWD,
		                    walk->names[walk->n], visit->arg);
	return r;
}

/* Visit a directory and all below it; 0 also if it is not there, else what a visit
 * returned, or -errno. */
static int
walk_tree(int directory, const char *path, const struct visit *visit)
{
	struct walk walk;

	walk.n = 0;
	int r = walk_down(&walk, directory, path);
	if (walk.n == 0)
		return r == -ENOENT ? 0 : r;
	if (visit->on_enter != NULL)
		r = visit->on_enter(dirfd(walk.dirs[0]), visit->arg);
	while (r == 0 && walk.n > 0)
		r = walk_on(&walk, visit);
	while (walk.n > 0)
		walk_up(&walk);
	return r;
}

/* What cannot be removed is noted; the others go all the same. */
static int
remove_one(int above, const char *name, void *arg)
{
	int *failed = arg;

	/* The top one has a path, which is not kept: it is the caller's. */
	if (above != AT_FDCWD && unlinkat(above, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		*failed = -errno;
	return 0;
}

/*
 * Remove a cgroup and all cgroups below, which must be empty of processes.  Returns 0,
 * also when the cgroup does not exist; -EBUSY if a process lives in it (then the empty
 * parts are gone); or -errno.
 */
int
cgroup_tree_remove(const char *path)
{
	int failed = 0;
	int r = walk_tree(AT_FDCWD, path,
	                  &(const struct visit){.on_leave = remove_one, .arg = &failed});

	if (rmdir(path) < 0 && errno != ENOENT)
		failed = -errno;
	return r < 0 ? r : failed;
}

struct each {
	int (*on_pid)(pid_t pid, void *arg);
	void *arg;
};

/* The most bytes that a line has.  The kernel fills the buffer with as many whole lines
 * as it holds, so that a read that leaves room for another line was the last. */
#define LINE_BYTES 16

static int
each_of(int directory, const char *file, const struct each *each)
{
	CLEANUP(fd_close) int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t n = sizeof(text);
	pid_t pid = 0;
	int r = 0;

	if (fd < 0)
		return errno == ENOENT || errno == EOPNOTSUPP ? 0 : -errno;
	while (r == 0 && n > (ssize_t)sizeof(text) - LINE_BYTES) {
		n = read(fd, text, sizeof(text));
		for (ssize_t i = 0; r == 0 && i < n; i++) {
			if (text[i] != '\n') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			r = each->on_pid(pid, each->arg);
			pid = 0;
		}
	}
	return r;
}

static int
each_in(int directory, void *arg)
{
	return each_of(directory, "cgroup.procs", arg);
}

/* As each_in(), for a cgroup without a cgroup below, which its number of links tells.
 * False: there are cgroups below, or the number cannot be read. */
static bool
each_in_leaf(int directory, const char *path, const struct each *each, int *ret)
{
	char file[PATH_MAX];
	struct stat status;

	if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    status.st_nlink != 2 ||
	    (size_t)snprintf(file, sizeof(file), "%s/cgroup.procs", path) >= sizeof(file))
		return false;
	*ret = each_of(directory, file, each);
	return true;
}

/*
 * Call on_pid for each process in a cgroup, a path below this directory or AT_FDCWD, and
 * in all below it, until it returns other than 0.  Processes come and go meanwhile.
 * Returns what it returned, or -errno.
 */
int
cgroup_tree_each(int directory, const char *path, int (*on_pid)(pid_t pid, void *arg),
                 void *arg)
{
	struct each each = {.on_pid = on_pid, .arg = arg};
	int r;

	return each_in_leaf(directory, path, &each, &r)
	           ? r
	           : walk_tree(directory, path,
	                       &(const struct visit){.on_enter = each_in, .arg = &each});
}
