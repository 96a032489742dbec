/* SPDX-License-Identifier: ISC */
/* verb.c - the verbs of supctl: one table, a function each. */
#include "config.h"

#include "ctl/verb/verb.h"

#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "base/suggest.h"

#define ANY VERB_NAMES_ANY

static const struct verb verbs[] = {
    {"status", "", "[--failed] [NAME...]",
     "the state of actors; with names, a block for each", FAMILY_LOOK, OPTION_FAILED, 0,
     ANY, verb_status},
    {"list", "ls", "[NAME...]", "the state of actors, a line each", FAMILY_LOOK, 0, 0,
     ANY, verb_list},
    {"tree", "", "[--dot] [NAME]", "the supervision tree, with strategies and states",
     FAMILY_LOOK, OPTION_DOT, 0, 1, verb_tree},
    {"start", "", "[--no-wait] [--settle D] NAME...",
     "start, and wait until ready and a second old", FAMILY_ACT,
     OPTION_NO_WAIT | OPTION_SETTLE, 1, ANY, verb_start},
    {"stop", "", "[--hold] [--no-wait] NAME...",
     "stop, and wait until gone; --hold: down until started by hand", FAMILY_ACT,
     OPTION_NO_WAIT | OPTION_HOLD, 1, ANY, verb_act},
    {"restart", "", "[--no-wait | --rolling] [--settle D] NAME...",
     "stop and start again; --rolling: one actor at a time", FAMILY_ACT,
     OPTION_NO_WAIT | OPTION_SETTLE | OPTION_ROLLING, 1, ANY, verb_restart},
    {"suspend", "", "NAME...", "freeze an actor and all below it", FAMILY_ACT, 0, 1, ANY,
     verb_act},
    {"resume", "", "NAME...", "end one suspension; with the last the actor goes on",
     FAMILY_ACT, 0, 1, ANY, verb_act},
    {"signal", "", "NAME SIGNAL", "send a signal to the process of an actor", FAMILY_ACT,
     0, 2, 2, verb_signal},
    {"kill", "", "[-s SIGNAL | -SIGNAL] NAME...",
     "send a signal, TERM by default; the actor goes on as its policy says", FAMILY_ACT,
     OPTION_SIGNAL, 1, ANY, verb_kill},
    {"fail", "", "NAME...", "let an actor fail with the cause \"killed\"", FAMILY_ACT, 0,
     1, ANY, verb_fail},
    {"reset", "reset-failed clear", "NAME...",
     "forget failures: backoff, intensity and limit counters", FAMILY_ACT, 0, 1, ANY,
     verb_act},
    {"add", "", "NAME --use TEMPLATE [--with KEY=VALUE...] | NAME -- COMMAND...",
     "add an actor, until its supervisor is restarted", FAMILY_ACT,
     OPTION_USE | OPTION_WITH, 1, ANY, verb_add},
    {"delete", "", "NAME...", "remove actors that are stopped", FAMILY_ACT, 0, 1, ANY,
     verb_delete},
    {"scale", "", "NAME N", "set the number of an actor's replicas", FAMILY_ACT, 0, 2, 2,
     verb_scale},
    {"watch", "", "NAME...", "wait for the final end of actors, one line each",
     FAMILY_ACT, 0, 1, ANY, verb_watch},
    {"wait", "", "[--for ready|stopped|failed|done] NAME...",
     "wait until actors are in that state, by default ready", FAMILY_ACT, OPTION_FOR, 1,
     ANY, verb_wait},
    {"events", "",
     "[-f] [-n N|all] [--type TYPE,...] [--since SEQ|TIME] [--until SEQ|TIME] [PATTERN]",
     "the events so far; -f: new events, too", FAMILY_ACT,
     OPTION_FOLLOW | OPTION_SINCE | OPTION_UNTIL | OPTION_LINES | OPTION_TYPE, 0, 1,
     verb_events},
    {"logs", "tail",
     "[-frt] [-n N|all] [-g REGEX] [--since TIME] [--until TIME] [NAME...]",
     "the output of the named actors, or of all; -f: new lines, too", FAMILY_ACT,
     OPTION_FOLLOW | OPTION_LINES | OPTION_SINCE | OPTION_UNTIL | OPTION_GREP |
         OPTION_STAMPS | OPTION_REVERSE,
     0, ANY, verb_logs},
    {"explain", "", "[NAME...]",
     "why an actor is as it is; without a name, all unhealthy actors", FAMILY_ACT, 0, 0,
     ANY, verb_explain},
    {"simulate", "", "[--cause CAUSE] [--times N] [NAME]",
     "what the policy will do if an actor keeps failing; changes nothing", FAMILY_ACT,
     OPTION_CAUSE | OPTION_TIMES, 0, 1, verb_simulate},
    {"cat", "", "NAME...", "the configuration in force, and where it comes from",
     FAMILY_ACT, 0, 1, ANY, verb_cat},
    {"check", "", "[FILE]", "list the errors of a configuration file", FAMILY_ACT, 0, 0,
     1, verb_check},
    {"diff", "reread", "[-e] [--rerun] [FILE | --undo]", "what apply would do",
     FAMILY_ACT, OPTION_EXIT | OPTION_RERUN | OPTION_UNDO, 0, 1, verb_diff},
    {"apply", "update",
     "[--no-wait] [--settle D] [--rerun] [--rollback D [--commit-when-ready]] "
     "[FILE | --undo]",
     "put the configuration file into force; with --rollback on trial", FAMILY_ACT,
     OPTION_ROLLBACK | OPTION_COMMIT | OPTION_NO_WAIT | OPTION_SETTLE | OPTION_RERUN |
         OPTION_UNDO,
     0, 1, verb_apply},
    {"reload", "", "[NAME...]",
     "let actors read their configuration again; without a name: as apply", FAMILY_ACT,
     OPTION_ROLLBACK | OPTION_COMMIT | OPTION_NO_WAIT | OPTION_SETTLE | OPTION_RERUN, 0,
     ANY, verb_reload},
    {"is-active", "", "NAME...", "exit status 0 if running", FAMILY_LOOK, 0, 1, ANY,
     verb_is_active},
    {"is-failed", "", "NAME...", "exit status 0 if failed", FAMILY_LOOK, 0, 1, ANY,
     verb_is_failed},
    {"is-healthy", "", "[NAME...]",
     "exit status 0 if nothing is wrong with an actor and all below it", FAMILY_LOOK, 0,
     0, ANY, verb_is_healthy},
    {"is-ready", "", "NAME...", "exit status 0 if ready", FAMILY_LOOK, 0, 1, ANY,
     verb_is_ready},
    {"pid", "", "[NAME...]", "the process of an actor; without a name, of supd",
     FAMILY_LOOK, 0, 0, ANY, verb_pid},
    {"ping", "", "", "ask whether supd answers", FAMILY_ACT, 0, 0, 0, verb_ping},
    {"metrics", "", "", "metrics of supd and its actors, as OpenMetrics", FAMILY_LOOK, 0,
     0, 0, verb_metrics},
    {"version", "", "", "the versions of supctl and of the running supd", FAMILY_ACT, 0,
     0, 0, verb_version},
    {"upgrade", "", "",
     "replace the running supd by the binary on disk; no actor notices", FAMILY_ACT, 0, 0,
     0, verb_upgrade},
    {"shutdown", "", "[--no-wait]", "ordered shutdown; wait until supd is gone",
     FAMILY_ACT, OPTION_NO_WAIT, 0, 0, verb_shutdown},
    {"top", "", "[-n N] [--sort cpu|memory|restarts|uptime|path]",
     "a page that stays open: tree, figures, logs, keys to start and stop actors",
     FAMILY_LOOK, OPTION_LINES | OPTION_SORT, 0, 0, verb_top},
    {"shell", "", "", "a prompt for these verbs, with completion and history", FAMILY_ACT,
     0, 0, 0, verb_shell},
    {"completion", "", "bash|zsh|fish", "print the completion of supctl for that shell",
     FAMILY_ACT, 0, 1, 1, verb_completion},
};

