/* SPDX-License-Identifier: ISC */
/* walker.c - the outermost process: its start, and its loop. */
#include "config.h"

#include "walker/walker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/cleanup.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/namelock.h"
#include "os/self/oom.h"
#include "os/self/say.h"
#include "os/self/signals.h"
#include "os/socket/listen.h"
#include "walker/private.h"

/* Descriptors besides the vault: our own, and those of one message. */
#define SPARE_FDS (LINK_STORE_MAX + 50)
/* Retry interval for operations without a completion notice (milliseconds). */
#define AGAIN_MS 20

/* The signals that the guardian is told of. */
#define PASSED (ENDING | SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGUSR1))

/* ---- the loop ---------------------------------------------------------------------- */

/*
 * The guardian first, by its pid, so that no throng of others delays it; of the others
 * each is recorded and only then reaped (DECISIONS 3).  false: there is no room for more
 * records, and zombies are waiting.
 */
static bool
reap(struct walker *walker)
{
	struct reap news;

	if (walker->guardian > 0 && os_reap_pidfd(-1, walker->guardian, &news) == 1)
		guardian_died(walker, &news);
	while (os_reap_peek_any(&news) == 1) {
		bool is_end = news.kind != REAP_STOPPED && news.kind != REAP_CONTINUED;
		bool is_guardian = news.pid == walker->guardian,
		     is_ours = is_guardian || guardian_is_left(walker, &news);

		if (!is_ours && !exits_add(walker->exits, &news))
			return false;
		os_reap_peeked(&news);
		walker->handing.has_news |= !is_ours;
		if (is_guardian && is_end)
			guardian_died(walker, &news);
		else if (is_guardian)
			walker->is_stopped = news.kind == REAP_STOPPED;
	}
	return true;
}

/* Sleep until something happens, or is due; r is what handing_send() said.  True if a
 * signal may have come: without one no child has ended. */
static bool
rest(const struct walker *walker, int r, bool all_reaped)
{
	uint64_t until_ms =
	    SMALLER(watchdog_deadline_ms(&walker->watchdog), guardian_trial_ms(walker));
	struct pollfd fds[2] = {{.fd = walker->signal_fd, .events = POLLIN},
	                        {.fd = walker->handing.link_fd, .events = POLLIN}};

	if (walker->guardian == 0 && walker->respawn.next_ms < until_ms)
		until_ms = walker->respawn.next_ms;
	if (r == -EAGAIN)
		fds[1].events |= POLLOUT;
	else if (r < 0 && r != -EPIPE)
		all_reaped = false;
	if (!all_reaped && walker->now_ms + AGAIN_MS < until_ms)
		until_ms = walker->now_ms + AGAIN_MS;
	return poll(fds, 2, clock_wait_ms(walker->now_ms, until_ms)) < 0 ||
	       fds[0].revents != 0;
}

static int
walk(struct walker *walker)
{
	bool is_signalled = true, all_reaped = false;

	for (;;) {
		uint32_t came = is_signalled ? signals_take(walker->signal_fd) : 0;

		walker->now_ms = clock_mono_ms();
		walker->handing.signals |= came & PASSED;
		walker->ending |= came & ENDING;
		guardian_receive(walker);
		if (came != 0)
			guardian_rouse(walker);
		if ((came & ENDING) != 0) {
			walker->n_ending++;
			guardian_hurry(walker);
		}

		if (is_signalled || !all_reaped)
			all_reaped = reap(walker);
		if (walker->exit_status >= 0)
			return walker->exit_status;
		if (walker->guardian == 0 && walker->respawn.next_ms <= walker->now_ms)
			guardian_start(walker);
		guardian_watch(walker);
		vault_tend(&walker->vault);
		is_signalled = rest(
		    walker, handing_send(&walker->handing, &walker->vault), all_reaped);
	}
}

/* ---- start and end ----------------------------------------------------------------- */

/* What both a first walker and one that executed itself need; 0 or an exit status. */
static int
prepare(struct walker *walker, char **argv)
{
	walker->exit_status = -1;
	walker->now_ms = clock_mono_ms();
	walker->signal_fd = signals_open(PASSED | SIGNAL_BIT(SIGCHLD));
	walker->arguments = role_arguments(argv);
	notifier_open(&walker->systemd, environ, getpid());
	if (walker->signal_fd >= 0 && walker->arguments != NULL)
		return 0;
	say_error("start: %s",
	          strerror(walker->signal_fd < 0 ? -walker->signal_fd : ENOMEM));
	return EX_OSERR;
}

/* Be the last to be killed when memory runs out; what is started has what we had. */
static void
spare(struct link_hello *hello)
{
	CLEANUP(fd_close) int fd = oom_open();

	hello->oom_score_adj = oom_read(fd);
	oom_set(fd, OOM_OF_WALKER);
}

/*
 * Only a single supd may run in a directory, also when the directory was removed and made
 * anew: so its name is locked, too.  A stranger's process that took the name does not
 * prevent a start. 0 or an exit status.
 */
