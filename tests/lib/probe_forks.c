/* SPDX-License-Identifier: ISC */
/* probe_forks.c - offspring of the actor for the tests, which hides. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/probe.h"

#define HEADS_MAX                                                            \
	5000 /* about ten seconds: a test that lets them live is not flooded \
	      */

static void
ignore_polite_signals(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

/*
 * A daemon of the old school: forked twice, a session of its own, deaf.  One that forks
 * on never has the same pid for long; a bare one has given up its environment as well.
 */
void
probe_daemonize(const struct probe *probe, bool forks_on, bool bare)
{
	pid_t child = fork();

	if (child != 0)
		return;
	setsid();
	if (fork() != 0)
		_exit(0);
	ignore_polite_signals();
	probe_tell(probe, 'd', forks_on ? "hydra" : "daemon");
	if (bare)
		execle("/bin/sleep", "sleep", "1000", (char *)NULL,
		       (char *const[]){NULL});
	for (int heads = 0; forks_on && heads < HEADS_MAX; heads++) {
		const struct timespec pause_ts = {.tv_nsec = 2000000};

		nanosleep(&pause_ts, NULL);
		if (fork() > 0)
			_exit(0);
	}
	for (;;)
		pause();
}

/* Fork n children that only wait (0: until fork fails) and say how many there are. */
void
probe_fork(struct probe *probe, long n)
{
	char more[64];
	int error = 0;

	for (long i = 0; (n == 0 || i < n) && probe->n_forks < FORKS_MAX; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (;;)
				pause();
		}
		if (child < 0) {
			error = errno;
			break;
		}
		probe->forks[probe->n_forks++] = child;
	}
	snprintf(more, sizeof(more), "%zu %d", probe->n_forks, error);
	probe_tell(probe, 'F', more);
}

void
probe_end_forks(struct probe *probe)
{
	signal(SIGCHLD, SIG_IGN); /* not waited for */
	for (size_t i = 0; i < probe->n_forks; i++)
		kill(probe->forks[i], SIGKILL);
	probe->n_forks = 0;
	probe_tell(probe, 'F', "0 0");
}
