/* SPDX-License-Identifier: ISC */
/* safe.c - the users that may change a file that root trusts. */
#include "config.h"

#include "conf/text/safe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel follows no more of them, path_resolution(7). */
#define LINKS_MAX 40

static bool
is_owner(const struct stat *stat, const struct trust *trust)
{
	return stat->st_uid == 0 || stat->st_uid == trust->uid;
}

/* Of a file, or of a directory in which `below` is. */
static enum safety
look_at(const struct stat *stat, const struct stat *below, const struct trust *trust)
{
	const bool is_kept =
	    below != NULL && (stat->st_mode & S_ISVTX) != 0 && is_owner(below, trust);

	if ((stat->st_mode & S_IWOTH) != 0 && !is_kept)
		return UNSAFE;
	if ((stat->st_mode & S_IWGRP) != 0 && !is_kept &&
	    !(stat->st_uid == trust->uid && stat->st_gid == trust->gid &&
	      trust->gid != TRUST_NO_GROUP))
		return SAFE_BUT_FOR_GROUP;
	return is_owner(stat, trust) ? SAFE : SAFE_BUT_FOR_OWNER;
}

/* Look at a resolved path and at each directory on the way to it; `below`: of what is in
 * it, or NULL.  Cuts the path. */
static void
look_up(char *at, const struct stat *below, const struct trust *trust,
        struct safety_report *ret)
{
	struct stat kept, now;

	while (lstat(at, &now) == 0) {
		const enum safety safety = look_at(&now, below, trust);
		char *slash = strrchr(at, '/');

		if (safety > ret->safety) {
			ret->safety = safety;
			ret->stat = now;
			(void)snprintf(ret->path, sizeof(ret->path), "%s", at);
		}
		if (slash == NULL || at[1] == '\0')
			break;
		slash[slash == at ? 1 : 0] = '\0';
		kept = now;
		below = &kept;
	}
}

/* The length of the first part of this path that is a link; 0: there is none. */
static size_t
first_link(const char *path, struct stat *ret)
{
	char part[PATH_MAX];
	size_t len = 0;

	while (path[len] != '\0') {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		(void)snprintf(part, sizeof(part), "%.*s", (int)len, path);
		if (lstat(part, ret) == 0 && S_ISLNK(ret->st_mode))
			return len;
	}
	return 0;
}

/*
 * Resolve the first link on this path, and look at the directory in which it is: a user
 * that replaces the link chooses the file.  false: there is no link.
 */
static bool
follow(char path[PATH_MAX], const struct trust *trust, struct safety_report *ret)
{
	struct stat stat;
	const size_t len = first_link(path, &stat);
	char directory[PATH_MAX], at[PATH_MAX], target[PATH_MAX], next[PATH_MAX];
	const char *slash = memrchr(path, '/', len);
	const int head = slash == NULL ? 0 : (int)(slash - path) + 1;

	if (len == 0)
		return false;
	(void)snprintf(directory, sizeof(directory), "%.*s", head, path);
	(void)snprintf(target, sizeof(target), "%.*s", (int)len, path);
	ssize_t n = readlink(target, next, sizeof(next) - 1);
	if (n < 0 || realpath(head == 0 ? "." : directory, at) == NULL)
		return false;
	next[n] = '\0';
	look_up(at, &stat, trust, ret);
	int total = snprintf(target, sizeof(target), "%s%s%s",
	                     next[0] == '/' ? "" : directory, next, path + len);
	if (total >= (int)sizeof(target))
		return false;
	memcpy(path, target, (size_t)total + 1);
	return true;
}

/*
 * How safe the file is from all users but root and the trusted user: the worst member of
 * the resolved path, or the worst directory with a link on the way, and its place.  A
 * path that cannot be examined counts as safe, as another message reports the failure.
 */
enum safety
safety_of(const char *path, const struct trust *trust, struct safety_report *ret)
{
	char at[PATH_MAX];

	ret->safety = SAFE;
	if (realpath(path, at) == NULL)
		return SAFE;
	look_up(at, NULL, trust, ret);
	if (snprintf(at, sizeof(at), "%s", path) < (int)sizeof(at))
		for (int n = 0; n < LINKS_MAX && follow(at, trust, ret); n++)
			;
	return ret->safety;
}

/* The same of an open file alone, not of the way to it. */
void
safety_of_file(const char *path, const struct stat *stat, const struct trust *trust,
               struct safety_report *ret)
{
	ret->safety = look_at(stat, NULL, trust);
	ret->stat = *stat;
	(void)snprintf(ret->path, sizeof(ret->path), "%s", path);
}

/* The sentence for a report that is not SAFE; what to do is in it. */
const char *
safety_format(const struct safety_report *report, char *buf, size_t size)
{
	const char *kind = S_ISDIR(report->stat.st_mode) ? "directory" : "file";
	const unsigned int mode = (unsigned int)(report->stat.st_mode & 07777);

	if (report->safety == SAFE_BUT_FOR_OWNER)
		(void)snprintf(buf, size,
		               "the %s %.300s belongs to user %u, who can change what "
		               "supd runs; try chown root",
		               kind, report->path, (unsigned int)report->stat.st_uid);
	else
		(void)snprintf(buf, size,
		               "%s can write to the %s %.300s (mode %04o), and so change "
		               "what supd runs; try chmod %s",
		               report->safety == UNSAFE ? "everybody" : "its group", kind,
		               report->path, mode,
		               report->safety == UNSAFE ? "o-w" : "g-w");
	return buf;
}
