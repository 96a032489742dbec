/* SPDX-License-Identifier: ISC */
/* cgroup-tree.c - control files, and whole subtrees of cgroups. */
#include "config.h"

#include "os/cgroup-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Read the beginning of a control file, NUL-terminated.  Returns its length, cut to what
 * fits, or -errno.
 */
int
cgroup_read(int directory, const char *file, char *ret, size_t size)
{
	int fd = openat(directory, file, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	n = read(fd, ret, size - 1);
	r = n < 0 ? -errno : (int)n;
	(void)close(fd);
	if (r >= 0)
		ret[r] = '\0';
	return r;
}

/* Write a control file.  Returns 0 or -errno. */
int
cgroup_write(int directory, const char *file, const char *text)
{
	int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

static FTS *
walk(const char *path)
{
	char *copy = strdup(path);
	char *const paths[] = {copy, NULL};
	FTS *tree =
	    copy == NULL ? NULL : fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	free(copy);
	return tree;
}

/*
 * Remove a cgroup with all below it, which nobody must live in.  Returns 0, also when it
 * is not there, -EBUSY if somebody lives in it (then what is empty is gone), or -errno.
 */
int
cgroup_tree_remove(const char *path)
{
	FTS *tree = walk(path);
	FTSENT *entry;
	int r = 0;

	if (tree == NULL)
		return -errno;
	while ((entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_DP && rmdir(entry->fts_accpath) < 0 &&
		    errno != ENOENT)
			r = -errno;
	(void)fts_close(tree);
	return r;
}

static int
each_in(const char *directory, int (*on_pid)(pid_t pid, void *arg), void *arg)
{
	char path[4096 + 512];
	FILE *procs;
	int pid;
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	procs = fopen(path, "re");
	if (procs == NULL)
		return errno == ENOENT || errno == EOPNOTSUPP ? 0 : -errno;
	while (r == 0 && fscanf(procs, "%d", &pid) == 1)
		r = on_pid(pid, arg);
	(void)fclose(procs);
	return r;
}

/*
 * Call on_pid for each process in a cgroup and all below it, until it returns other
 * than 0.  Processes come and go meanwhile.  Returns what it returned, or -errno.
 */
int
cgroup_tree_each(const char *path, int (*on_pid)(pid_t pid, void *arg), void *arg)
{
	FTS *tree = walk(path);
	FTSENT *entry;
	int r = 0;

	if (tree == NULL)
		return -errno;
	while (r == 0 && (entry = fts_read(tree)) != NULL)
		if (entry->fts_info == FTS_D)
			r = each_in(entry->fts_path, on_pid, arg);
	(void)fts_close(tree);
	return r;
}
