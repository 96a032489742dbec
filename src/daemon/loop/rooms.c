/* SPDX-License-Identifier: ISC */
/* rooms.c - the rooms of one supd: opened from the bottom up, closed from the top down.
 */
#include "config.h"

#include "daemon/loop/rooms.h"

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

#include "daemon/control/control.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/seat.h"
#include "daemon/loop/start.h"
#include "daemon/messages/messages.h"
#include "daemon/metrics/metrics.h"
#include "daemon/metrics/scrape.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/processes/tasks.h"
#include "daemon/recovery/upgrade.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/trial.h"
#include "daemon/report/report.h"
#include "daemon/report/systemd.h"
#include "daemon/server/server.h"
#include "daemon/sockets/control_file.h"
#include "daemon/sockets/given.h"
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/mailbox.h"
#include "daemon/sockets/sockets.h"
#include "daemon/sockets/standin.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/memory.h"
#include "daemon/state/options.h"
#include "daemon/state/post.h"
#include "daemon/state/proctable.h"
#include "daemon/state/recording.h"
#include "daemon/state/shell.h"
#include "daemon/state/system.h"
#include "ledger/exits.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/spawn/spawn.h"
#include "paths.h"

static void
open_cgroups(struct shell *shell)
{
	const uint64_t key = VAULT_KEY(VAULT_CGROUP, 0);
	int fd = keeper_take(shell->keeper, key);
	struct err err;

	if (fd >= 0) {
		if (cgroup_root_adopt(&shell->cgroups, fd, &err) < 0)
			log_line(LOG_LEVEL_ERROR, "%s", err.text);
	} else if (cgroup_root_open(&shell->cgroups, &err) == 0) {
		/* Its lock, too, is to outlive us. */
		keeper_keep(shell->keeper, key, shell->cgroups.fd);
	} else {
		log_line(LOG_LEVEL_INFO,
		         "no cgroup of its own for each actor (%s): sessions instead",
		         err.text);
	}
}

static void
kill_process(void *data, struct ref ref)
{
	const struct shell *shell = data;

	(void)procs_signal(shell->processes->procs, ref, SIGKILL);
}

static void
take_main_pid(void *data, struct ref ref, pid_t pid)
{
	const struct shell *shell = data;

	procs_take_main(shell->processes->procs, ref, pid);
}

static bool
open_metrics(struct shell *shell, struct err *err)
{
	const struct scraped about = {
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .origin = &shell->origin,
	    .procs = shell->processes->procs,
	    .output = shell->messages->output,
	};

	scraper_open(shell->loop, &about);
	shell->metrics = metrics_new(shell->loop, shell->sockets->helpers, shell->keeper,
	                             &shell->bounded, &shell->actors);
	shell->trial = trial_new(shell->reloader);
	if (shell->metrics != NULL && shell->trial != NULL)
		return true;
	err_set(err, ENOMEM, "metrics");
	return false;
}

static int
open_sockets(struct shell *shell, struct err *err)
{
	*shell->sockets = (struct sockets){
	    .loop = shell->loop,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .additions = shell->additions,
	    .bounded = &shell->bounded,
	    .given =
	        given_new(shell->keeper, shell->origin.environ, shell->origin.walker_pid),
	};
	return sockets_open(shell->sockets, kill_process, shell, err);
}

static bool
open_messages(struct shell *shell, struct err *err)
{
	const struct messages with = {
	    .loop = shell->loop,
	    .origin = &shell->origin,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .proctable = shell->proctable,
	    .closers = &shell->closers,
	};

	shell->messages = messages_new(&with, take_main_pid, shell, err);
	return shell->messages != NULL;
}

static bool
open_processes(struct shell *shell, struct err *err)
{
	const struct processes with = {
	    .loop = shell->loop,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .exits = shell->exits,
	    .proctable = shell->proctable,
	    .cgroups = &shell->cgroups,
	    .origin = &shell->origin,
	    .launcher = shell->launcher,
	    .spawner = &shell->spawner,
	    .messages = shell->messages,
	    .sockets = shell->sockets,
	    .closers = &shell->closers,
	    .bounded = &shell->bounded,
	};

	*shell->launcher = (struct launcher){
	    .actors = &shell->actors,
	    .facts = &shell->recording.facts,
	    .origin = &shell->origin,
	    .system = shell->system,
	    .sockets = shell->sockets,
	    .messages = shell->messages,
	    .keeper = shell->keeper,
	    .cgroups = &shell->cgroups,
	    .spawner = &shell->spawner,
	    .bounded = &shell->bounded,
	};
	shell->processes =
	    processes_new(&with, report_helper_failed, shell->reporter, err);
	return shell->processes != NULL;
}

static void
open_reporter(struct shell *shell)
{
	*shell->reporter = (struct reporter){
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .loop = shell->loop,
	    .origin = &shell->origin,
	    .proctable = shell->proctable,
	    .processes = shell->processes,
	    .messages = shell->messages,
	    .sockets = shell->sockets,
	};
}

