/* SPDX-License-Identifier: ISC */
/* cause.c - why something failed and which rule decided, in words and as JSON. */
#include "config.h"

#include "daemon/state/cause.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/units.h"
#include "daemon/state/actors.h"

/* True if this was a failure, false for a normal or wanted end.  A stop by hand is no
 * failure, unless a signal that supd did not send ended the process. */
bool
cause_is_failure(const struct cause *cause)
{
	return cause->kind != CAUSE_NORMAL &&
	       (cause->kind != CAUSE_STOPPED || cause->signal != 0);
}

/* "TERM", as in the configuration, or a number without a name. */
static void
add_signal(struct strbuf *sb, int signo)
{
	if (signal_name(signo)[3] != '?')
		strbuf_adds(sb, signal_name(signo) + strlen("SIG"));
	else
		strbuf_addf(sb, "%d", signo);
}

/* How the process ended, where that adds to the kind of the cause. */
static void
add_end(struct strbuf *sb, const struct cause *cause, const char *exited,
        const char *killed)
{
	if (cause->signal != 0) {
		strbuf_adds(sb, killed);
		add_signal(sb, cause->signal);
		if (cause->core)
			strbuf_adds(sb, " (core dumped)");
	} else if (cause->code >= 0) {
		strbuf_addf(sb, "%s%d", exited, cause->code);
	}
}

static void
add_in_brackets(struct strbuf *sb, const struct cause *cause)
{
	if (cause->signal == 0 && cause->code < 0)
		return;
	strbuf_adds(sb, " (");
	add_end(sb, cause, "exited with ", "killed by SIG");
	strbuf_addc(sb, ')');
}

static void
add_normal(struct strbuf *sb, const struct cause *cause)
{
	if (cause->signal == 0 && cause->code < 0)
		strbuf_adds(sb, "ended normally");
	else
		add_end(sb, cause, "exited with ", "ended by SIG");
	if (cause->signal == 0 && cause->code > 0)
		strbuf_adds(sb, ", which is a success");
}

/* True if the failed step takes a file of the actor's choice. */
static bool
is_about_file(const struct cause *cause)
{
	return strcmp(cause->key, spawn_step_names[SPAWN_STEP_INPUT]) == 0 ||
	       strcmp(cause->key, spawn_step_names[SPAWN_STEP_OUTPUT]) == 0 ||
	       strcmp(cause->key, spawn_step_names[SPAWN_STEP_ENVIRONMENT_FILE]) == 0;
}

static void
add_exec(struct strbuf *sb, const struct cause *cause)
{
	strbuf_adds(sb, "could not be executed");
	if (cause->error == ETIMEDOUT)
		strbuf_addf(sb, " (exec: %s%stimeout)", cause->key,
		            cause->key[0] != '\0' ? ": " : "");
	else if (cause->key[0] != '\0')
		strbuf_addf(sb, " (exec: %s: %s, %s)", cause->key, err_name(cause->error),
		            is_about_file(cause) ? err_of_file(cause->error)
		                                 : strerror(cause->error));
	else if (cause->error != 0)
		strbuf_addf(sb, ": %s (%s)", err_name(cause->error),
		            strerror(cause->error));
}

/*
 * What a cause calls a step that failed before the program was executed: "setgid", or
 * "setrlimit nofile" where `which` says of what it is one.  "" for the exec itself.
 */
void
cause_step(char ret[CAUSE_KEY_MAX], enum spawn_step step, int which)
{
	const char *detail = NULL;

	if (step == SPAWN_STEP_LIMIT)
		detail = conf_limit_name(which);
	else if (step == SPAWN_STEP_CGROUP && which >= 0 && which < CGROUP_KEY_MAX)
		detail = cgroup_key_names[which];
	else if (step == SPAWN_STEP_BOUNDING || step == SPAWN_STEP_AMBIENT)
		detail = conf_capability_name(which);
	memset(ret, 0, CAUSE_KEY_MAX);
	if (step != SPAWN_STEP_NONE && step != SPAWN_STEP_EXEC)
		(void)snprintf(ret, CAUSE_KEY_MAX, "%s%s%s", spawn_step_names[step],
		               detail != NULL ? " " : "", detail != NULL ? detail : "");
}

