/* SPDX-License-Identifier: ISC */
/* listen.c - the descriptors that a process is started with: sd_listen_fds(3). */
#include "config.h"

#include "os/socket/listen.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"

/* The value of one variable, or "". */
static const char *
value_of(char **variables, const char *name)
{
	const char *value = environ_find(variables, name, strlen(name));

	return value != NULL ? value : "";
}

/*
 * The number of descriptors, from LISTEN_FDS_START on, that the process `pid` was started
 * with according to its environment. 0: none, or they are meant for another process; at
 * most LISTEN_FDS_MAX.
 */
size_t
listen_fds(char **variables, pid_t pid)
{
	const char *n = value_of(variables, "LISTEN_FDS");
	char *end;

	if (strtol(value_of(variables, "LISTEN_PID"), NULL, 10) != pid)
		return 0;
	unsigned long count = strtoul(n, &end, 10);
	if (end == n || *end != '\0' || n[0] == '-')
		return 0;
	return count < LISTEN_FDS_MAX ? count : LISTEN_FDS_MAX;
}

/*
 * What the i-th of them is called: as many bytes as are returned, of the variable itself.
 * 0: it has no name.
 */
size_t
listen_name(char **variables, size_t i, const char **ret_name)
{
	const char *names = value_of(variables, "LISTEN_FDNAMES");

	for (; i > 0 && *names != '\0'; i--) {
		names += strcspn(names, ":");
		names += *names == ':';
	}
	*ret_name = names;
	return strcspn(names, ":");
}
