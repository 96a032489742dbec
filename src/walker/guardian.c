/* SPDX-License-Identifier: ISC */
/* guardian.c - the walker's one child of its own: start it, tell it, hear it, judge it.
 */
#include "config.h"

#include "walker/private.h"
#include "walker/walker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/fd.h"

/* DECISIONS 37. */
#define LIFE_SHORT_MS 1000
#define LIFE_GOOD_MS  10000
#define DELAY_MIN_MS  100
#define DELAY_MAX_MS  5000
/* A new binary that dies so often before it has adopted anything is not used. */
#define NEW_ATTEMPTS_MAX 2
/* Whoever asks for the end gets it, even where no guardian can be had. */
#define ENDING_ATTEMPTS_MAX 7

/* ---- start ---------------------------------------------------------------------------
 */

/* In the child: only calls that are safe there. */
static void
become_guardian(const struct walker *walker, const int link[2])
{
	char path[32];
	sigset_t none;

	(void)close(link[0]);
	(void)setpgid(0, 0);
	(void)sigemptyset(&none);
	if (dup2(link[1], ROLE_FD) == ROLE_FD && fcntl(ROLE_FD, F_SETFD, 0) == 0 &&
	    sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
		(void)execveat(walker->s.binary_fd, "", walker->guardian_argv, environ,
		               AT_EMPTY_PATH);
		/* Where that is not there or not allowed. */
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d",
		               walker->s.binary_fd);
		(void)execve(path, walker->guardian_argv, environ);
	}
	walker_say("cannot run %s: %s", walker->s.binary, strerror(errno));
	_exit(EX_OSERR);
}

/* How long the next one waits after one that lived so long. */
static uint64_t
delay_after(struct walker_state *s, uint64_t life_ms)
{
	if (life_ms >= LIFE_GOOD_MS)
		s->delay_ms = 0;
	if (life_ms >= LIFE_SHORT_MS)
		return 0;
	s->delay_ms = s->delay_ms == 0 ? DELAY_MIN_MS : 2 * s->delay_ms;
	if (s->delay_ms > DELAY_MAX_MS)
		s->delay_ms = DELAY_MAX_MS;
	return s->delay_ms;
}

/* Start the next guardian, or try again later. */
void
guardian_start(struct walker *walker)
{
	struct walker_state *s = &walker->s;
	int link[2];
	int r = link_pair(link);

	if (r == 0) {
		pid_t pid = fork();

		if (pid == 0)
			become_guardian(walker, link);
		r = pid < 0 ? -errno : 0;
		(void)close(link[1]);
		s->guardian = pid;
		s->link_fd = link[0];
		if (pid < 0)
			fd_close(&s->link_fd);
	}
	if (r < 0) {
		s->guardian = 0;
		s->next_ms = walker->now_ms + delay_after(s, 0);
		walker_say("cannot start supd's guardian: %s; the next attempt is in "
		           "%llu ms",
		           strerror(-r), (unsigned long long)s->delay_ms);
		return;
	}
	s->started_ms = walker->now_ms;
	s->feed = FEED_HELLO;
	s->fed = 0;
	s->signals |= s->ending;
	s->n_acks = 0;
	s->pause_ms = 0;
	s->aborted_ms = 0;
	s->killed = false;
	guardian_feed(walker);
}

/* ---- what it is told -----------------------------------------------------------------
 */

static int
send_hello(const struct walker *walker)
{
	const struct walker_state *s = &walker->s;
	const int fds[2] = {s->exits_fd, s->ledger_fd};
	struct link_message message;

	/* Holes included: it is sent as it is. */
	memset(&message, 0, sizeof(message));
	message.kind = LINK_HELLO;
	message.hello.version = LINK_VERSION;
	message.hello.attempts = s->attempts;
	message.hello.crashes = s->crashes;
	message.hello.walker_pid = getpid();
	message.hello.has_ledger = s->ledger_fd >= 0;
	message.hello.is_upgrade = s->is_upgrade || s->old_fd >= 0;
	message.hello.fell_back = s->fell_back;
	message.hello.last_end = s->last_end;
	message.hello.died_ms = s->died_ms;
	message.hello.nofile = s->nofile;
	memcpy(message.hello.binary, s->binary, sizeof(s->binary));
	return link_send(s->link_fd, &message, fds, s->ledger_fd >= 0 ? 2 : 1);
}