static void
open_upgrader(struct shell *shell)
{
	*shell->upgrader = (struct upgrader){
	    .loop = shell->loop,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .origin = &shell->origin,
	    .spawner = &shell->spawner,
	};
}

static void
open_reloader(struct shell *shell)
{
	*shell->reloader = (struct reloader){
	    .loop = shell->loop,
	    .origin = &shell->origin,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .additions = shell->additions,
	    .system = shell->system,
	    .processes = shell->processes,
	    .messages = shell->messages,
	    .sockets = shell->sockets,
	    .metrics = shell->metrics,
	    .trial = shell->trial,
	    .reporter = shell->reporter,
	    .cgroups = &shell->cgroups,
	    .spawner = &shell->spawner,
	    .bounded = &shell->bounded,
	    .limits = shell->reloader->limits,
	};
}

int
rooms_open(struct shell *shell, struct start *start, const struct keeper_news *news)
{
	struct err err = {0};

	memory_begin();
	shell->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_AUTO);
	if (shell->loop == NULL) {
		log_line(LOG_LEVEL_ERROR, "event loop: %s", strerror(errno));
		return EX_OSERR;
	}
	if (keeper_listen(shell->keeper, shell->loop, &shell->closers, news) < 0) {
		log_line(LOG_LEVEL_ERROR, "link to the walker: %s", strerror(ENOMEM));
		return EX_OSERR;
	}
	bounded_init(&shell->closers);
	bounded_init(&shell->bounded);
	open_cgroups(shell);
	shell->system = system_new();
	if (shell->system == NULL || events_init(&shell->events))
		err_set(&err, ENOMEM, "event stream");
	else if ((shell->post = post_new(&shell->engine, &shell->recording)) == NULL)
		err_set(&err, ENOMEM, "queue of events");
	else if ((shell->recording.proctable = shell->proctable =
	              proctable_new(&shell->cgroups)) == NULL)
		err_set(&err, ENOMEM, "table of processes");
	else if ((start->loop = loop_new(shell, &err)) != NULL &&
	         open_sockets(shell, &err) == 0 && open_messages(shell, &err) &&
	         open_processes(shell, &err) && open_metrics(shell, &err))
		shell->origin.control_path =
		    start_control_path(start->conf, shell->origin.runtime_dir);
	open_reporter(shell);
	open_upgrader(shell);
	open_reloader(shell);
	shell->control_file->bounded = &shell->bounded;
	shell->control_file->path = shell->origin.control_path;
	if (shell->origin.control_path == NULL) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	return 0;
}

struct control *
rooms_open_control(struct shell *shell, struct err *err)
{
	const struct control_uses uses = {
	    .loop = shell->loop,
	    .engine = &shell->engine,
	    .actors = &shell->actors,
	    .events = &shell->events,
	    .recording = &shell->recording,
	    .post = shell->post,
	    .keeper = shell->keeper,
	    .origin = &shell->origin,
	    .procs = shell->processes->procs,
	    .trial = shell->trial,
	    .spawner = &shell->spawner,
	    .closers = &shell->closers,
	    .file = shell->control_file,
	    .reporter = shell->reporter,
	    .upgrader = shell->upgrader,
	    .reloader = shell->reloader,
	};

	return control_new(&uses, err);
}

void
rooms_close(struct shell *shell, const struct start *start)
{
	seat_close();
	reload_now_cancel();
	if (shell->control != NULL)
		control_flush(shell->control);
	control_free(shell->control);
	trial_free(shell->trial);
	helpers_free(shell->sockets->helpers);
	metrics_free(shell->metrics);
	scraper_close();
	systemd_close(shell->reporter);
	if (shell->actors.conf != NULL)
		mailboxes_close(shell->sockets, &shell->sockets->mailboxes);
	additions_close(shell->additions, shell->sockets);
	standin_free(shell->sockets->standin);
	given_free(shell->sockets->given);
	processes_free(shell->processes);
	proctable_free(shell->proctable);
	messages_free(shell->messages);
	bounded_done(&shell->closers);
	bounded_done(&shell->bounded);
	loop_free(start->loop);
	post_free(shell->post);
	events_done(&shell->events);
	actors_done(&shell->actors);
	additions_free(shell->additions);
	free(shell->sockets);
	reload_free(shell->reloader);
	system_free(shell->system);
	keeper_release(shell->keeper, VAULT_KEY(VAULT_CGROUP, 0));
	keeper_free(shell->keeper);
	cgroup_root_close(&shell->cgroups);
	ledger_free(shell->recording.ledger);
	exits_free(shell->exits);
	free(shell->origin.control_path);
	if (shell->loop != NULL)
		ev_loop_destroy(shell->loop);
	os_spawn_done(&shell->spawner);
	log_close();
}
