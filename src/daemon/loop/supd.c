/* SPDX-License-Identifier: ISC */
/* supd.c - one run of supd, from a configuration file to an exit status. */
#include "config.h"

#include "daemon/loop/supd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/alone.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/owner.h"
#include "daemon/loop/rooms.h"
#include "daemon/loop/seat.h"
#include "daemon/loop/start.h"
#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/metrics/scrape.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/recovery/upgrade.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/follow.h"
#include "daemon/reload/reload.h"
#include "daemon/report/shut_down.h"
#include "daemon/report/systemd.h"
#include "daemon/sockets/control_file.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/sockets.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "daemon/state/recording.h"
#include "ledger/exits.h"
#include "ledger/handover.h"
#include "os/self/clock.h"
#include "os/self/fd.h"
#include "os/self/oom.h"
#include "os/self/signals.h"
#include "os/spawn/spawn.h"
#include "paths.h"
#include "varlink/places.h"

/* ---- defaults ---------------------------------------------------------------------- */

/* /etc/supd/supd.yaml for root, below the user's configuration directory otherwise.
 * NULL: the user has no home. */
const char *
supd_default_conf(char buf[SUPD_PATH_MAX])
{
	const char *config = getenv("XDG_CONFIG_HOME");
	char home_buf[SUPD_PATH_MAX];
	int n = -1;

	if (geteuid() == 0)
		return SUPD_CONF;
	if (config != NULL && config[0] == '/') {
		n = snprintf(buf, SUPD_PATH_MAX, "%s/supd/supd.yaml", config);
	} else {
		const char *home =
		    conf_own_home(getenv("HOME"), home_buf, sizeof(home_buf));
		if (home != NULL)
			n = snprintf(buf, SUPD_PATH_MAX, "%s/.config/supd/supd.yaml",
			             home);
	}
	return n >= 0 && n < SUPD_PATH_MAX ? buf : NULL;
}

/* True if we may make files there. */
static bool
is_usable(const char *directory)
{
	return access(directory, W_OK) == 0;
}

/* $RUNTIME_DIRECTORY, else /run/supd; for users other than root, who may not have it, the
 * first place that they have (CONTROL.md). */
const char *
supd_default_runtime_dir(char buf[SUPD_PATH_MAX])
{
	const char *given = getenv("RUNTIME_DIRECTORY");
	struct places_from from = {
	    .runtime = getenv("XDG_RUNTIME_DIR"),
	    .state = getenv("XDG_STATE_HOME"),
	    .temporary = getenv("TMPDIR"),
	    .uid = (unsigned int)geteuid(),
	};
	char home[SUPD_PATH_MAX];

	if (given != NULL && given[0] == '/') {
		/* systemd may name several, the first is ours. */
		(void)snprintf(buf, SUPD_PATH_MAX, "%.*s", (int)strcspn(given, ":"),
		               given);
		return buf;
	}
	if (geteuid() == 0)
		return SUPD_RUNDIR;
	if (places_runtime(&from, 0, buf, SUPD_PATH_MAX) == 0)
		return buf;
	if (is_usable(SUPD_RUNDIR))
		return SUPD_RUNDIR;
	from.home = conf_own_home(getenv("HOME"), home, sizeof(home));
	/* The home of a user of services is often not there. */
	if (from.home != NULL && !is_usable(from.home))
		from.home = NULL;
	for (int i = 1; i < PLACES_MAX; i++)
		if (places_runtime(&from, i, buf, SUPD_PATH_MAX) == 0)
			return buf;
	return SUPD_RUNDIR;
}

/* ---- signals ----------------------------------------------------------------------- */

enum { SIGNALS = 5 };

static struct signals {
	ev_signal watchers[SIGNALS];
	bool has_terminal;
	bool ignores_hangup; /* of the terminal, as after nohup(1) */
} signals;

static bool
has_terminal(void)
{
	CLEANUP(fd_close) int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	return fd >= 0;
}

/* SIGHUP from a person asks for the new configuration; from a terminal that went away it
 * is the end, unless supd was started to ignore that (DECISIONS 13). */
static void
hang_up(struct supd *supd)
{
	if (!signals.has_terminal || has_terminal()) {
		reload_now(supd->reloader);
		return;
	}
	signals.has_terminal = false;
	if (signals.ignores_hangup) {
		log_line(LOG_LEVEL_NOTICE,
		         "the terminal went away: supd goes on, as it was "
		         "started with SIGHUP ignored");
		return;
	}
	log_line(LOG_LEVEL_NOTICE, "the terminal went away: shutting down; nohup(1) or "
	                           "systemd keep supd running without it");
	shut_down(supd->reporter, EVENT_SHUTDOWN);
}

/* Act on a signal that the walker or this process got. */
static void
on_signo(void *user, int signo)
{
	struct supd *supd = user;

	switch (signo) {
	case SIGTERM:
	case SIGINT:
		shut_down(supd->reporter, EVENT_SHUTDOWN);
		break;
	case SIGQUIT:
		shut_down(supd->reporter, EVENT_QUIT);
		break;
	case SIGHUP:
		seat_check();
		hang_up(supd);
		break;
	case SIGUSR1:
		log_reopen();
		output_reopen(supd->messages->output);
		break;
	default:
		break;
	}
}

