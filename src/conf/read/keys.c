/* SPDX-License-Identifier: ISC */
/* keys.c - every effective key of an actor, and where its value came from. */
#include "config.h"

#include "conf/read/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/sum.h"
#include "base/units.h"
#include "conf/read/needs.h"
#include "conf/read/read.h"
#include "conf/read/read_output.h"
#include "conf/schema/schema_types.h"
#include "conf/text/way.h"

#define MESSAGE_MAX 1024

/* Keys as they are found, before they are sorted. */
struct key_list {
	struct reader *reader;
	const struct conf_actor *actor;
	enum conf_effect effect;
	struct conf_key *at;
	size_t n, cap;
};

static void
add(struct key_list *collection, const char *name, const char *value,
    const struct yaml *origin)
{
	if (!ARRAY_RESERVE(collection->at, collection->n, collection->cap)) {
		collection->reader->keep->failed = true;
		return;
	}
	if (name == NULL || value == NULL)
		return;
	collection->at[collection->n++] = (struct conf_key){
	    .key = name,
	    .value = value,
	    .file = origin->file,
	    .line = origin->line,
	    .column = origin->column,
	    .effect = collection->effect,
	};
}

/* What is not written has no place. */
static void
add_unwritten(struct key_list *collection, const char *name, const char *below,
              const char *value)
{
	const struct yaml nowhere = {.file = CONF_NONE};

	if (below != NULL)
		name = arena_printf(collection->reader->keep, "%s.%s", name, below);
	add(collection, name, value, &nowhere);
}

static void
add_value(struct key_list *collection, const char *name, const struct schema_type *type,
          const struct yaml *node)
{
	struct reader *reader = collection->reader;
	struct shown *shown = &reader->shown[(uintptr_t)node / 16 % SHOWN_MAX];
	CLEANUP_FREE char *json = NULL;

	/* A word says the same in every actor. */
	if (shown->node != node || shown->type != type || node->scanned_as != type ||
	    node->value.word < 0) {
		json = type == &schema_output_target
		           ? output_show(reader, collection->actor, node)
		           : schema_show(type, node);
		*shown = (struct shown){
		    node, type, json != NULL ? arena_dup(reader->keep, json) : NULL};
		reader->keep->failed = reader->keep->failed || json == NULL;
	}
	add(collection, name, shown->json, node);
}

/* True if the two parts are those of the dotted key. */
static bool
is_key(const char *name, const char *below, const char *key)
{
	const size_t len = name[0] == key[0] ? strlen(name) : 0;

	if (len == 0 || strncmp(key, name, len) != 0)
		return false;
	return below == NULL ? key[len] == '\0'
	                     : key[len] == '.' && strcmp(key + len + 1, below) == 0;
}

/* Defaults that depend on other keys, or on what the actor is; NULL: the table's own.
 * What it depends on is in sum_actor(), too. */
static const char *
computed_default(struct key_list *collection, const char *name, const char *below)
{
	const struct attributes *attributes = &collection->actor->process->attributes;
	const struct spec *spec = &collection->actor->spec->core;
	char buf[DURATION_TEXT_MAX];

	if (spec->start.ready == READY_EXIT && is_key(name, below, "restart"))
		return "\"transient\"";
	if (spec->start.timeout_ms != DURATION_INFINITE &&
	    is_key(name, below, "start_timeout"))
		return "\"1m30s\"";
	if (spec->start.ready == READY_PROBED && (is_key(name, below, "ready.interval") ||
	                                          is_key(name, below, "ready.timeout")))
		return "\"1s\"";
	if (spec->kind == NODE_SUPERVISOR && is_key(name, below, "shutdown"))
		return "\"infinity\"";
	if (collection->actor->parent == CONF_NONE && is_key(name, below, "intensity"))
		return "\"unlimited\"";
	if (attributes->priority > 0 && is_key(name, below, "scheduler.priority"))
		return "1";
	if (attributes->has_io_priority &&
	    IO_CLASS(attributes->io_priority) != IO_CLASS_IDLE &&
	    is_key(name, below, "io_priority.level"))
		return "4";
	if (is_key(name, below, "backoff.reset_after"))
		return arena_printf(collection->reader->keep, "\"%s\"",
		                    duration_format(spec->backoff.reset_after_ms, buf));
	return NULL;
}

