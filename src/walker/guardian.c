/* SPDX-License-Identifier: ISC */
/* guardian.c - the walker's single child of its own: start, hear and judge the guardian.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/self/fd.h"
#include "os/self/say.h"
#include "walker/private.h"
#include "walker/walker.h"

/* Guardians compare the lock with the file of its name. */
void
guardian_know_lock(struct walker *walker)
{
	struct stat st;

	if (fstat(walker->lock_fd, &st) < 0)
		return;
	walker->handing.hello.lock_dev = st.st_dev;
	walker->handing.hello.lock_ino = st.st_ino;
}

/* How long the guardian that begins may take, and be silent: as long as what is there to
 * be taken over is not supervised. */
static void
watch_start(struct walker *walker)
{
	uint64_t total_ms = walker->times.adopt_ms, quiet_ms = total_ms;

	if (walker->handing.ledger_fd >= 0)
		quiet_ms = WATCHDOG_TAKE_OVER_MS(walker->n_actors);
	if (walker->is_new && quiet_ms < total_ms)
		total_ms = quiet_ms;
	watchdog_begin(&walker->watchdog, total_ms, quiet_ms, walker->now_ms);
}

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
	walker->told_status = EX_OK;
	walker->handing.signals |= walker->ending;
	handing_begin(&walker->handing, link[0]);
	exits_new_pulse(walker->exits);
	walker->is_new = walker->old_fd >= 0;
	watch_start(walker);
}

/* ---- what it says ------------------------------------------------------------------ */

/* The binary replaces a newer binary that has not proved itself yet, if there is any. */
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
		watchdog_pinged(&walker->watchdog, walker->now_ms);
	/* Not waited for: a service manager that does not listen hears the next one. */
	(void)notifier_send(&walker->systemd, text);
}

static void
on_ledger(struct walker *walker, int take_fd, uint32_t n_actors)
{
	fd_close(&walker->handing.ledger_fd);
	walker->handing.ledger_fd = take_fd;
	walker->handing.has_ack = true;
	walker->handing.ack = 0;
	walker->n_actors = n_actors;
	watchdog_expect(&walker->watchdog, n_actors);
}

static void
on_adopted(struct walker *walker)
{
	walker->adopted = walker->ever_adopted = true;
	walker->adopted_ms = walker->now_ms;
	walker->handing.hello.attempts = walker->handing.hello.fell_back = 0;
	watchdog_enter(&walker->watchdog, WATCHDOG_PROVED, walker->now_ms);
}

static void
on_alive(struct walker *walker, bool is_answer)
{
	guardian_rouse(walker);
	if (is_answer)
		watchdog_answered(&walker->watchdog, walker->now_ms);
	else
		watchdog_hear(&walker->watchdog, walker->now_ms);
	/* A sleeping guardian is not asked again. */
	if (is_answer && exits_let_rest(walker->exits))
		watchdog_rests(&walker->watchdog);
}

/* True if a loss may be logged now: actors with a store of descriptors can cause any
 * number. */
static bool
may_tell_loss(struct walker *walker)
{
	uint64_t n_held;

	return log_pace_admit(&walker->losses, LOG_PACE_MS, LOG_PACE_MAX, walker->now_ms,
	                      &n_held);
}

/* Its descriptors are ours now: also those of what only a walker says. */
static void
on_message(struct walker *walker, const struct link_message *message, const int *fds,
           size_t n_fds)
{
	size_t n_lost = 0;

	if (message->kind == LINK_STORE) {
		n_lost = vault_store_all(&walker->vault, message->keys, fds, message->n);
	} else if (message->kind == LINK_DROP) {
		vault_drop_all(&walker->vault, message->keys, message->n);
	} else if (message->kind == LINK_LEDGER) {
		on_ledger(walker, fds[0], message->n);
	} else if (message->kind == LINK_UPGRADE) {
		on_upgrade(walker, fds[0]);
	} else if (message->kind == LINK_NOTIFY) {
		on_notify(walker, message->text);
	} else if (message->kind == LINK_ADOPTED) {
		on_adopted(walker);
	} else if (message->kind == LINK_ROOM) {
		walker->handing.has_ack = true;
		walker->handing.ack =
		    vault_has_room(&walker->vault, message->n) ? 0 : EMFILE;
	} else if (message->kind == LINK_FETCH) {
		walker->handing.has_fetch = true;
		walker->handing.n_wanted = message->n;
		memcpy(walker->handing.wanted, message->keys,
		       message->n * sizeof(message->keys[0]));
	} else if (message->kind == LINK_STATUS) {
		walker->told_status = (int)(message->n & 0xff);
	} else if (message->kind == LINK_LOCK) {
		fd_close(&walker->lock_fd);
		walker->lock_fd = fds[0];
		guardian_know_lock(walker);
	} else if (message->kind == LINK_ALIVE) {
		on_alive(walker, message->n != 0);
	} else {
		for (size_t i = 0; i < n_fds; i++)
			(void)close(fds[i]);
	}
	if (n_lost > 0 && may_tell_loss(walker))
		say("%zu descriptors are not kept: there are %zu already; raise "
		    "LimitNOFILE= or 'ulimit -Hn'",
		    n_lost, walker->vault.n);
}

/*
 * Take in every message of the guardian.  A guardian is killed when it closed the link
 * without ending, or when its ledger was lost on the way.
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
			on_message(walker, &message, fds, n_fds);
		else if ((r == -EMFILE || r == -EBADMSG) && may_tell_loss(walker))
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