/* Without the walker there would be no next guardian. */
static void
on_walker_death(void *user)
{
	struct supd *supd = user;

	log_line(LOG_LEVEL_ERROR,
	         "the walker, supd's outermost process, has died: shutting down in "
	         "order, because nothing would replace this guardian");
	procs_walker_died(supd->processes->procs);
	shut_down(supd->reporter, EVENT_SHUTDOWN);
}

static void
on_walker_exits(void *user)
{
	const struct supd *supd = user;

	procs_take_exits(supd->processes->procs);
}

static void
on_signal(struct ev_loop *loop UNUSED, ev_signal *watcher, int revents UNUSED)
{
	on_signo(watcher->data, watcher->signum);
}

static void
watch_signals(struct supd *supd)
{
	static const int wanted[SIGNALS] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1};

	for (size_t i = 0; i < SIGNALS; i++) {
		ev_signal_init(&signals.watchers[i], on_signal, wanted[i]);
		signals.watchers[i].data = supd;
		ev_signal_start(supd->loop, &signals.watchers[i]);
	}
	signals.has_terminal = has_terminal();
}

/* Only the walker is in the foreground of its terminal; a process that writes there from
 * the background may be stopped for it. */
static void
set_signals(void)
{
	sigset_t output;

	signals_reset();
	(void)signal(SIGPIPE, SIG_IGN);
	/* Memory that is a file, and larger than files may be: an error is better. */
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigemptyset(&output);
	(void)sigaddset(&output, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &output, NULL);
}

/* ---- start ------------------------------------------------------------------------- */

/* Everything up to the first turn; 0 or an exit status. */
static int
prepare(struct supd *supd, struct start *start)
{
	follow_log(supd->origin.options, start->conf);
	int status = rooms_open(supd, start,
	                        &(const struct keeper_news){on_signo, on_walker_exits,
	                                                    on_walker_death, supd});
	if (status != 0)
		return status;
	watch_signals(supd);
	systemd_open(supd->reporter);
	return start_begin(supd, start);
}

/* What there is before a configuration was chosen. */
static void
give_back(struct supd *supd)
{
	keeper_free(supd->keeper);
	exits_free(supd->exits);
	os_spawn_done(&supd->spawner);
	additions_free(supd->additions);
	free(supd->sockets);
}

static void
fill_origin(struct origin *origin, const struct supd_options *options,
            const struct link_hello *hello)
{
	*origin = (struct origin){
	    .options = options,
	    .conf_file = options->conf_file,
	    .runtime_dir = options->runtime_dir,
	    .binary = hello->binary,
	    .environ = environ,
	    .nofile = hello->nofile,
	    .walker_pid = hello->walker_pid,
	    .crashes = hello->crashes,
	};
	(void)cgroup_machine_controllers(origin->controllers);
	leftover_mark(origin->walker_pid, origin->walker_mark);
}

static void
fill_state(struct supd *supd)
{
	cgroup_root_init(&supd->cgroups);
	supd->recording.actors = &supd->actors;
	supd->engine.now_ms = clock_mono_ms();
	supd->recording.facts.started_ms = supd->engine.now_ms;
}

/*
 * Run until the end, with what the walker handed over; returns the exit status
 * (CONTROL.md).
 */
int
supd_run(const struct supd_options *options, struct handover *handover)
{
	struct launcher launcher = {0};
	struct reporter reporter = {0};
	struct reloader reloader = {.before_fd = -1};
	struct control_file control_file = {.clients_max = CONTROL_CONNS_MAX,
	                                    .work.id = -1};
	struct upgrader upgrader = {0};
	struct supd supd = {.launcher = &launcher,
	                    .reporter = &reporter,
	                    .reloader = &reloader,
	                    .upgrader = &upgrader,
	                    .control_file = &control_file};
	struct start start = {0};
	struct err err;

	signals.ignores_hangup = handover->hello.ignores_hangup != 0;
	set_signals();
	fill_origin(&supd.origin, options, &handover->hello);
	supd.additions = additions_new();
	supd.sockets = calloc(1, sizeof(*supd.sockets));
	supd.keeper = keeper_new(handover);
	fill_state(&supd);
	err_set(&err, ENOMEM, "additions");
	if (supd.additions == NULL || supd.sockets == NULL || supd.keeper == NULL ||
	    os_spawn_init(&supd.spawner, &err) < 0) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		keeper_free(supd.keeper);
		additions_free(supd.additions);
		free(supd.sockets);
		return EX_OSERR;
	}
	os_spawn_set_oom(&supd.spawner, OOM_OF_GUARDIAN, handover->hello.oom_score_adj);
	int status = start_choose(&supd, &start);
	if (status != 0) {
		give_back(&supd);
		return status;
	}
	status = prepare(&supd, &start);
	if (status == 0) {
		loop_run(start.loop);
		/* Nothing is cleaned up: our successor goes on with it. */
		if (supd.engine.exit_status == EXIT_UPGRADE)
			_exit(LINK_EXIT_UPGRADE);
		tasks_end_all(supd.processes->tasks);
		status = keeper_walker_died(supd.keeper) ||
		                 keeper_status(supd.keeper, supd.engine.exit_status) < 0
		             ? EX_SOFTWARE
		             : EX_OK;
		/* Orphans of those that we took over went to strangers. */
		if (keeper_walker_died(supd.keeper))
			alone_end_all(&supd, supd.actors.conf);
	} else if (start.how == START_ADOPT) {
		/* The state stays as it is, for the next guardian. */
		return status;
	}
	rooms_close(&supd, &start);
	return status;
}
