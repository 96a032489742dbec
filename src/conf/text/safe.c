/* SPDX-License-Identifier: ISC */
/* safe.c - the users that may change a file that root trusts. */
#include "config.h"

#include "conf/text/safe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
is_owner(const struct stat *stat, uid_t trusted)
{
	return stat->st_uid == 0 || stat->st_uid == trusted;
}

/* Of a file, or of a directory in which `below` is. */
static enum safety
look_at(const struct stat *stat, const struct stat *below, uid_t trusted)
{
	const bool is_kept =
	    below != NULL && (stat->st_mode & S_ISVTX) != 0 && is_owner(below, trusted);

	if ((stat->st_mode & S_IWOTH) != 0 && !is_kept)
		return UNSAFE;
	if ((stat->st_mode & S_IWGRP) != 0 && !is_kept)
		return SAFE_BUT_FOR_GROUP;
	return is_owner(stat, trusted) ? SAFE : SAFE_BUT_FOR_OWNER;
}

/*
 * How safe the file is from all users but root and the trusted user: the worst member of
 * the resolved path, and its place.  A path that cannot be examined counts as safe, as
 * another message reports the failure.
 */
enum safety
safety_of(const char *path, uid_t trusted, struct safety_report *ret)
{
	char at[PATH_MAX];
	struct stat below;
	struct stat now;
	const struct stat *inner = NULL;

	ret->safety = SAFE;
	if (realpath(path, at) == NULL)
		return SAFE;
	while (lstat(at, &now) == 0) {
		const enum safety safety = look_at(&now, inner, trusted);
		char *slash = strrchr(at, '/');

		if (safety > ret->safety) {
			ret->safety = safety;
			ret->stat = now;
			(void)snprintf(ret->path, sizeof(ret->path), "%s", at);
		}
		if (slash == NULL || at[1] == '\0')
			break;
		slash[slash == at ? 1 : 0] = '\0';
		below = now;
		inner = &below;
	}
	return ret->safety;
}

/* The same of an open file alone, not of the way to it. */
void
safety_of_file(const char *path, const struct stat *stat, uid_t trusted,
               struct safety_report *ret)
{
	ret->safety = look_at(stat, NULL, trusted);
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
		               "supd runs",
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
