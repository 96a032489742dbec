/* SPDX-License-Identifier: ISC */
/* cast.c - the words of a story that describe an actor: kinds, types, limits, rules. */
#include "config.h"

#include "tests/scenario/cast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sum.h"
#include "base/units.h"

/* The defaults of the scenarios: no backoff, a second to stop, limits as documented. */
void
cast_default(struct player *player, bool supervisor)
{
	struct spec *spec = &player->spec;

	spec_default(spec, supervisor ? NODE_SUPERVISOR : NODE_WORKER);
	spec->name = sum_bytes(player->name, strlen(player->name), 0);
	if (strchr(player->name, '@') != NULL)
		spec->base = sum_bytes(player->name, strcspn(player->name, "@"), 0);
	spec->backoff.none = true;
	spec->stop.shutdown_ms = 1000;
	player->answers = -1;
	player->loops = -1;
}

bool
cast_duration(const char *text, uint64_t *ret_ms)
{
	return duration_parse(text, ret_ms) == 0;
}

bool
cast_number(const char *text, const char **ret_end, uint32_t *ret_n)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || n > UINT32_MAX)
		return false;
	*ret_n = (uint32_t)n;
	*ret_end = end;
	return true;
}

/* "5/60s" */
static bool
rate(const char *text, uint32_t *ret_n, uint64_t *ret_ms)
{
	const char *end;

	return cast_number(text, &end, ret_n) && *end == '/' &&
	       cast_duration(end + 1, ret_ms);
}

/* "2/1s" and then any of ",fixed" and ",escalate" */
static bool
word_limit(struct limit_spec *limit, const char *text)
{
	char buf[STAGE_NAME_MAX];
	char *rest;

	snprintf(buf, sizeof(buf), "%s", text);
	rest = strchr(buf, ',');
	if (rest != NULL)
		*rest++ = '\0';
	limit->on = true;
	limit->fixed = rest != NULL && strstr(rest, "fixed") != NULL;
	limit->escalate = rest != NULL && strstr(rest, "escalate") != NULL;
	return rate(buf, &limit->restarts, &limit->within_ms);
}

/* "none", or min/max/reset_after/factor in thousandths/jitter in thousandths */
static bool
word_backoff(struct backoff_spec *backoff, const char *text)
{
	char buf[NOTE_MAX];
	char *save;
	char *part;
	uint32_t n = 0;

	backoff->none = strcmp(text, "none") == 0;
	if (backoff->none)
		return true;
	backoff->jitter_milli = 0;
	backoff->factor_milli = 2000;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, "/", &save); part != NULL;
	     part = strtok_r(NULL, "/", &save), n++) {
		uint64_t ms = 0;

		if (n < 3 && !cast_duration(part, &ms))
			return false;
		if (n == 0)
			backoff->min_ms = backoff->max_ms = ms;
		else if (n == 1)
			backoff->max_ms = ms;
		else if (n == 2)
			backoff->reset_after_ms = ms;
		else if (n == 3)
			backoff->factor_milli = (uint32_t)strtoul(part, NULL, 10);
		else
			backoff->jitter_milli = (uint32_t)strtoul(part, NULL, 10);
		if (n == 1)
			backoff->reset_after_ms = (backoff->min_ms + ms) / 2;
	}
	return n >= 2;
}

static bool
word_shutdown(struct spec *spec, const char *text)
{
	if (strcmp(text, "brutal_kill") == 0)
		spec->stop.mode = SHUTDOWN_BRUTAL_KILL;
	else if (strcmp(text, "infinity") == 0)
		spec->stop.mode = SHUTDOWN_INFINITY;
	else
		spec->stop.mode = SHUTDOWN_TIMEOUT;
	return spec->stop.mode != SHUTDOWN_TIMEOUT ||
	       cast_duration(text, &spec->stop.shutdown_ms);
}

