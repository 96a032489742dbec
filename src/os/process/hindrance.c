/* SPDX-License-Identifier: ISC */
/* hindrance.c - why SIGKILL does not end a process. */
#include "config.h"

#include "os/process/hindrance.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_MAX 4096

/* Read a small file of a process as text; "" when it cannot be read. */
static void
read_text(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t n = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, ret, size - 1);
		(void)close(fd);
	}
	ret[n > 0 ? n : 0] = '\0';
}

/* What stands behind "Name:\t" in /proc/PID/status; NULL: there is no such line. */
static const char *
find_value(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at == NULL ? NULL : at + strlen(name);
}

/*
 * What keeps this process from ending: a tracer that does not wait for it, or what it
 * waits for in the kernel (proc(5), State, TracerPid and wchan).  Where a process is
 * traced in one of its threads only, that is not seen here.
 */
void
hindrance_read(pid_t pid, struct hindrance *ret)
{
	char status[STATUS_MAX];
	const char *value;

	*ret = (struct hindrance){.state = '?'};
	read_text(pid, "status", status, sizeof(status));
	value = find_value(status, "\nState:\t");
	if (value != NULL)
		ret->state = *value;
	value = find_value(status, "\nTracerPid:\t");
	if (value != NULL)
		ret->tracer = (pid_t)atoi(value);
	read_text(pid, "wchan", ret->wchan, sizeof(ret->wchan));
	/* The kernel's word for "nowhere", or for "not for you". */
	if (strcmp(ret->wchan, "0") == 0)
		ret->wchan[0] = '\0';
}
