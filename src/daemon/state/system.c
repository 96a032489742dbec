/* SPDX-License-Identifier: ISC */
/* system.c - supd's own actors: /system, /system/log, and its helper processes. */
#include "config.h"

#include "daemon/state/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logd/write/logd.h"

/* How long the log process may take to write the rest of the pipes before it ends. */
#define SHUTDOWN_MS 10000

/* It is started again at once, and for ever, but not in a circle. */
#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 1000

/* A helper process has nothing to finish, and is killed more easily. */
#define HELPER_SHUTDOWN_MS    1000
#define HELPER_BACKOFF_MIN_MS 100

struct system {
	struct conf conf;
	struct conf_actor actors[SYSTEM_ACTORS];
	struct conf_spec specs[SYSTEM_ACTORS];
	struct conf_process processes[SYSTEM_ACTORS];
	char roles[SYSTEM_ACTORS][16];
	char *argv[SYSTEM_ACTORS][3];
	char program[8];
	struct rule always;
};

static const char *const paths[SYSTEM_ACTORS] = {
    [SYSTEM_TOP] = SYSTEM_PATH,
    [SYSTEM_LOG] = SYSTEM_LOG_PATH,
    [SYSTEM_HELPERS + HELPER_LETTERS] = SYSTEM_PATH "/letters",
    [SYSTEM_HELPERS + HELPER_PROBE] = SYSTEM_PATH "/probe",
    [SYSTEM_HELPERS + HELPER_METRICS] = SYSTEM_PATH "/metrics",
};

static void
fill_actor(struct system *system, uint32_t i, enum node_kind kind)
{
	struct conf_actor *actor = &system->actors[i];

	/* The texts are owned by the configuration, which never changes them. */
	*actor = (struct conf_actor){
	    .path = (char *)(uintptr_t)paths[i],
	    .spec = &system->specs[i],
	    .process = &system->processes[i],
	    .parent = i == SYSTEM_TOP ? CONF_NONE : SYSTEM_TOP,
	};
	spec_default(&actor->spec->core, kind);
}

/* What all of supd's own processes have in common. */
static struct conf_actor *
fill_worker(struct system *system, uint32_t i)
{
	struct conf_actor *worker = &system->actors[i];

	fill_actor(system, i, NODE_WORKER);
	worker->spec->core.backoff.min_ms = BACKOFF_MIN_MS;
	worker->spec->core.backoff.max_ms = BACKOFF_MAX_MS;
	worker->spec->core.backoff.reset_after_ms = BACKOFF_MAX_MS;
	worker->spec->core.on_failure = (struct decider){PRESET_LIST, &system->always, 1};
	(void)snprintf(system->roles[i], sizeof(system->roles[i]), "@%s",
	               conf_name(worker));
	system->argv[i][0] = system->program;
	system->argv[i][1] = system->roles[i];
	worker->argv = system->argv[i];
	worker->process->output.out.kind = OUTPUT_INHERIT;
	worker->process->output.err.kind = OUTPUT_INHERIT;
	worker->process->world.umask = 022;
	worker->process->orders.stop_signal = SIGTERM;
	worker->process->orders.watchdog_signal = SIGABRT;
	return worker;
}

/* Started when it is needed; a helper that the guardian killed because it hung is needed
 * still. */
static void
fill_helper(struct system *system, enum helper_name name)
{
	struct conf_actor *helper = fill_worker(system, SYSTEM_HELPERS + name);

	helper->spec->core.on_demand = true;
	helper->spec->core.backoff.min_ms = HELPER_BACKOFF_MIN_MS;
	helper->spec->core.stop.shutdown_ms = HELPER_SHUTDOWN_MS;
	signal_set_add(&helper->spec->core.success_signals, SIGKILL);
	helper->process->world.clear_environment = true;
	helper->process->world.umask = 077;
}

/* The table, for this guardian; NULL without memory. */
struct system *
system_new(void)
{
	struct system *system = calloc(1, sizeof(*system));

	if (system == NULL)
		return NULL;
	/* Restart after any cause, also when the execution failed. */
	system->always = (struct rule){.preset = PRESET_LIST,
	                               .kinds = ~(UINT32_C(1) << CAUSE_NORMAL),
	                               .then = DIRECTIVE_RESTART};
	(void)snprintf(system->program, sizeof(system->program), "supd");
	fill_actor(system, SYSTEM_TOP, NODE_SUPERVISOR);
	system->actors[SYSTEM_TOP].spec->core.policy.intensity =
	    (struct intensity_spec){.unlimited = true};
	struct conf_actor *log = fill_worker(system, SYSTEM_LOG);
	log->spec->core.stop.shutdown_ms = SHUTDOWN_MS;
	log->process->orders.stop_signal = LOGD_STOP;
	for (int i = 0; i < HELPER_MAX; i++)
		fill_helper(system, (enum helper_name)i);
	system->conf.actors = system->actors;
	system->conf.n_actors = SYSTEM_ACTORS;
	return system;
}

/* The table as a configuration: of its members only the actors are set. */
struct conf *
system_conf(struct system *system)
{
	return &system->conf;
}

/* True if this actor is supd's own. */
bool
system_has(const struct actor *actor)
{
	return actor->conf_id == 0;
}

/* True if this actor is a helper process, and its name. */
bool
system_is_helper(const struct system *system, const struct actor *actor,
                 enum helper_name *ret)
{
	if (!system_has(actor) || actor->conf < &system->actors[SYSTEM_HELPERS])
		return false;
	*ret = (enum helper_name)(actor->conf - &system->actors[SYSTEM_HELPERS]);
	return true;
}

/* True if it is to be spared, as supd is, when memory runs out.  Helpers are replaced. */
bool
system_is_spared(const struct system *system, const struct actor *actor)
{
	enum helper_name helper;

	return system_has(actor) && !system_is_helper(system, actor, &helper);
}

/* The path of a helper process in the tree. */
const char *
system_helper_path(enum helper_name name)
{
	return paths[SYSTEM_HELPERS + name];
}
