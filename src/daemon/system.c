/* SPDX-License-Identifier: ISC */
/* system.c - supd's own actors: /system and /system/log. */
#include "config.h"

#include "daemon/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logd/logd.h"

/* What is in the pipes is written before it ends: so long that may take. */
#define SHUTDOWN_MS 10000

/* It is started again at once, and for ever, but not in a circle. */
#define BACKOFF_MIN_MS 10
#define BACKOFF_MAX_MS 1000

struct system {
	struct conf conf;
	struct conf_actor actors[SYSTEM_ACTORS];
	char texts[4][16];
	char *argv[3];
	char file[32];
	struct rule always;
};

static char *
set_text(struct system *system, unsigned int i, const char *text)
{
	(void)snprintf(system->texts[i], sizeof(system->texts[i]), "%s", text);
	return system->texts[i];
}

/* The table, for this guardian; NULL without memory. */
struct system *
system_new(void)
{
	struct system *system = calloc(1, sizeof(*system));
	struct conf_actor *top, *log;

	if (system == NULL)
		return NULL;
	top = &system->actors[0];
	top->path = set_text(system, 0, "/system");
	top->name = top->path + 1;
	top->parent = CONF_NONE;
	spec_default(&top->spec, NODE_SUPERVISOR);
	top->spec.intensity = (struct intensity_spec){.unlimited = true};
	log = &system->actors[1];
	log->path = set_text(system, 1, SYSTEM_LOG_PATH);
	log->name = log->path + strlen(top->path) + 1;
	log->parent = 0;
	spec_default(&log->spec, NODE_WORKER);
	log->spec.shutdown_ms = SHUTDOWN_MS;
	log->spec.backoff.min_ms = BACKOFF_MIN_MS;
	log->spec.backoff.max_ms = BACKOFF_MAX_MS;
	log->spec.backoff.reset_after_ms = BACKOFF_MAX_MS;
	/* Whatever it died of, and also when it could not be executed. */
	system->always = (struct rule){.preset = PRESET_LIST,
	                               .kinds = ~(UINT32_C(1) << CAUSE_NORMAL),
	                               .then = DIRECTIVE_RESTART};
	log->spec.on_failure = (struct decider){PRESET_LIST, &system->always, 1};
	system->argv[0] = set_text(system, 2, "supd");
	system->argv[1] = set_text(system, 3, SYSTEM_LOG_ROLE);
	log->process.argv = system->argv;
	log->process.out.kind = OUTPUT_INHERIT;
	log->process.err.kind = OUTPUT_INHERIT;
	log->process.umask = 022;
	log->process.stop_signal = LOGD_STOP;
	log->process.watchdog_signal = SIGABRT;
	/* The binary that runs, whatever is on the disk by now. */
	(void)snprintf(system->file, sizeof(system->file), "/proc/%d/exe", (int)getpid());
	system->conf.actors = system->actors;
	system->conf.n_actors = SYSTEM_ACTORS;
	return system;
}

/* Give it back, when no actor refers to it any more. */
void
system_free(struct system *system)
{
	free(system);
}

/* The table as a configuration: of its members only the actors are set. */
struct conf *
system_conf(struct system *system)
{
	return &system->conf;
}

/* Is this one of supd's own? */
bool
system_has(const struct actor *actor)
{
	return actor->conf_id == 0;
}

/* What is executed. */
const char *
system_file(const struct system *system)
{
	return system->file;
}
