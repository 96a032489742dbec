/* SPDX-License-Identifier: ISC */
/* follow.c - what is not in the tree follows the configuration: log, limits, control. */
#include "config.h"

#include "daemon/reload/follow.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/processes/prober.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/reload.h"
#include "daemon/sockets/control_file.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"
#include "daemon/state/options.h"
#include "helper/wire.h"
#include "ledger/ledger.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"

/* Descriptors of supd itself: 0 to 2, log, loop, what a spawn takes for a moment. */
#define OWN_FDS (56 + HELPER_MAX)
/* And of an actor that is not known yet: pidfd, notify socket, a watch on its cgroup
 * while it ends, a pipe for its input, and two for its output. */
#define FDS_PER_ACTOR   4
#define PIPES_PER_ACTOR 2
#define FDS_PER_LEAF    2
#define LEFT_FDS        (LEDGER_TASKS_MAX + 64)
/* Number of clients where descriptors are short. */
#define CLIENTS_MIN 8

/* How many descriptors the actor needs as long as it runs, with its pipes; without them
 * as many as the walker has, which has pipes and no pidfd. */
static uint64_t
count_fds_of(const struct conf_actor *actor, bool with_pipes)
{
	const struct conf_process *process = actor->process;
	const bool is_fed = process->output.out.kind == OUTPUT_PIPE ||
	                    process->output.err.kind == OUTPUT_PIPE;
	uint64_t n = process->n_sockets + process->kept.fd_store;
	uint64_t n_pipes = conf_output_is_captured(&process->output.out);

	if (actor->argv == NULL)
		return n;
	if (!process->output.out_is_err)
		n_pipes += conf_output_is_captured(&process->output.err);
	if (!with_pipes && n_pipes > 0)
		n_pipes--;
	n += 1 + process->readiness.notify + n_pipes;
	return is_fed ? n + 2 : n;
}

/* How many descriptors the actors and supd's own rooms need. */
static uint64_t
count_fds(const struct limits *limits, const struct conf *conf, bool with_pipes)
{
	uint64_t n = OWN_FDS + limits->spawner->n_slots +
	             additions_count_sockets(limits->additions);
	const uint32_t n_slots = limits->actors->cap;

	if (conf->has_metrics)
		n++;
	if (!with_pipes)
		n += OUTPUT_HELD_MIN;
	/* The ledger may have room for more actors than the configuration has. */
	if (n_slots > conf->n_actors)
		n += (uint64_t)(n_slots - conf->n_actors) *
		     (FDS_PER_ACTOR + (with_pipes ? PIPES_PER_ACTOR : 0));
	for (uint32_t i = 0; i < conf->n_actors; i++)
		n += count_fds_of(&conf->actors[i], with_pipes);
	return n;
}

/* How many descriptors are not needed.  Tasks, and children that are not reaped yet, need
 * some for a moment: so many are left, or a quarter of the rest where that is less and
 * descriptors are not scarce. */
static uint64_t
count_rest(uint64_t needed, bool is_sparing)
{
	const uint64_t allowed = fd_raise_limit_up_to(UINT64_MAX);
	const uint64_t rest = allowed > needed ? allowed - needed : 0;
	const uint64_t left = is_sparing || rest / 4 > LEFT_FDS ? LEFT_FDS : rest / 4;

	return rest > left ? rest - left : 0;
}

/* Descriptors that are not needed keep cgroups open, two each; where they are scarce most
 * of them keep pipes, which cost more to have again.  Without clone3 a leaf that was
 * removed by hand is seen too late, by the child. */
static void
share_rest(const struct limits *limits, uint64_t rest, bool is_sparing)
{
	procs_keep_leaves(limits->processes->procs, !limits->spawner->has_clone3 ? 0
	                                            : is_sparing ? rest / 8 / FDS_PER_LEAF
	                                                         : rest / FDS_PER_LEAF);
	output_spare(limits->messages->output,
	             is_sparing ? OUTPUT_HELD_MIN + rest - rest / 8 : SIZE_MAX);
}

uint64_t
follow_room(const struct limits *limits, const struct conf *conf)
{
	uint64_t needed = count_fds(limits, conf, true);
	struct err err;
	bool is_sparing = fd_raise_limit(needed + CONTROL_CONNS_MAX, &err) < 0;

	if (is_sparing)
		needed = count_fds(limits, conf, false);
	share_rest(limits, count_rest(needed + CONTROL_CONNS_MAX, is_sparing),
	           is_sparing);
	return needed;
}

