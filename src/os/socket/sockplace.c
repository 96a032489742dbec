/* SPDX-License-Identifier: ISC */
/* sockplace.c - the directory of a socket's file, and the user that chooses it. */
#include "config.h"

#include "os/socket/sockplace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/names.h"
#include "os/self/drop.h"
#include "os/self/fd.h"
#include "os/self/fsuser.h"

/* The kernel follows no more of them, path_resolution(7). */
#define LINKS_MAX 40

struct approach {
	char way[PATH_MAX]; /* the path, cut behind the component that is looked at */
	int at;             /* the directory that was reached */
	uid_t uid;          /* as in struct sockplace */
	bool is_contested;
};

/* True for root, and for a user that our user namespace does not know: it may be the
 * machine's root. */
static bool
is_root(uid_t uid)
{
	return uid == 0 || (uid == DROP_UID && !fsuser_exists(uid));
}

/* True if no other user can give the name in this directory to another file. */
static bool
is_root_s_alone(int dir_fd, const char *name)
{
	struct stat dir, entry;

	if (dir_fd < 0 || fstat(dir_fd, &dir) < 0 || !is_root(dir.st_uid))
		return false;
	if ((dir.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return true;
	return (dir.st_mode & S_ISVTX) != 0 &&
	       fstatat(dir_fd, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_root(entry.st_uid);
}

/* May the walk go on through this entry of the directory?  0; -EPERM: it is a link, and
 * not only root could make it. */
static int
judge(struct approach *approach, const struct stat *dir, const struct stat *entry,
      struct err *err)
{
	/* With an ACL the bits of the group are what any of its users may have. */
	const bool is_open = (dir->st_mode & (S_IWGRP | S_IWOTH)) != 0;
	const bool is_sticky = (dir->st_mode & S_ISVTX) != 0;

	if (approach->uid == 0 && !is_root(dir->st_uid))
		approach->uid = dir->st_uid;
	else if (approach->uid == 0 && is_open && is_sticky && !is_root(entry->st_uid))
		approach->uid = entry->st_uid;
	if (is_open && !is_sticky)
		approach->is_contested = true;
	if (approach->uid == 0 && !approach->is_contested)
		return 0;
	if (!S_ISLNK(entry->st_mode)) {
		if (entry->st_uid != approach->uid)
			approach->is_contested = true;
		return 0;
	}
	return err_say(
	    err, -EPERM,
	    "%.300s is a link that others than root can change; write the path to "
	    "which it leads",
	    approach->way);
}

/* Have the target of the link `fd` in place of its name, which begins here. */
static int
put_target(struct approach *approach, int fd, size_t start, const char *rest)
{
	char target[PATH_MAX], way[PATH_MAX];
	const ssize_t n = readlinkat(fd, "", target, sizeof(target));

	if (n < 0)
		return -errno;
	int len =
	    snprintf(way, sizeof(way), "%.*s%.*s/%s", target[0] == '/' ? 0 : (int)start,
	             approach->way, (int)n, target, rest);
	if (len >= (int)sizeof(way))
		return -ENAMETOOLONG;
	memcpy(approach->way, way, (size_t)len + 1);
	return 1;
}

/* True if the file is in /proc, where links lead to objects without a path. */
static bool
is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Into the component of the path from start to end.  0; 1: it was a link, and there is
 * another path in approach->way, from the beginning; -errno. */
static int
enter(struct approach *approach, size_t start, size_t end, struct err *err)
{
	struct stat dir, entry;
	int next, r;

	approach->way[end] = '\0';
	next =
	    openat(approach->at, approach->way + start, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0 || fstat(approach->at, &dir) < 0 || fstat(next, &entry) < 0)
		r = -errno;
	else
		r = judge(approach, &dir, &entry, err);
	if (r == 0 && S_ISLNK(entry.st_mode) && is_in_proc(approach->at)) {
		fd_close(&next);
		next = openat(approach->at, approach->way + start, O_PATH | O_CLOEXEC);
		r = next < 0 ? -errno : 0;
	} else if (r == 0 && S_ISLNK(entry.st_mode)) {
		r = put_target(approach, next, start, approach->way + end + 1);
	}
	if (r == 0)
		approach->way[end] = '/';
	fd_close(&approach->at);
	approach->at = next;
	return r;
}

/* Walk to the directory of what the path names; as enter(). */
static int
follow(struct approach *approach, struct err *err)
{
	const char *slash = strrchr(approach->way, '/');
	const size_t last = slash == NULL ? 0 : (size_t)(slash - approach->way);
	size_t start = 0, end = 0;
	int r = 0;

	approach->uid = 0;
	approach->is_contested = false;
	fd_close(&approach->at);
	approach->at =
	    open(approach->way[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (approach->at < 0)
		return -errno;
	while (r == 0 && (start = end + strspn(approach->way + end, "/")) < last) {
		end = start + strcspn(approach->way + start, "/");
		r = enter(approach, start, end, err);
	}
	return r;
}

/*
 * Find the directory in which root is to have the file of a socket.  0; -EPERM with a
 * sentence: a link leads there that others than root can change; or another -errno, with
 * an empty sentence.
 */
int
sockplace_find(const char *path, struct sockplace *ret, struct err *err)
{
	const char *name = names_last(path);
	struct approach approach = {.at = -1};
	int r = -ENAMETOOLONG;

	*err = (struct err){0};
	if (snprintf(approach.way, sizeof(approach.way), "%s", path) <
	    (int)sizeof(approach.way))
		r = follow(&approach, err);
	for (int n = 0; r == 1; n++)
		r = n < LINKS_MAX ? follow(&approach, err) : -ELOOP;
	if (r < 0)
		fd_close(&approach.at);
	*ret = (struct sockplace){
	    .dir_fd = approach.at,
	    .name = name,
	    .is_contested = approach.is_contested,
	    .uid = approach.is_contested ? 0 : approach.uid,
	    .is_root_s_alone = approach.uid == 0 && !approach.is_contested &&
	                       is_root_s_alone(approach.at, name),
	};
	return r;
}
