/* SPDX-License-Identifier: ISC */
/* compose.c - one more actor than the files have, from their templates and defaults. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/read/needs.h"
#include "conf/text/conf.h"
#include "conf/tree/build.h"
#include "conf/tree/load.h"
#include "conf/tree/recipe.h"

/* Where what was said on the command line stands, so to speak. */
static const char command_line[] = "supctl add";

/* A composition; freed when it ends. */
struct compose {
	struct reader reader;
	struct users users;
	struct arena scratch;
	const struct conf_addition *addition;
	struct yaml here; /* the place of what is not from a file */
	const struct yaml *recipes;
	struct tree_input input;
};

/* ---- as if it were written ---- */

static struct yaml *
new_node(struct compose *compose, enum node_type type, size_t n)
{
	return node_with_room(compose->reader.scratch, type, &compose->here, n);
}

/* A text that is not expanded. */
static const struct yaml *
new_text(struct compose *compose, const char *text)
{
	struct yaml *node = node_text(compose->reader.scratch, &compose->here, text);

	if (node != NULL)
		node->dollar = false;
	return node;
}

static void
put_pair(struct compose *compose, struct yaml *map, const char *key,
         const struct yaml *value)
{
	const struct yaml *name = new_text(compose, key);

	if (name != NULL && value != NULL)
		map->pairs[map->n++] = (struct node_pair){name, value};
}

static const struct yaml *
write_with(struct compose *compose)
{
	const char *const *with = compose->addition->with;
	size_t n = 0;

	while (with[n] != NULL)
		n++;
	struct yaml *map = new_node(compose, NODE_MAP, n / 2 + 1);
	for (size_t i = 0; map != NULL && i + 1 < n; i += 2)
		put_pair(compose, map, with[i], new_text(compose, with[i + 1]));
	return map;
}

static const struct yaml *
write_command(struct compose *compose)
{
	size_t n = 0;

	while (compose->addition->command[n] != NULL)
		n++;
	struct yaml *list = new_node(compose, NODE_LIST, n);
	for (size_t i = 0; list != NULL && i < n; i++)
		list->items[list->n++] = new_text(compose, compose->addition->command[i]);
	return list;
}

/* The keys of the actor, as the command line has them. */
static const struct yaml *
write_actor(struct compose *compose)
{
	const struct conf_addition *addition = compose->addition;
	struct yaml *map = new_node(compose, NODE_MAP, 3);

	if (map == NULL)
		return NULL;
	if (addition->use != NULL)
		put_pair(compose, map, "use", new_text(compose, addition->use));
	if (addition->with != NULL && addition->with[0] != NULL)
		put_pair(compose, map, "with", write_with(compose));
	if (addition->command != NULL)
		put_pair(compose, map, "command", write_command(compose));
	return map;
}

/* What is kept of the actor with replicas at this path; NULL: there is none. */
static const struct yaml *
find_replicas(const struct yaml *recipes, const char *parent, const char *name,
              size_t len, struct arena *arena)
{
	char *path = arena_printf(arena, "%s/%.*s", parent, (int)len, name);

	return path == NULL ? NULL : node_get(node_get(recipes, RECIPE_REPLICAS), path);
}

/* The name x@3 belongs to the replicas of x alone. */
static void
check_name(struct compose *compose)
{
	const struct conf_addition *addition = compose->addition;
	const char *at = strrchr(addition->name, '@');

	if (at == NULL || at[1] == '\0' || strspn(at + 1, "0123456789") != strlen(at + 1))
		return;
	if (find_replicas(compose->recipes, addition->parent, addition->name,
	                  (size_t)(at - addition->name), compose->reader.scratch) != NULL)
		reader_error(&compose->reader, &compose->here, NULL,
		             "`%s` is a name of the replicas of `%.*s`; use scale, or "
		             "take another",
		             addition->name, (int)(at - addition->name), addition->name);
}

/* ---- what comes out ---- */

/* What has to be there before the first process, and for all of them together. */
static void
check_actor(struct compose *compose, const struct conf_actor *actor)
{
	const struct conf_process *process = actor->process;
	const struct trail trail = {NULL, conf_name(actor), 0};
	const struct yaml at = {.file = actor->place.file,
	                        .line = actor->place.line,
	                        .column = actor->column};

	for (size_t i = 0; i < process->n_sockets; i++)
		if (process->sockets[i].handler_path != NULL)
			reader_error(&compose->reader, &at, &trail,
			             "an actor that is added at run time cannot have a "
			             "`handler` for its sockets");
	if (process->output.out.kind == OUTPUT_PIPE ||
	    process->output.err.kind == OUTPUT_PIPE)
		reader_error(&compose->reader, &at, &trail,
		             "an actor that is added at run time cannot have a pipe as "
		             "`output`");
}