/* The keys of a small mapping that were not written. */
static void
add_table_defaults(struct key_list *collection, const struct schema_key *key,
                   const struct yaml *map)
{
	const struct schema_table *table = key->type->table;

	for (size_t i = 0; i < table->n_keys; i++) {
		const char *value = table->keys[i].fallback;

		if (map != NULL && node_get(map, table->keys[i].name) != NULL)
			continue;
		if (value == NULL)
			value =
			    computed_default(collection, key->name, table->keys[i].name);
		if (value != NULL)
			add_unwritten(collection, key->name, table->keys[i].name, value);
	}
}

static void
add_default(struct key_list *collection, const struct schema_key *key)
{
	const char *value = computed_default(collection, key->name, NULL);

	if (value == NULL)
		value = key->fallback;
	if (value != NULL)
		add_unwritten(collection, key->name, NULL, value);
	else if (key->type->table != NULL && key->type != &schema_limit)
		add_table_defaults(collection, key, NULL);
}

/* Add the defaults of all keys of this view that the file does not have. */
static void
add_defaults(struct key_list *collection, const struct yaml *map,
             const struct schema_type *view)
{
	for (size_t i = 0; i < view->table->n_keys; i++) {
		const struct schema_key *key = &view->table->keys[i];

		if (key->is_structure || (key->where & view->where) == 0)
			continue;
		const struct yaml *value = node_get(map, key->name);
		collection->effect = key->effect;
		if (value == NULL)
			add_default(collection, key);
		else if (value->type == NODE_MAP && key->type->table != NULL)
			add_table_defaults(collection, key, value);
	}
}

static void
add_map(struct key_list *collection, const struct schema_key *key, const struct yaml *map)
{
	for (size_t i = 0; i < map->n; i++) {
		const char *below = map->pairs[i].key->text;

		/* The whole path, which is the same however it was written. */
		if (key->type == &schema_watch || key->type == &schema_needs)
			below =
			    read_reference(collection->reader, collection->actor, below);
		if (below == NULL)
			return;
		add_value(
		    collection,
		    arena_printf(collection->reader->keep, "%s.%s", key->name, below),
		    schema_below(key->type, below), map->pairs[i].value);
	}
}

static void
add_key(struct key_list *collection, const struct schema_key *key,
        const struct yaml *value)
{
	collection->effect = key->effect;
	if (value->type == NODE_MAP) {
		add_map(collection, key, value);
	} else if (key->type == &schema_output) {
		/* One target for both is the same as twice the same target. */
		add_value(collection, "output.stdout", &schema_output_target, value);
		add_value(collection, "output.stderr", &schema_output_target, value);
	} else {
		add_value(collection, key->name, key->type, value);
	}
}

/* What the defaults of an actor depend on, beside its keys. */
static uint64_t
sum_actor(const struct conf_actor *actor, const struct schema_type *view)
{
	const uint64_t numbers[] = {
	    actor->spec->core.kind,
	    actor->spec->core.start.ready,
	    actor->spec->core.start.timeout_ms,
	    actor->spec->core.backoff.reset_after_ms,
	    actor->parent == CONF_NONE,
	    actor->process->attributes.priority > 0,
	    actor->process->attributes.has_io_priority,
	    IO_CLASS(actor->process->attributes.io_priority),
	};

	return sum_bytes(numbers, sizeof(numbers), (uintptr_t)view);
}

/* A key that is written is no default; of a mapping neither are the keys in it. */
static uint64_t
sum_key(const struct schema_key *key, const struct yaml *value)
{
	uint64_t parts[] = {(uintptr_t)key, value->type == NODE_MAP, 0};

	for (size_t i = 0; parts[1] != 0 && key->type->table != NULL && i < value->n; i++)
		parts[2] += fnv_text(value->pairs[i].key->text);
	return sum_bytes(parts, sizeof(parts), 0);
}

/* Keep the keys that were found, in order, and begin anew; how many. */
static uint32_t
keep_keys(struct key_list *collection, struct conf_key **ret)
{
	const uint32_t n = (uint32_t)collection->n;

	collection->n = 0;
	*ret = arena_alloc(collection->reader->keep, n, sizeof(**ret));
	if (*ret == NULL || n == 0)
		return 0;
	memcpy(*ret, collection->at, n * sizeof(**ret));
	qsort(*ret, n, sizeof(**ret), conf_keys_compare);
	return n;
}

/* Keep the keys that were found for all actors with this sum; their index in
 * conf.common.defaults. */
