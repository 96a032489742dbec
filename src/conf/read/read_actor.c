/* SPDX-License-Identifier: ISC */
/* read_actor.c - an actor from its effective keys. */
#include "config.h"

#include "conf/read/read_actor.h"

#include <signal.h>
#include <string.h>

#include "base/sum.h"
#include "base/units.h"
#include "conf/read/keys.h"
#include "conf/read/read_output.h"
#include "conf/schema/schema_types.h"
#include "conf/text/shell_words.h"

/* Where readiness has to be told, or found. */
#define START_TIMEOUT_MS 90000

/* ---- commands ---- */

/* A command in one text becomes a list before ${…}: no value can change its words. */
static const struct yaml *
split_command(struct reader *reader, const struct yaml *command)
{
	struct arena *arena = reader->scratch;
	struct err err;
	char **words;
	size_t n;

	if (command->type != NODE_TEXT || node_is_empty(command) ||
	    words_split(arena, command->text, &words, &n, &err) < 0)
		return command;
	struct yaml *list = node_with_room(arena, NODE_LIST, command, n);
	if (list == NULL)
		return command;
	for (size_t i = 0; i < n; i++)
		list->items[list->n++] = node_text(arena, command, words[i]);
	list->dollar = command->dollar;
	return list;
}

static bool
has_command_below(const struct yaml *map, const struct schema_type *type)
{
	for (size_t i = 0; i < map->n; i++)
		if (schema_below(type, map->pairs[i].key->text) == &schema_command)
			return true;
	return false;
}

/* A node that may be a mapping, with the commands in it split. */
static const struct yaml *
split_below(struct reader *reader, const struct yaml *node,
            const struct schema_type *type)
{
	if (node->type != NODE_MAP || !has_command_below(node, type))
		return node;
	struct yaml *copy = node_copy_map(reader->scratch, node, 0);
	if (copy == NULL)
		return node;
	for (size_t i = 0; i < copy->n; i++)
		if (schema_below(type, copy->pairs[i].key->text) == &schema_command)
			copy->pairs[i].value =
			    split_command(reader, node->pairs[i].value);
	return copy;
}

/* The value of a key with its command split: itself, or those one or two levels down. */
static const struct yaml *
split_commands(struct reader *reader, const struct yaml *node,
               const struct schema_type *type)
{
	if (type == &schema_command)
		return split_command(reader, node);
	if (node->type != NODE_MAP || type->values == NULL || type->values->table == NULL)
		return split_below(reader, node, type);
	struct yaml *copy = node_copy_map(reader->scratch, node, 0);
	if (copy == NULL)
		return node;
	for (size_t i = 0; i < copy->n; i++)
		copy->pairs[i].value =
		    split_below(reader, node->pairs[i].value, type->values);
	return copy;
}

/* The command that runs a text of `shell`, checked already.  NULL: out of memory. */
static const struct yaml *
shell_command(struct reader *reader, const struct yaml *text)
{
	struct arena *arena = reader->scratch;
	struct yaml *list = node_with_room(arena, NODE_LIST, text, 3);

	if (list == NULL)
		return NULL;
	list->items[list->n++] = node_text(arena, text, "/bin/sh");
	list->items[list->n++] = node_text(arena, text, "-c");
	list->items[list->n++] = text;
	return list;
}

/* Warn of a text that only a shell would understand: none reads it. */
static void
warn_of_shell(struct reader *reader, const struct yaml *command,
              const struct trail *trail)
{
	char what[32];

	if (command->type == NODE_TEXT &&
	    words_want_shell(command->text, what, sizeof(what)))
		reader_warn(
		    reader, command, trail,
		    "`%s` is given to the program as it is, as no shell reads this; "
		    "write `shell:` instead of `command:`, or the command as a list",
		    what);
}

/* ---- the keys ---- */

/* The keys that an actor may have. */
static const struct schema_type *
view_of(const struct conf_actor *actor)
{
	static const struct schema_type *const views[] = {
	    [NODE_WORKER] = &schema_worker,
	    [NODE_SUPERVISOR] = &schema_supervisor,
	    [NODE_BOTH] = &schema_actor,
	};

	return actor->parent == CONF_NONE ? &schema_top : views[actor->spec->core.kind];
}

/*
 * Expand, check and take over each key that an actor may have here.  Returns what was
 * good; NULL: no memory.
 */
static struct yaml *
take_keys(struct reader *reader, const struct yaml *map, const struct scope *scope,
          const struct trail *up, struct conf_actor *actor)
{
	const struct schema_type *view = view_of(actor);
	struct yaml *good = node_with_room(reader->scratch, NODE_MAP, map, map->n);

	if (good == NULL)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		const struct yaml *name = map->pairs[i].key;
		const struct schema_key *key = check_key(reader, map, name, view, up);
		struct trail trail = {up, name->is_shell ? "shell" : name->text, 0};
		const struct yaml *value = map->pairs[i].value;

		if (key == NULL || key->is_structure)
			continue;
		const struct schema_type *type =
		    name->is_shell ? &schema_text : key->type;
		if (type == &schema_command)
			warn_of_shell(reader, value, &trail);
		if (!name->is_shell)
			value = split_commands(reader, value, type);
		value = expand(reader, value, scope, &trail);
		if (value == NULL || !check_value(reader, value, type, &trail))
			continue;
		if (name->is_shell)
			value = shell_command(reader, value);
		if (value == NULL)
			continue;
		read_key(reader, key, value, actor, &trail);
		good->pairs[good->n++] = (struct node_pair){name, value};
	}
	return good;
}

