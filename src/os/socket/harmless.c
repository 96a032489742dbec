/* SPDX-License-Identifier: ISC */
/* harmless.c - may a descriptor that came from elsewhere be held and closed by us?
 *
 * A file of a file system in user space or on the network may keep every process for ever
 * that closes it, ends with it, forks and executes with it, or asks anything of it
 * (fstat(2) too).  Nothing here calls into the file system that it asks about.
 */
#include "config.h"

#include "os/socket/harmless.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "os/self/fd.h"

/* File systems without a device of their own that the kernel alone answers for. */
static const char *const local_types[] = {
    "bcachefs", "btrfs",    "cgroup",   "cgroup2",   "configfs",   "debugfs",
    "devpts",   "devtmpfs", "efivarfs", "hugetlbfs", "mqueue",     "overlay",
    "proc",     "pstore",   "ramfs",    "rootfs",    "securityfs", "sysfs",
    "tmpfs",    "tracefs",  "ubifs",    "zfs",
};

/* True for a socket, a pipe or a fifo: its other end can be polled. */
bool
fd_is_socket_or_pipe(int fd)
{
	socklen_t size = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ||
	       fcntl(fd, F_GETPIPE_SZ) >= 0;
}

/* True for an eventfd, timerfd, pidfd or namespace: the kernel names them "kind:…", files
 * "/…". */
static bool
is_kernel_object(int fd)
{
	char link[32], name[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = '\0';
	return islower((unsigned char)name[0]) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == ':';
}

/* The mount that the file is on; 0: unknown. */
static unsigned long
mount_of(int fd)
{
	char name[48], text[1024];

	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	CLEANUP(fd_close) int info = open(name, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return 0;
	ssize_t n = read(info, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	const char *at = strstr(text, "mnt_id:");
	return at == NULL ? 0 : strtoul(at + strlen("mnt_id:"), NULL, 10);
}

static bool
is_local(unsigned int device_major, const char *type)
{
	if (device_major != 0)
		return strncmp(type, "fuse", 4) != 0;
	return names_find(local_types, ARRAY_SIZE(local_types), type) >= 0;
}

/*
 * True if the list has this mount, with a file system on a block device or of the types
 * above.  A mount in another namespace is not in our list.
 */
bool
harmless_has_mount(FILE *mountinfo, unsigned long mount_id)
{
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, mountinfo) > 0) {
		const char *type = strstr(line, " - ");
		unsigned int device_major;
		unsigned long id;
		char word[32];

		if (type == NULL ||
		    sscanf(line, "%lu %*u %u:", &id, &device_major) != 2 ||
		    id != mount_id)
			continue;
		return sscanf(type + 3, "%31s", word) == 1 &&
		       is_local(device_major, word);
	}
	return false;
}

/*
 * True if neither holding nor closing this descriptor, which another program has chosen,
 * can keep us.  So with sockets and pipes, memory (memfd_create(2)), what is no file,
 * and files on local file systems that are mounted where we see them.  In doubt it can.
 */
bool
fd_is_harmless(int fd)
{
	if (fd_is_socket_or_pipe(fd) || fcntl(fd, F_GET_SEALS) >= 0 ||
	    is_kernel_object(fd))
		return true;
	unsigned long mount_id = mount_of(fd);
	CLEANUP_FILE FILE *mountinfo =
	    mount_id == 0 ? NULL : fopen("/proc/self/mountinfo", "re");
	return mountinfo != NULL && harmless_has_mount(mountinfo, mount_id);
}