static uint32_t
keep_defaults(struct key_list *collection, uint64_t sum)
{
	struct reader *reader = collection->reader;
	struct conf_common *common = &reader->conf->common;

	if (!ARRAY_RESERVE(common->defaults, common->n_defaults, reader->sets.cap) ||
	    map_put(&reader->sets.by_sum, sum, common->n_defaults) < 0) {
		reader->keep->failed = true;
		return CONF_NONE;
	}
	struct conf_defaults *set = &common->defaults[common->n_defaults];
	set->n_keys = keep_keys(collection, &set->keys);
	return common->n_defaults++;
}

/*
 * List all keys that an actor has from this view of the table, those of `map` with the
 * place where they were written, the others with their defaults.  The actor's spec is
 * complete already.
 */
void
keys_make(struct reader *reader, const struct yaml *map, const struct schema_type *view,
          struct conf_actor *actor)
{
	struct key_list collection = {.reader = reader, .actor = actor};
	uint64_t sum = sum_actor(actor, view);

	for (size_t i = 0; i < map->n; i++) {
		const struct schema_key *key =
		    schema_find(view->table, map->pairs[i].key->text, view->where);

		add_key(&collection, key, map->pairs[i].value);
		/* The same in any order. */
		sum += sum_key(key, map->pairs[i].value);
	}
	actor->n_keys = keep_keys(&collection, &actor->keys);
	if (!map_get(&reader->sets.by_sum, sum, &actor->defaults)) {
		add_defaults(&collection, map, view);
		actor->defaults = keep_defaults(&collection, sum);
	}
	free(collection.at);
}

/* "/user/a -> /user/b -> /user/a": the way from `back`, to which it has led again. */
void
keys_write_circle(const struct conf *conf, const struct way *way, uint32_t back,
                  struct strbuf *out)
{
	for (uint32_t i = way_find(way, back); i < way->n; i++)
		strbuf_addf(out, "%s -> ", conf->actors[way->at[i]].path);
	strbuf_adds(out, conf->actors[back].path);
}

/* The configuration that is being read. */
struct lint
keys_lint(const struct reader *reader)
{
	return (struct lint){reader->conf, reader->options, reader->reports};
}

/* As keys_report(), of a message of any length. */
void
keys_add(const struct lint *lint, enum conf_severity severity,
         const struct conf_actor *actor, const char *key, const char *message)
{
	const struct conf *conf = lint->conf;
	const struct conf_key *origin = conf_keys_find(actor, key);
	struct spot spot = {conf->files[actor->place.file], actor->place.line,
	                    actor->column};
	CLEANUP(strbuf_done) struct strbuf path = STRBUF(65536);

	if (origin != NULL)
		spot = (struct spot){conf->files[origin->file], origin->line,
		                     origin->column};
	conf_keys_path(conf, actor, key, &path);
	reports_add(lint->reports, severity, &spot, strbuf_str(&path), message);
}

/* As keys_report(). */
void
keys_vreport(const struct lint *lint, enum conf_severity severity,
             const struct conf_actor *actor, const char *key, const char *fmt, va_list ap)
{
	char message[MESSAGE_MAX];

	(void)vsnprintf(message, sizeof(message), fmt, ap);
	keys_add(lint, severity, actor, key, message);
}

/* Report about a key of an actor, where it is written, or else where the actor is. */
void
keys_report(const struct lint *lint, enum conf_severity severity,
            const struct conf_actor *actor, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keys_vreport(lint, severity, actor, key, fmt, ap);
	va_end(ap);
}

/*
 * Report a key that names an actor without a process or an unknown actor, with the name
 * that may have been meant.
 */
void
keys_refuse_stranger(struct reader *reader, const struct conf_actor *actor,
                     const char *key, const char *path)
{
	const struct lint lint = keys_lint(reader);
	const struct conf *conf = reader->conf;
	const uint32_t replica = needs_find(conf, path);
	struct suggest suggest = {.word = path};

	if (replica != CONF_NONE) {
		keys_report(&lint, CONF_ERROR, actor, key,
		            "`%.200s` has replicas; name one of them, such as `%.200s`",
		            path, conf->actors[replica].path);
		return;
	}
	for (uint32_t i = 0; i < conf->n_actors && !reader->reports->truncated; i++)
		if (conf->actors[i].spec->core.kind != NODE_SUPERVISOR)
			suggest_try(&suggest, conf->actors[i].path);
	if (suggest.best != NULL)
		keys_report(&lint, CONF_ERROR, actor, key,
		            "there is no actor `%.200s`, did you mean `%.200s`?", path,
		            suggest.best);
	else
		keys_report(&lint, CONF_ERROR, actor, key, "there is no actor `%.200s`",
		            path);
}
