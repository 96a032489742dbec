/* SPDX-License-Identifier: ISC */
/* map.h - two small hash maps: number to number, and string to number.
 *
 * Open addressing with linear probing; they grow at three quarters, by half.  A string
 * map borrows its keys: they must live as long as the entry.  All zero is an empty map.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	union {
		uint64_t key;
		const char *name; /* string maps */
	};
	uint32_t value;
	uint32_t mark; /* of the key; 0: the place is free */
};

/* All of it 0: empty, without memory. */
struct map {
	struct map_entry *entries;
	size_t cap;
	size_t n;
};

void map_done(struct map *map);
int map_reserve(struct map *map, size_t n);
int map_put(struct map *map, uint64_t key, uint32_t value);
bool map_get(const struct map *map, uint64_t key, uint32_t *ret_value);
void map_remove(struct map *map, uint64_t key);
int map_put_name(struct map *map, const char *name, uint32_t value);
bool map_get_name(const struct map *map, const char *name, uint32_t *ret_value);
void map_remove_name(struct map *map, const char *name);

#endif
