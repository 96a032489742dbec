/* SPDX-License-Identifier: ISC */
/* describe.c - the effective keys of an actor as JSON. */
#include "config.h"

#include "daemon/report/describe.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * Set a dotted key in nested objects.  A part that is in use for a plain value already
 * (keys that users choose may have dots) keeps the rest of the key in one piece.
 */
static int
set_nested(json_t *object, const char *key, json_t *take_value)
{
	for (;;) {
		const char *dot = strchr(key, '.');
		int r = 0;

		if (dot == NULL)
			return json_object_set_new(object, key, take_value);
		CLEANUP_FREE char *part = strndup(key, (size_t)(dot - key));
		json_t *inner = part != NULL ? json_object_get(object, part) : NULL;
		if (part != NULL && inner == NULL) {
			inner = json_object();
			r = json_object_set_new(object, part, inner);
		}
		if (r < 0 || !json_is_object(inner))
			return json_object_set_new(object, key, take_value);
		object = inner;
		key = dot + 1;
	}
}

static void
add_key(json_t *spec, json_t *origin, const struct conf *conf, const struct conf_key *key)
{
	json_t *value = json_loads(key->value, JSON_DECODE_ANY, NULL);

	if (value == NULL)
		value = json_string(key->value);
	(void)set_nested(spec, key->key, value);
	if (key->file < conf->n_files)
		(void)json_array_append_new(
		    origin, json_pack("{s:s,s:s,s:i}", "key", key->key, "file",
		                      conf->files[key->file], "line", (int)key->line));
}

/* The effective keys of an actor, and where those that are not defaults came from, as the
 * reply of Describe; NULL: out of memory. */
json_t *
describe_json(const struct conf *conf, const struct conf_actor *actor)
{
	json_t *parameters = json_pack("{s:{},s:[]}", "spec", "origin");
	struct conf_keys keys = conf_keys(conf, actor);
	const struct conf_key *key;

	while (parameters != NULL && (key = conf_keys_next(&keys)) != NULL)
		add_key(json_object_get(parameters, "spec"),
		        json_object_get(parameters, "origin"), conf, key);
	return parameters;
}