/* The options: parsing, help and completion follow this table. */
#define INTO(member) .target = offsetof(struct options, member)
#define NOWHERE      .target = 0
static const struct verb_option options[] = {
    {0, "--socket", "-s", "FILE", "the control socket", .id = 's'},
    {0, "--output", "-o", "text|json", "what to print", .id = 'o'},
    {0, "--no-color", NULL, NULL, "no colours", .id = LONG_NO_COLOR},
    {0, "--utc", NULL, NULL, "times in UTC", .id = LONG_UTC},
    {0, "--timeout", NULL, "DURATION", "give up after this time", .id = LONG_TIMEOUT},
    {0, "--help", "-h", NULL, "print this help", .id = 'h'},
    {0, "--version", "-V", NULL, "the version of supctl", .id = 'V'},
    {OPTION_FAILED, "--failed", NULL, NULL, "only unhealthy actors", NOWHERE},
    {OPTION_DOT, "--dot", NULL, NULL, "for Graphviz", NOWHERE},
    {OPTION_HOLD, "--hold", NULL, NULL, "keep the actor down until it is started by hand",
     NOWHERE},
    {OPTION_NO_WAIT, "--no-wait", NULL, NULL, "do not wait until it is done", NOWHERE},
    {OPTION_FOLLOW, "--follow", "-f", NULL, "go on with what comes next", NOWHERE},
    {OPTION_SINCE, "--since", NULL, "WHEN", "only what came later", INTO(since)},
    {OPTION_SETTLE, "--settle", NULL, "DURATION",
     "count actors as started once they have lived this long", INTO(settle)},
    {OPTION_RERUN, "--rerun", NULL, NULL, "start also changed actors that are done",
     NOWHERE},
    {OPTION_ROLLING, "--rolling", NULL, NULL,
     "one actor after another, up to the first failure", NOWHERE},
    {OPTION_UNDO, "--undo", NULL, NULL,
     "the configuration before the last apply, not the file", NOWHERE},
    {OPTION_EXIT, "--exit-code", "-e", NULL, "exit status 3 if anything would change",
     NOWHERE},
    {OPTION_UNTIL, "--until", NULL, "WHEN", "only what came before", INTO(until)},
    {OPTION_TYPE, "--type", NULL, "TYPE",
     "only events of these types, as failure,backoff", INTO(types)},
    {OPTION_GREP, "--grep", "-g", "REGEX", "only lines that match", INTO(grep)},
    {OPTION_STAMPS, "--timestamps", "-t", NULL, "with the time of each line", NOWHERE},
    {OPTION_REVERSE, "--reverse", "-r", NULL, "the newest first", NOWHERE},
    {OPTION_FOR, "--for", NULL, "ready|stopped|failed|done", "what to wait for",
     INTO(for_state)},
    {OPTION_LINES, "--lines", "-n", "N", "how many", INTO(lines)},
    {OPTION_CAUSE, "--cause", NULL,
     "oom|killed|start_timeout|early_exit|watchdog|health|self_report|stopped|death_pact",
     "the cause of the failure", INTO(cause)},
    {OPTION_TIMES, "--times", NULL, "N", "number of failures", INTO(times)},
    {OPTION_USE, "--use", NULL, "TEMPLATE", "the template", INTO(use)},
    {OPTION_ROLLBACK, "--rollback", NULL, "DURATION", "time of the trial",
     INTO(rollback)},
    {OPTION_COMMIT, "--commit-when-ready", NULL, NULL,
     "end the trial when all changed actors are ready", NOWHERE},
    {OPTION_SORT, "--sort", NULL, "cpu|memory|restarts|uptime|path",
     "the order of the lines", INTO(sort)},
    {OPTION_SIGNAL, "--signal", NULL, "SIGNAL", "which signal", INTO(signal)},
    {OPTION_WITH, "--with", NULL, "KEY=VALUE", "a parameter of the template", NOWHERE},
};