/* One message of the beginning, and on to the next one.  0 or -errno. */
static int
feed_one(struct walker *walker)
{
	struct link_message message = {.kind = LINK_VAULT};
	struct walker_state *s = &walker->s;
	int fds[LINK_FDS_MAX], r;
	size_t at = s->fed;

	if (s->feed == FEED_HELLO) {
		r = send_hello(walker);
		s->feed = r == 0 ? FEED_VAULT : s->feed;
		return r;
	}
	message.n =
	    (uint32_t)vault_next(&walker->vault, &at, LINK_FDS_MAX, message.keys, fds);
	if (message.n == 0)
		message.kind = LINK_END;
	r = link_send(s->link_fd, &message, fds, message.n);
	if (r < 0)
		return r;
	s->fed = at;
	if (message.n == 0)
		s->feed = FEED_DONE;
	return 0;
}

static int
send_short(struct walker_state *s, enum link_kind kind, uint32_t n)
{
	const struct link_message message = {.kind = kind, .n = n};

	return link_send(s->link_fd, &message, NULL, 0);
}

/* One of the messages that are due after the beginning.  1: none is; 0, or -errno. */
static int
tell_one(struct walker_state *s)
{
	int signo, r;

	if (s->n_acks > 0) {
		r = send_short(s, LINK_ACK, s->ack_code);
		s->n_acks -= r == 0;
		return r;
	}
	if (s->signals != 0) {
		signo = __builtin_ctz(s->signals);
		r = send_short(s, LINK_SIGNAL, (uint32_t)signo);
		s->signals &= ~(r == 0 ? UINT32_C(1) << signo : 0);
		return r;
	}
	if (!s->poke)
		return 1;
	r = send_short(s, LINK_POKE, 0);
	s->poke = r < 0;
	return r;
}

/* Send what is due, as far as the link takes it.  A guardian that died is found by its
 * end; until then what it did not hear stays due. */
void
guardian_feed(struct walker *walker)
{
	struct walker_state *s = &walker->s;
	int r = 0, n = 0;

	if (s->link_fd < 0)
		return;
	for (; r == 0; n++)
		r = s->feed == FEED_DONE ? tell_one(s) : feed_one(walker);
	/* "Writable", and yet not even one message: the descriptors in it are too many.
	 */
	s->pause_ms = r < 0 && n == 1 ? walker->now_ms + 10 : 0;
}

/* ---- what it says --------------------------------------------------------------------
 */

static void
on_store(struct walker *walker, const struct link_message *message, const int *fds,
         size_t n_fds)
{
	size_t n_lost = 0;

	for (size_t i = 0; i < n_fds; i++)
		if (i >= message->n)
			(void)close(fds[i]);
		else if (!vault_store(&walker->vault, message->keys[i], fds[i]))
			n_lost++;
	if (n_lost > 0)
		walker_say("%zu descriptors are not kept: there are %zu already, raise "
		           "the limit on open ones",
		           n_lost, walker->vault.n);
}

static void
on_ledger(struct walker_state *s, int fd)
{
	if (fd >= 0) {
		fd_close(&s->ledger_fd);
		s->ledger_fd = fd;
	}
	s->n_acks++;
	s->ack_code = fd >= 0 ? 0 : EMFILE;
}

static void
on_notify(struct walker *walker, const char *text)
{
	if (strncmp(text, "WATCHDOG=1", 10) == 0)
		walker->s.heard_ms = walker->s.pinged_ms = walker->now_ms;
	/* Not waited for: a service manager that does not listen hears the next one. */
	(void)notifier_send(&walker->systemd, text);
}

/* The binary that is told replaces one that has not proved itself yet, if there is. */
static void
on_upgrade(struct walker_state *s, int fd)
{
	if (s->old_fd >= 0)
		(void)close(s->binary_fd);
	else
		s->old_fd = s->binary_fd;
	s->binary_fd = fd;
	s->new_attempts = 0;
	s->fell_back = false;
}

