/* SPDX-License-Identifier: ISC */
/* judge.c - how the guardian is, how it ended, and what follows from that. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/self/fd.h"
#include "os/self/say.h"
#include "os/socket/hangup.h"
#include "walker/private.h"

/* A new binary that dies so often before it has adopted anything is not used. */
#define TRIALS_MAX 2
/* Those that ask for the end get it, even where no guardian can be had; sooner when they
 * ask again. */
#define ENDING_ATTEMPTS_MAX  7
#define HURRIED_ATTEMPTS_MAX 2

/* ---- a new binary ------------------------------------------------------------------ */

/* When the new binary has supervised for long enough; UINT64_MAX: none does. */
uint64_t
guardian_trial_ms(const struct walker *walker)
{
	return !walker->is_new || !walker->adopted
	           ? UINT64_MAX
	           : walker->adopted_ms + walker->times.trial_ms;
}

/* It has: the walker goes on as the new binary, too. */
static void
end_trial(struct walker *walker)
{
	walker->is_new = false;
	fd_close(&walker->old_fd);
	exec_walker(walker);
}

static void
fall_back(struct walker *walker, const char *why)
{
	say_error("the new supd %s: back to the old one", why);
	(void)close(walker->binary_fd);
	walker->binary_fd = walker->old_fd;
	walker->old_fd = -1;
	walker->handing.hello.fell_back = true;
}

/* One of its guardians failed. */
static void
judge_binary(struct walker *walker, bool has_hung)
{
	char late[64];

	(void)snprintf(late, sizeof(late), "did not take over in time (%ju ms)",
	               (uintmax_t)walker->watchdog.total_ms);
	if (walker->adopted)
		fall_back(walker, "failed soon after it had taken over");
	else if (has_hung)
		fall_back(walker, late);
	else if (walker->handing.hello.attempts >= TRIALS_MAX)
		fall_back(walker, "failed twice before it had taken over");
}

/* ---- how it is --------------------------------------------------------------------- */

/*
 * The guardian was killed and does not end: it sleeps in the kernel, on a file system
 * that does not answer, say.  The next one begins without waiting for that.
 *
 * What can the one that is left still do?  It has SIGKILL pending, so it executes no
 * instruction of its own any more: when the kernel wakes it up it is dead.  Its link is
 * closed here, so nothing that it has sent is ever read.  What it shares with its
 * successor (ledger, sockets) nothing touches on its behalf.  Its children are the
 * walker's only when it is dead: until then the successor watches them by itself
 * (daemon/processes/foster.c).  Its clients would wait for it: their connections are shut
 * down.
 */
static void
leave(struct walker *walker)
{
	const struct reap end = {
	    .pid = walker->guardian, .kind = REAP_SIGNALED, .status = SIGKILL};
	int32_t *left = walker->handing.hello.left;
	uint32_t n = 0;

	while (n < LINK_LEFT_MAX && left[n] != 0)
		n++;
	if (n == LINK_LEFT_MAX)
		return;
	left[n] = walker->guardian;
	(void)os_hang_up(walker->guardian,
	                 vault_peek(&walker->vault, VAULT_KEY(VAULT_CONTROL, 0)));
	say_error(
	    "supd's guardian (pid %d) was killed and does not end, because it waits "
	    "in the kernel: it is left behind, and the next guardian starts",
	    (int)walker->guardian);
	guardian_died(walker, &end);
}

/* True if this is the end of a guardian that was left behind.  Then it is noted. */
bool
guardian_is_left(struct walker *walker, const struct reap *news)
{
	int32_t *left = walker->handing.hello.left;

	if (news->kind == REAP_STOPPED || news->kind == REAP_CONTINUED)
		return false;
	for (uint32_t i = 0; i < LINK_LEFT_MAX; i++) {
		if (left[i] == news->pid) {
			left[i] = 0;
			say("supd's guardian (pid %d), which was left behind, has ended",
			    (int)news->pid);
			return true;
		}
	}
	return false;
}

/* Something has happened: the guardian, which may rest, has or will get something to do.
 */
void
guardian_rouse(struct walker *walker)
{
	exits_rouse(walker->exits);
	watchdog_rouse(&walker->watchdog, walker->now_ms);
}

/* Abort a guardian that hangs, kill one that does not end of that, leave one behind that
 * does not even end then; and keep the service manager patient while none supervises
 * (DECISIONS 10). */
