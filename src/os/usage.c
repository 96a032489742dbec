/* SPDX-License-Identifier: ISC */
/* usage.c - what a process and all its descendants take of the machine. */
#include "config.h"

#include "os/usage.h"

#include "os/proc-file.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define NAME_BYTES   64
#define USEC_PER_SEC 1000000

struct look {
	pid_t pids[USAGE_PROCESSES_MAX];
	uint32_t n;
	struct usage usage;
};

/* Add the time and the memory of one process; -errno if it is not there any more. */
static int
add_stat(struct look *look, pid_t pid)
{
	struct proc_stat stat;
	int r = proc_stat_read(pid, &stat);

	if (r < 0)
		return r;
	look->usage.cpu_usec +=
	    stat.cpu_ticks * (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	look->usage.memory_bytes +=
	    (uint64_t)stat.resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static void
add_descriptors(struct look *look, pid_t pid)
{
	char name[NAME_BYTES];
	struct dirent *entry;
	DIR *all;

	(void)snprintf(name, sizeof(name), "/proc/%d/fd", pid);
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

/* What a process takes, and all that descends from it; -errno if it is not there. */
int
usage_read(pid_t pid, struct usage *ret)
{
	struct look look = {.pids = {pid}, .n = 1};

	for (uint32_t i = 0; i < look.n; i++) {
		int r = add_stat(&look, look.pids[i]);

		if (r < 0 && i == 0)
			return r;
		if (r < 0)
			continue;
		look.usage.processes++;
		add_descriptors(&look, look.pids[i]);
		(void)proc_children(look.pids[i], add_child, &look);
	}
	*ret = look.usage;
	return 0;
}
