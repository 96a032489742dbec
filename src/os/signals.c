/* SPDX-License-Identifier: ISC */
/* signals.c - start from known signals, whatever the parent left behind. */
#include "config.h"

#include "os/signals.h"

#include <signal.h>
#include <stddef.h>

/*
 * Set every disposition to its default and empty the mask.  The first thing that supd
 * does: a parent that ignores SIGCHLD would make our children vanish unreaped, one that
 * blocks it would keep their end from us, and both survive exec (execve(2)).
 */
void
signals_reset(void)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	/* KILL, STOP and the C library's own refuse; they are never ignored. */
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &standard, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
