/* SPDX-License-Identifier: ISC */
/* unwritten.c - keys of actors that are not in the files, kept once for all actors. */
#include "config.h"

#include "conf/text/unwritten.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sum.h"

/* The same for the same keys. */
static uint64_t
sum_keys(const struct unwritten *keys, size_t n)
{
	uint64_t words[UNWRITTEN_MAX][2];

	for (size_t i = 0; i < n; i++) {
		/* Names are those of the tables, each at a single place of the program.
		 */
		words[i][0] = (uint64_t)(uintptr_t)keys[i].name << 32 |
		              (uint32_t)(uintptr_t)keys[i].below;
		words[i][1] = fnv_text(keys[i].value);
	}
	return sum_bytes(words, n * sizeof(*words), n);
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
		qsort(defaults->keys, defaults->n_keys, sizeof(*defaults->keys),
		      conf_keys_compare);
}

/*
 * The index in conf.common.defaults of these keys, which are given in the order of the
 * table.  `sets` is empty at first.  Without memory conf.memory has failed.
 */
uint32_t
unwritten_share(struct conf *conf, struct unwritten_sets *sets,
                const struct unwritten *keys, size_t n)
{
	const uint64_t sum = sum_keys(keys, n);
	uint32_t index = conf->common.n_defaults;

	if (map_get(&sets->by_sum, sum, &index))
		return index;
	if (!ARRAY_RESERVE(conf->common.defaults, index, sets->cap) ||
	    map_put(&sets->by_sum, sum, index) < 0) {
		conf->memory->failed = true;
		return CONF_NONE;
	}
	conf->common.n_defaults++;
	fill_defaults(conf->memory, &conf->common.defaults[index], keys, n);
	return index;
}
