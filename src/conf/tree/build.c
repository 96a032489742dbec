/* SPDX-License-Identifier: ISC */
/* build.c - from mappings of children to the list of actors, parents before children. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/suggest.h"
#include "conf/read/read.h"
#include "conf/read/read_actor.h"
#include "conf/schema/schema_types.h"
#include "conf/text/place.h"
#include "conf/tree/child.h"
#include "conf/tree/recipe.h"

/* Index the keys of a mapping.  False: out of memory. */
static bool
index_names(const struct yaml *map, struct map *ret_index)
{
	for (size_t i = 0; map != NULL && i < map->n; i++)
		if (map_put_name(ret_index, map->pairs[i].key->text, (uint32_t)i) < 0)
			return false;
	return true;
}

/* Of the defaults what a supervisor takes; its own shutdown waits for its children. */
static const struct yaml *
defaults_of_supervisors(struct reader *reader, const struct yaml *defaults)
{
	if (defaults == NULL)
		return NULL;
	struct yaml *map =
	    node_with_room(reader->scratch, NODE_MAP, defaults, defaults->n);
	if (map == NULL)
		return NULL;
	map->dollar = defaults->dollar;
	for (size_t i = 0; i < defaults->n; i++) {
		const char *name = defaults->pairs[i].key->text;
		const struct schema_key *key =
		    schema_find(&schema_keys, name, AT_SUPERVISOR);

		if (key != NULL && (key->where & AT_SUPERVISOR) != 0 &&
		    strcmp(name, "shutdown") != 0)
			map->pairs[map->n++] = defaults->pairs[i];
	}
	return map;
}

/* ---- one actor ---- */

/* One more in the list of actors, with a spec and a process of its own; NULL: no memory.
 */
static struct conf_actor *
add_actor(struct builder *builder)
{
	struct conf *conf = builder->reader->conf;
	struct conf_process *process = builder->spare;

	if (process == NULL)
		process = arena_alloc(builder->reader->keep, 1, sizeof(*process));
	struct conf_spec *spec = arena_alloc(builder->reader->keep, 1, sizeof(*spec));
	if (process == NULL || spec == NULL ||
	    !ARRAY_RESERVE(conf->actors, conf->n_actors, builder->cap)) {
		builder->reader->keep->failed = true;
		return NULL;
	}
	builder->spare = NULL;
	memset(process, 0, sizeof(*process));
	conf->actors[conf->n_actors] =
	    (struct conf_actor){.spec = spec, .process = process};
	return &conf->actors[conf->n_actors++];
}

static struct scope *
make_scope(struct builder *builder, const struct brood *brood,
           const struct conf_actor *actor, const struct trail *trail)
{
	struct reader *reader = builder->reader;
	const struct child *child = &brood->child;
	const struct yaml *with = node_get(child->map, "with");
	struct scope *scope = arena_alloc(reader->scratch, 1, sizeof(*scope));
	struct trail below = {trail, "with", 0};

	if (scope == NULL)
		return NULL;
	*scope = (struct scope){
	    .outer = brood->scope, .name = conf_name(actor), .path = actor->path};
	if (child->replicas != NULL)
		scope->replica = arena_printf(reader->scratch, "%u", child->done + 1);
	if (with == NULL)
		return scope;
	with = expand(reader, with, scope, &below);
	if (with != NULL && check_value(reader, with, &schema_with, &below))
		scope->with = with;
	parameters_note(builder, brood, scope, trail);
	return scope;
}

/* True if another key was probably meant to be this one: then the missing key is not
 * reported. */
static bool
is_misspelt(const struct yaml *map, const char *key)
{
	for (size_t i = 0; i < map->n; i++) {
		const char *name = map->pairs[i].key->text;

		if (schema_find(&schema_keys, name, AT_WORKER) == NULL &&
		    suggest_distance(name, key) <= 2)
			return true;
	}
	return false;
}

static void
check_kind(struct builder *builder, const struct child *child, const struct trail *trail)
{
	if (node_get(child->map, "command") != NULL ||
	    node_get(child->map, "children") != NULL)
		return;
	/* A template that is not there, or a typing error, was reported already. */
	if (child->is_broken || is_misspelt(child->map, "command") ||
	    is_misspelt(child->map, "children"))
		return;
	reader_error(
	    builder->reader, child->name, trail,
	    "`command` is missing; an actor has a `command`, or `children` if it "
	    "is a supervisor");
}

