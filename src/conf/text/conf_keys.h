/* SPDX-License-Identifier: ISC */
/* conf_keys.h - the effective keys of an actor, and where their values come from. */
#ifndef CONF_CONF_KEYS_H
#define CONF_CONF_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct conf;
struct conf_actor;
struct strbuf;

/* What a changed key asks for at a reload. */
enum conf_effect { CONF_IN_PLACE, CONF_RESTARTS };

/* One effective key of an actor and where its value came from. */
struct conf_key {
	const char *key;   /* dotted, such as "backoff.min" */
	const char *value; /* JSON text of the effective value, in one spelling only */
	uint32_t file;     /* into conf.files; CONF_NONE: a default */
	uint32_t line, column;
	enum conf_effect effect;
};

/* Keys that are not in the files, with their defaults: the same for many actors. */
struct conf_defaults {
	struct conf_key *keys; /* sorted by key */
	size_t n_keys;
};

/* How far a walk over the effective keys of an actor has come. */
struct conf_keys {
	const struct conf_key *at, *end;                 /* in the files */
	const struct conf_key *default_at, *default_end; /* not in the files */
};

int conf_keys_compare(const void *a, const void *b);
struct conf_keys conf_keys(const struct conf *conf, const struct conf_actor *actor);
const struct conf_key *conf_keys_next(struct conf_keys *keys);
const struct conf_key *conf_keys_find(const struct conf_actor *actor, const char *key);
const struct conf_key *conf_keys_effective(const struct conf *conf,
                                           const struct conf_actor *actor,
                                           const char *key);
void conf_keys_path(const struct conf *conf, const struct conf_actor *actor,
                    const char *key, struct strbuf *out);

#endif