static bool
word_ready(struct spec *spec, const char *text)
{
	if (strcmp(text, "exec") == 0)
		spec->start.ready = READY_EXEC;
	else if (strcmp(text, "told") == 0)
		spec->start.ready = READY_TOLD;
	else if (strcmp(text, "exit") == 0) {
		spec->start.ready = READY_EXIT;
		spec->restart = RESTART_TRANSIENT;
	} else if (strncmp(text, "probed:", 7) == 0) {
		spec->start.ready = READY_PROBED;
		return cast_duration(text + 7, &spec->start.ready_interval_ms);
	} else if (strncmp(text, "after:", 6) == 0) {
		spec->start.ready = READY_AFTER;
		return cast_duration(text + 6, &spec->start.ready_after_ms);
	} else {
		return false;
	}
	return true;
}

/* "off", or INTERVAL/FAILURES[/SUCCESSES[/INITIAL_DELAY]] */
static bool
word_health(struct probe_spec *health, const char *text)
{
	char buf[NOTE_MAX];
	char *save;
	char *part;
	uint32_t n = 0;

	*health = (struct probe_spec){.on = strcmp(text, "off") != 0, .successes = 1};
	if (!health->on)
		return true;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, "/", &save); part != NULL;
	     part = strtok_r(NULL, "/", &save), n++) {
		if (n == 0 && !cast_duration(part, &health->interval_ms))
			return false;
		if (n == 1)
			health->failures = (uint32_t)strtoul(part, NULL, 10);
		if (n == 2)
			health->successes = (uint32_t)strtoul(part, NULL, 10);
		if (n == 3 && !cast_duration(part, &health->initial_delay_ms))
			return false;
	}
	return n >= 2;
}

static bool
word_success(struct spec *spec, const char *text)
{
	char buf[NOTE_MAX];
	char *save;
	char *part;

	memset(&spec->success_exits, 0, sizeof(spec->success_exits));
	memset(&spec->success_signals, 0, sizeof(spec->success_signals));
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, ",", &save); part != NULL;
	     part = strtok_r(NULL, ",", &save)) {
		const char *end;
		uint32_t code;

		if (cast_number(part, &end, &code))
			exit_set_add(&spec->success_exits, code, code);
		else if (signal_parse(part) > 0)
			signal_set_add(&spec->success_signals, signal_parse(part));
		else
			return false;
	}
	return true;
}

/* Names between commas, or `all`. */
static bool
word_hooks(struct spec *spec, const char *text)
{
	char buf[NOTE_MAX * 2];
	char *save;
	char *part;

	if (strcmp(text, "all") == 0) {
		spec->hooks = (1U << HOOK_MAX) - 1;
		return true;
	}
	spec->hooks = 0;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, ",", &save); part != NULL;
	     part = strtok_r(NULL, ",", &save)) {
		int found = names_find(hook_names, HOOK_MAX, part);

		if (found < 0)
			return false;
		spec->hooks |= 1U << found;
	}
	return true;
}

/*
 * "a:fail,b:signal:HUP,c:stop": the watched actors, with the reaction to each; "none". A
 * name stands for a path, its hash for the name.
 */
static bool
word_watch(struct player *player, const char *text)
{
	char buf[256];
	char *save;
	char *part;

	player->spec.watches = player->watches;
	player->spec.n_watches = 0;
	if (strcmp(text, "none") == 0)
		return true;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, ",", &save); part != NULL;
	     part = strtok_r(NULL, ",", &save)) {
		uint32_t n = player->spec.n_watches;
		char *how = strchr(part, ':');
		char *signal = how == NULL ? NULL : strchr(how + 1, ':');
		int found;

		if (n == STAGE_WATCHES_MAX || how == NULL)
			return false;
		*how++ = '\0';
		if (signal != NULL)
			*signal++ = '\0';
		found = names_find(reaction_names, REACTION_MAX, how);
		if (found < 0)
			return false;
		snprintf(player->watched[n], STAGE_NAME_MAX, "%s", part);
		player->watches[n] = (struct watch_spec){
		    .target = sum_bytes(part, strlen(part), 0),
		    .reaction = (enum reaction)found,
		    .signal = signal == NULL ? 0 : signal_parse(signal),
		};
		player->spec.n_watches++;
	}
	return true;
}

