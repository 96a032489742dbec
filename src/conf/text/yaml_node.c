/* SPDX-License-Identifier: ISC */
/* yaml_node.c - looking things up in a YAML tree, and laying one mapping over another. */
#include "config.h"

#include "conf/text/yaml_node.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const struct node_pair *
find_pair(const struct yaml *map, const char *key)
{
	if (map == NULL || map->type != NODE_MAP)
		return NULL;
	/* This runs for every key of the table, and most names differ in the first
	 * letter. */
	for (size_t i = 0; i < map->n; i++)
		if (map->pairs[i].key->text[0] == key[0] &&
		    strcmp(map->pairs[i].key->text, key) == 0)
			return &map->pairs[i];
	return NULL;
}

/* The value of a key; NULL where there is none, or no mapping. */
const struct yaml *
node_get(const struct yaml *map, const char *key)
{
	const struct node_pair *pair = find_pair(map, key);

	return pair != NULL ? pair->value : NULL;
}

/* The key itself, for the place where it was written; NULL where there is none. */
const struct yaml *
node_key(const struct yaml *map, const char *key)
{
	const struct node_pair *pair = find_pair(map, key);

	return pair != NULL ? pair->key : NULL;
}

/* True if nothing was written behind the colon (or YAML's words for nothing). */
bool
node_is_empty(const struct yaml *node)
{
	return node->type == NODE_TEXT && node->plain &&
	       (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
	        strcmp(node->text, "null") == 0);
}

/* True if an actor of this name was written beside an empty `children`, not indented
 * below it, or without any `children` in the mapping.
 */
bool
node_is_unindented(const struct yaml *map, const char *name)
{
	const struct yaml *value = node_get(map, name);

	map = node_get(map, "children");
	return (map == NULL || node_is_empty(map)) &&
	       (node_get(value, "command") != NULL || node_get(value, "shell") != NULL ||
	        node_get(value, "use") != NULL || node_get(value, "children") != NULL);
}

/* True if a text can be the name of an actor.  Names become parts of paths and of
 * files. */
bool
node_is_name(const struct yaml *node)
{
	const char *at = node->text;

	if (!isalnum((unsigned char)*at))
		return false;
	while (isalnum((unsigned char)*at) ||
	       (*at != '\0' && strchr("_.@-", *at) != NULL))
		at++;
	return *at == '\0';
}

/* What a node is, in words. */
const char *
node_type_name(const struct yaml *node)
{
	switch (node->type) {
	case NODE_TEXT:
		return node_is_empty(node) ? "nothing" : "a text";
	case NODE_LIST:
		return "a list";
	case NODE_MAP:
		return "a mapping";
	}
	return "?";
}

/* A new node that claims to stand where `at` stands; NULL without memory. */
struct yaml *
node_new(struct arena *arena, enum node_type type, const struct yaml *at)
{
	struct yaml *node = arena_alloc(arena, 1, sizeof(*node));

	if (node != NULL)
		*node = (struct yaml){
		    .type = type,
		    .file = at->file,
		    .line = at->line,
		    .column = at->column,
		    .weight = 1,
		    .height = 1,
		    .text = "",
		};
	return node;
}

/* A new list or mapping with room for n parts; NULL without memory. */
struct yaml *
node_with_room(struct arena *arena, enum node_type type, const struct yaml *at, size_t n)
{
	struct yaml *node = node_new(arena, type, at);

	if (node == NULL)
		return NULL;
	if (type == NODE_LIST)
		node->items = arena_alloc(arena, n, sizeof(*node->items));
	else
		node->pairs = arena_alloc(arena, n, sizeof(*node->pairs));
	return node->items != NULL || node->pairs != NULL ? node : NULL;
}

/* A mapping like this one, with room for `more` pairs; NULL without memory. */
struct yaml *
node_copy_map(struct arena *arena, const struct yaml *map, size_t more)
{
	struct yaml *copy = node_with_room(arena, NODE_MAP, map, map->n + more);

	if (copy == NULL)
		return NULL;
	for (; copy->n < map->n; copy->n++)
		copy->pairs[copy->n] = map->pairs[copy->n];
	copy->dollar = map->dollar;
	return copy;
}

/* A text that was made of another one, as if in quotes; borrowed.  NULL: no memory. */
struct yaml *
node_text(struct arena *arena, const struct yaml *at, const char *text)
{
	struct yaml *node = node_new(arena, NODE_TEXT, at);

	if (node == NULL)
		return NULL;
	node->text = text;
	node->dollar = strchr(text, '$') != NULL;
	return node;
}

/* Count a part into its whole: how large, how high, whether with a $. */
void
node_count_part(struct yaml *whole, const struct yaml *part)
{
	uint64_t weight = (uint64_t)whole->weight + part->weight;

	whole->weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
	if (whole->height <= part->height)
		whole->height = part->height + 1;
	whole->dollar = whole->dollar || part->dollar;
}

/* Note that a ${…} has asked for the parameter with this key.  Nodes lie in arenas, so
 * none is constant memory. */
void
node_use(const struct yaml *key)
{
	((struct yaml *)(uintptr_t)key)->used = true;
}

/* Two mappings that become one. */
struct merge {
	const struct yaml *base, *over;
	struct yaml *out;
};

/* Work to be done: mappings that both sides have. */
struct merges {
	struct merge *at;
	size_t n, cap;
};

/* Note that two mappings become one; NULL: no memory. */
static struct yaml *
note_merge(struct merges *work, struct arena *arena, const struct yaml *base,
           const struct yaml *over)
{
	struct yaml *out = node_new(arena, NODE_MAP, over);

	if (out == NULL || !ARRAY_RESERVE(work->at, work->n, work->cap)) {
		arena->failed = true;
		return NULL;
	}
	work->at[work->n++] = (struct merge){base, over, out};
	return out;
}

/* Lay `over` on `base`. */
static void
merge_pairs(const struct merge *merge, struct arena *arena, struct merges *work)
{
	const struct yaml *base = merge->base, *over = merge->over;
	struct yaml *out = merge->out;

	out->dollar = base->dollar || over->dollar;
	out->pairs = arena_alloc(arena, base->n + over->n, sizeof(*out->pairs));
	if (out->pairs == NULL)
		return;
	for (size_t i = 0; i < base->n; i++) {
		const struct node_pair *winner =
		    find_pair(over, base->pairs[i].key->text);
		const struct yaml *below = base->pairs[i].value;

		out->pairs[i] = winner != NULL ? *winner : base->pairs[i];
		if (winner != NULL && winner->value->type == NODE_MAP &&
		    below->type == NODE_MAP)
			out->pairs[i].value =
			    note_merge(work, arena, below, winner->value);
	}
	out->n = base->n;
	for (size_t i = 0; i < over->n; i++)
		if (find_pair(base, over->pairs[i].key->text) == NULL)
			out->pairs[out->n++] = over->pairs[i];
}

/*
 * One mapping laid over another: where both have a mapping under the same key these are
 * merged likewise, anything else of `over` replaces what is below it.  The order is that
 * of `base`, then what `over` adds.  Either may be NULL.  NULL also without memory.
 */
const struct yaml *
node_merge(struct arena *arena, const struct yaml *base, const struct yaml *over)
{
	struct merges work = {0};

	if (base == NULL || over == NULL)
		return base != NULL ? base : over;
	const struct yaml *top = note_merge(&work, arena, base, over);
	while (work.n > 0 && !arena->failed) {
		const struct merge merge = work.at[--work.n];

		merge_pairs(&merge, arena, &work);
	}
	free(work.at);
	return arena->failed ? NULL : top;
}