static void
on_adopted(struct walker *walker)
{
	struct walker_state *s = &walker->s;

	s->adopted = s->ever_adopted = true;
	s->fell_back = false;
	s->attempts = 0;
	s->heard_ms = walker->now_ms;
	if (s->old_fd < 0)
		return;
	fd_close(&s->old_fd);
	walker_exec(walker);
}

static void
on_message(struct walker *walker, const struct link_message *message, int *fds,
           size_t n_fds)
{
	bool is_one = n_fds == 1;

	if (message->kind == LINK_STORE) {
		on_store(walker, message, fds, n_fds);
		return;
	}
	if (message->kind == LINK_LEDGER && is_one)
		on_ledger(&walker->s, fds[0]);
	else if (message->kind == LINK_UPGRADE && is_one)
		on_upgrade(&walker->s, fds[0]);
	else
		for (size_t i = 0; i < n_fds; i++)
			fd_close(&fds[i]);
	if (message->kind == LINK_DROP)
		for (size_t i = 0; i < message->n; i++)
			vault_drop(&walker->vault, message->keys[i]);
	else if (message->kind == LINK_NOTIFY)
		on_notify(walker, message->text);
	else if (message->kind == LINK_ADOPTED)
		on_adopted(walker);
}

/* Nothing stands still: whoever waits for an answer gets it. */
static void
on_loss(struct walker_state *s, const struct link_message *message)
{
	walker_say("descriptors of the guardian are lost: too many are open");
	if (message->kind == LINK_LEDGER)
		on_ledger(s, -1);
}

/*
 * Take in everything that the guardian has sent.  One that closed the link without
 * ending cannot be led any more: it is killed.
 */
void
guardian_receive(struct walker *walker)
{
	struct walker_state *s = &walker->s;
	struct link_message message;
	int fds[LINK_FDS_MAX], r = 1;
	size_t n_fds;

	while (s->link_fd >= 0 && (r == 1 || r == -EMFILE || r == -EBADMSG)) {
		r = link_receive(s->link_fd, MSG_DONTWAIT, &message, fds, &n_fds);
		if (r == 1)
			on_message(walker, &message, fds, n_fds);
		else if (r == -EMFILE)
			on_loss(s, &message);
		else if (r == -EBADMSG)
			walker_say("the guardian said what cannot be understood");
	}
	if (r != 0)
		return;
	fd_close(&s->link_fd);
	if (s->guardian > 0)
		(void)kill(s->guardian, SIGKILL);
}

/* ---- how it ended --------------------------------------------------------------------
 */

/* Is the binary one that was upgraded to and has not adopted anything yet? */
static bool
is_on_trial(const struct walker_state *s)
{
	return s->old_fd >= 0 && !s->adopted;
}

/* An end that is supd's end, too.  A binary on trial has no say in that. */
static bool
is_final(const struct walker_state *s, const struct reap *end)
{
	if (end->kind != REAP_EXITED || is_on_trial(s))
		return false;
	if (end->status == EX_OK || end->status == EX_SOFTWARE)
		return true;
	return !s->ever_adopted &&
	       (end->status == EX_USAGE || end->status == EX_UNAVAILABLE ||
	        end->status == EX_OSERR || end->status == EX_CONFIG);
}

static void
tell_end(const struct walker *walker, const struct reap *end, uint64_t delay_ms)
{
	const char *name = sigabbrev_np(end->status);
	char how[64], next[64] = "at once";

	if (end->kind == REAP_EXITED)
		(void)snprintf(how, sizeof(how), "exited with status %d", end->status);
	else
		(void)snprintf(how, sizeof(how), "was killed by SIG%s%s",
		               name != NULL ? name : "?",
		               end->kind == REAP_DUMPED ? " (core dumped)" : "");
	if (delay_ms > 0)
		(void)snprintf(next, sizeof(next), "in %llu ms",
		               (unsigned long long)delay_ms);
	walker_say("supd's guardian (pid %d) %s after %llu ms; another one is started %s",
	           (int)end->pid, how,
	           (unsigned long long)(walker->now_ms - walker->s.started_ms), next);
}