/* "a:ready,b:completed": what has to be there before it starts; "none". */
static bool
word_needs(struct player *player, const char *text)
{
	char buf[256];
	char *save;
	char *part;

	player->spec.needs = player->needs;
	player->spec.n_needs = 0;
	if (strcmp(text, "none") == 0)
		return true;
	snprintf(buf, sizeof(buf), "%s", text);
	for (part = strtok_r(buf, ",", &save); part != NULL;
	     part = strtok_r(NULL, ",", &save)) {
		uint32_t n = player->spec.n_needs;
		char *level = strchr(part, ':');
		int found;

		if (n == STAGE_WATCHES_MAX || level == NULL)
			return false;
		*level++ = '\0';
		found = names_find(need_names, NEED_MAX, level);
		if (found < 0)
			return false;
		snprintf(player->needed[n], STAGE_NAME_MAX, "%s", part);
		player->needs[n] = (struct need_spec){
		    .target = sum_bytes(part, strlen(part), 0),
		    .level = (enum need)found,
		};
		player->spec.n_needs++;
	}
	return true;
}

/* auto_shutdown=any_significant, when_empty=stop: no word belongs to both. */
static bool
word_empty(struct spec *spec, const char *value)
{
	int mode = names_find(auto_shutdown_names, AUTO_SHUTDOWN_MAX, value);
	int empty = names_find(when_empty_names, WHEN_EMPTY_MAX, value);

	if (mode >= 0)
		spec->policy.auto_shutdown = (enum auto_shutdown)mode;
	if (empty >= 0)
		spec->policy.when_empty = (enum when_empty)empty;
	return mode >= 0 || empty >= 0;
}

static bool
word_key(struct player *player, const char *key, const char *value)
{
	struct spec *spec = &player->spec;

	if (strcmp(key, "intensity") == 0)
		return rate(value, &spec->policy.intensity.restarts,
		            &spec->policy.intensity.within_ms);
	if (strcmp(key, "limit") == 0)
		return word_limit(&spec->policy.limit, value);
	if (strcmp(key, "backoff") == 0)
		return word_backoff(&spec->backoff, value);
	if (strcmp(key, "shutdown") == 0)
		return word_shutdown(spec, value);
	if (strcmp(key, "ready") == 0)
		return word_ready(spec, value);
	if (strcmp(key, "watchdog") == 0)
		return cast_duration(value, &spec->watchdog_ms);
	if (strcmp(key, "health") == 0)
		return word_health(&spec->health, value);
	if (strcmp(key, "start_timeout") == 0)
		return cast_duration(value, &spec->start.timeout_ms);
	if (strcmp(key, "decider") == 0)
		return cast_decider(&spec->policy.decider, player->decider, value);
	if (strcmp(key, "on_failure") == 0)
		return cast_decider(&spec->on_failure, player->on_failure, value);
	if (strcmp(key, "watch") == 0)
		return word_watch(player, value);
	if (strcmp(key, "needs") == 0)
		return word_needs(player, value);
	if (strcmp(key, "success") == 0)
		return word_success(spec, value);
	if (strcmp(key, "hooks") == 0)
		return word_hooks(spec, value);
	if (strcmp(key, "kill_timeout") == 0)
		return cast_duration(value, &spec->stop.kill_timeout_ms);
	if (strcmp(key, "hook_timeout") == 0)
		return cast_duration(value, &spec->hook_timeout_ms);
	if (strcmp(key, "auto_shutdown") == 0 || strcmp(key, "when_empty") == 0)
		return word_empty(spec, value);
	if (strcmp(key, "freezes") == 0) {
		spec->policy.freeze_while_deciding = strcmp(value, "yes") == 0;
		return true;
	}
	if (strcmp(key, "keep_children") == 0) {
		int keep = names_find(keep_children_names, KEEP_CHILDREN_MAX, value);

		spec->policy.keep_children = (enum keep_children)keep;
		return keep >= 0;
	}
	if (strcmp(key, "max_children") == 0) {
		spec->policy.max_children = (uint32_t)atoi(value);
		return true;
	}
	if (strcmp(key, "start") == 0)
		spec->policy.start_parallel = strcmp(value, "parallel") == 0;
	else if (strcmp(key, "stop") == 0)
		spec->policy.stop_parallel = strcmp(value, "parallel") == 0;
	else
		return false;
	return true;
}

