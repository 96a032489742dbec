/* SPDX-License-Identifier: ISC */
/* remove.c - remove a directory with all that is in it, a little at a time. */
#include "config.h"

#include "os/self/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/self/fd.h"

/* What is in the midst of being removed. */
struct removal {
	int top_fd;
	unsigned int budget;
	unsigned int hoisted; /* names given to directories that were moved up */
	int error;            /* of the last thing that could not be removed */
	bool progress;
};

static DIR *
open_dir(int dir_fd, const char *name)
{
	int fd = fd_open_directory(dir_fd, name);

	/* The owner, if not root, may have removed the owner's own rights. */
	if (fd < 0 && errno == EACCES && geteuid() != 0 &&
	    fchmodat(dir_fd, name, 0700, 0) == 0)
		fd = fd_open_directory(dir_fd, name);
	if (fd < 0)
		return NULL;
	if (geteuid() != 0)
		(void)fchmod(fd, 0700);
	DIR *dir = fdopendir(fd);
	if (dir == NULL)
		(void)close(fd);
	return dir;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Remove one entry if that can be done at once; false: a directory that is not empty, or
 * something that stays (error). */
static bool
remove_entry(struct removal *removal, int dir_fd, const char *name)
{
	removal->budget--;
	if (unlinkat(dir_fd, name, 0) == 0 || unlinkat(dir_fd, name, AT_REMOVEDIR) == 0) {
		removal->progress = true;
		return true;
	}
	if (errno != ENOTEMPTY && errno != EEXIST)
		removal->error = errno;
	return false;
}

/* Move a directory up to the top, under a unique name. */
static void
hoist(struct removal *removal, int dir_fd, const char *name)
{
	char up[32];
	int r;

	do {
		(void)snprintf(up, sizeof(up), ".supd-%u", removal->hoisted++);
		r = renameat2(dir_fd, name, removal->top_fd, up, RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST);
	if (r == 0)
		removal->progress = true;
	else
		removal->error = errno;
}

/* Empty a directory below the top; what is deeper comes up to the top first. */
static void
flatten(struct removal *removal, const char *name)
{
	DIR *dir = open_dir(removal->top_fd, name);
	const struct dirent *entry;

	if (dir == NULL) {
		removal->error = errno;
		return;
	}
	while (removal->budget > 0 && (entry = readdir(dir)) != NULL) {
		if (!is_dots(entry->d_name) &&
		    !remove_entry(removal, dirfd(dir), entry->d_name))
			hoist(removal, dirfd(dir), entry->d_name);
	}
	(void)closedir(dir);
	if (unlinkat(removal->top_fd, name, AT_REMOVEDIR) == 0)
		removal->progress = true;
}

int
os_remove_some(int dir_fd, const char *name, unsigned int budget)
{
	struct removal removal = {.budget = budget};
	const struct dirent *entry;

	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTDIR)
		return unlinkat(dir_fd, name, 0) == 0 ? 0 : -errno;
	DIR *dir = open_dir(dir_fd, name);
	if (dir == NULL)
		return errno == ENOENT ? 0 : -errno;
	removal.top_fd = dirfd(dir);
	while (removal.budget > 0 && (entry = readdir(dir)) != NULL)
		if (!is_dots(entry->d_name) &&
		    !remove_entry(&removal, removal.top_fd, entry->d_name))
			flatten(&removal, entry->d_name);
	(void)closedir(dir);
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (removal.progress)
		return 1;
	return removal.error != 0 ? -removal.error : -errno;
}
