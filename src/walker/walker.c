/* SPDX-License-Identifier: ISC */
/* walker.c - the outermost process: its start, and its loop. */
#include "config.h"

#include "walker/walker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "os/signals.h"
#include "walker/private.h"

#define VAULT_MAX (1 << 20)
/* Besides the vault: our own, and those of one message. */
#define SPARE_FDS (FD_WINDOW + LINK_FDS_MAX + 50)
/* So often one looks whether the guardian has taken from the full exits. */
#define FULL_MS 100

/* Passed on to the guardian, and those that end supd. */
#define BIT(signo) (UINT32_C(1) << (signo))
#define ENDING     (BIT(SIGTERM) | BIT(SIGINT) | BIT(SIGQUIT))
#define PASSED     (ENDING | BIT(SIGHUP) | BIT(SIGUSR1))

/* One line on stderr, in the form of the guardian's log; lost where nobody reads. */
void
walker_say(const char *fmt, ...)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
	char text[512], stamp[CLOCK_TEXT_MAX], line[640];
	va_list ap;
	int n;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = snprintf(line, sizeof(line), "%s %-7s %s\n",
	             clock_format(clock_wall_us(), 3, stamp), "warning", text);
	if (poll(&out, 1, 0) > 0 && n > 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
}

/* ---- the loop ---------------------------------------------------------------------- */

