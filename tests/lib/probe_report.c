/* SPDX-License-Identifier: ISC */
/* probe_report.c - what the actor for the tests finds around itself. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/probe.h"

#define IOPRIO_WHO_PROCESS 1

static void
report_copy(const char *dir, const char *file)
{
	char from[64];
	char to[600];
	char bytes[4096];
	ssize_t n;

	snprintf(from, sizeof(from), "/proc/self/%s", file);
	snprintf(to, sizeof(to), "%s/%s", dir, file);
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof(bytes))) > 0) {
		if (write(out, bytes, (size_t)n) != n)
			break;
	}
	close(in);
	close(out);
}

static void
report_descriptors(const char *dir)
{
	char to[600];
	char text[8192];
	size_t len = 0;
	DIR *fds = opendir("/proc/self/fd");

	if (fds == NULL)
		return;
	for (struct dirent *entry = readdir(fds); entry != NULL; entry = readdir(fds)) {
		char target[256];
		ssize_t n;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(fds))
			continue;
		n = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
		if (n < 0 || len + (size_t)n + 32 > sizeof(text))
			continue;
		target[n] = '\0';
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.10s %s\n",
		                        entry->d_name, target);
	}
	closedir(fds);
	snprintf(to, sizeof(to), "%s/fds", dir);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out >= 0 && write(out, text, len) < 0)
		_exit(99);
	close(out);
}

static void
report_number(const char *dir, const char *name, long number)
{
	char to[600];
	char text[32];
	int len = snprintf(text, sizeof(text), "%ld\n", number);

	snprintf(to, sizeof(to), "%s/%s", dir, name);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out >= 0 && write(out, text, (size_t)len) < 0)
		_exit(99);
	close(out);
}

/* DIR/report.NAME.PID/ with copies of files of /proc/self; nothing is opened but them. */
void
probe_report(const struct probe *probe)
{
	static const char *const files[] = {"status",        "stat",   "environ",
	                                    "limits",        "cgroup", "mountinfo",
	                                    "oom_score_adj", "cmdline"};
	char dir[512];
	char cwd[600];
	char target[512];
	ssize_t n;

	snprintf(dir, sizeof(dir), "%.300s/report.%.100s.%ld", probe->dir, probe->name,
	         (long)getpid());
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		_exit(98);
	report_descriptors(dir);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		report_copy(dir, files[i]);
	report_number(dir, "io_priority", syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0));
	n = readlink("/proc/self/cwd", target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	snprintf(cwd, sizeof(cwd), "%s/cwd", dir);
	(void)!symlink(target, cwd);
}