/* Put together the path; false: it is too long, or there is no memory. */
static bool
name_actor(struct builder *builder, const struct brood *brood, struct conf_actor *actor,
           const struct trail *trail)
{
	struct reader *reader = builder->reader;
	const struct child *child = &brood->child;
	const char *above = reader->conf->actors[brood->index].path;

	actor->parent = brood->index;
	actor->place = (struct place){child->name->file, child->name->line};
	actor->column = child->name->column;
	if (child->replicas == NULL) {
		actor->path =
		    arena_printf(reader->keep, "%s/%s", above, child->name->text);
	} else {
		actor->base = arena_dup(reader->keep, child->name->text);
		actor->path = arena_printf(reader->keep, "%s/%s@%u", above,
		                           child->name->text, child->done + 1);
	}
	if (actor->path == NULL)
		return false;
	if (strlen(conf_name(actor)) <= CONF_NAME_MAX &&
	    strlen(actor->path) <= CONF_PATH_MAX)
		return true;
	reader_error(reader, child->name, trail,
	             "the name or the path is too long: at most %d and %d characters",
	             CONF_NAME_MAX, CONF_PATH_MAX);
	return false;
}

static void
push_children(struct builder *builder, const struct yaml *children,
              const struct scope *scope, const struct trail *up, uint32_t index)
{
	struct reader *reader = builder->reader;
	struct trail *trail = arena_alloc(reader->scratch, 1, sizeof(*trail));

	if (trail == NULL)
		return;
	*trail = (struct trail){up, "children", 0};
	if (children->type != NODE_MAP) {
		reader_error(reader, children, trail, "%s is not allowed here; write %s",
		             node_type_name(children), schema_children.allowed);
		return;
	}
	/* The root is 0, /user is 1; a child of the innermost brood is one deeper. */
	if (builder->n_broods + 1 >= SPEC_DEPTH_MAX && children->n > 0) {
		reader_error(reader, children, trail,
		             "the tree is deeper than %d levels here", SPEC_DEPTH_MAX);
		return;
	}
	struct brood *brood = &builder->broods[builder->n_broods];
	*brood = (struct brood){
	    .index = index, .children = children, .scope = scope, .trail = trail};
	if (index_names(children, &brood->names)) {
		builder->n_broods++;
	} else {
		map_done(&brood->names);
		reader->scratch->failed = true;
	}
}

static enum node_kind
kind_of(const struct yaml *map)
{
	if (node_get(map, "children") == NULL)
		return NODE_WORKER;
	return node_get(map, "command") == NULL ? NODE_SUPERVISOR : NODE_BOTH;
}

/* Where supd is not root's, `directory` is by default the directory of the file that
 * declares the actor (DECISIONS 61). */
static const struct yaml *
add_directory(struct reader *reader, const struct yaml *map,
              const struct conf_actor *actor)
{
	const char *file = reader->conf->files[actor->place.file];

	if (geteuid() == 0 || actor->spec->core.kind == NODE_SUPERVISOR ||
	    node_get(map, "directory") != NULL || node_get(map, "root") != NULL)
		return map;
	struct yaml *text =
	    node_text(reader->scratch, map, place_directory(reader->scratch, file));
	struct yaml *copy = node_copy_map(reader->scratch, map, 1);
	if (text == NULL || text->text == NULL || copy == NULL)
		return map;
	copy->pairs[copy->n++] =
	    (struct node_pair){node_text(reader->scratch, map, "directory"), text};
	return copy;
}

/* Most actors differ in their command alone: then the process is that of the actor
 * before, and its memory is for the next. */
static void
share_process(struct builder *builder, uint32_t index)
{
	struct conf_actor *actor = &builder->reader->conf->actors[index];

	if (memcmp(actor->process, actor[-1].process, sizeof(*actor->process)) != 0)
		return;
	builder->spare = actor->process;
	actor->process = actor[-1].process;
}

/* Build the next instance of the child at hand, and go down into its children. */
static void
build_actor(struct builder *builder, struct brood *brood)
{
	struct reader *reader = builder->reader;
	const struct child *child = &brood->child;
	const struct yaml *children = node_get(child->map, "children");
	struct trail *trail = arena_alloc(reader->scratch, 1, sizeof(*trail));
	struct conf_actor *actor = add_actor(builder);

	if (trail == NULL || actor == NULL)
		return;
	*trail = (struct trail){brood->trail, child->name->text, 0};
	if (!name_actor(builder, brood, actor, trail)) {
		reader->conf->n_actors--;
		brood->child.done = child->n;
		return;
	}
	uint32_t index = reader->conf->n_actors - 1;
	if (map_put_name(&reader->conf->by_path, actor->path, index) < 0)
		reader->keep->failed = true;
	const struct scope *scope = make_scope(builder, brood, actor, trail);
	if (scope == NULL)
		return;
	check_kind(builder, child, trail);
	actor->spec->core.kind = kind_of(child->map);
	actor_read(reader, add_directory(reader, child->map, actor), scope, trail, actor);
	share_process(builder, index);
	brood->child.done++;
	if (children != NULL)
		push_children(builder, children, scope, trail, index);
}

/* ---- all of them ---- */

