/* SPDX-License-Identifier: ISC */
/* gzip.c - gzip(1) between two descriptors, in a process with no other rights. */
#include "config.h"

#include "logd/write/gzip.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "os/confine.h"

/* Find gzip in the absolute places of PATH.  False: there is none. */
bool
gzip_find(struct gzip *ret)
{
	const char *place = getenv("PATH");

	if (place == NULL)
		place = "/usr/local/bin:/usr/bin:/bin";
	while (*place != '\0') {
		const int len = (int)strcspn(place, ":");
		const int n =
		    snprintf(ret->file, sizeof(ret->file), "%.*s/gzip", len, place);

		if (place[0] == '/' && n < (int)sizeof(ret->file) &&
		    access(ret->file, X_OK) == 0)
			return true;
		place += len;
		place += *place == ':';
	}
	return false;
}

/*
 * Start it in this mode ("-c" compresses, "-dc" unpacks) from one descriptor to the
 * other.  It has an empty environment and ends with the caller, which waits for its end.
 * Returns its pid or -errno; one that cannot be executed ends with 127.
 */
pid_t
gzip_start(const struct gzip *gzip, const char *mode, int in, int out)
{
	char *const environment[] = {NULL};
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_DFL);
		/* With more rights than it needs it does the same. */
		(void)os_confine(CONFINE_GZIP, NULL);
		if (getppid() == parent && dup2(in, STDIN_FILENO) == STDIN_FILENO &&
		    dup2(out, STDOUT_FILENO) == STDOUT_FILENO)
			(void)execle(gzip->file, "gzip", mode, (char *)NULL, environment);
		_exit(127);
	}
	return pid < 0 ? -errno : pid;
}
