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
#include "daemon/loop/owner.h"
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
#include "daemon/sockets/helpers.h"
#include "daemon/sockets/inherited.h"
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
#include "daemon/state/system.h"
#include "ledger/exits.h"
#include "ledger/ledger.h"
#include "ledger/link.h"
#include "os/spawn/spawn.h"
#include "paths.h"

static void
open_cgroups(struct supd *supd)
{
	const uint64_t key = VAULT_KEY(VAULT_CGROUP, 0);
	int fd = keeper_take(supd->keeper, key);
	struct err err;

	if (fd >= 0) {
		if (cgroup_root_adopt(&supd->cgroups, fd, &err) < 0)
			log_line(LOG_LEVEL_ERROR, "%s", err.text);
	} else if (cgroup_root_open(&supd->cgroups, &err) == 0) {
		/* Its lock, too, is to outlive us. */
		keeper_keep(supd->keeper, key, supd->cgroups.fd);
	} else {
		log_line(LOG_LEVEL_INFO,
		         "no cgroup of its own for each actor (%s): sessions instead",
		         err.text);
	}
}

static void
kill_process(void *data, struct ref ref)
{
	const struct supd *supd = data;

	(void)procs_signal(supd->processes->procs, ref, SIGKILL);
}

static void
take_main_pid(void *data, struct ref ref, pid_t pid)
{
	const struct supd *supd = data;

	procs_take_main(supd->processes->procs, ref, pid);
}

static bool
open_metrics(struct supd *supd, struct err *err)
{
	scraper_open(supd->loop, &(const struct scraped){
	                             .engine = &supd->engine,
	                             .actors = &supd->actors,
	                             .events = &supd->events,
	                             .recording = &supd->recording,
	                             .origin = &supd->origin,
	                             .procs = supd->processes->procs,
	                             .bounded = &supd->bounded,
	                             .output = supd->messages->output,
	                         });
	supd->metrics = metrics_new(supd->loop, supd->sockets->helpers, supd->keeper,
	                            &supd->bounded, &supd->actors);
	supd->trial = trial_new(supd->reloader);
	if (supd->metrics != NULL && supd->trial != NULL)
		return true;
	err_set(err, ENOMEM, "metrics");
	return false;
}

static int
open_sockets(struct supd *supd, struct err *err)
{
	*supd->sockets = (struct sockets){
	    .loop = supd->loop,
	    .engine = &supd->engine,
	    .actors = &supd->actors,
	    .events = &supd->events,
	    .recording = &supd->recording,
	    .post = supd->post,
	    .keeper = supd->keeper,
	    .additions = supd->additions,
	    .bounded = &supd->bounded,
	    .inherited = inherited_new(supd->keeper, supd->origin.environ,
	                               supd->origin.walker_pid),
	};
	return sockets_open(supd->sockets, kill_process, supd, err);
}

static bool
open_messages(struct supd *supd, struct err *err)
{
	supd->messages = messages_new(
	    &(const struct messages){
	        .loop = supd->loop,
	        .origin = &supd->origin,
	        .engine = &supd->engine,
	        .actors = &supd->actors,
	        .events = &supd->events,
	        .recording = &supd->recording,
	        .post = supd->post,
	        .keeper = supd->keeper,
	        .proctable = supd->proctable,
	        .closers = &supd->closers,
	    },
	    take_main_pid, supd, err);
	return supd->messages != NULL;
}

static bool
open_processes(struct supd *supd, struct err *err)
{
	*supd->launcher = (struct launcher){
	    .actors = &supd->actors,
	    .facts = &supd->recording.facts,
	    .origin = &supd->origin,
	    .system = supd->system,
	    .sockets = supd->sockets,
	    .messages = supd->messages,
	    .keeper = supd->keeper,
	    .cgroups = &supd->cgroups,
	    .spawner = &supd->spawner,
	    .bounded = &supd->bounded,
	};
	supd->processes = processes_new(
	    &(const struct processes){
	        .loop = supd->loop,
	        .engine = &supd->engine,
	        .actors = &supd->actors,
	        .events = &supd->events,
	        .recording = &supd->recording,
	        .post = supd->post,
	        .keeper = supd->keeper,
	        .exits = supd->exits,
	        .proctable = supd->proctable,
	        .cgroups = &supd->cgroups,
	        .origin = &supd->origin,
	        .launcher = supd->launcher,
	        .spawner = &supd->spawner,
	        .messages = supd->messages,
	        .sockets = supd->sockets,
	        .closers = &supd->closers,
	        .bounded = &supd->bounded,
	    },
	    report_helper_failed, supd->reporter, err);
	return supd->processes != NULL;
}

static void
open_reporter(struct supd *supd)
{
	*supd->reporter = (struct reporter){
	    .engine = &supd->engine,
	    .actors = &supd->actors,
	    .events = &supd->events,
	    .recording = &supd->recording,
	    .post = supd->post,
	    .keeper = supd->keeper,
	    .loop = supd->loop,
	    .origin = &supd->origin,
	    .proctable = supd->proctable,
	    .processes = supd->processes,
	    .messages = supd->messages,
	    .sockets = supd->sockets,
	};
	log_put_off(report_lines, supd->reporter);
}

static void
open_upgrader(struct supd *supd)
{
	*supd->upgrader = (struct upgrader){
	    .loop = supd->loop,
	    .engine = &supd->engine,
	    .actors = &supd->actors,
	    .recording = &supd->recording,
	    .post = supd->post,
	    .keeper = supd->keeper,
	    .origin = &supd->origin,
	    .spawner = &supd->spawner,
	};
}

