/* SPDX-License-Identifier: ISC */
/* spawn_attributes.c - priorities and capabilities, set by the child for itself.
 *
 * By system call, as everything in the child: the C library keeps its own view of some of
 * this, which the parent shares, as it does errno.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/self/oom.h"
#include "os/spawn/spawn_child.h"

/* Not in every libc's headers. */
#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT           47
#define PR_CAP_AMBIENT_RAISE     2
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

#define IOPRIO_WHO_PROCESS 1

/* The kernel's sets have 64 bits in two halves. */
#define CAPABILITIES_MAX 64
struct sets {
	uint64_t effective, permitted, inheritable;
};

/* The step has failed if the system call for it has; `which` as in struct spawn_result.
 */
static void
expect(const struct spawn_child *child, enum spawn_step step, int which, long r)
{
	if (r < 0)
		spawn_child_fail(child, step, which, r);
}

/* How likely the kernel kills the process when memory runs out: processes that shared its
 * memory would get it, too.  As root still: so its later self cannot lower it. */
void
spawn_oom_score_adj(const struct spawn_child *child)
{
	const struct attributes *wanted = child->spawn->attributes;
	char text[OOM_NUMBER_MAX];

	oom_print(text, child->oom_score_adj);
	long fd = spawn_call(SYS_openat, AT_FDCWD, (long)"/proc/self/oom_score_adj",
	                     O_WRONLY | O_CLOEXEC);
	long r = fd < 0 ? fd : spawn_call(SYS_write, fd, (long)text, (long)strlen(text));
	if (fd >= 0)
		(void)spawn_call(SYS_close, fd, 0, 0);
	if (r < 0 && wanted != NULL && wanted->has_oom_score_adj)
		spawn_child_fail(child, SPAWN_STEP_OOM, -1, r);
}

/* Which processors, when, and when at the disk.  The limits are set: they say how far an
 * ordinary user may go. */
void
spawn_priorities(const struct spawn_child *child)
{
	const struct attributes *wanted = child->spawn->attributes;

	if (wanted->has_nice)
		expect(child, SPAWN_STEP_NICE, -1,
		       spawn_call(SYS_setpriority, PRIO_PROCESS, 0, wanted->nice));
	if (wanted->cpus != NULL)
		expect(child, SPAWN_STEP_CPUS, -1,
		       spawn_call(SYS_sched_setaffinity, 0,
		                  (long)(wanted->n_cpus * sizeof(*wanted->cpus)),
		                  (long)wanted->cpus));
	/* The kernel's struct sched_param is this number. */
	if (wanted->has_scheduler)
		expect(child, SPAWN_STEP_SCHEDULER, -1,
		       spawn_call(SYS_sched_setscheduler, 0, wanted->policy,
		                  (long)&wanted->priority));
	if (wanted->has_io_priority)
		expect(child, SPAWN_STEP_IO_PRIORITY, -1,
		       spawn_call(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		                  wanted->io_priority));
}

/* ---- capabilities ---- */

static uint64_t
join(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static long
get_sets(struct sets *ret)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const long r = spawn_call(SYS_capget,
	                          (long)&(struct __user_cap_header_struct){
	                              .version = _LINUX_CAPABILITY_VERSION_3},
	                          (long)data, 0);

	if (r < 0)
		return r;
	*ret = (struct sets){
	    .effective = join(data[0].effective, data[1].effective),
	    .permitted = join(data[0].permitted, data[1].permitted),
	    .inheritable = join(data[0].inheritable, data[1].inheritable),
	};
	return 0;
}

static long
set_sets(const struct sets *sets)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i] = (struct __user_cap_data_struct){
		    .effective = (uint32_t)(sets->effective >> (32 * i)),
		    .permitted = (uint32_t)(sets->permitted >> (32 * i)),
		    .inheritable = (uint32_t)(sets->inheritable >> (32 * i)),
		};
	return spawn_call(SYS_capset,
	                  (long)&(struct __user_cap_header_struct){
	                      .version = _LINUX_CAPABILITY_VERSION_3},
	                  (long)data, 0);
}

static bool
has(uint64_t set, int capability)
{
	return (set >> capability & 1) != 0;
}

static long
control(long option, long argument)
{
	return os_quiet_syscall(SYS_prctl, option, argument, 0, 0, 0);
}

static void
drop_bounding(const struct spawn_child *child)
{
	for (int i = 0; i < CAPABILITIES_MAX; i++) {
		const long r = control(PR_CAPBSET_READ, i);

		/* The kernel does not know so many. */
		if (r < 0)
			return;
		if (r > 0 && !has(child->spawn->attributes->bounding, i))
			expect(child, SPAWN_STEP_BOUNDING, i,
			       control(PR_CAPBSET_DROP, i));
	}
}

/* What the next user's processes are to have must survive the change of the ids. */
void
spawn_before_ids(const struct spawn_child *child)
{
	const struct attributes *wanted = child->spawn->attributes;

	if (wanted->has_bounding)
		drop_bounding(child);
	if (wanted->has_ambient && wanted->ambient != 0 && child->spawn->has_ids)
		expect(child, SPAWN_STEP_AMBIENT, -1, control(PR_SET_KEEPCAPS, 1));
}

/* A capability that is to be ambient has to be permitted and inheritable. */
static void
raise_ambient(const struct spawn_child *child, const struct sets *had)
{
	const uint64_t ambient = child->spawn->attributes->ambient;

	expect(child, SPAWN_STEP_AMBIENT, -1,
	       control(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL));
	for (int i = 0; i < CAPABILITIES_MAX; i++) {
		if (!has(ambient, i))
			continue;
		expect(child, SPAWN_STEP_AMBIENT, i,
		       has(had->permitted, i)
		           ? os_quiet_syscall(SYS_prctl, PR_CAP_AMBIENT,
		                              PR_CAP_AMBIENT_RAISE, i, 0, 0)
		           : -EPERM);
	}
}

/*
 * What another user keeps until the program is executed is no more than it will have
 * then: whatever happens until there, happens with the rights of that user.  What cannot
 * be had is not inherited either, or a program could still be given it.
 */
static void
settle_capabilities(const struct spawn_child *child)
{
	const struct spawn *spawn = child->spawn;
	const struct attributes *wanted = spawn->attributes;
	struct sets had;

	expect(child, SPAWN_STEP_AMBIENT, -1, get_sets(&had));
	struct sets sets = had;
	if (wanted->has_bounding)
		sets.inheritable &= wanted->bounding;
	if (wanted->has_ambient) {
		sets.inheritable |= wanted->ambient & had.permitted;
		if (spawn->has_ids && spawn->uid != 0) {
			sets.permitted &= wanted->ambient;
			sets.effective = 0;
		}
	}
	expect(child, wanted->has_ambient ? SPAWN_STEP_AMBIENT : SPAWN_STEP_BOUNDING, -1,
	       set_sets(&sets));
	if (wanted->has_ambient)
		raise_ambient(child, &had);
}

/* With the ids of the program; last of all, that it can get no other rights. */
void
spawn_after_ids(const struct spawn_child *child)
{
	const struct attributes *wanted = child->spawn->attributes;

	if (wanted->has_bounding || wanted->has_ambient)
		settle_capabilities(child);
	if (wanted->no_new_privileges)
		expect(child, SPAWN_STEP_NO_NEW_PRIVILEGES, -1,
		       control(PR_SET_NO_NEW_PRIVS, 1));
}
