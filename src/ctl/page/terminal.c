/* SPDX-License-Identifier: ISC */
/* terminal.c - from supctl to the program that has the libraries for terminals. */
#include "config.h"

#include "ctl/page/terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ctl/wire/ctl.h"
#include "paths.h"

/* The path of a program beside this one, as built; false: not known. */
bool
terminal_find_beside(char ret[PATH_MAX], const char *name)
{
	const ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - strlen(name) - 1);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	char *slash = strrchr(ret, '/');
	if (slash == NULL)
		return false;
	strcpy(slash + 1, name);
	return true;
}

/* Execute supctl-terminal with the same command line. Returns only on failure: the exit
 * status of supctl. */
int
terminal_execute(const struct ctl *ctl)
{
	char beside[PATH_MAX];

	if (terminal_find_beside(beside, "supctl-terminal"))
		(void)execv(beside, ctl->argv);
	(void)execv(SUPCTL_TERMINAL, ctl->argv);
	return complain_of(ctl, CTL_FAILED, NULL, "execute %s: %s", SUPCTL_TERMINAL,
	                   strerror(errno));
}