static void
open_reloader(struct supd *supd)
{
	*supd->reloader = (struct reloader){
	    .loop = supd->loop,
	    .origin = &supd->origin,
	    .engine = &supd->engine,
	    .actors = &supd->actors,
	    .events = &supd->events,
	    .recording = &supd->recording,
	    .post = supd->post,
	    .keeper = supd->keeper,
	    .additions = supd->additions,
	    .system = supd->system,
	    .processes = supd->processes,
	    .messages = supd->messages,
	    .sockets = supd->sockets,
	    .metrics = supd->metrics,
	    .trial = supd->trial,
	    .reporter = supd->reporter,
	    .bounded = &supd->bounded,
	    .limits =
	        {
	            .actors = &supd->actors,
	            .additions = supd->additions,
	            .control_file = supd->control_file,
	            .spawner = &supd->spawner,
	            .messages = supd->messages,
	            .processes = supd->processes,
	        },
	    .before_fd = supd->reloader->before_fd,
	};
}

int
rooms_open(struct supd *supd, struct start *start, const struct keeper_news *news)
{
	struct err err = {0};

	memory_begin();
	supd->loop = ev_loop_new(EVFLAG_NOENV | EVFLAG_AUTO);
	if (supd->loop == NULL) {
		log_line(LOG_LEVEL_ERROR, "event loop: %s", strerror(errno));
		return EX_OSERR;
	}
	if (keeper_listen(supd->keeper, supd->loop, &supd->closers, news) < 0) {
		log_line(LOG_LEVEL_ERROR, "link to the walker: %s", strerror(ENOMEM));
		return EX_OSERR;
	}
	open_cgroups(supd);
	supd->system = system_new();
	if (supd->system == NULL || events_init(&supd->events))
		err_set(&err, ENOMEM, "event stream");
	else if ((supd->post = post_new(&supd->engine, &supd->recording)) == NULL)
		err_set(&err, ENOMEM, "queue of events");
	else if ((supd->recording.proctable = supd->proctable =
	              proctable_new(&supd->cgroups)) == NULL)
		err_set(&err, ENOMEM, "table of processes");
	else if ((start->loop = loop_new(supd, &err)) != NULL &&
	         open_sockets(supd, &err) == 0 && open_messages(supd, &err) &&
	         open_processes(supd, &err) && open_metrics(supd, &err))
		supd->origin.control_path =
		    start_control_path(start->conf, supd->origin.runtime_dir);
	open_reporter(supd);
	open_upgrader(supd);
	open_reloader(supd);
	supd->control_file->fd = -1;
	supd->control_file->bounded = &supd->bounded;
	supd->control_file->path = supd->origin.control_path;
	if (supd->origin.control_path == NULL) {
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
		return EX_OSERR;
	}
	return 0;
}

struct control *
rooms_open_control(struct supd *supd, struct err *err)
{
	return control_new(
	    &(const struct control_uses){
	        .loop = supd->loop,
	        .engine = &supd->engine,
	        .actors = &supd->actors,
	        .events = &supd->events,
	        .recording = &supd->recording,
	        .post = supd->post,
	        .keeper = supd->keeper,
	        .origin = &supd->origin,
	        .procs = supd->processes->procs,
	        .trial = supd->trial,
	        .spawner = &supd->spawner,
	        .closers = &supd->closers,
	        .file = supd->control_file,
	        .reporter = supd->reporter,
	        .upgrader = supd->upgrader,
	        .reloader = supd->reloader,
	    },
	    err);
}

void
rooms_close(struct supd *supd, const struct start *start)
{
	/* actors_done() forgets it. */
	struct conf *conf = supd->actors.conf != NULL ? supd->actors.conf : start->conf;

	seat_close();
	reload_now_cancel(supd->reloader);
	if (supd->control != NULL)
		control_flush(supd->control);
	control_free(supd->control);
	trial_free(supd->trial);
	helpers_free(supd->sockets->helpers);
	metrics_free(supd->metrics);
	scraper_close();
	systemd_close(supd->reporter);
	log_flush();
	log_put_off(NULL, NULL);
	if (supd->actors.conf != NULL)
		mailboxes_close(supd->sockets, &supd->sockets->mailboxes);
	additions_close(supd->additions, supd->sockets);
	standin_free(supd->sockets->standin);
	inherited_free(supd->sockets->inherited);
	processes_free(supd->processes);
	proctable_free(supd->proctable);
	messages_free(supd->messages);
	bounded_done(&supd->closers);
	bounded_done(&supd->bounded);
	free(start->loop);
	post_free(supd->post);
	events_done(&supd->events);
	actors_done(&supd->actors);
	additions_free(supd->additions);
	free(supd->sockets);
	reload_free(supd->reloader);
	free(supd->system);
	keeper_release(supd->keeper, VAULT_KEY(VAULT_CGROUP, 0));
	keeper_free(supd->keeper);
	cgroup_root_close(&supd->cgroups);
	ledger_free(supd->recording.ledger);
	exits_free(supd->exits);
	free(supd->origin.control_path);
	if (supd->loop != NULL)
		ev_loop_destroy(supd->loop);
	os_spawn_done(&supd->spawner);
	conf_free(conf);
	log_close();
}