/* Its supervisor only stood in for itself: leave it out. */
static void
drop_supervisor(struct conf *conf)
{
	conf->n_actors--;
	memmove(conf->actors, conf->actors + 1, conf->n_actors * sizeof(*conf->actors));
	map_done(&conf->by_path);
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		conf->actors[i].parent = i == 0 ? CONF_NONE : conf->actors[i].parent - 1;
		if (map_put_name(&conf->by_path, conf->actors[i].path, i) < 0)
			conf->memory->failed = true;
	}
}

static void
compose_all(struct compose *compose)
{
	const struct conf_addition *addition = compose->addition;
	struct reader *reader = &compose->reader;
	struct scope scope = {0};
	struct yaml *children = new_node(compose, NODE_MAP, 1);
	const struct yaml *actor;

	if (children == NULL || compose->recipes == NULL) {
		reader->scratch->failed = true;
		return;
	}
	if (addition->replica > 0) {
		const struct yaml *kept =
		    find_replicas(compose->recipes, addition->parent, addition->name,
		                  strlen(addition->name), reader->scratch);

		/* The caller has found it before: only a lack of memory hides it now. */
		if (kept == NULL) {
			reader->scratch->failed = true;
			return;
		}
		actor = node_get(kept, RECIPE_OWN);
		scope.with = node_get(kept, RECIPE_WITH);
	} else {
		check_name(compose);
		actor = write_actor(compose);
	}
	put_pair(compose, children, addition->name, actor);
	compose->input = (struct tree_input){
	    .top = &compose->here,
	    .children = children,
	    .templates = node_get(compose->recipes, RECIPE_TEMPLATES),
	    .defaults = node_get(compose->recipes, RECIPE_DEFAULTS),
	};
	tree_build_below(reader, &compose->input, addition->parent, &scope,
	                 addition->replica);
	if (reader->reports->n_errors > 0 || reader->scratch->failed)
		return;
	/* No fault and no actor: there was no memory for either. */
	if (reader->conf->n_actors <= 1) {
		reader->scratch->failed = true;
		return;
	}
	drop_supervisor(reader->conf);
	if (reader->conf->n_actors > CONF_ADDED_MAX)
		reader_error(reader, &compose->here, NULL,
		             "%u actors are too many to be added at once: at most %d",
		             reader->conf->n_actors, CONF_ADDED_MAX);
	for (uint32_t i = 0; i < reader->conf->n_actors; i++)
		check_actor(compose, &reader->conf->actors[i]);
	needs_circles(reader);
	if (reader->reports->n_errors == 0)
		sockets_check(reader);
}

/* The same files by the same numbers, and one more for the command line. */
static void
name_files(struct conf *to, const struct conf *from)
{
	for (uint32_t i = 0; i < from->n_files && i < CONF_FILES_MAX - 1; i++)
		to->files[to->n_files++] = arena_dup(to->memory, from->files[i]);
	to->files[to->n_files++] = arena_dup(to->memory, command_line);
	to->log_directory = arena_dup(to->memory, from->log_directory);
}

/*
 * The configuration of an actor that is wanted at run time, and of those below it, from
 * the templates and defaults of the one in force: actors[0] is the one itself.  NULL: all
 * that is wrong with it is in ret_reports, which the caller gives to conf_reports_done()
 * in any case.  Nothing of it is borrowed.
 */
struct conf *
conf_compose(const struct conf *conf, const struct conf_addition *addition,
             const struct conf_options *options, struct conf_reports *ret_reports)
{
	struct compose compose = {.addition = addition,
	                          .scratch = ARENA(CONF_MEMORY_MAX)};
	struct conf *composed = conf_new();

	*ret_reports = (struct conf_reports){0};
	if (composed == NULL) {
		report_no_memory(command_line, ret_reports);
		return NULL;
	}
	users_init(&compose.users, composed->memory, options);
	compose.reader = (struct reader){
	    .options = options,
	    .reports = ret_reports,
	    .conf = composed,
	    .keep = composed->memory,
	    .scratch = &compose.scratch,
	    .users = &compose.users,
	    .is_addition = true,
	};
	name_files(composed, conf);
	compose.here = (struct yaml){.file = composed->n_files - 1};
	compose.recipes = recipes_read(conf, &compose.scratch);
	compose_all(&compose);
	return reader_end(&compose.reader, command_line);
}

/* ---- what there is ---- */

/* True if this part of what was kept has the key. */
static bool
has_recipe(const struct conf *conf, const char *part, const char *key)
{
	CLEANUP(arena_done) struct arena arena = ARENA(CONF_MEMORY_MAX);

	return node_get(node_get(recipes_read(conf, &arena), part), key) != NULL;
}

/* True if a template has this name. */
bool
conf_has_template(const struct conf *conf, const char *name)
{
	return has_recipe(conf, RECIPE_TEMPLATES, name);
}

/* True if there is an actor with `replicas` of this path, "@N" left out. */
bool
conf_has_replicas(const struct conf *conf, const char *path)
{
	return has_recipe(conf, RECIPE_REPLICAS, path);
}
