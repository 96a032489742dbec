/* SPDX-License-Identifier: ISC */
/* terminal.c - from supctl to the program that has the libraries for terminals. */
#include "config.h"

#include "ctl/page/terminal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "ctl/wire/ctl.h"
#include "paths.h"

#define NAME "supctl-terminal"

/* The path of supctl-terminal beside this program, as built; false: not known. */
static bool
find_beside(char path[PATH_MAX])
{
	const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(NAME));

	if (n <= 0)
		return false;
	path[n] = '\0';
	char *name = strrchr(path, '/');
	if (name == NULL)
		return false;
	memcpy(name + 1, NAME, sizeof(NAME));
	return true;
}

/* Execute supctl-terminal with the same command line. Returns only on failure: the exit
 * status of supctl. */
int
terminal_execute(const struct ctl *ctl)
{
	char beside[PATH_MAX];

	if (find_beside(beside))
		(void)execv(beside, ctl->argv);
	(void)execv(SUPCTL_TERMINAL, ctl->argv);
	return complain_of(ctl, CTL_FAILED, NULL, "execute %s: %s", SUPCTL_TERMINAL,
	                   strerror(errno));
}