/* Would this word say nothing of an actor that has no children? */
bool
cast_is_for_supervisors(const char *word)
{
	static const char *const keys[] = {
	    "intensity=", "limit=",        "decider=",       "start=",
	    "stop=",      "when_empty=",   "auto_shutdown=", "keep_children=",
	    "freezes=",   "max_children=",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strncmp(word, keys[i], strlen(keys[i])) == 0)
			return true;
	return strcmp(word, "unlimited") == 0;
}

/* One word of a player's description, see README. */
bool
cast_word(struct stage *stage, struct player *player, const char *word)
{
	struct spec *spec = &player->spec;
	const char *value = strchr(word, '=');
	char key[STAGE_NAME_MAX];
	int found;

	if (value != NULL) {
		snprintf(key, sizeof(key), "%.*s", (int)(value - word), word);
		if (word_key(player, key, value + 1))
			return true;
	}
	found = names_find(strategy_names, STRATEGY_MAX, word);
	if (found >= 0) {
		spec->policy.strategy = (enum strategy)found;
		return true;
	}
	found = names_find(restart_type_names, RESTART_TYPE_MAX, word);
	if (found >= 0) {
		spec->restart = (enum restart_type)found;
		return true;
	}
	if (strcmp(word, "both") == 0) {
		spec->kind = NODE_BOTH;
		spec->stop.mode = SHUTDOWN_TIMEOUT;
		return true;
	}
	if (strcmp(word, "unlimited") == 0)
		spec->policy.intensity.unlimited = true;
	else if (strcmp(word, "disabled") == 0)
		spec->enabled = false;
	else if (strcmp(word, "muted") == 0)
		spec->policy.log_failures = false;
	else if (strcmp(word, "enabled") == 0)
		spec->enabled = true;
	else if (strcmp(word, "on=failure") == 0)
		spec->backoff.on_stop = false;
	else if (strcmp(word, "significant") == 0)
		spec->significant = true;
	else if (strcmp(word, "gives_exit") == 0)
		spec->gives_exit = true;
	else if (strcmp(word, "on_demand") == 0 || strcmp(word, "on_boot") == 0)
		spec->on_demand = strcmp(word, "on_demand") == 0;
	else if (strcmp(word, "keeps") == 0)
		spec->keeps = true;
	else if (strcmp(word, "stopped_is_failure") == 0)
		spec->stopped_is_failure = true;
	else if (strcmp(word, "manual_reset") == 0)
		spec->backoff.manual_reset = true;
	else
		stage_blame(stage, "\"%s\" says nothing about an actor", word);
	return stage->fault[0] == '\0';
}

/* A cause as stories write it: exit:3, signal:SEGV, core:ABRT, exec:ENOENT, killed. */
const char *
cast_cause(const struct cause *cause, char buf[NOTE_MAX])
{
	const char *kind =
	    cause->kind < CAUSE_KIND_MAX ? cause_kind_names[cause->kind] : "?";

	if (cause->kind == CAUSE_EXIT)
		snprintf(buf, NOTE_MAX, "exit:%d", cause->code);
	else if (cause->kind == CAUSE_SIGNAL || cause->kind == CAUSE_CORE)
		snprintf(buf, NOTE_MAX, "%s:%s", kind, signal_name(cause->signal));
	else if (cause->kind == CAUSE_EXEC)
		snprintf(buf, NOTE_MAX, "exec:%s", err_name(cause->error));
	else if (cause->kind == CAUSE_SELF_REPORT)
		snprintf(buf, NOTE_MAX, "%s:%s", kind, cause->key);
	else
		snprintf(buf, NOTE_MAX, "%s", kind);
	return buf;
}

/* Is it what the story says?  signal names with or without SIG. */
bool
cast_cause_is(const struct cause *cause, const char *text)
{
	char buf[NOTE_MAX];
	const char *colon = strchr(text, ':');
	char wanted[NOTE_MAX];

	cast_cause(cause, buf);
	if (strcmp(buf, text) == 0)
		return true;
	if (colon == NULL)
		return false;
	snprintf(wanted, sizeof(wanted), "%.*s:SIG%s", (int)(colon - text), text,
	         colon + 1);
	return strcmp(buf, wanted) == 0;
}
