/* SPDX-License-Identifier: ISC */
/* needs.c - `needs`: the actors that must be there before an actor starts. */
#include "config.h"

#include "conf/read/needs.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/sum.h"
#include "conf/read/keys.h"
#include "conf/schema/schema_types.h"

static void
read_one(struct reader *reader, const struct node_pair *pair, struct conf_actor *actor,
         struct need_spec *specs, const struct trail *up)
{
	char *path = read_reference(reader, actor, pair->key->text);
	struct need_spec spec = {0};

	if (path == NULL)
		return;
	spec.target = sum_bytes(path, strlen(path), 0);
	spec.level = (enum need)read_value(&schema_need, pair->value).word;
	for (uint32_t i = 0; i < actor->spec->core.n_needs; i++) {
		if (specs[i].target != spec.target)
			continue;
		if (specs[i].level != spec.level)
			reader_error(
			    reader, pair->key, &(struct trail){up, pair->key->text, 0},
			    "`%.200s` is needed twice, %s and %s; keep one of "
			    "them",
			    path, need_names[specs[i].level], need_names[spec.level]);
		return;
	}
	actor->spec->needs[actor->spec->core.n_needs] = (struct conf_need){path};
	specs[actor->spec->core.n_needs++] = spec;
}

/* `needs`: each target once, in the order of the file. */
void
read_needs(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail)
{
	struct conf_actor *actor = target;

	if (node->n > SPEC_NEEDS_MAX) {
		reader_error(
		    reader, node, trail,
		    "%zu actors; an actor needs at most %d (replicas count as one, by "
		    "their common name)",
		    node->n, SPEC_NEEDS_MAX);
		return;
	}
	struct need_spec *specs = arena_alloc(reader->keep, node->n, sizeof(*specs));
	actor->spec->needs =
	    arena_alloc(reader->keep, node->n, sizeof(*actor->spec->needs));
	if (specs == NULL || actor->spec->needs == NULL)
		return;
	actor->spec->core.needs = specs;
	for (size_t i = 0; i < node->n; i++)
		read_one(reader, &node->pairs[i], actor, specs, trail);
}

/* ---- who is meant ------------------------------------------------------------------ */

/* The actor at this path, or the first of its replicas; CONF_NONE: there is neither. */
uint32_t
needs_find(const struct conf *conf, const char *path)
{
	char first[CONF_PATH_MAX + 8];
	uint32_t index = conf_find(conf, path);

	if (index != CONF_NONE)
		return index;
	(void)snprintf(first, sizeof(first), "%.1000s@1", path);
	index = conf_find(conf, first);
	return index == CONF_NONE || conf->actors[index].base == NULL ? CONF_NONE : index;
}

/* The next replica of the same name; CONF_NONE: the last replica, or no replica. */
uint32_t
needs_next_replica(const struct conf *conf, uint32_t replica)
{
	const struct conf_actor *actor = &conf->actors[replica];
	uint32_t i = replica + 1;

	if (actor->base == NULL)
		return CONF_NONE;
	/* Skip the actors below, to the next sibling. */
	while (i < conf->n_actors && conf->actors[i].parent != actor->parent) {
		if (conf->actors[i].parent == CONF_NONE ||
		    conf->actors[i].parent < replica)
			return CONF_NONE;
		i++;
	}
	if (i == conf->n_actors || conf->actors[i].base == NULL ||
	    strcmp(conf->actors[i].base, actor->base) != 0)
		return CONF_NONE;
	return i;
}

static void
report(const struct lint *lint, enum conf_severity severity,
       const struct conf_actor *actor, uint32_t need, const char *message)
{
	char key[CONF_PATH_MAX + 8];

	(void)snprintf(key, sizeof(key), "needs.%.1000s", actor->spec->needs[need].path);
	keys_report(lint, severity, actor, key, "%s", message);
}

static void
refuse_stranger(struct reader *reader, const struct conf_actor *actor, uint32_t need)
{
	const struct lint lint = keys_lint(reader);
	const struct conf *conf = reader->conf;
	const char *path = actor->spec->needs[need].path;
	struct suggest suggest = {.word = path};
	char message[512];

	for (uint32_t i = 0; i < conf->n_actors && !reader->reports->truncated; i++)
		if (&conf->actors[i] != actor && !conf_is_below(conf, actor, i))
			suggest_try(&suggest, conf->actors[i].path);
	if (suggest.best != NULL)
		(void)snprintf(message, sizeof(message),
		               "there is no actor `%.180s`, did you mean `%.180s`?", path,
		               suggest.best);
	else
		(void)snprintf(message, sizeof(message),
		               "there is no actor `%.180s`; this actor would never start",
		               path);
	report(&lint, CONF_ERROR, actor, need, message);
}

/* Check that each needed actor exists, and that no actor waits for itself. */
void
needs_check(struct reader *reader)
{
	const struct conf *conf = reader->conf;
	bool any = false;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		for (uint32_t k = 0; k < actor->spec->core.n_needs; k++) {
			any = true;
			if (needs_find(conf, actor->spec->needs[k].path) == CONF_NONE)
				refuse_stranger(reader, actor, k);
		}
	}
	if (any)
		needs_circles(reader);
}

/* ---- what is probably not meant ---------------------------------------------------- */

/* Why the target will hardly ever be as far as that; NULL: it will. */
static const char *
doubt(const struct conf_actor *target, enum need level)
{
	if (!target->spec->core.enabled)
		return "is not started by itself (`enabled: false`): this actor waits "
		       "until the needed actor is started by hand";
	if (level != NEED_COMPLETED)
		return NULL;
	if (target->spec->core.restart == RESTART_PERMANENT)
		return "never completes: it is started again after a normal end "
		       "(`restart: permanent`)";
	if (target->spec->core.kind == NODE_SUPERVISOR &&
	    target->spec->core.policy.auto_shutdown == AUTO_SHUTDOWN_NEVER)
		return "never completes: a supervisor ends by itself only with "
		       "`auto_shutdown`";
	return NULL;
}

/* Warn of needs that are hardly ever met. */
void
needs_lint(const struct lint *lint)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		for (uint32_t k = 0; k < actor->spec->core.n_needs; k++) {
			uint32_t target = needs_find(conf, actor->spec->needs[k].path);
			char message[512];

			if (target == CONF_NONE)
				continue;
			const char *why = doubt(&conf->actors[target],
			                        actor->spec->core.needs[k].level);
			if (why == NULL)
				continue;
			(void)snprintf(message, sizeof(message), "`%.200s` %s",
			               actor->spec->needs[k].path, why);
			report(lint, CONF_WARNING, actor, k, message);
		}
	}
}
