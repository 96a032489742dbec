/* SPDX-License-Identifier: ISC */
/* unwritten.c - keys of actors that are not in the files, kept once for all actors. */
#include "config.h"

#include "conf/text/unwritten.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

#define SETS_OF_PLACES 64

/* The unwritten keys of an actor, in the order of the table; actors share equal sets. */
struct unwritten_set {
	struct unwritten_set *next; /* with a hash that has the same place */
	uint64_t hash;
	uint32_t index; /* in conf.defaults */
	size_t n;
	struct unwritten at[];
};

struct unwritten_sets {
	struct unwritten_set *first[SETS_OF_PLACES];
};

static uint64_t
hash_text(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = fnv_add(hash, (unsigned char)*text);
	return fnv_add(hash, 0);
}

static uint64_t
hash_keys(const struct unwritten *keys, size_t n)
{
	uint64_t hash = FNV_BEGIN;

	for (size_t i = 0; i < n; i++) {
		/* Names are those of the tables, each at a single place. */
		hash = fnv_add(hash, (unsigned int)(uintptr_t)keys[i].name);
		hash = fnv_add(hash, (unsigned int)(uintptr_t)keys[i].below);
		hash = hash_text(hash, keys[i].value);
	}
	return hash;
}

static bool
has_same(const struct unwritten_set *set, const struct unwritten *keys, size_t n)
{
	if (set->n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (set->at[i].name != keys[i].name ||
		    set->at[i].below != keys[i].below ||
		    set->at[i].effect != keys[i].effect ||
		    strcmp(set->at[i].value, keys[i].value) != 0)
			return false;
	return true;
}

static int
by_name(const void *a, const void *b)
{
	const struct conf_key *left = a;
	const struct conf_key *right = b;

	return strcmp(left->key, right->key);
}

static void
fill_defaults(struct arena *keep, struct conf_defaults *defaults,
              const struct unwritten *keys, size_t n)
{
	*defaults = (struct conf_defaults){
	    .keys = arena_alloc(keep, n, sizeof(*defaults->keys)),
	};
	for (size_t i = 0; defaults->keys != NULL && i < n; i++) {
		const char *below = keys[i].below;
		struct conf_key key = {.file = CONF_NONE, .effect = keys[i].effect};

		key.key =
		    arena_printf(keep, "%s%s%s", keys[i].name, below != NULL ? "." : "",
		                 below != NULL ? below : "");
		key.value = arena_dup(keep, keys[i].value);
		if (key.key == NULL || key.value == NULL)
			return;
		defaults->keys[defaults->n_keys++] = key;
	}
	if (defaults->n_keys > 0)
		qsort(defaults->keys, defaults->n_keys, sizeof(*defaults->keys), by_name);
}

static bool
grow_defaults(struct conf *conf)
{
	const uint32_t n = conf->n_defaults;
	struct conf_defaults *larger;

	/* At each power of two for twice as many. */
	if ((n & (n - 1)) != 0)
		return true;
	larger =
	    reallocarray(conf->defaults, n == 0 ? 1 : 2 * (size_t)n, sizeof(*larger));
	if (larger == NULL)
		return false;
	conf->defaults = larger;
	return true;
}

/* One more of conf.defaults; NULL: out of memory. */
static struct unwritten_set *
add_set(struct conf *conf, struct arena *scratch, const struct unwritten *keys, size_t n)
{
	struct unwritten_set *set =
	    arena_alloc(scratch, 1, sizeof(*set) + n * sizeof(*keys));

	if (set == NULL || !grow_defaults(conf))
		return NULL;
	set->n = n;
	set->index = conf->n_defaults++;
	memcpy(set->at, keys, n * sizeof(*keys));
	fill_defaults(conf->memory, &conf->defaults[set->index], keys, n);
	return set;
}

/*
 * The index in conf.defaults of these keys, which are given in the order of the table.
 * *sets is NULL at first, and lies in `scratch`, as the values may.  Without memory
 * conf.memory has failed.
 */
uint32_t
unwritten_share(struct conf *conf, struct arena *scratch, struct unwritten_sets **sets,
                const struct unwritten *keys, size_t n)
{
	const uint64_t hash = hash_keys(keys, n);
	struct unwritten_set **place, *set;

	if (*sets == NULL)
		*sets = arena_alloc(scratch, 1, sizeof(**sets));
	if (*sets == NULL)
		return CONF_NONE;
	place = &(*sets)->first[hash % SETS_OF_PLACES];
	for (set = *place; set != NULL; set = set->next)
		if (set->hash == hash && has_same(set, keys, n))
			return set->index;
	set = add_set(conf, scratch, keys, n);
	if (set == NULL) {
		conf->memory->failed = true;
		return CONF_NONE;
	}
	set->hash = hash;
	set->next = *place;
	*place = set;
	return set->index;
}
