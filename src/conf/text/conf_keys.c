/* SPDX-License-Identifier: ISC */
/* conf_keys.c - the effective keys of an actor, in one row. */
#include "config.h"

#include "conf/text/conf_keys.h"

#include <stdlib.h>
#include <string.h>

#include "conf/text/conf.h"

/* The effective keys of an actor, from the first one on; borrowed from both. */
struct conf_keys
conf_keys(const struct conf *conf, const struct conf_actor *actor)
{
	struct conf_keys keys = {.at = actor->keys, .end = actor->keys};

	/* Without any there may be no array, and NULL plus 0 is undefined. */
	if (actor->n_keys > 0)
		keys.end += actor->n_keys;
	if (actor->defaults < conf->common.n_defaults) {
		const struct conf_defaults *defaults =
		    &conf->common.defaults[actor->defaults];

		keys.default_at = defaults->keys;
		keys.default_end = defaults->keys + defaults->n_keys;
	}
	return keys;
}

/* The next one in the order of their names, or NULL. */
const struct conf_key *
conf_keys_next(struct conf_keys *keys)
{
	if (keys->at == keys->end && keys->default_at == keys->default_end)
		return NULL;
	if (keys->at == keys->end || (keys->default_at != keys->default_end &&
	                              strcmp(keys->default_at->key, keys->at->key) < 0))
		return keys->default_at++;
	return keys->at++;
}

/* For qsort() and bsearch(): in the order of their names. */
int
conf_keys_compare(const void *a, const void *b)
{
	return strcmp(((const struct conf_key *)a)->key,
	              ((const struct conf_key *)b)->key);
}

static const struct conf_key *
find_key(const struct conf_key *keys, size_t n, const char *key)
{
	struct conf_key wanted = {.key = key};

	return n == 0 ? NULL
	              : bsearch(&wanted, keys, n, sizeof(wanted), conf_keys_compare);
}

/* A key of an actor that is in the file; NULL: it is not. */
const struct conf_key *
conf_keys_find(const struct conf_actor *actor, const char *key)
{
	return find_key(actor->keys, actor->n_keys, key);
}

/* A key of an actor, in the file or not; NULL: it has no value, not even a default. */
const struct conf_key *
conf_keys_effective(const struct conf *conf, const struct conf_actor *actor,
                    const char *key)
{
	const struct conf_key *found = conf_keys_find(actor, key);

	if (found == NULL && actor->defaults < conf->common.n_defaults)
		found = find_key(conf->common.defaults[actor->defaults].keys,
		                 conf->common.defaults[actor->defaults].n_keys, key);
	return found;
}

/* Where a key of an actor stands in the file: "children.app.children.api.command". */
void
conf_keys_path(const struct conf *conf, const struct conf_actor *actor, const char *key,
               struct strbuf *out)
{
	const char *names[SPEC_DEPTH_MAX];
	size_t n = 0;

	while (actor->parent != CONF_NONE && n < SPEC_DEPTH_MAX) {
		names[n++] = actor->base != NULL ? actor->base : conf_name(actor);
		actor = &conf->actors[actor->parent];
	}
	while (n > 0)
		strbuf_addf(out, "%schildren.%s", out->len > 0 ? "." : "", names[--n]);
	if (key != NULL)
		strbuf_addf(out, "%s%s", out->len > 0 ? "." : "", key);
}
