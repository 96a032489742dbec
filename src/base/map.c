/* SPDX-License-Identifier: ISC */
/* map.c - two small hash maps: number to number, and string to number. */
#include "config.h"

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/sum.h"

/* Give back the memory; the map is empty and usable again. */
void
map_done(struct map *map)
{
	free(map->entries);
	*map = (struct map){0};
}

/* What an entry keeps of its key, or of the hash of its name: never 0. */
static uint32_t
mark_of(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	return (uint32_t)x << 1 | 1;
}

/* Where the search for a key begins: there are 2^31 marks. */
static size_t
home_of(const struct map *map, uint32_t mark)
{
	return (size_t)((uint64_t)(mark >> 1) * map->cap >> 31);
}

/* The place behind this one. */
static size_t
next_of(const struct map *map, size_t i)
{
	return i + 1 < map->cap ? i + 1 : 0;
}

/* How many places the second is behind the first. */
static size_t
distance(const struct map *map, size_t from, size_t to)
{
	return to >= from ? to - from : to + map->cap - from;
}

/* True if the entry is that of the key, or of the name.  Names are paths of the tree, so
 * an attacker gains nothing by a collision. */
static bool
same(const struct map_entry *entry, uint32_t mark, uint64_t key, const char *name)
{
	return entry->mark == mark &&
	       (name == NULL ? entry->key == key : strcmp(entry->name, name) == 0);
}

/* Where the key is, or the free place where it belongs. */
static size_t
locate(const struct map *map, uint64_t key, const char *name)
{
	const uint32_t mark = mark_of(key);
	size_t i = home_of(map, mark);

	while (map->entries[i].mark != 0 && !same(&map->entries[i], mark, key, name))
		i = next_of(map, i);
	return i;
}

/* Make room for n entries in all, so that puts up to there cannot fail; -ENOMEM. */
int
map_reserve(struct map *map, size_t n)
{
	struct map grown = {.n = map->n, .cap = n / 3 * 4 + 16};

	if (n <= map->cap / 4 * 3)
		return 0;
	grown.entries = calloc(grown.cap, sizeof(*grown.entries));
	if (grown.entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < map->cap; i++) {
		const struct map_entry *entry = &map->entries[i];
		size_t at = home_of(&grown, entry->mark);

		if (entry->mark == 0)
			continue;
		while (grown.entries[at].mark != 0)
			at = next_of(&grown, at);
		grown.entries[at] = *entry;
	}
	free(map->entries);
	*map = grown;
	return 0;
}

static int
put_entry(struct map *map, uint64_t key, const char *name, uint32_t value)
{
	const bool is_full = map->n >= map->cap / 4 * 3;
	int r = is_full ? map_reserve(map, map->n + map->n / 2 + 1) : 0;

	if (r < 0)
		return r;
	size_t i = locate(map, key, name);
	if (map->entries[i].mark == 0)
		map->n++;
	map->entries[i] = (struct map_entry){.value = value, .mark = mark_of(key)};
	if (name != NULL)
		map->entries[i].name = name;
	else
		map->entries[i].key = key;
	return 0;
}

static bool
get(const struct map *map, uint64_t key, const char *name, uint32_t *ret_value)
{
	if (map->cap == 0)
		return false;
	size_t i = locate(map, key, name);
	if (map->entries[i].mark == 0)
		return false;
	*ret_value = map->entries[i].value;
	return true;
}

/* Remove and close the gap by moving later entries of the same run back. */
static void
take_out(struct map *map, uint64_t key, const char *name)
{
	if (map->cap == 0)
		return;
	size_t gap = locate(map, key, name);
	if (map->entries[gap].mark == 0)
		return;
	for (size_t i = next_of(map, gap); map->entries[i].mark != 0;
	     i = next_of(map, i)) {
		size_t home = home_of(map, map->entries[i].mark);

		if (distance(map, home, i) < distance(map, gap, i))
			continue;
		map->entries[gap] = map->entries[i];
		gap = i;
	}
	map->entries[gap].mark = 0;
	ASSERT(map->n > 0);
	map->n--;
}

/* Set key to value, replacing an older one; -ENOMEM. */
int
map_put(struct map *map, uint64_t key, uint32_t value)
{
	return put_entry(map, key, NULL, value);
}

/* Look a key up; false and *ret_value untouched when it is not there. */
bool
map_get(const struct map *map, uint64_t key, uint32_t *ret_value)
{
	return get(map, key, NULL, ret_value);
}

/* Remove a key; a key that is absent is fine. */
void
map_remove(struct map *map, uint64_t key)
{
	take_out(map, key, NULL);
}

/* As map_put(), by name; `name` is borrowed and must outlive the entry. */
int
map_put_name(struct map *map, const char *name, uint32_t value)
{
	return put_entry(map, fnv_text(name), name, value);
}

/* As map_get(): true if the name is there. */
bool
map_get_name(const struct map *map, const char *name, uint32_t *ret_value)
{
	return get(map, fnv_text(name), name, ret_value);
}

/* As map_remove(), by name. */
void
map_remove_name(struct map *map, const char *name)
{
	take_out(map, fnv_text(name), name);
}