static void
take_signals(struct walker *walker)
{
	struct signalfd_siginfo info;

	while (read(walker->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo < 32)
			walker->s.signals |= BIT(info.ssi_signo) & PASSED;
	walker->s.ending |= walker->s.signals & ENDING;
}

/*
 * The guardian first, by its pid, so that no throng of others delays it; of the others
 * each is recorded and only then reaped (DECISIONS 3).
 */
static void
reap(struct walker *walker)
{
	struct walker_state *s = &walker->s;
	struct reap news;

	if (s->guardian > 0 && os_reap_pidfd(-1, s->guardian, &news) == 1)
		guardian_died(walker, &news);
	s->is_full = false;
	while (!s->is_full && os_reap_peek_any(&news) == 1) {
		bool is_end = news.kind != REAP_STOPPED && news.kind != REAP_CONTINUED;
		bool is_guardian = news.pid == s->guardian;

		if (!is_guardian && !exits_add(walker->exits, &news)) {
			s->is_full = true;
			break;
		}
		os_reap_peeked(&news);
		s->poke |= !is_guardian;
		if (is_guardian && is_end)
			guardian_died(walker, &news);
	}
}

/* For poll(2): until the next time that somebody waits for; -1: nobody does. */
static int
timeout_ms(const struct walker *walker)
{
	const struct walker_state *s = &walker->s;
	uint64_t at = watchdog_deadline(walker);

	if (s->guardian == 0 && s->next_ms < at)
		at = s->next_ms;
	if (s->is_full && walker->now_ms + FULL_MS < at)
		at = walker->now_ms + FULL_MS;
	if (s->pause_ms != 0 && s->pause_ms < at)
		at = s->pause_ms;
	if (at == UINT64_MAX)
		return -1;
	if (at <= walker->now_ms)
		return 0;
	return at - walker->now_ms > INT_MAX ? INT_MAX : (int)(at - walker->now_ms);
}

static bool
has_more_to_tell(const struct walker_state *s)
{
	return s->feed != FEED_DONE || s->n_acks > 0 || s->signals != 0 || s->poke;
}

static int
walk(struct walker *walker)
{
	struct walker_state *s = &walker->s;

	for (;;) {
		walker->now_ms = clock_mono_ms();
		take_signals(walker);
		guardian_receive(walker);
		reap(walker);
		if (walker->exit_status >= 0)
			return (int)walker->exit_status;
		if (s->guardian == 0 && (s->next_ms <= walker->now_ms))
			guardian_start(walker);
		else if (s->pause_ms <= walker->now_ms)
			guardian_feed(walker);
		watchdog_mind(walker);

		struct pollfd fds[2] = {{.fd = walker->signal_fd, .events = POLLIN},
		                        {.fd = s->link_fd, .events = POLLIN}};

		if (has_more_to_tell(s) && s->pause_ms == 0)
			fds[1].events |= POLLOUT;
		(void)poll(fds, 2, timeout_ms(walker));
	}
}

/* ---- start and end -------------------------------------------------------------------
 */

/* The user's arguments behind a role; argv[0] stays. */
static char **
with_role(char **argv, const char *role)
{
	size_t n = 0;
	char **all;

	while (argv[n] != NULL)
		n++;
	all = calloc(n + 3, sizeof(*all));
	if (all == NULL)
		return NULL;
	/* execve(2) does not write there. */
	all[0] = n > 0 ? argv[0] : (char *)(uintptr_t) "supd";
	all[1] = (char *)(uintptr_t)role;
	for (size_t i = 1; i < n; i++)
		all[i + 1] = argv[i];
	return all;
}

/* What both a first walker and one that executed itself need; 0 or an exit status. */
static int
prepare(struct walker *walker, char **argv)
{
	sigset_t wanted;

	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	for (int signo = 1; signo < 32; signo++)
		if (BIT(signo) & PASSED)
			(void)sigaddset(&wanted, signo);
	/* Before the mask is ours: what is pending stays so. */
	walker->signal_fd = fd_raise(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
	(void)sigprocmask(SIG_SETMASK, &wanted, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	walker->guardian_argv = with_role(argv, ROLE_GUARDIAN);
	walker->walker_argv = with_role(argv, ROLE_WALKER);
	notifier_open(&walker->systemd, environ, getpid());
	walker->now_ms = clock_mono_ms();
	walker->s.heard_ms = walker->s.pinged_ms = walker->now_ms;
	if (walker->signal_fd >= 0 && walker->guardian_argv != NULL &&
	    walker->walker_argv != NULL)
		return 0;
	walker_say("start: %s", strerror(errno));
	return EX_OSERR;
}

/* The runtime directory is ours alone: whoever holds the lock. */
static int
lock_runtime_dir(struct walker *walker, const char *dir)
{
	char path[PATH_MAX];
	struct err err;
	int n = snprintf(path, sizeof(path), "%s/supd.lock", dir);

	if (n < 0 || (size_t)n >= sizeof(path)) {
		walker_say("runtime directory: the name is too long");
		return EX_OSERR;
	}
	walker->s.lock_fd = fd_lock(path, &err);
	if (walker->s.lock_fd >= 0)
		return 0;
	if (walker->s.lock_fd == -EWOULDBLOCK) {
		walker_say("another supd runs in %s; stop it, or choose another "
		           "directory with -r",
		           dir);
		return EX_UNAVAILABLE;
	}
	walker_say("runtime directory: %s", err.text);
	return EX_OSERR;
}

/* As many descriptors as the system lets us have, most of them for the vault. */
static int
open_vault(struct walker *walker)
{
	struct walker_state *s = &walker->s;
	struct rlimit limit = {.rlim_cur = 0};
	struct err err;
	int r;

	(void)fd_limit(&s->nofile);
	(void)fd_raise_limit(
	    s->nofile.rlim_max < VAULT_MAX ? s->nofile.rlim_max : VAULT_MAX, &err);
	(void)fd_limit(&limit);
	s->vault_max = limit.rlim_cur > SPARE_FDS ? limit.rlim_cur - SPARE_FDS : 0;
	if (s->vault_max > VAULT_MAX)
		s->vault_max = VAULT_MAX;
	r = vault_init(&walker->vault, (size_t)s->vault_max);
	if (r < 0)
		walker_say("memory for the vault: %s", strerror(-r));
	return r < 0 ? EX_OSERR : 0;
}

static int
open_all(struct walker *walker, const struct walker_options *options)
{
	struct walker_state *s = &walker->s;
	struct err err = {0};
	int status = lock_runtime_dir(walker, options->runtime_dir);

	if (status != 0)
		return status;
	status = open_vault(walker);
	if (status != 0)
		return status;
	walker->exits = exits_new(&err);
	s->binary_fd = fd_raise(open("/proc/self/exe", O_PATH | O_CLOEXEC));
	if (walker->exits == NULL || s->binary_fd < 0) {
		walker_say("%s", walker->exits == NULL
		                     ? err.text
		                     : "/proc/self/exe cannot be opened: "
		                       "is /proc mounted?");
		return EX_OSERR;
	}
	s->exits_fd = exits_fd(walker->exits);
	if (readlink("/proc/self/exe", s->binary, sizeof(s->binary) - 1) < 0)
		s->binary[0] = '\0';
	if (os_become_subreaper() < 0)
		walker_say("cannot become a subreaper: %s", strerror(errno));
	/* Without cgroups of our own supd works, too: the guardian tells why. */
	(void)cgroup_enter(s->cgroup);
	return 0;
}

static int
finish(struct walker *walker, int status)
{
	if (walker->s.cgroup[0] != '\0')
		cgroup_leave(walker->s.cgroup);
	notifier_close(&walker->systemd);
	exits_free(walker->exits);
	free(walker->guardian_argv);
	free(walker->walker_argv);
	return status;
}

/*
 * Be the walker until supd ends; returns its exit status.  The caller is to be in its
 * first moments: descriptors above 2 are strangers to be closed, signals are reset.
 */
int
walker_run(const struct walker_options *options)
{
	struct walker walker = {.s = {.bytes = sizeof(walker.s),
	                              .version = LINK_VERSION,
	                              .pid = getpid(),
	                              .binary_fd = -1,
	                              .old_fd = -1,
	                              .lock_fd = -1,
	                              .exits_fd = -1,
	                              .ledger_fd = -1,
	                              .link_fd = -1},
	                        .exit_status = -1};
	int status;

	signals_reset();
	(void)fd_open_standard();
	fd_close_strangers();
	status = prepare(&walker, options->argv);
	if (status == 0)
		status = open_all(&walker, options);
	if (status == 0) {
		walker.s.grace_ms = walker.now_ms + GRACE_MS;
		status = walk(&walker);
	}
	return finish(&walker, status);
}

/*
 * Be the walker that has just executed itself: argv is the user's, without the role.
 * Returns supd's exit status; EX_USAGE when a user chose the role.
 */
int
walker_resume(char **argv)
{
	struct walker walker = {.exit_status = -1};
	struct err err;
	int r = walker_unpack(&walker, &err);

	if (r == 0 && prepare(&walker, argv) == 0) {
		walker.exits = exits_resume(walker.s.exits_fd, &err);
		if (walker.exits != NULL)
			return finish(&walker, walk(&walker));
	}
	(void)fprintf(stderr, "supd: %s: %s\n", ROLE_WALKER, err.text);
	return r == -EPERM ? EX_USAGE : EX_OSERR;
}
