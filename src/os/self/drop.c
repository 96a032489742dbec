/* SPDX-License-Identifier: ISC */
/* drop.c - a process of root's becomes one of the user that owns nothing. */
#include "config.h"

#include "os/self/drop.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Make the permitted capabilities effective again, after the change of user. */
static int
raise_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].effective = data[i].permitted;
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* True if the user namespace lacks the user, or does not let its root change. */
static bool
is_refused(int error)
{
	return error == EPERM || error == EINVAL;
}

/*
 * From root to the user that owns nothing, without groups; others stay what they are.
 * Capabilities stay: os_confine() is to be called next.  No core file from now on, and no
 * further process, if it does not fork.  Where the user namespace has no such user it
 * stays root, and what os_confine() takes away is all that there is.  0 or -errno.
 */
int
os_drop_user(bool forks)
{
	const struct rlimit none = {0};

	(void)setrlimit(RLIMIT_CORE, &none);
	if (!forks)
		(void)setrlimit(RLIMIT_NPROC, &none);
	if (chdir("/") < 0)
		return -errno;
	if (geteuid() != 0)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 && !is_refused(errno))
		return -errno;
	if (setresgid(DROP_GID, DROP_GID, DROP_GID) < 0 && !is_refused(errno))
		return -errno;
	if (setresuid(DROP_UID, DROP_UID, DROP_UID) < 0 && !is_refused(errno))
		return -errno;
	return raise_capabilities();
}
