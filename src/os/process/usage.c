/* SPDX-License-Identifier: ISC */
/* usage.c - what the processes of an actor take of the machine. */
#include "config.h"

#include "os/process/usage.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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
	DIR *all;

	(void)snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	/* Since Linux 6.2 the size says how many there are. */
	if (stat(name, &status) == 0 && status.st_size > 0) {
		look->usage.descriptors += (uint32_t)status.st_size;
		return;
	}
	all = opendir(name);
	if (all == NULL)
		return;
	while ((entry = readdir(all)) != NULL)
		look->usage.descriptors += entry->d_name[0] != '.';
	(void)closedir(all);
}

/* Append a child to those that are looked at, while there is room. */
static int
add_child(void *arg, pid_t pid)
{
	struct look *look = arg;

	if (look->n < USAGE_PROCESSES_MAX)
		look->pids[look->n++] = pid;
	return 0;
}

/* The same of a cgroup: it has no more. */
static int
add_member(pid_t pid, void *arg)
{
	return add_child(arg, pid);
}

/* Add each process found, and with `descend` all its descendants; of the main process
 * this was read already. */
static void
look_at_all(struct look *look, pid_t main_pid, const struct proc_stat *main_stat,
            bool descend)
{
	for (uint32_t i = 0; i < look->n; i++) {
		struct proc_stat stat = *main_stat;

		if (look->pids[i] != main_pid && proc_stat_read(look->pids[i], &stat) < 0)
			continue;
		add_stat(look, &stat);
		look->usage.processes++;
		add_descriptors(look, look->pids[i]);
		if (descend)
			(void)proc_children(look->pids[i], add_child, look);
	}
}

/* Add all processes in the cgroup; the kernel's own counts include dead processes. */
static void
look_into_cgroup(struct look *look, const struct containment *c,
                 const struct cgroup_root *root, pid_t pid, const struct proc_stat *stat)
{
	struct usage *usage = &look->usage;

	look->n = 0;
	(void)cgroup_leaf_each(root, c->leaf, add_member, look);
	look_at_all(look, pid, stat, false);
	(void)cgroup_leaf_number(root, c->leaf, "cpu.stat", "usage_usec",
	                         &usage->cpu_usec);
	/* Others have no controllers. */
	if (!c->is_limited)
		return;
	(void)cgroup_leaf_number(root, c->leaf, "memory.current", NULL,
	                         &usage->memory_bytes);
	usage->has_io = cgroup_leaf_number(root, c->leaf, "io.stat", "rbytes",
	                                   &usage->read_bytes) == 0 &&
	                cgroup_leaf_number(root, c->leaf, "io.stat", "wbytes",
	                                   &usage->write_bytes) == 0;
}

/*
 * Measure the processes of an actor with this main process.  Returns 0, or -errno if the
 * main process is gone.
 */
int
usage_read(const struct containment *c, const struct cgroup_root *root, pid_t pid,
           struct usage *ret)
{
	struct look look = {.pids = {pid}, .n = 1};
	struct proc_stat stat;
	int r = proc_stat_read(pid, &stat);

	if (r < 0)
		return r;
	if (c->is_cgroup)
		look_into_cgroup(&look, c, root, pid, &stat);
	else
		look_at_all(&look, pid, &stat, true);
	*ret = look.usage;
	return 0;
}
