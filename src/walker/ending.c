/* SPDX-License-Identifier: ISC */
/* ending.c - the end of what no guardian sees to. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "os/process/leftover.h"
#include "os/process/proc_sweep.h"
#include "os/self/clock.h"
#include "os/self/say.h"
#include "walker/private.h"

/* How long processes may take to end after SIGTERM. */
#define POLITE_MS 5000
#define LOOK_MS   10

/*
 * Ask all that descends from us to end, until none of it is left, or for so long.  Asked
 * again to end, supd does not wait for it.  True: none is left.
 */
static bool
end_politely(const struct walker *walker, struct proc_sweep *sweep)
{
	const uint64_t end_ms = clock_mono_ms() + POLITE_MS;
	const pid_t session = getsid(0);
	int signo = SIGTERM; /* what is asked is asked once */
	struct reap news;
	struct map none = {0};

	do {
		while (os_reap_any(&news) == 1)
			continue;
		if (proc_sweep_take(sweep, &none) < 0)
			return false;
		if (proc_sweep_signal_all(sweep, session, signo) == 0 &&
		    !proc_sweep_has(sweep, -1, ""))
			return true;
		if (signo != 0)
			(void)proc_sweep_signal_all(sweep, session, SIGCONT);
		signo = 0;
		(void)poll(NULL, 0, LOOK_MS);
	} while (clock_mono_ms() < end_ms &&
	         (signals_take(walker->signal_fd) & ENDING) == 0);
	return false;
}

/* Kill what is below us, for a reason that the hunt has, and say what is left. */
static void
kill_below(const struct walker *walker, const struct leftover_hunt *hunt)
{
	size_t n;

	if (leftover_kill_below(hunt, getpid(), walker->handing.hello.left, LINK_LEFT_MAX,
	                        &n) == -EBUSY)
		say_error("%zu processes of actors were killed and do not end: they "
		          "wait in the kernel, for a file that does not answer, say",
		          n);
}

/*
 * End every process that supd has started, wherever it is by now: politely at first.
 * Their order is not known here.  What is in our own session was there before supd.
 */
void
end_processes(const struct walker *walker)
{
	struct proc_sweep *sweep = proc_sweep_new(getpid());

	if (sweep == NULL) {
		say_error("its processes are left running: %s", strerror(ENOMEM));
		return;
	}
	proc_sweep_include_left(sweep, walker->handing.hello.left, LINK_LEFT_MAX);
	if (!end_politely(walker, sweep))
		kill_below(walker, &(struct leftover_hunt){0});
	proc_sweep_free(sweep);
}

/*
 * Supervision has ended in order: kill the processes of actors that are left.  An orphan
 * that hung in an exec while its actor ended was not known to be the actor's (SAFETY.md,
 * /proc).  What has got rid of its mark is no actor's any more.
 */
void
end_forgotten(const struct walker *walker)
{
	const char *mark = getenv("SUPD_ID");

	kill_below(walker,
	           &(struct leftover_hunt){.spared_mark = mark == NULL ? "" : mark});
}