/* The one after this in the table; NULL: the first, and after the last. */
const struct verb *
verb_next(const struct verb *verb)
{
	verb = verb == NULL ? verbs : verb + 1;
	return verb < verbs + ARRAY_SIZE(verbs) ? verb : NULL;
}

/* An option by its place in the table; NULL behind the last. */
const struct verb_option *
verb_option_at(size_t i)
{
	return i < ARRAY_SIZE(options) ? &options[i] : NULL;
}

/* The next option of this verb; without a verb, of those that all understand. */
const struct verb_option *
verb_option_next(const struct verb *verb, const struct verb_option *option)
{
	const unsigned int wanted = verb == NULL ? 0 : verb->options;

	for (option = option == NULL ? options : option + 1;
	     option < options + ARRAY_SIZE(options); option++)
		if (verb == NULL ? option->bit == 0 : (option->bit & wanted) != 0)
			return option;
	return NULL;
}

/* A verb by its name or an alias; NULL if there is none. */
const struct verb *
verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0 ||
		    names_list_has(verbs[i].alias, name))
			return &verbs[i];
	return NULL;
}

/* The verb that was meant, perhaps, or NULL. */
const char *
verb_nearest(const char *name)
{
	struct suggest suggest = {.word = name};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		suggest_try(&suggest, verbs[i].name);
	return suggest.best;
}

_Static_assert(ARRAY_SIZE(options) <= OPTIONS_MAX, "getopt_long(3) knows them all");
