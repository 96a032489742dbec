/* SPDX-License-Identifier: ISC */
/* cgroup_locate.c - which directory is our own cgroup? */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "os/cgroup/cgroup.h"

/* In mountinfo blanks, newlines and backslashes are written \ooo (proc(5)). */
static void
unescape(char *text)
{
	char *to = text;

	while (*text != '\0') {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' && text[3] >= '0' &&
		    text[3] <= '7') {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 +
			               (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* Our cgroup v2 path as the kernel names it: the line "0::/path". */
static int
read_own_name(FILE *self, char ret_name[CGROUP_PATH_MAX])
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int r = -ENOENT;

	while (r == -ENOENT && (len = getline(&line, &size, self)) > 0) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		r = (size_t)len - 3 < CGROUP_PATH_MAX ? 0 : -ENAMETOOLONG;
		if (r == 0)
			memcpy(ret_name, line + 3, (size_t)len - 3 + 1);
	}
	/* Outside of our cgroup namespace nothing can be named. */
	return r == 0 && strncmp(ret_name, "/..", 3) == 0 ? -ENOENT : r;
}

/* The part of name below root, starting with '/' or empty; NULL if it is not below. */
static const char *
below(const char *name, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(name, root, len) != 0)
		return NULL;
	name += len;
	if (strcmp(name, "/") == 0)
		return "";
	return *name == '/' || *name == '\0' ? name : NULL;
}

/*
 * One line: "36 35 98:0 /root /mount/point options [tags] - type source options".
 * true, the root and the mount point, both inside the line, if it is a cgroup2.
 */
static bool
split_mount(char *line, const char **ret_root, const char **ret_point)
{
	char *field[5];
	char *separator = strstr(line, " - "), *save = NULL;

	if (separator == NULL || strncmp(separator, " - cgroup2 ", 11) != 0)
		return false;
	for (size_t i = 0; i < 5; i++) {
		field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
		if (field[i] == NULL)
			return false;
	}
	unescape(field[3]);
	unescape(field[4]);
	*ret_root = field[3];
	*ret_point = field[4];
	return true;
}

/* Make the path of the cgroup of this name, or without a name of the topmost cgroup that
 * the mount shows; false: the line is no cgroup2 that shows it. */
static bool
path_in_mount(char *line, const char *name, char ret_path[CGROUP_PATH_MAX])
{
	const char *root, *point, *rest = "";

	if (!split_mount(line, &root, &point))
		return false;
	if (name != NULL)
		rest = below(name, root);
	return rest != NULL &&
	       snprintf(ret_path, CGROUP_PATH_MAX, "%s%s", point, rest) < CGROUP_PATH_MAX;
}

static int
find_in_mounts(FILE *mountinfo, const char *name, char ret_path[CGROUP_PATH_MAX])
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, mountinfo) > 0)
		if (path_in_mount(line, name, ret_path))
			return 0;
	return -ENOENT;
}

/*
 * Find our own cgroup v2 directory: from /proc/self/mountinfo, where and from which
 * root the hierarchy is mounted (it is not always /sys/fs/cgroup, and in a container not
 * always from "/"), and from /proc/self/cgroup, where in it we are.
 *
 * Returns 0, or -ENOENT where there is none that we can see, or -ENAMETOOLONG.
 */
int
cgroup_locate(FILE *mountinfo, FILE *self, char ret_path[CGROUP_PATH_MAX],
              char ret_name[CGROUP_PATH_MAX])
{
	int r = read_own_name(self, ret_name);

	return r < 0 ? r : find_in_mounts(mountinfo, ret_name, ret_path);
}

/* Where the cgroup v2 hierarchy begins, as far as we can see; -ENOENT: there is none. */
int
cgroup_locate_top(FILE *mountinfo, char ret_path[CGROUP_PATH_MAX])
{
	return find_in_mounts(mountinfo, NULL, ret_path);
}
