/* SPDX-License-Identifier: ISC */
/* surroundings.c - what a program sees of the world that it was started in, on stdout. */
#include "config.h"

#include <dirent.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void
print_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char seen[256] = {0};

	if (dir == NULL)
		exit(2);
	while ((entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd < 256)
			seen[fd] = 1;
	}
	(void)closedir(dir);
	printf("fds");
	for (int fd = 0; fd < 256; fd++)
		if (seen[fd])
			printf(" %d", fd);
	printf("\n");
}

static void
print_targets(void)
{
	for (int fd = 0; fd < 10; fd++) {
		char name[32], target[256];
		ssize_t n;

		(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		printf("fd%d %s\n", fd, target);
	}
}

static void
print_signals(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	if (status == NULL)
		exit(2);
	while (fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 ||
		    strncmp(line, "SigCgt", 6) == 0)
			fputs(line, stdout);
	(void)fclose(status);
}

int
main(int argc, char **argv)
{
	const char *listen_pid = getenv("LISTEN_PID");
	struct rlimit queues;
	char directory[4096];
	gid_t groups[64];
	mode_t mask = umask(0);
	int n;

	if (argc > 1 && strcmp(argv[1], "pause") == 0) {
		/* Tell that it runs, then wait to be killed. */
		(void)!write(1, "up\n", 3);
		for (;;)
			(void)pause();
	}
	print_fds();
	print_targets();
	print_signals();
	printf("leader %d\n", getsid(0) == getpid());
	printf("group %d\n", getpgrp() == getpid());
	printf("ids %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
	n = getgroups(64, groups);
	printf("groups");
	for (int i = 0; i < n; i++)
		printf(" %u", groups[i]);
	printf("\numask %03o\n", (unsigned int)mask);
	printf("directory %s\n", getcwd(directory, sizeof(directory)));
	(void)getrlimit(RLIMIT_MSGQUEUE, &queues);
	printf("queues %ld %ld\n", (long)queues.rlim_cur, (long)queues.rlim_max);
	if (listen_pid != NULL)
		printf("listen_pid %d\n", atoi(listen_pid) == getpid());
	printf("arg %s\n", argc > 1 ? argv[1] : "-");
	printf("end\n");
	return 0;
}