/* Add the process's own name of its failure, and the errno that it reported. */
static void
add_own(struct strbuf *sb, const struct cause *cause)
{
	if (cause->key[0] != '\0')
		strbuf_addf(sb, ": %s", cause->key);
	if (cause->error != 0)
		strbuf_addf(sb, " (%s)", strerror(cause->error));
}

/*
 * The path of the watched actor in a death pact, from `origin`, the failed watcher; NULL:
 * the cause is another, or the origin does not watch that actor any more.
 */
const char *
cause_about(const struct actors *actors, const struct cause *cause, struct ref origin)
{
	const struct actor *actor = actors_get(actors, origin);

	if (cause->kind != CAUSE_DEATH_PACT || cause->watch == 0 || actor == NULL ||
	    cause->watch > actor->conf->spec->core.n_watches)
		return NULL;
	return actor->conf->spec->watches[cause->watch - 1].path;
}

static void
add_death_pact(struct strbuf *sb, const char *about)
{
	if (about != NULL)
		strbuf_addf(sb, "watches %s, which ended for good", about);
	else
		strbuf_adds(sb, "watches an actor that ended for good");
}

/*
 * One phrase that completes "it …": "exited with 3", "killed by SIGSEGV (core dumped)",
 * "could not be executed: ENOENT (No such file or directory)", "could not be executed
 * (exec: setgid: EPERM, Operation not permitted)".  `about` is what
 * cause_about() gave, or NULL.
 */
void
cause_text(struct strbuf *sb, const struct cause *cause, const char *about)
{
	/* Of the others the details say all. */
	static const char *const phrases[] = {
	    [CAUSE_OOM] = "killed because memory ran out",
	    [CAUSE_KILLED] = "killed by command",
	    [CAUSE_START_TIMEOUT] = "did not become ready within its start_timeout",
	    [CAUSE_EARLY_EXIT] = "ended before it was ready",
	    [CAUSE_WATCHDOG] = "did not report to its watchdog in time",
	    [CAUSE_HEALTH] = "failed its health check",
	    [CAUSE_SELF_REPORT] = "reported a failure of its own",
	    [CAUSE_INTENSITY] = "its children were restarted too often",
	    [CAUSE_UNKILLABLE] = "cannot be killed",
	    [CAUSE_UNKNOWN] = "ended in an unknown way",
	    [CAUSE_KIND_MAX] = "ended in an unknown way",
	};

	if (cause->kind <= CAUSE_KIND_MAX && phrases[cause->kind] != NULL)
		strbuf_adds(sb, phrases[cause->kind]);
	switch (cause->kind) {
	case CAUSE_NORMAL:
		add_normal(sb, cause);
		break;
	case CAUSE_EXIT:
		strbuf_addf(sb, "exited with %d", (int)cause->code);
		break;
	case CAUSE_SIGNAL:
	case CAUSE_CORE:
		add_end(sb, cause, "exited with ", "killed by SIG");
		break;
	case CAUSE_EXEC:
		add_exec(sb, cause);
		break;
	case CAUSE_START_TIMEOUT:
	case CAUSE_HEALTH:
	case CAUSE_SELF_REPORT:
		add_own(sb, cause);
		break;
	case CAUSE_EARLY_EXIT:
		add_in_brackets(sb, cause);
		break;
	case CAUSE_STOPPED:
		strbuf_adds(sb, cause->signal == 0 ? "stopped" : "was stopped");
		add_end(sb, cause, "", " by SIG");
		break;
	case CAUSE_DEATH_PACT:
		add_death_pact(sb, about);
		break;
	case CAUSE_OOM:
	case CAUSE_KILLED:
	case CAUSE_WATCHDOG:
	case CAUSE_INTENSITY:
	case CAUSE_UNKILLABLE:
	case CAUSE_UNKNOWN:
	case CAUSE_KIND_MAX:
		break;
	}
}

