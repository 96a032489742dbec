/* SPDX-License-Identifier: ISC */
/* usage.c - what a process and all its descendants take of the machine. */
#include "config.h"

#include "os/usage.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
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
	uint64_t user, system, user_of_reaped, system_of_reaped;
	char name[NAME_BYTES], line[1024];
	const char *at;
	int64_t pages;
	FILE *file;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	file = fopen(name, "re");
	if (file == NULL)
		return -errno;
	line[fread(line, 1, sizeof(line) - 1, file)] = '\0';
	(void)fclose(file);
	/* The name of the program may contain anything, also a parenthesis. */
	at = strrchr(line, ')');
	if (at == NULL ||
	    sscanf(at + 1,
	           " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
	           " %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*u %*u %" SCNd64,
	           &user, &system, &user_of_reaped, &system_of_reaped, &pages) != 5)
		return -ESRCH;
	look->usage.cpu_usec += (user + system + user_of_reaped + system_of_reaped) *
	                        (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	look->usage.memory_bytes += (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
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

/* Append the children of one thread to those that are looked at. */
static void
add_children_of(struct look *look, const char *name)
{
	FILE *file = fopen(name, "re");
	int pid;

	if (file == NULL)
		return;
	while (look->n < USAGE_PROCESSES_MAX && fscanf(file, "%d", &pid) == 1)
		look->pids[look->n++] = pid;
	(void)fclose(file);
}

/* A child belongs to the thread that forked it. */
static void
add_children(struct look *look, pid_t pid)
{
	char name[NAME_BYTES];
	struct dirent *entry;
	DIR *threads;

	(void)snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = opendir(name);
	if (threads == NULL)
		return;
	while ((entry = readdir(threads)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(name, sizeof(name), "/proc/%d/task/%.10s/children", pid,
		               entry->d_name);
		add_children_of(look, name);
	}
	(void)closedir(threads);
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
		add_children(&look, look.pids[i]);
	}
	*ret = look.usage;
	return 0;
}
