/* SPDX-License-Identifier: ISC */
/* recipe.c - what is kept of the files for actors that come later. */
#include "config.h"

#include "conf/tree/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/tree/build.h"

/* An actor with replicas: its path without "@N", what is written, what ${…} means. */
struct noted {
	const char *path;
	const struct yaml *own;
	const struct scope *scope;
};

struct recipes {
	const struct tree_input *input;
	struct noted *at;
	size_t n, cap;
	/* the row in the making */
	struct conf_recipe *row;
	size_t n_row, cap_row;
};

/* Begin to take notes; the input is borrowed until recipes_end(). */
void
recipes_begin(struct reader *reader, const struct tree_input *input)
{
	reader->recipes = calloc(1, sizeof(*reader->recipes));
	if (reader->recipes == NULL)
		reader->scratch->failed = true;
	else
		reader->recipes->input = input;
}

/* The tree is built anew: so are the notes. */
void
recipes_forget(struct reader *reader)
{
	if (reader->recipes != NULL)
		reader->recipes->n = 0;
}

/* Note that the actor at this path has replicas.  All is borrowed until recipes_end(). */
void
recipes_note(struct reader *reader, const char *path, const struct yaml *own,
             const struct scope *scope)
{
	struct recipes *recipes = reader->recipes;

	if (recipes == NULL || path == NULL)
		return;
	if (!ARRAY_RESERVE(recipes->at, recipes->n, recipes->cap)) {
		reader->scratch->failed = true;
		return;
	}
	recipes->at[recipes->n++] = (struct noted){path, own, scope};
}

/* ---- into a row ---- */

static void
put_value(struct arena *arena, struct yaml *map, const char *key,
          const struct yaml *value)
{
	const struct yaml *name = node_text(arena, map, key);

	if (name != NULL && value != NULL)
		map->pairs[map->n++] = (struct node_pair){name, value};
}

/* All parameters that are in force in a scope; the inner ones hide the outer. */
static const struct yaml *
flatten_scope(struct arena *arena, const struct scope *scope, const struct yaml *at)
{
	size_t n = 0;

	for (const struct scope *s = scope; s != NULL; s = s->outer)
		n += s->with != NULL ? s->with->n : 0;
	struct yaml *map = node_with_room(arena, NODE_MAP, at, n);
	for (; map != NULL && scope != NULL; scope = scope->outer)
		for (size_t i = 0; scope->with != NULL && i < scope->with->n; i++)
			if (node_get(map, scope->with->pairs[i].key->text) == NULL)
				map->pairs[map->n++] = scope->with->pairs[i];
	return map;
}

static const struct yaml *
make_replicas(struct reader *reader, const struct yaml *at)
{
	const struct recipes *recipes = reader->recipes;
	struct arena *arena = reader->scratch;
	struct yaml *all = node_with_room(arena, NODE_MAP, at, recipes->n);

	for (size_t i = 0; all != NULL && i < recipes->n; i++) {
		const struct noted *noted = &recipes->at[i];
		struct yaml *one = node_with_room(arena, NODE_MAP, noted->own, 2);

		if (one == NULL)
			return NULL;
		put_value(arena, one, RECIPE_OWN, noted->own);
		put_value(arena, one, RECIPE_WITH,
		          flatten_scope(arena, noted->scope, noted->own));
		put_value(arena, all, noted->path, one);
	}
	return all;
}

static bool
add_to_row(struct recipes *recipes, struct arena *keep, const struct yaml *node)
{
	if (recipes->n_row >= UINT32_MAX / 4 ||
	    !ARRAY_RESERVE(recipes->row, recipes->n_row, recipes->cap_row))
		return false;
	struct conf_recipe *piece = &recipes->row[recipes->n_row++];
	memset(piece, 0, sizeof(*piece));
	piece->is_map = node->type == NODE_MAP;
	piece->is_plain = node->plain;
	piece->has_dollar = node->dollar;
	piece->n = node->type == NODE_TEXT ? 0 : (uint32_t)node->n;
	piece->file = node->file;
	piece->line = node->line;
	piece->column = node->column;
	if (node->type == NODE_TEXT)
		piece->text = arena_dup(keep, node->text);
	return node->type != NODE_TEXT || piece->text != NULL;
}

/* A list or mapping under way to its parts; keys count as parts. */
struct level {
	const struct yaml *node;
	size_t next;
};

static const struct yaml *
next_part(struct level *level)
{
	const struct yaml *node = level->node;
	size_t i = level->next++;

	if (node->type == NODE_LIST)
		return i < node->n ? node->items[i] : NULL;
	if (i >= 2 * node->n)
		return NULL;
	return i % 2 == 0 ? node->pairs[i / 2].key : node->pairs[i / 2].value;
}