/* A binary that was upgraded to and cannot do it. */
static void
count_new_attempt(struct walker_state *s)
{
	if (!is_on_trial(s) || ++s->new_attempts < NEW_ATTEMPTS_MAX)
		return;
	walker_say("the new supd failed %d times before it had adopted: back to the "
	           "old one",
	           NEW_ATTEMPTS_MAX);
	(void)close(s->binary_fd);
	s->binary_fd = s->old_fd;
	s->old_fd = -1;
	s->fell_back = true;
}

/*
 * The guardian was reaped: hear what it said last, then pass on its status, or see to
 * the next one (DECISIONS 37).
 */
void
guardian_died(struct walker *walker, const struct reap *end)
{
	struct walker_state *s = &walker->s;
	uint64_t delay_ms = 0;

	s->guardian = 0;
	guardian_receive(walker);
	fd_close(&s->link_fd);
	s->is_upgrade = end->kind == REAP_EXITED && end->status == LINK_EXIT_UPGRADE;
	s->last_end = *end;
	s->died_ms = walker->now_ms;
	if (is_final(s, end)) {
		walker->exit_status = end->status;
		return;
	}
	if (s->adopted)
		s->grace_ms = walker->now_ms + GRACE_MS;
	if (!s->is_upgrade) {
		s->crashes++;
		s->attempts = s->adopted ? 0 : s->attempts + 1;
		/* So few attempts that nobody need wait for them. */
		if (!is_on_trial(s))
			delay_ms = delay_after(s, walker->now_ms - s->started_ms);
		tell_end(walker, end, delay_ms);
		count_new_attempt(s);
	}
	s->adopted = false;
	s->next_ms = walker->now_ms + delay_ms;
	if (s->ending != 0 && s->attempts >= ENDING_ATTEMPTS_MAX) {
		walker_say("no guardian can be had that would end supd in order");
		walker->exit_status = EX_SOFTWARE;
	}
}

/* ---- the service manager's watchdog --------------------------------------------------
 */

/* Is the guardian silent for too long, at what time?  Three quarters of the period: the
 * rest is for the next one (DECISIONS 10). */
static uint64_t
silent_ms(const struct walker *walker)
{
	const struct walker_state *s = &walker->s;

	if (s->guardian <= 0 || !s->adopted)
		return UINT64_MAX;
	if (s->killed)
		return UINT64_MAX;
	if (s->aborted_ms != 0)
		return s->aborted_ms + 1000;
	return s->heard_ms + walker->systemd.watchdog_us / 1000 * 3 / 4;
}

static uint64_t
ping_ms(const struct walker *walker)
{
	const struct walker_state *s = &walker->s;
	uint64_t next_ms = s->pinged_ms + walker->systemd.watchdog_us / 2000;

	if ((s->adopted && s->aborted_ms == 0) || next_ms > s->grace_ms)
		return UINT64_MAX;
	return next_ms;
}

/* When watchdog_mind() is due; UINT64_MAX: not before something else happens. */
uint64_t
watchdog_deadline(const struct walker *walker)
{
	uint64_t silent = silent_ms(walker), ping = ping_ms(walker);

	if (walker->systemd.watchdog_us == 0)
		return UINT64_MAX;
	return silent < ping ? silent : ping;
}

/* Abort a guardian that hangs, kill one that does not even die of that, and keep the
 * service manager patient while none supervises. */
void
watchdog_mind(struct walker *walker)
{
	struct walker_state *s = &walker->s;

	if (walker->systemd.watchdog_us == 0)
		return;
	if (silent_ms(walker) <= walker->now_ms) {
		walker_say("supd's guardian (pid %d) hangs: it is %s", (int)s->guardian,
		           s->aborted_ms == 0 ? "aborted" : "killed");
		s->killed = s->aborted_ms != 0;
		(void)kill(s->guardian, s->killed ? SIGKILL : SIGABRT);
		s->aborted_ms = walker->now_ms;
		s->grace_ms = walker->now_ms + GRACE_MS;
	}
	if (ping_ms(walker) <= walker->now_ms) {
		s->pinged_ms = walker->now_ms;
		(void)notifier_send(&walker->systemd, "WATCHDOG=1");
	}
}
