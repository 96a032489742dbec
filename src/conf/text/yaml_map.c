/* SPDX-License-Identifier: ISC */
/* yaml_map.c - the keys of a mapping: no key twice, and what `<<` merges. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "conf/text/yaml_assembly.h"

static bool
is_merge_key(const struct yaml *key)
{
	return key->type == NODE_TEXT && key->plain && strcmp(key->text, "<<") == 0;
}

/* How many pairs the mapping or mappings behind `<<` have; -EINVAL: not a mapping. */
static ssize_t
merged_size(const struct yaml *value)
{
	size_t n = value->n;

	if (value->type == NODE_MAP)
		return (ssize_t)n;
	if (value->type != NODE_LIST)
		return -EINVAL;
	n = 0;
	for (size_t i = 0; i < value->n; i++) {
		if (value->items[i]->type != NODE_MAP)
			return -EINVAL;
		n += value->items[i]->n;
	}
	return (ssize_t)n;
}

/*
 * First look at the keys of a mapping: every one a text, none twice.  `seen` gets the
 * mapping's own keys; in place of a key that was reported there is NULL.  Returns how
 * many pairs there can be, merged ones included.
 */
static ssize_t
check_keys(struct assembly *assembly, const struct yaml **parts, size_t n_parts,
           struct map *seen)
{
	size_t n = 0;

	if (map_reserve(seen, n_parts / 2) < 0)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n_parts; i += 2) {
		const struct yaml *key = parts[i];
		ssize_t merged = 1;
		uint32_t first;

		if (key->type != NODE_TEXT) {
			yaml_complain(assembly, NULL, key->line, key->column,
			              "%s cannot be a key; a key is a plain word",
			              node_type_name(key));
			parts[i] = NULL;
			continue;
		}
		if (map_get_name(seen, key->text, &first)) {
			yaml_complain(
			    assembly, key->text, key->line, key->column,
			    "the key `%.80s` is written twice, first at line %u",
			    key->text, parts[first]->line);
			parts[i] = NULL;
			continue;
		}
		if (map_put_name(seen, key->text, (uint32_t)i) < 0)
			return -ENOMEM;
		if (is_merge_key(key))
			merged = merged_size(parts[i + 1]);
		if (merged < 0) {
			yaml_complain(
			    assembly, key->text, parts[i + 1]->line, parts[i + 1]->column,
			    "`<<` takes a mapping or a list of mappings, not %s",
			    node_type_name(parts[i + 1]));
			continue;
		}
		n += (size_t)merged;
	}
	return (ssize_t)n;
}

/* Add the pairs of a merged mapping that are not there yet. */
static int
merge_map(struct yaml *node, const struct yaml *from, struct map *seen)
{
	for (size_t i = 0; i < from->n; i++) {
		uint32_t known;

		if (map_get_name(seen, from->pairs[i].key->text, &known))
			continue;
		if (map_put_name(seen, from->pairs[i].key->text, UINT32_MAX) < 0)
			return -ENOMEM;
		node->pairs[node->n++] = from->pairs[i];
		node_count_part(node, from->pairs[i].value);
	}
	return 0;
}

static int
merge_value(struct yaml *node, const struct yaml *value, struct map *seen)
{
	int r = 0;

	if (merged_size(value) < 0)
		return 0; /* reported */
	if (value->type == NODE_MAP)
		return merge_map(node, value, seen);
	for (size_t i = 0; i < value->n && r == 0; i++)
		r = merge_map(node, value->items[i], seen);
	return r;
}

/*
 * Give a mapping that is complete its pairs, those behind `<<` included.  `seen` is
 * empty, and done by the caller.  -ENOMEM; what is wrong is reported.
 */
int
yaml_fill_map(struct assembly *assembly, const struct frame *frame, struct map *seen)
{
	const struct yaml **parts = assembly->pile + frame->first;
	size_t n_parts = assembly->n_pile - frame->first;
	ssize_t n = check_keys(assembly, parts, n_parts, seen);
	struct yaml *node = frame->node;

	if (n < 0)
		return (int)n;
	node->pairs =
	    arena_alloc(assembly->source->arena, (size_t)n, sizeof(*node->pairs));
	if (node->pairs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < n_parts; i += 2) {
		int r = 0;

		if (parts[i] == NULL)
			continue;
		if (is_merge_key(parts[i])) {
			r = merge_value(node, parts[i + 1], seen);
		} else {
			node->pairs[node->n++] =
			    (struct node_pair){parts[i], parts[i + 1]};
			node_count_part(node, parts[i + 1]);
		}
		if (r < 0)
			return r;
	}
	return 0;
}