static bool
write_row(struct recipes *recipes, struct arena *keep, const struct yaml *root)
{
	CLEANUP_FREE struct level *levels = calloc(NODE_HEIGHT_MAX + 8, sizeof(*levels));
	size_t n = 0;
	bool fine = levels != NULL && add_to_row(recipes, keep, root);

	if (fine)
		levels[n++] = (struct level){root, 0};
	while (fine && n > 0) {
		const struct yaml *part = next_part(&levels[n - 1]);

		if (part == NULL) {
			n--;
			continue;
		}
		fine = add_to_row(recipes, keep, part);
		if (part->type == NODE_TEXT)
			continue;
		if (n == NODE_HEIGHT_MAX + 8)
			fine = false;
		else
			levels[n++] = (struct level){part, 0};
	}
	return fine;
}

/* Put what was noted, and templates and defaults, into the configuration. */
void
recipes_end(struct reader *reader)
{
	struct recipes *recipes = reader->recipes;
	struct conf *conf = reader->conf;
	struct arena *scratch = reader->scratch;

	if (recipes == NULL)
		return;
	struct yaml *root = node_with_room(scratch, NODE_MAP, recipes->input->top, 3);
	if (root != NULL && reader->reports->n_errors == 0) {
		put_value(scratch, root, RECIPE_TEMPLATES, recipes->input->templates);
		put_value(scratch, root, RECIPE_DEFAULTS, recipes->input->defaults);
		put_value(scratch, root, RECIPE_REPLICAS, make_replicas(reader, root));
		if (!write_row(recipes, reader->keep, root))
			scratch->failed = true;
		conf->recipes =
		    arena_alloc(reader->keep, recipes->n_row, sizeof(*conf->recipes));
		if (conf->recipes != NULL && !scratch->failed) {
			memcpy(conf->recipes, recipes->row,
			       recipes->n_row * sizeof(*conf->recipes));
			conf->n_recipes = (uint32_t)recipes->n_row;
		}
	}
	free(recipes->row);
	free(recipes->at);
	free(recipes);
	reader->recipes = NULL;
}

/* ---- and back ---- */

/* A list or mapping that is being filled. */
struct filling {
	struct yaml *node;
	size_t next;
};

static struct yaml *
read_piece(const struct conf_recipe *piece, size_t left, struct arena *arena)
{
	const struct yaml at = {
	    .file = piece->file, .line = piece->line, .column = piece->column};
	struct yaml *node;

	if (piece->text != NULL) {
		node = node_text(arena, &at, piece->text);
		if (node != NULL)
			node->plain = piece->is_plain;
	} else if (piece->n > left) {
		return NULL;
	} else {
		node = node_with_room(arena, piece->is_map ? NODE_MAP : NODE_LIST, &at,
		                      piece->n);
	}
	if (node == NULL)
		return NULL;
	node->n = piece->n;
	node->dollar = piece->has_dollar;
	return node;
}

/* Put the part where it belongs; false: all parts are there. */
static bool
is_full(const struct filling *filling)
{
	size_t parts =
	    filling->node->type == NODE_MAP ? 2 * filling->node->n : filling->node->n;

	return filling->next == parts;
}

static void
put_part(struct filling *filling, const struct yaml *part)
{
	size_t i = filling->next++;

	if (filling->node->type == NODE_LIST)
		filling->node->items[i] = part;
	else if (i % 2 == 0)
		filling->node->pairs[i / 2].key = part;
	else
		filling->node->pairs[i / 2].value = part;
}

/*
 * The recipes that were kept, as one mapping in the arena (RECIPE_TEMPLATES, …).  Its
 * texts are the configuration's.  NULL: there is no memory.
 */
const struct yaml *
recipes_read(const struct conf *conf, struct arena *arena)
{
	CLEANUP_FREE struct filling *levels =
	    calloc(NODE_HEIGHT_MAX + 8, sizeof(*levels));
	struct yaml *root = NULL;
	size_t n = 0;
	uint32_t i = 0;

	while (levels != NULL && i < conf->n_recipes) {
		struct yaml *node =
		    read_piece(&conf->recipes[i], conf->n_recipes - i, arena);

		if (node == NULL || (n == 0 && root != NULL))
			break;
		i++;
		if (n > 0)
			put_part(&levels[n - 1], node);
		else
			root = node;
		if (node->type != NODE_TEXT && n < NODE_HEIGHT_MAX + 8)
			levels[n++] = (struct filling){node, 0};
		while (n > 0 && is_full(&levels[n - 1]))
			n--;
	}
	return i == conf->n_recipes && n == 0 ? root : NULL;
}
