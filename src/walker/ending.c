/* SPDX-License-Identifier: ISC */
/* ending.c - the end of everything, where no guardian can be had that would see to it. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "os/process/proc_sweep.h"
#include "os/self/clock.h"
#include "os/self/say.h"
#include "walker/private.h"

/* So long what is there may take to end after SIGTERM, and after SIGKILL. */
#define POLITE_MS 5000
#define DEATH_MS  5000
#define LOOK_MS   10

/*
 * Signal all that descends from us, until none of it is left, or for so long.  Asked
 * again to end, supd does not wait for those that were asked politely.  True: none is
 * left.
 */
static bool
end_with(const struct walker *walker, struct proc_sweep *sweep, int signo,
         uint64_t patience_ms)
{
	const uint64_t end_ms = clock_mono_ms() + patience_ms;
	const pid_t session = getsid(0);
	bool is_told = false;
	struct reap news;
	struct map none;
	int count;

	map_init(&none);
	for (;;) {
		while (os_reap_any(&news) == 1)
			continue;
		if (proc_sweep_take(sweep, &none) < 0)
			return false;
		count = proc_sweep_count(sweep, session);
		if (count == 0 && !proc_sweep_has(sweep, -1, ""))
			return true;
		/* What is killed may have forked meanwhile; what is asked is asked once.
		 */
		if (signo == SIGKILL || !is_told) {
			(void)proc_sweep_signal_all(sweep, session, signo);
			(void)proc_sweep_signal_all(sweep, session, SIGCONT);
		}
		is_told = true;
		if (clock_mono_ms() >= end_ms ||
		    (signo != SIGKILL && (signals_take(walker->signal_fd) & ENDING) != 0))
			return false;
		(void)poll(NULL, 0, LOOK_MS);
	}
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
	if (!end_with(walker, sweep, SIGTERM, POLITE_MS) &&
	    !end_with(walker, sweep, SIGKILL, DEATH_MS))
		say_error("some of its processes do not end");
	proc_sweep_free(sweep);
}