/* Only work that ends by itself can count (OTP O-40). */
static void
check_significant(struct reader *reader, const struct yaml *good, const struct trail *up,
                  const struct conf_actor *actor)
{
	const struct yaml *significant = node_get(good, "significant");
	struct trail trail = {up, "significant", 0};

	if (actor->spec->core.significant &&
	    actor->spec->core.restart == RESTART_PERMANENT)
		reader_error(reader, significant, &trail,
		             "a permanent actor never ends by itself: write `restart: "
		             "never` or `restart: transient` with `significant`");
	else if (actor->spec->core.significant && actor->parent != CONF_NONE &&
	         !reader->is_addition &&
	         reader->conf->actors[actor->parent].spec->core.policy.auto_shutdown ==
	             AUTO_SHUTDOWN_NEVER)
		/* OTP's bad_combination (DECISIONS 59). */
		reader_error(reader, significant, &trail,
		             "`significant` has no effect where the supervisor's "
		             "`auto_shutdown` is `never`: write `auto_shutdown: "
		             "any_significant` or `all_significant` for %s",
		             reader->conf->actors[actor->parent].path);
	/* As under OTP's simple_one_for_one: the work of an added actor is not the
	 * supervisor's. */
	if (actor->spec->core.significant && actor->base != NULL &&
	    reader->conf->actors[actor->parent].spec->core.policy.auto_shutdown !=
	        AUTO_SHUTDOWN_NEVER)
		reader_error(
		    reader, significant, &trail,
		    "one of several instances cannot end their supervisor: leave "
		    "`significant` or `replicas` out");
}

/* A one-shot actor is not restarted after its normal end. */
static void
settle_restart(struct reader *reader, const struct yaml *good, const struct trail *up,
               struct conf_actor *actor)
{
	const struct yaml *restart = node_get(good, "restart");
	struct trail trail = {up, "restart", 0};

	if (actor->spec->core.start.ready != READY_EXIT)
		return;
	if (actor->spec->core.kind == NODE_BOTH) {
		trail.name = "ready";
		reader_error(
		    reader, node_get(good, "ready"), &trail,
		    "`exit` is for actors without `children`, which would have to stop "
		    "when the process has ended; put it into an actor of its own");
		return;
	}
	if (restart == NULL)
		actor->spec->core.restart = RESTART_TRANSIENT;
	else if (actor->spec->core.restart == RESTART_PERMANENT)
		reader_error(
		    reader, restart, &trail,
		    "`permanent` contradicts `ready: exit`, which waits for the end; "
		    "write `transient` or `never`");
}

/* The words of a warning about an actor that is never ready. */
static const char *
who_is_late(const struct conf_actor *actor)
{
	if (actor->spec->core.start.ready == READY_PROBED)
		return "a process with a probe that never succeeds";
	if (actor->process->readiness.sign == READY_BY_NOTIFY)
		return "with `ready: notify` a process that never sends READY=1";
	return "a process that never reports readiness";
}

static void
settle_ready(struct reader *reader, const struct yaml *good, const struct trail *up,
             struct conf_actor *actor)
{
	const struct yaml *start_timeout = node_get(good, "start_timeout");

	if (actor->spec->core.start.ready != READY_TOLD &&
	    actor->spec->core.start.ready != READY_PROBED)
		return;
	if (actor->spec->core.start.ready == READY_TOLD &&
	    actor->process->readiness.sign == READY_BY_NOTIFY)
		actor->process->readiness.notify = true;
	if (start_timeout == NULL)
		actor->spec->core.start.timeout_ms = START_TIMEOUT_MS;
	else if (actor->spec->core.start.timeout_ms == DURATION_INFINITE)
		reader_warn(reader, start_timeout,
		            &(struct trail){up, "start_timeout", 0},
		            "%s keeps the actors after it waiting for ever; write a "
		            "`start_timeout`",
		            who_is_late(actor));
}

/* True if a rule waits for what the process says: a report, or BACKOFF_RESET=1. */
static bool
asks_for_reports(const struct rule *rule)
{
	return rule->keys[0][0] != '\0' || rule->backoff.manual_reset ||
	       rule_names(rule, CAUSE_SELF_REPORT);
}

/* An actor that notifies needs an address to notify (DECISIONS 26). */
static void
settle_notify(const struct reader *reader, struct conf_actor *actor)
{
	if (actor->process->kept.fd_store > 0 || actor->spec->core.watchdog_ms > 0 ||
	    actor->spec->core.backoff.manual_reset ||
	    any_rule(reader->conf, actor, asks_for_reports))
		actor->process->readiness.notify = true;
}

/*
 * Fill in an actor with a known name, path, place, parent and kind; faults are reported
 * with `trail` as the way to the actor.
 */
void
actor_read(struct reader *reader, const struct yaml *map, const struct scope *scope,
           const struct trail *trail, struct conf_actor *actor)
{
	spec_default(&actor->spec->core, actor->spec->core.kind);
	if (actor->parent == CONF_NONE)
		actor->spec->core.policy.intensity.unlimited = true;
	actor->process->world.umask = 0022;
	actor->process->orders.stop_signal = SIGTERM;
	actor->process->orders.reload_signal = SIGHUP;
	actor->process->orders.watchdog_signal = SIGABRT;
	actor->process->output.out_is_err = true;
	log_default(&actor->process->output.log);
	struct yaml *good = take_keys(reader, map, scope, trail, actor);
	if (good == NULL)
		return;
	settle_restart(reader, good, trail, actor);
	check_significant(reader, good, trail, actor);
	settle_ready(reader, good, trail, actor);
	probes_check(reader, good, actor, trail);
	settle_notify(reader, actor);
	cgroup_settle(reader, good, actor, trail);
	actor->spec->core.keeps =
	    actor->process->kept.fd_store > 0 || actor->process->kept.runtime_directory;
	read_identity(reader, good, actor, trail);
	keys_make(reader, good, view_of(actor), actor);
}