void
guardian_watch(struct walker *walker)
{
	const int pid = (int)walker->guardian;

	if (guardian_trial_ms(walker) <= walker->now_ms)
		end_trial(walker);
	switch (watchdog_next(&walker->watchdog, walker->now_ms)) {
	case WATCHDOG_WAIT:
		break;
	case WATCHDOG_PING:
		(void)notifier_send(&walker->systemd, "WATCHDOG=1");
		break;
	case WATCHDOG_ASK:
		walker->handing.has_question = true;
		break;
	case WATCHDOG_ABORT:
		say_error("supd's guardian (pid %d) hangs%s: it is aborted", pid,
		          walker->is_stopped ? ", it was stopped by a signal" : "");
		(void)kill(walker->guardian, SIGABRT);
		/* A stopped process would not end of the signal. */
		(void)kill(walker->guardian, SIGCONT);
		break;
	case WATCHDOG_KILL:
		say_error("supd's guardian (pid %d) hangs: it is killed", pid);
		(void)kill(walker->guardian, SIGKILL);
		break;
	case WATCHDOG_LEAVE:
		leave(walker);
		break;
	}
}

/* True if supd is to end while its first guardian begins.  That one may wait for a file
 * that does not answer, and has started hardly anything yet. */
static bool
is_early(const struct walker *walker)
{
	return walker->ending != 0 && !walker->ever_adopted &&
	       walker->handing.hello.crashes == 0;
}

/* supd was asked to end, again or early: find out now whether the guardian can still hear
 * that. */
void
guardian_hurry(struct walker *walker)
{
	if ((walker->n_ending > 1 || is_early(walker)) &&
	    watchdog_hurry(&walker->watchdog, walker->now_ms))
		walker->handing.has_question = true;
}

/* ---- how it ended ------------------------------------------------------------------ */

/* True if this end is supd's end, too.  That of a binary on trial is not, before it has
 * adopted. */
static bool
is_final(const struct walker *walker, const struct reap *end)
{
	if (end->kind != REAP_EXITED || (walker->is_new && !walker->adopted))
		return false;
	if (end->status == EX_OK || end->status == EX_SOFTWARE)
		return true;
	return !walker->ever_adopted &&
	       (end->status == EX_USAGE || end->status == EX_UNAVAILABLE ||
	        end->status == EX_OSERR || end->status == EX_CONFIG);
}

/* The guardian failed: say so, and find out when and with which binary the next guardian
 * begins. */
static void
count_crash(struct walker *walker, const struct reap *end, bool has_hung)
{
	uint64_t life_ms = walker->now_ms - walker->respawn.began_ms, delay_ms = 0;
	char text[REAP_TEXT_MAX];

	/* Trials are few and need no delay between them. */
	if (!walker->is_new)
		delay_ms = respawn_end(&walker->respawn, walker->now_ms);
	say("supd's guardian (pid %d) ended after %ju ms, %s; "
	    "the next guardian starts in %ju ms",
	    (int)end->pid, (uintmax_t)life_ms, os_reap_text(end, text),
	    (uintmax_t)delay_ms);
	walker->handing.hello.crashes++;
	walker->handing.hello.attempts += !walker->adopted;
	if (walker->is_new)
		judge_binary(walker, has_hung);
}

/* supd is to end, and no guardian lives long enough to hear of it: the walker does it. */
static void
end_without_guardian(struct walker *walker)
{
	uint32_t max = walker->n_ending > 1 ? HURRIED_ATTEMPTS_MAX : ENDING_ATTEMPTS_MAX;

	if (walker->ending == 0 || walker->handing.hello.attempts < max)
		return;
	say_error("no guardian can be had that would end supd in order");
	end_processes(walker);
	walker->exit_status = EX_SOFTWARE;
}

/*
 * The guardian was reaped, or is left behind: hear what it said last, then pass on its
 * status, or see to the next one (DECISIONS 37).
 */
void
guardian_died(struct walker *walker, const struct reap *end)
{
	struct link_hello *hello = &walker->handing.hello;
	const bool has_hung = watchdog_has_bitten(&walker->watchdog);
	const uint64_t lost_ms = has_hung ? walker->watchdog.heard_ms : walker->now_ms;

	walker->guardian = 0;
	walker->is_stopped = false;
	guardian_receive(walker);
	fd_close(&walker->handing.link_fd);
	watchdog_enter(&walker->watchdog, WATCHDOG_NONE, walker->now_ms);
	if (has_hung && is_early(walker)) {
		end_processes(walker);
		walker->exit_status = walker->told_status;
		return;
	}
	if (is_final(walker, end)) {
		end_forgotten(walker);
		walker->exit_status =
		    end->status == EX_OK ? walker->told_status : end->status;
		return;
	}
	walker->respawn.next_ms = walker->now_ms;
	if (!walker->adopted || walker->old_fd < 0 || end->kind != REAP_EXITED ||
	    end->status != LINK_EXIT_UPGRADE)
		count_crash(walker, end, has_hung);
	walker->adopted = false;
	hello->is_upgrade = walker->old_fd >= 0;
	hello->last_end = *end;
	hello->died_ms = lost_ms;
	end_without_guardian(walker);
}
