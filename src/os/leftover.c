/* SPDX-License-Identifier: ISC */
/* leftover.c - processes that a supd which died left behind. */
#include "config.h"

#include "os/leftover.h"

#include "os/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* So many looks at /proc; whatever forks faster than that is not found. */
#define ROUNDS_MAX  100
#define ENVIRON_MAX (128 * 1024)
/* How long the kernel may take to end one that was killed. */
#define DEATH_TIMEOUT_MS 5000

/* An actor's process has this variable and a SUPD_ID; a person's shell may have the first
 * for supctl, and is left alone. */
static bool
is_actors(const char *environment, size_t len, const char *variable)
{
	const char *end = environment + len;
	bool has_it = false, has_id = false;

	while (environment < end) {
		size_t n = strnlen(environment, (size_t)(end - environment));

		has_it |= n == strlen(variable) && memcmp(environment, variable, n) == 0;
		has_id |= n > 8 && memcmp(environment, "SUPD_ID=", 8) == 0;
		environment += n + 1;
	}
	return has_it && has_id;
}

static bool
is_marked(pid_t pid, const char *variable, char *buf)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, ENVIRON_MAX);
	(void)close(fd);
	return n > 0 && is_actors(buf, (size_t)n, variable);
}

/* In a container of its own another supd may have a socket of the same name. */
static bool
is_in_our_namespace(pid_t pid)
{
	struct stat its, ours;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &its) == 0 && stat("/proc/self/ns/pid", &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

/* Kill it and wait until it is dead; its pid is looked at again once it is held. */
static bool
kill_one(pid_t pid, const char *variable, char *buf)
{
	struct pollfd poller = {.events = POLLIN};
	bool killed;

	poller.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poller.fd < 0)
		return false;
	killed = is_marked(pid, variable, buf) &&
	         syscall(SYS_pidfd_send_signal, poller.fd, SIGKILL, NULL, 0) == 0;
	if (killed)
		(void)poll(&poller, 1, DEATH_TIMEOUT_MS);
	(void)close(poller.fd);
	return killed;
}

/* One look at all processes; returns how many were killed, or -errno. */
static int
kill_round(const char *variable, char *buf)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int killed = 0;

	if (proc == NULL)
		return -errno;
	while ((entry = readdir(proc)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
			continue;
		if (is_marked(pid, variable, buf) && is_in_our_namespace(pid))
			killed += kill_one(pid, variable, buf);
	}
	(void)closedir(proc);
	return killed;
}

/*
 * Kill every process of an actor that has this variable
 * ("SUPD_SOCKET=/run/supd/control.sock") in the environment that it was started with,
 * and what they fork meanwhile.  For the one
 * who holds the lock of that supd's directory: nobody supervises them any more.
 * Returns 0 or -errno.
 */
int
leftover_kill(const char *variable, size_t *ret_killed)
{
	char *buf = malloc(ENVIRON_MAX);
	size_t sum = 0;
	int killed = 0;

	if (buf == NULL)
		return -ENOMEM;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		killed = kill_round(variable, buf);
		if (killed <= 0)
			break;
		sum += (size_t)killed;
	}
	free(buf);
	*ret_killed = sum;
	return killed < 0 ? killed : 0;
}

/*
 * Kill everything that descends from a walker whose guardian has died, and from us, who
 * have started nothing yet: the actors, whatever they did to their environment.  What is
 * in the walker's own session was there before supd.  Waits for their end.
 *
 * Returns 0; -EBUSY when something would not die; or another -errno.
 */
int
leftover_kill_below(pid_t walker, size_t *ret_killed)
{
	struct proc_sweep *sweep = proc_sweep_new();
	const pid_t session = getsid(walker);
	struct map nobody;
	int count, r = 0;

	*ret_killed = 0;
	if (sweep == NULL)
		return -ENOMEM;
	map_init(&nobody);
	proc_sweep_include(sweep, walker);
	for (int ms = 0; ms <= DEATH_TIMEOUT_MS; ms++) {
		r = proc_sweep_take(sweep, &nobody);
		count = proc_sweep_kill(sweep, session);
		if ((size_t)count > *ret_killed)
			*ret_killed = (size_t)count;
		if (r < 0 || (count == 0 && !proc_sweep_has(sweep, -1, "")))
			break;
		r = -EBUSY;
		(void)poll(NULL, 0, 1);
	}
	proc_sweep_free(sweep);
	return r;
}
