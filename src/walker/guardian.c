/* SPDX-License-Identifier: ISC */
/* guardian.c - the walker's one child of its own: start it, hear it, judge it. */
#include "config.h"

#include "walker/private.h"
#include "walker/walker.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/say.h"

/* A new binary that dies so often before it has adopted anything is not used. */
#define TRIALS_MAX 2
/* One that has supervised for so long does not die of what it took over. */
#define PROVED_MS 1000
/* Whoever asks for the end gets it, even where no guardian can be had. */
#define ENDING_ATTEMPTS_MAX 7

/* Start the next guardian, or try again later. */
void
guardian_start(struct walker *walker)
{
	int link[2], r = link_pair(link);

	if (r == 0) {
		r = role_start(walker->binary_fd, walker->arguments, ROLE_GUARDIAN,
		               link[1]);
		(void)close(link[1]);
		if (r < 0)
			(void)close(link[0]);
	}
	respawn_begin(&walker->respawn, walker->now_ms);
	if (r < 0) {
		say("cannot start supd's guardian: %s; the next attempt is in %ju ms",
		    strerror(-r),
		    (uintmax_t)respawn_end(&walker->respawn, walker->now_ms));
		return;
	}
	walker->guardian = r;
	walker->handing.signals |= walker->ending;
	handing_begin(&walker->handing, link[0]);
	watchdog_enter(&walker->watchdog, WATCHDOG_PROVING, walker->now_ms);
}

/* ---- what it says ------------------------------------------------------------------ */

/* The binary replaces one that has not proved itself yet, if there is one. */
static void
on_upgrade(struct walker *walker, int take_fd)
{
	if (walker->old_fd >= 0)
		(void)close(walker->binary_fd);
	else
		walker->old_fd = walker->binary_fd;
	walker->binary_fd = take_fd;
	walker->handing.hello.fell_back = false;
}

static void
on_notify(struct walker *walker, const char *text)
{
	if (strncmp(text, "WATCHDOG=1", 10) == 0)
		watchdog_hear(&walker->watchdog, walker->now_ms);
	/* Not waited for: a service manager that does not listen hears the next one. */
	(void)notifier_send(&walker->systemd, text);
}

static void
on_adopted(struct walker *walker)
{
	walker->adopted = walker->ever_adopted = true;
	walker->adopted_ms = walker->now_ms;
	walker->handing.hello.attempts = walker->handing.hello.fell_back = 0;
	watchdog_enter(&walker->watchdog, WATCHDOG_PROVED, walker->now_ms);
	if (walker->old_fd < 0)
		return;
	fd_close(&walker->old_fd);
	exec_walker(walker);
}

/* Its descriptors are ours now. */
static void
on_message(struct walker *walker, const struct link_message *message, const int *fds)
{
	size_t n_lost = 0;

	if (message->kind == LINK_STORE) {
		n_lost = vault_store_all(&walker->vault, message->keys, fds, message->n);
	} else if (message->kind == LINK_DROP) {
		vault_drop_all(&walker->vault, message->keys, message->n);
	} else if (message->kind == LINK_LEDGER) {
		fd_close(&walker->handing.ledger_fd);
		walker->handing.ledger_fd = fds[0];
		walker->handing.has_ack = true;
	} else if (message->kind == LINK_UPGRADE) {
		on_upgrade(walker, fds[0]);
	} else if (message->kind == LINK_NOTIFY) {
		on_notify(walker, message->text);
	} else if (message->kind == LINK_ADOPTED) {
		on_adopted(walker);
	}
	if (n_lost > 0)
		say("%zu descriptors are not kept: there are %zu already, raise the "
		    "limit on open ones",
		    n_lost, walker->vault.n);
}

/*
 * Take in everything that the guardian has sent.  One that closed the link without
 * ending, or whose ledger was lost on the way, cannot be led any more: it is killed.
 */
void
guardian_receive(struct walker *walker)
{
	struct link_message message;
	int fds[LINK_FDS_MAX], r = 1;
	size_t n_fds;

	while (walker->handing.link_fd >= 0 &&
	       (r == 1 || r == -EMFILE || r == -EBADMSG)) {
		r = link_receive(walker->handing.link_fd, MSG_DONTWAIT, &message, fds,
		                 &n_fds);
		if (r == 1)
			on_message(walker, &message, fds);
		else if (r == -EMFILE || r == -EBADMSG)
			say("a message of the guardian is lost: %s", strerror(-r));
		if (r == -EMFILE && message.kind == LINK_LEDGER)
			r = 0;
	}
	if (r != 0)
		return;
	fd_close(&walker->handing.link_fd);
	if (walker->guardian > 0)
		(void)kill(walker->guardian, SIGKILL);
}

/* ---- how it is, and how it ended --------------------------------------------------- */

