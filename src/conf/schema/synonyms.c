/* SPDX-License-Identifier: ISC */
/* synonyms.c - keys and words that are wrong: those of other tools, and misplaced keys.
 *
 * Nearness of spelling misleads here: Akka's `all_for_one` is nearest to `one_for_one`,
 * its opposite.
 */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/names.h"
#include "conf/schema/schema.h"

struct synonym {
	const char
	    *word; /* of systemd, docker, supervisord, pm2, Kubernetes, OTP, Akka */
	const char *meant;
};

static const struct synonym values[] = {
    /* restart */
    {"no", "never"},
    {"none", "never"},
    {"false", "never"},
    {"off", "never"},
    {"yes", "permanent"},
    {"true", "permanent"},
    {"on", "permanent"},
    {"always", "permanent"},
    {"unless-stopped", "permanent"},
    {"on-failure", "transient"},
    {"on_failure", "transient"},
    {"onfailure", "transient"},
    {"on-abnormal", "transient"},
    {"unexpected", "transient"},
    /* strategy */
    {"all_for_one", "one_for_all"},
    {"AllForOne", "one_for_all"},
    {"AllForOneStrategy", "one_for_all"},
    {"OneForOneStrategy", "one_for_one"},
    {"OneForOne", "one_for_one"},
    {"simple_one_for_one", "one_for_one"},
    {"RestForOne", "rest_for_one"},
    /* auto_shutdown */
    {"no", "never"},
    {"any", "any_significant"},
    {"all", "all_significant"},
    /* shutdown */
    {"kill", "brutal_kill"},
    {"brutal", "brutal_kill"},
    /* output */
    {"none", "null"},
    {"/dev/null", "null"},
    {"stdout", "inherit"},
};

static const struct synonym keys[] = {
    {"env", "environment"},
    {"env_file", "environment_file"},
    {"EnvironmentFile", "environment_file"},
    {"cmd", "command"},
    {"exec", "command"},
    {"entrypoint", "command"},
    {"ExecStart", "command"},
    {"program", "command"},
    {"cwd", "directory"},
    {"chdir", "directory"},
    {"workdir", "directory"},
    {"working_dir", "directory"},
    {"working_directory", "directory"},
    {"WorkingDirectory", "directory"},
    {"depends_on", "needs"},
    {"depends", "needs"},
    {"requires", "needs"},
    {"after", "needs"},
    {"autorestart", "restart"},
    {"restart_policy", "restart"},
    {"autostart", "enabled"},
    {"healthcheck", "health"},
    {"livenessProbe", "health"},
    {"readinessProbe", "ready"},
    {"instances", "replicas"},
    {"numprocs", "replicas"},
    {"scale", "replicas"},
    {"stopsignal", "stop_signal"},
    {"kill_signal", "stop_signal"},
    {"KillSignal", "stop_signal"},
    {"stopwaitsecs", "shutdown"},
    {"stop_grace_period", "shutdown"},
    {"stop_timeout", "shutdown"},
    {"TimeoutStopSec", "shutdown"},
    {"exitcodes", "success"},
    {"services", "children"},
    {"programs", "children"},
    {"processes", "children"},
    {"apps", "children"},
    {"max_restarts", "limit"},
    {"max_restarts", "restarts"},
    {"maxNrOfRetries", "limit"},
    {"maxNrOfRetries", "restarts"},
    {"max_retries", "limit"},
    {"max_retries", "restarts"},
    {"startretries", "limit"},
    {"withinTimeRange", "within"},
    {"within_time_range", "within"},
    {"period", "within"},
    {"minBackoff", "min"},
    {"maxBackoff", "max"},
    {"randomFactor", "jitter"},
    {"random_factor", "jitter"},
    {"multiplier", "factor"},
    {"ports", "sockets"},
    {"listen", "sockets"},
};

/* Keys of other tools without a key of supd, and keys that stand elsewhere. */
static const struct synonym remarks[] = {
    {"priority", "children start in the order of the file"},
    {"startsecs", "write `ready: {after: 1s}`"},
    {"stdout_logfile", "each actor has a log; write `output: file:PATH` for another"},
    {"stderr_logfile", "each actor has a log; write `output: file:PATH` for another"},
    {"redirect_stderr", "both streams go to the same log, unless `output` parts them"},
    {"type", "write `ready: notify`, or `ready: exit` for a one-shot"},
    {"image", "an actor is a process, not a container"},
    {"cron", "there are no timers; cron or systemd have them"},
    {"schedule", "there are no timers; cron or systemd have them"},
    {"when_full", "it belongs to the `log` of an actor, or to that of `defaults`"},
};

/*
 * What a word of another tool means behind a key of this type; NULL: it is none of those
 * known.  The word is static.
 */
const char *
synonym_of_value(const struct schema_type *type, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (strcasecmp(values[i].word, word) == 0 &&
		    names_find(type->words, type->n_words, values[i].meant) >= 0)
			return values[i].meant;
	return NULL;
}

/*
 * What a key of another tool is called at this place; NULL: it is none of those known.
 * The name is static.
 */
const char *
synonym_of_key(const struct schema_type *type, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcasecmp(keys[i].word, name) != 0)
			continue;
		const struct schema_key *key =
		    schema_find(type->table, keys[i].meant, type->where);
		if (key != NULL && (key->where & type->where) != 0)
			return keys[i].meant;
	}
	return NULL;
}

/*
 * A sentence about a key of another tool that supd has under no name at this place; NULL:
 * the key is not known.
 */
const char *
synonym_remark(const struct schema_type *type, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(remarks); i++)
		if (strcasecmp(remarks[i].word, name) == 0)
			return remarks[i].meant;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (type->where == AT_WORKER && strcasecmp(keys[i].word, name) == 0 &&
		    strcmp(keys[i].meant, "limit") == 0)
			return "its supervisor has `limit`, for each of its children";
	return NULL;
}

/* Where to look for the right name of a key of `map` that resembles no key of supd. */
const char *
synonym_place(const struct schema_type *type, const struct yaml *map, const char *name)
{
	if (type->where == AT_TOP && node_get(map, name)->type == NODE_MAP)
		return "actors stand below `children`";
	if (type->where == AT_TOP && node_get(map, "children") == NULL)
		return "for a Procfile 'supd --init procfile FILE' prints what it is "
		       "here";
	return "supd.yaml(5) describes all keys";
}

/* Why a known key may not stand at this place. */
const char *
schema_misplaced(const struct schema_key *key, unsigned int where)
{
	if ((key->where & (AT_WORKER | AT_SUPERVISOR | AT_NESTED)) == 0)
		return "belongs at the top level of the main file";
	if (where == AT_TOP)
		return "is not a key of the top level, which describes /user; "
		       "it belongs to an actor in `children`";
	if (where == AT_INCLUDED)
		return "cannot stand in an included file; that may have `children` and "
		       "`templates`";
	if (where == AT_DEFAULTS)
		return "cannot stand in `defaults`; those are keys of actors with a "
		       "command";
	if (where == AT_TEMPLATE)
		return "cannot stand in a template";
	if (where == AT_SUPERVISOR)
		return "is a key of actors with a `command`; this one has `children`";
	return "is a key of supervisors; this actor has no `children`";
}
