/* SPDX-License-Identifier: ISC */
/* fsuser.c - have the rights of another user at the file system, for a moment. */
#include "config.h"

#include "os/self/fsuser.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* True if this is the user for access to files. setfsuid() tells no failure: asked for an
 * id that cannot be set, it returns the id that is set. */
static bool
is_user(uid_t uid)
{
	return (uid_t)setfsuid((uid_t)-1) == uid;
}

/* Root takes the rights of this user until fsuser_return(); -EPERM: these cannot be had.
 */
int
fsuser_become(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups)
{
	if (setgroups(n_groups, groups) < 0)
		return -EPERM;
	(void)setfsgid(gid);
	/* With the user go the capabilities that are about files. */
	(void)setfsuid(uid);
	return is_user(uid) && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -EPERM;
}

/* And of these capabilities again the one to go through all directories; 0 or -errno. */
int
fsuser_search(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].effective |= data[0].permitted & (1U << CAP_DAC_READ_SEARCH);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* The rights are our own again, without supplementary groups. */
void
fsuser_return(void)
{
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	(void)setgroups(0, NULL);
}

/* True if our user namespace knows this number.  The kernel shows what it does not know
 * as the user that owns nothing. */
bool
fsuser_exists(uid_t uid)
{
	(void)setfsuid(uid);
	bool exists = is_user(uid);
	(void)setfsuid(geteuid());
	return exists;
}
