/* SPDX-License-Identifier: ISC */
/* usage.c - what the processes of an actor take of the machine. */
#include "config.h"

#include "os/process/usage.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/process/proc_file.h"

#define NAME_BYTES   64
#define USEC_PER_SEC 1000000

struct look {
	pid_t pids[USAGE_PROCESSES_MAX];
	uint32_t n;
	struct usage usage;
};

/* Add the time and the memory of one process. */
static void
add_stat(struct look *look, const struct proc_stat *stat)
{
	look->usage.cpu_usec +=
	    stat->cpu_ticks * (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	look->usage.memory_bytes +=
	    (uint64_t)stat->resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
add_descriptors(struct look *look, pid_t pid)
{
	char name[NAME_BYTES];
	struct dirent *entry;
	struct stat status;

	(void)snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	/* Since Linux 6.2 the size says how many there are. */
	if (stat(name, &status) == 0 && status.st_size > 0) {
		look->usage.descriptors += (uint32_t)status.st_size;
		return;
	}
	CLEANUP_DIR DIR *all = opendir(name);
	if (all == NULL)
		return;
	while ((entry = readdir(all)) != NULL)
		look->usage.descriptors += entry->d_name[0] != '.';
}

/* Append a process to those that are looked at, while there is room. */
static int
add_pid(pid_t pid, void *arg)
{
	struct look *look = arg;

	if (look->n < USAGE_PROCESSES_MAX)
		look->pids[look->n++] = pid;
	return 0;
}

/* Add each process that is found, and its descendants. */
static void
look_at_all(struct look *look)
{
	for (uint32_t i = 0; i < look->n; i++) {
		struct proc_stat stat;

		if (proc_stat_read(look->pids[i], &stat) < 0)
			continue;
		add_stat(look, &stat);
		look->usage.processes++;
		add_descriptors(look, look->pids[i]);
		(void)proc_children(look->pids[i], stat.threads, add_pid, look);
	}
}

/* Add a process of a cgroup, which counts the time by itself. */
static void
add_resident(struct look *look, pid_t pid, bool has_memory)
{
	uint64_t pages = 0;

	if (!has_memory && proc_resident_read(pid, &pages) < 0)
		return;
	look->usage.memory_bytes += pages * (uint64_t)sysconf(_SC_PAGESIZE);
	look->usage.processes++;
	add_descriptors(look, pid);
}

/* Add all processes in the cgroup; the kernel's own counts include dead processes. */
static void
look_into_cgroup(struct look *look, const struct containment *c,
                 const struct cgroup_root *root)
{
	const struct leaf_name leaf = leaf_of(c);
	struct usage *usage = &look->usage;
	/* Others have no controllers. */
	const bool has_memory =
	    c->is_limited && cgroup_leaf_number(root, leaf.text, "memory.current", NULL,
	                                        &usage->memory_bytes) == 0;

	(void)cgroup_leaf_each(root, leaf.text, add_pid, look);
	for (uint32_t i = 0; i < look->n; i++)
		add_resident(look, look->pids[i], has_memory);
	(void)cgroup_leaf_number(root, leaf.text, "cpu.stat", "usage_usec",
	                         &usage->cpu_usec);
	usage->has_io = c->is_limited &&
	                cgroup_leaf_number(root, leaf.text, "io.stat", "rbytes",
	                                   &usage->read_bytes) == 0 &&
	                cgroup_leaf_number(root, leaf.text, "io.stat", "wbytes",
	                                   &usage->write_bytes) == 0;
}

/*
 * Measure the processes of an actor with this main process.  Returns 0, or -ESRCH if the
 * main process is gone, and with a cgroup all others.
 */
int
usage_read(const struct containment *c, const struct cgroup_root *root, pid_t pid,
           struct usage *ret)
{
	struct look look = {.pids = {pid}, .n = c->is_cgroup ? 0 : 1};

	if (c->is_cgroup)
		look_into_cgroup(&look, c, root);
	else
		look_at_all(&look);
	*ret = look.usage;
	return look.usage.processes > 0 ? 0 : -ESRCH;
}
