/* SPDX-License-Identifier: ISC */
/* cgroup_limit.c - controllers: which there are, and the place for leaves that have them.
 *
 * A controller reaches a leaf when it is enabled in every cgroup above.  It can be only
 * where no process lives, which is why supd moves into a leaf of its own first.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "os/cgroup/cgroup.h"
#include "os/cgroup/cgroup_tree.h"
#include "os/self/fd.h"

#define SUBTREE "cgroup.subtree_control"

/* The controllers with limits; the words that enable and disable them. */
static const char *const enabling[] = {"+memory", "+cpu", "+pids", "+io"};
static const char *const disabling[] = {"-memory", "-cpu", "-pids", "-io"};

/* Each word by itself: a controller that is missing does not prevent the others. */
static void
switch_controllers(int directory, const char *file, const char *const words[4])
{
	for (size_t i = 0; i < ARRAY_SIZE(enabling); i++)
		(void)cgroup_write(directory, file, words[i]);
}

/*
 * The controllers of the machine's cgroup v2 hierarchy, as far as it can be seen, "" if
 * there are none.  Returns 0, or -errno where there is no such hierarchy.
 */
int
cgroup_machine_controllers(char ret[CGROUP_CONTROLLERS_MAX])
{
	CLEANUP_FILE FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
	char path[CGROUP_PATH_MAX];

	if (mountinfo == NULL)
		return -errno;
	int r = cgroup_locate_top(mountinfo, path);
	if (r < 0)
		return r;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = cgroup_read(fd, "cgroup.controllers", ret, CGROUP_CONTROLLERS_MAX);
	if (r < 0)
		return r;
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

/* In the root of the hierarchy processes may live beside controllers, and without systemd
 * the controllers may not be enabled yet.  Any other cgroup above ours belongs to others.
 */
static void
enable_in_root(const struct cgroup_root *root)
{
	if (root->is_created && faccessat(root->fd, "../../cgroup.type", F_OK, 0) < 0)
		switch_controllers(root->fd, "../../" SUBTREE, enabling);
}

/*
 * Make the place for leaves with limits, with all controllers that can be had there:
 * root->controllers says which.  Once it went well it is not tried again.  Returns 0 or
 * -errno.
 */
int
cgroup_root_limit(struct cgroup_root *root)
{
	if (root->has_limited)
		return 0;
	if (mkdirat(root->fd, "../limited", 0755) < 0 && errno != EEXIST)
		return -errno;
	enable_in_root(root);
	switch_controllers(root->fd, "../" SUBTREE, enabling);
	switch_controllers(root->fd, "../limited/" SUBTREE, enabling);
	int r = cgroup_read(root->fd, "../limited/" SUBTREE, root->controllers,
	                    sizeof(root->controllers));
	root->controllers[r < 0 ? 0 : strcspn(root->controllers, "\n")] = '\0';
	root->has_limited = r >= 0;
	return r < 0 ? r : 0;
}

/*
 * Remove the place for leaves with limits from a directory of supd, if it has one, and
 * give its controllers back: supd cannot return there before.
 */
void
cgroup_root_unlimit(const char *path)
{
	char limited[CGROUP_PATH_MAX + 32];

	(void)snprintf(limited, sizeof(limited), "%s/limited", path);
	if (access(limited, F_OK) < 0 || cgroup_tree_remove(limited) < 0)
		return;
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		switch_controllers(fd, SUBTREE, disabling);
}