static bool
is_full(struct builder *builder, const struct brood *brood)
{
	struct reader *reader = builder->reader;

	if (reader->conf->n_actors < CONF_ACTORS_MAX)
		return false;
	reader_error(reader, brood->child.name,
	             &(struct trail){brood->trail, brood->child.name->text, 0},
	             "more than %d actors", CONF_ACTORS_MAX);
	return true;
}

static void
build_all(struct builder *builder)
{
	const struct reader *reader = builder->reader;

	while (builder->n_broods > 0 && !reader->keep->failed &&
	       !reader->scratch->failed) {
		struct brood *brood = &builder->broods[builder->n_broods - 1];

		if (brood->child.map != NULL && brood->child.done < brood->child.n) {
			if (is_full(builder, brood))
				break;
			build_actor(builder, brood);
		} else if (brood->next < brood->children->n) {
			child_open(builder, brood);
		} else {
			map_done(&brood->names);
			builder->n_broods--;
		}
	}
	while (builder->n_broods > 0)
		map_done(&builder->broods[--builder->n_broods].names);
	parameters_check(builder);
}

/* A supervisor that the file does not name; NULL: there is no memory. */
static struct conf_actor *
add_supervisor(struct builder *builder, const char *path, uint32_t line)
{
	struct arena *keep = builder->reader->keep;
	struct conf_actor *actor = add_actor(builder);

	if (actor == NULL)
		return NULL;
	actor->path = arena_dup(keep, path);
	actor->parent = CONF_NONE;
	actor->spec->core.kind = NODE_SUPERVISOR;
	actor->place = (struct place){builder->input->top->file, line};
	return actor;
}

static void
build_user(struct builder *builder)
{
	static const struct scope nothing = {0};
	struct reader *reader = builder->reader;
	const struct tree_input *input = builder->input;
	struct conf_actor *user = add_supervisor(builder, "/user", input->top->line);

	if (user == NULL)
		return;
	user->column = input->top->column;
	if (user->path == NULL ||
	    map_put_name(&reader->conf->by_path, user->path, 0) < 0) {
		reader->keep->failed = true;
		return;
	}
	actor_read(reader, input->top, &nothing, NULL, user);
	if (input->children != NULL)
		push_children(builder, input->children, &nothing, NULL, 0);
}

/* Begin again with an empty list. */
static void
forget_actors(struct builder *builder)
{
	struct conf *conf = builder->reader->conf;

	map_done(&conf->by_path);
	conf->n_actors = 0;
	recipes_forget(builder->reader);
}

static void
end_build(struct builder *builder)
{
	if (builder != NULL)
		map_done(&builder->templates);
	free(builder);
}

/* A builder for this input; NULL: out of memory, which the reader is told. */
static struct builder *
begin_build(struct reader *reader, const struct tree_input *input)
{
	struct builder *builder = calloc(1, sizeof(*builder));

	if (builder != NULL) {
		builder->reader = reader;
		builder->input = input;
		builder->supervisor_defaults =
		    defaults_of_supervisors(reader, input->defaults);
		/* Mostly these and /user are all there are. */
		builder->cap = 1 + (input->children == NULL ? 0 : input->children->n);
		if (builder->cap > CONF_ACTORS_MAX)
			builder->cap = CONF_ACTORS_MAX;
		if (ARRAY_RESIZE(reader->conf->actors, builder->cap) &&
		    map_reserve(&reader->conf->by_path, builder->cap) == 0 &&
		    index_names(input->templates, &builder->templates))
			return builder;
	}
	reader->scratch->failed = true;
	end_build(builder);
	return NULL;
}

/*
 * Fill conf->actors with /user and everything below it.  All that is wrong is reported;
 * the list is complete only if nothing was.
 */
void
tree_build(struct reader *reader, const struct tree_input *input)
{
	struct builder *builder = begin_build(reader, input);

	if (builder == NULL)
		return;
	builder->only_checks = true;
	build_user(builder);
	build_all(builder);
	builder->only_checks = false;
	if (builder->left_out_some && reader->reports->n_errors == 0) {
		forget_actors(builder);
		build_user(builder);
		build_all(builder);
	}
	end_build(builder);
}

/* An actor that exists already, above the actor to be added. */
static void
build_below(struct builder *builder, const char *path, const struct scope *scope)
{
	if (add_supervisor(builder, path, 0) == NULL)
		return;
	push_children(builder, builder->input->children, scope, NULL, 0);
	build_all(builder);
}

/*
 * Fill conf->actors with a stand-in for the supervisor at the path `parent` and, below
 * it, with the one actor that the input has, and those below that.  replica: which of the
 * actor's `replicas` this is, 1 and on; 0: it has none.
 */
void
tree_build_below(struct reader *reader, const struct tree_input *input,
                 const char *parent, const struct scope *scope, uint32_t replica)
{
	struct builder *builder = begin_build(reader, input);

	if (builder == NULL)
		return;
	builder->is_addition = true;
	builder->replica = replica;
	build_below(builder, parent, scope);
	end_build(builder);
}