/* The phrase as a string of JSON. */
void
cause_text_json(struct strbuf *sb, const struct cause *cause, const char *about)
{
	struct strbuf text;
	char memory[512];

	strbuf_borrow(&text, memory, sizeof(memory));
	cause_text(&text, cause, about);
	strbuf_add_json(sb, strbuf_str(&text));
}

/* One word for a program: "exit:3", "signal:KILL", "exec:ENOENT", "watchdog"; "" for a
 * normal end. */
void
cause_key(struct strbuf *sb, const struct cause *cause)
{
	if (cause->kind == CAUSE_NORMAL)
		return;
	strbuf_adds(sb, cause_kind_names[cause->kind]);
	if (cause->kind == CAUSE_EXIT) {
		strbuf_addf(sb, ":%d", (int)cause->code);
	} else if (cause->kind == CAUSE_SIGNAL || cause->kind == CAUSE_CORE) {
		strbuf_addc(sb, ':');
		add_signal(sb, cause->signal);
	} else if (cause->kind == CAUSE_EXEC && cause->error != 0) {
		strbuf_addf(sb, ":%s", err_name(cause->error));
	}
}

/*
 * An object of type Cause of the interface; fields that do not apply are null.  The key
 * of a death pact is `about`, the watched actor.
 */
void
cause_json(struct strbuf *sb, const struct cause *cause, const char *about)
{
	ASSERT(cause->kind < CAUSE_KIND_MAX);
	strbuf_adds(sb, "{\"kind\":\"");
	strbuf_adds(sb, cause_kind_names[cause->kind]);
	if (cause->code >= 0 && cause->signal == 0 && cause->kind != CAUSE_EXEC)
		strbuf_addf(sb, "\",\"code\":%d", (int)cause->code);
	else
		strbuf_adds(sb, "\",\"code\":null");
	if (cause->signal != 0) {
		strbuf_adds(sb, ",\"signal\":\"");
		add_signal(sb, cause->signal);
		strbuf_adds(sb, cause->core ? "\",\"core\":true" : "\",\"core\":false");
	} else {
		strbuf_adds(sb, ",\"signal\":null,\"core\":null");
	}
	if (cause->error != 0)
		strbuf_addf(sb, ",\"errno\":\"%s\",\"key\":", err_name(cause->error));
	else
		strbuf_adds(sb, ",\"errno\":null,\"key\":");
	if (about != NULL)
		strbuf_add_json(sb, about);
	else if (cause->key[0] != '\0')
		strbuf_add_json(sb, cause->key);
	else
		strbuf_adds(sb, "null");
	strbuf_adds(sb, ",\"text\":");
	cause_text_json(sb, cause, about);
	strbuf_addc(sb, '}');
}

static bool
is_placed(const struct conf *conf, struct place place)
{
	return place.line > 0 && place.file < conf->n_files;
}

/*
 * Which rule decided: "supd.yaml:12", "preset default"; where no rule had part in it,
 * why.
 *
 * A rule of a preset that was named in a list is the line that named it.
 */
void
rule_name(struct strbuf *sb, const struct conf *conf, enum preset preset,
          struct place place, enum decision_reason reason)
{
	ASSERT(reason < DECISION_REASON_MAX);
	ASSERT(preset < PRESET_MAX);
	if (is_placed(conf, place)) {
		strbuf_addf(sb, "%s:%u", conf->files[place.file],
		            (unsigned int)place.line);
	} else {
		if (preset != PRESET_LIST)
			strbuf_adds(sb, "preset ");
		strbuf_adds(sb, preset != PRESET_LIST ? preset_names[preset]
		                                      : decision_reason_names[reason]);
	}
}

/* The same, and what overruled it: "supd.yaml:12 (limit exceeded)". */
void
rule_text(struct strbuf *sb, const struct conf *conf, enum preset preset,
          struct place place, enum decision_reason reason)
{
	bool by_rule = reason == DECIDED_BY_RULE || reason == DECIDED_BY_ON_FAILURE;
	bool is_reason = !is_placed(conf, place) && preset == PRESET_LIST;

	rule_name(sb, conf, preset, place, reason);
	if (!by_rule && !is_reason)
		strbuf_addf(sb, " (%s)", decision_reason_names[reason]);
}