static int
lock_all(struct walker *walker, const char *runtime_dir)
{
	struct err err = {0};

	walker->lock_fd = fd_lock(runtime_dir, "supd.lock", &err);
	if (walker->lock_fd == -EWOULDBLOCK)
		say_error("another supd runs in %s; stop it, or choose another runtime "
		          "directory with -r",
		          runtime_dir);
	else if (walker->lock_fd < 0)
		say_error("%s (-r chooses another runtime directory)", err.text);
	if (walker->lock_fd < 0)
		return walker->lock_fd == -EWOULDBLOCK ? EX_UNAVAILABLE : EX_OSERR;
	guardian_know_lock(walker);
	walker->name_fd = name_lock(runtime_dir, &err);
	if (walker->name_fd == -EADDRINUSE) {
		say_error("%s, although its files were removed; stop it, or choose "
		          "another runtime directory with -r",
		          err.text);
		return EX_UNAVAILABLE;
	}
	if (walker->name_fd < 0)
		say("%s: supd is locked by its file only", err.text);
	return 0;
}

/* Open what is to survive the guardians, or say why not; 0 or an exit status. */
static int
open_all(struct walker *walker)
{
	struct link_hello *hello = &walker->handing.hello;
	struct err err = {0};

	(void)fd_limit(&hello->nofile);
	spare(hello);
	if (vault_open(&walker->vault, SPARE_FDS, &err) == 0)
		walker->exits = exits_new(&err);
	if (!vault_has_room(&walker->vault, 1))
		say_error(
		    "%llu descriptors may be open, too few to keep those of actors: "
		    "actors will not survive a crash of supd; raise LimitNOFILE= "
		    "or 'ulimit -Hn'",
		    (unsigned long long)hello->nofile.rlim_max);
	walker->binary_fd = role_binary(hello->binary, sizeof(hello->binary));
	if (walker->binary_fd < 0)
		err_set(&err, -walker->binary_fd, "open /proc/self/exe");
	if (walker->exits == NULL || walker->binary_fd < 0) {
		say_error("%s", err.text);
		return EX_OSERR;
	}
	walker->handing.exits_fd = exits_fd(walker->exits);
	if (os_become_subreaper() < 0)
		say("cannot become a subreaper: %s", strerror(errno));
	/* Without cgroups of our own supd works, too: the guardian tells why. */
	(void)cgroup_enter(walker->cgroup);
	return 0;
}

/* The sockets that we were started with, out of the way; how many. */
static size_t
take_given(int ret_fds[LISTEN_FDS_MAX])
{
	const size_t n = listen_fds(environ, getpid());

	fd_close_strangers(LISTEN_FDS_START + (int)n);
	for (size_t i = 0; i < n; i++) {
		ret_fds[i] = fd_raise(LISTEN_FDS_START + (int)i);
		(void)fcntl(ret_fds[i], F_SETFD, FD_CLOEXEC);
	}
	return n;
}

/* Keep these descriptors for the guardians; a descriptor that was announced and is closed
 * is left out. */
static void
keep_given(struct walker *walker, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fcntl(fds[i], F_GETFD) >= 0)
			(void)vault_store(&walker->vault, VAULT_KEY(VAULT_GIVEN, i),
			                  fds[i]);
}

static int
finish_walker(struct walker *walker, int status)
{
	if (walker->cgroup[0] != '\0')
		cgroup_leave(walker->cgroup);
	notifier_close(&walker->systemd);
	vault_done(&walker->vault);
	exits_free(walker->exits);
	free(walker->arguments);
	return status;
}

/*
 * Be the walker until supd ends; returns its exit status.  argv is the user's, which each
 * guardian gets behind its role.  The caller is to be in its first moments: descriptors
 * above 2 are strangers to be closed, signals are reset.
 */
int
walker_run(const char *runtime_dir, char **argv, const struct walker_times *times)
{
	struct walker walker = {
	    .kind = walker_kind(),
	    .old_fd = -1,
	    .times = *times,
	    .handing = {.link_fd = -1,
	                .ledger_fd = -1,
	                .hello = (struct link_hello){.version = LINK_VERSION,
	                                             .walker_pid = getpid()}},
	};
	int given[LISTEN_FDS_MAX];

	walker.handing.hello.ignores_hangup = signals_is_ignored(SIGHUP);
	signals_reset();
	(void)fd_open_standard();
	size_t n_given = take_given(given);
	if (role_reserve() < 0) {
		say_error("the system refuses memory that has no file");
		return EX_OSERR;
	}
	int status = prepare(&walker, argv);
	if (status == 0)
		status = lock_all(&walker, runtime_dir);
	if (status == 0)
		status = open_all(&walker);
	if (status == 0)
		keep_given(&walker, given, n_given);
	watchdog_init(&walker.watchdog, walker.systemd.watchdog_us / 1000, walker.now_ms);
	return finish_walker(&walker, status == 0 ? walk(&walker) : status);
}

/*
 * Be the walker that has just executed itself: argv is the user's, without the role.
 * Returns supd's exit status; EX_USAGE when a user chose the role.
 */
int
walker_resume(char **argv)
{
	struct walker walker = {0};
	int status = exec_resume(&walker);

	if (status == 0)
		status = prepare(&walker, argv);
	return status == 0 ? finish_walker(&walker, walk(&walker)) : status;
}