void
follow_limits(const struct limits *limits, const struct conf *conf)
{
	uint64_t needed = follow_room(limits, conf);
	struct rlimit limit;
	struct err err;

	limits->control_file->clients_max = CONTROL_CONNS_MAX;
	if (fd_raise_limit(needed + CONTROL_CONNS_MAX, &err) == 0)
		return;
	if (fd_raise_limit(needed + CLIENTS_MIN, &err) < 0)
		os_spawn_give_window(limits->spawner);
	needed = count_fds(limits, conf, false);
	if (fd_raise_limit(needed + CLIENTS_MIN, &err) < 0)
		log_line(LOG_LEVEL_WARNING,
		         "%s; starts may fail and be retried: raise LimitNOFILE= or "
		         "'ulimit -Hn'",
		         err.text);
	if (fd_limit(&limit) < 0 || limit.rlim_cur >= needed + CONTROL_CONNS_MAX)
		return;
	limits->control_file->clients_max = limit.rlim_cur > needed + CLIENTS_MIN
	                                        ? (uint32_t)(limit.rlim_cur - needed)
	                                        : CLIENTS_MIN;
}

void
follow_log(const struct supd_options *options, const struct conf *conf)
{
	/* Among the output of actors only what is to be known. */
	enum log_level level =
	    output_look(options, conf) != 0 ? LOG_LEVEL_NOTICE : LOG_LEVEL_INFO;
	enum log_target target = conf->log_target;
	struct err err;

	if (conf->log_level < LOG_LEVEL_MAX)
		level = conf->log_level;
	if (options->log_level >= 0)
		level = (enum log_level)options->log_level;
	if (options->log_target >= 0)
		target = (enum log_target)options->log_target;
	/* Standard error is that file already, which the guardian rotates. */
	if (options->background &&
	    (target == LOG_TARGET_AUTO || target == LOG_TARGET_STDERR))
		target = LOG_TARGET_FILE;
	log_limit(&conf->own_log);
	if (log_open(level, target, conf->log_directory, &err) == 0)
		return;
	log_line(LOG_LEVEL_WARNING, "%s; logging to stderr", err.text);
	(void)log_open(level, LOG_TARGET_STDERR, conf->log_directory, &err);
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Set which users may connect; their rights are looked up at each call. */
static void
set_control_mode(struct reloader *reloader)
{
	const struct conf *conf = reloader->actors->conf;
	gid_t gid = conf->has_control_group ? conf->control_gid : getegid();
	struct err err;
	int r = control_file_do(reloader->limits.control_file, SOCKWORK_ADJUST, conf, gid,
	                        &err);

	if (r < 0)
		log_line(LOG_LEVEL_ERROR, "mode and group: %s", err.text);
}

uint32_t
follow_count(const struct conf *conf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_process *process = conf->actors[i].process;

		/* One pipe where output and errors go the same way. */
		if (conf->actors[i].argv != NULL)
			n += 1 + process->readiness.notify + (uint32_t)process->n_sockets;
	}
	return n;
}

void
follow_conf(struct reloader *reloader, const struct conf *old)
{
	const struct conf *conf = reloader->actors->conf;

	if (conf->log_level != old->log_level || conf->log_show != old->log_show ||
	    conf->log_target != old->log_target ||
	    !is_same_text(conf->log_directory, old->log_directory))
		follow_log(reloader->origin->options, conf);
	log_limit(&conf->own_log);
	if (!is_same_text(conf->control_socket, old->control_socket))
		log_line(LOG_LEVEL_WARNING,
		         "control.socket was changed: that takes a restart of supd");
	if (conf->control_mode != old->control_mode ||
	    conf->has_control_group != old->has_control_group ||
	    conf->control_gid != old->control_gid)
		set_control_mode(reloader);
	follow_limits(&reloader->limits, conf);
	prober_look_again(reloader->processes->prober);
	if (output_configure(reloader->messages->output) < 0)
		log_line(LOG_LEVEL_ERROR, "pipes between actors: %s", strerror(ENOMEM));
}