/* Abort a guardian that hangs, kill one that does not even die of that, and keep the
 * service manager patient while none supervises (DECISIONS 10). */
void
guardian_watch(struct walker *walker)
{
	enum watchdog_act act = watchdog_next(&walker->watchdog, walker->now_ms);

	if (act == WATCHDOG_PING)
		(void)notifier_send(&walker->systemd, "WATCHDOG=1");
	if (act != WATCHDOG_ABORT && act != WATCHDOG_KILL)
		return;
	say("supd's guardian (pid %d) hangs: it is %s", (int)walker->guardian,
	    act == WATCHDOG_ABORT ? "aborted" : "killed");
	(void)kill(walker->guardian, act == WATCHDOG_ABORT ? SIGABRT : SIGKILL);
}

/* Is the binary one that was upgraded to and has not adopted anything yet? */
static bool
is_on_trial(const struct walker *walker)
{
	return walker->old_fd >= 0 && !walker->adopted;
}

/* An end that is supd's end, too.  A binary on trial has no say in that. */
static bool
is_final(const struct walker *walker, const struct reap *end)
{
	if (end->kind != REAP_EXITED || is_on_trial(walker))
		return false;
	if (end->status == EX_OK || end->status == EX_SOFTWARE)
		return true;
	return !walker->ever_adopted &&
	       (end->status == EX_USAGE || end->status == EX_UNAVAILABLE ||
	        end->status == EX_OSERR || end->status == EX_CONFIG);
}

/* Did it end by a fault of its own?  What else kills it tells nothing of the ledger. */
static bool
is_own_fault(const struct reap *end)
{
	return end->kind == REAP_EXITED || end->status == SIGABRT ||
	       end->status == SIGSEGV || end->status == SIGBUS || end->status == SIGILL ||
	       end->status == SIGFPE || end->status == SIGTRAP || end->status == SIGSYS;
}

/*
 * Who fails right after it has adopted leaves the actors running, so that is borne for
 * longer than a failed adoption, but not for ever.
 */
static void
count_relapse(struct walker *walker, const struct reap *end)
{
	struct link_hello *hello = &walker->handing.hello;
	bool is_good =
	    walker->adopted &&
	    (!is_own_fault(end) || walker->now_ms - walker->adopted_ms >= PROVED_MS);

	if (is_good || hello->relapses == LINK_RELAPSES_MAX)
		hello->relapses = 0;
	hello->relapses += !is_good;
}

/* It failed: say so, and find out when and with which binary the next one begins. */
static void
count_crash(struct walker *walker, const struct reap *end)
{
	struct link_hello *hello = &walker->handing.hello;
	uint64_t life_ms = walker->now_ms - walker->respawn.began_ms, delay_ms = 0;
	char text[REAP_TEXT_MAX];

	/* There are so few trials that nobody need wait for them. */
	if (!is_on_trial(walker))
		delay_ms = respawn_end(&walker->respawn, walker->now_ms);
	say("supd's guardian (pid %d) ended after %ju ms, %s; the next one comes in "
	    "%ju ms",
	    (int)end->pid, (uintmax_t)life_ms, os_reap_text(end, text),
	    (uintmax_t)delay_ms);
	hello->crashes++;
	hello->attempts += !walker->adopted;
	count_relapse(walker, end);
	if (!is_on_trial(walker) || hello->attempts < TRIALS_MAX)
		return;
	say("the new supd failed %d times before it had adopted: back to the old one",
	    TRIALS_MAX);
	(void)close(walker->binary_fd);
	walker->binary_fd = walker->old_fd;
	walker->old_fd = -1;
	hello->fell_back = true;
}

/*
 * The guardian was reaped: hear what it said last, then pass on its status, or see to
 * the next one (DECISIONS 37).
 */
void
guardian_died(struct walker *walker, const struct reap *end)
{
	struct link_hello *hello = &walker->handing.hello;

	walker->guardian = 0;
	guardian_receive(walker);
	fd_close(&walker->handing.link_fd);
	watchdog_enter(&walker->watchdog, WATCHDOG_NONE, walker->now_ms);
	if (is_final(walker, end)) {
		walker->exit_status = end->status;
		return;
	}
	walker->respawn.next_ms = walker->now_ms;
	if (!walker->adopted || walker->old_fd < 0 || end->kind != REAP_EXITED ||
	    end->status != LINK_EXIT_UPGRADE)
		count_crash(walker, end);
	walker->adopted = false;
	hello->is_upgrade = walker->old_fd >= 0;
	hello->last_end = *end;
	hello->died_ms = walker->now_ms;
	if (walker->ending != 0 && hello->attempts >= ENDING_ATTEMPTS_MAX) {
		say_error("no guardian can be had that would end supd in order");
		walker->exit_status = EX_SOFTWARE;
	}
}
