/* SPDX-License-Identifier: ISC */
/* read_watch.c - `watch`: the ends that an actor is told of, and the reactions. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/sum.h"
#include "conf/read/keys.h"
#include "conf/read/needs.h"
#include "conf/schema/schema_types.h"
#include "conf/text/way.h"

#define MESSAGE_MAX 1024

/* What the one key of a reaction that is a mapping stands for. */
static const struct {
	const char *key;
	enum reaction reaction;
} reaction_keys[] = {
    {"signal", REACTION_SIGNAL},
    {"run", REACTION_RUN},
    {"restart", REACTION_RESTART},
    {"stop", REACTION_STOP},
};

/* A watch while it is read: what the core has of it, and what the process has. */
struct new_watch {
	struct watch_spec spec;
	struct conf_watch watch;
};

/* False if this actor cannot have the reaction, which was reported. */
static bool
read_reaction(struct reader *reader, const struct conf_actor *actor,
              const struct yaml *node, struct new_watch *new, const struct trail *trail)
{
	struct watch_spec *spec = &new->spec;

	spec->reaction = REACTION_FAIL;
	if (node->type == NODE_TEXT)
		return true;
	if (node->n != 1) {
		reader_error(reader, node, trail, "one reaction, not %zu; write %s",
		             node->n, schema_reaction.allowed);
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(reaction_keys); i++)
		if (node_get(node, reaction_keys[i].key) != NULL)
			spec->reaction = reaction_keys[i].reaction;
	if (spec->reaction == REACTION_RUN) {
		read_words(reader, node_get(node, "run"),
		           &(struct trail){trail, "run", 0}, &new->watch.run);
		return new->watch.run != NULL;
	}
	const struct yaml *signal = node_get(node, "signal");
	if (signal == NULL)
		return true;
	spec->signal = (int32_t)read_value(&schema_signal, signal).number;
	if (actor->spec->core.kind != NODE_SUPERVISOR)
		return true;
	reader_error(reader, node, trail,
	             "a supervisor has no process that could be sent a signal");
	return false;
}

/* True if these are the same command, or both none. */
static bool
same_words(char **a, char **b)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (; *a != NULL && *b != NULL && strcmp(*a, *b) == 0; a++, b++)
		;
	return *a == *b;
}

/* The watch of this target that was read before, or NULL. */
static const struct watch_spec *
find_watch(const struct conf_actor *actor, const struct watch_spec *specs,
           uint64_t target)
{
	for (uint32_t i = 0; i < actor->spec->core.n_watches; i++)
		if (specs[i].target == target)
			return &specs[i];
	return NULL;
}

static void
read_one(struct reader *reader, const struct node_pair *pair, struct conf_actor *actor,
         struct watch_spec *specs, const struct trail *up)
{
	struct trail trail = {up, pair->key->text, 0};
	char *path = read_reference(reader, actor, pair->key->text);
	struct new_watch new = {.watch.path = path};

	if (path == NULL || !read_reaction(reader, actor, pair->value, &new, &trail))
		return;
	if (strcmp(path, actor->path) == 0) {
		reader_warn(reader, pair->key, &trail,
		            "an actor is not told of its own end; this has no effect");
		return;
	}
	new.spec.target = sum_bytes(path, strlen(path), 0);
	const struct watch_spec *other = find_watch(actor, specs, new.spec.target);
	if (other == NULL) {
		actor->spec->watches[actor->spec->core.n_watches] = new.watch;
		specs[actor->spec->core.n_watches++] = new.spec;
	} else if (other->reaction != new.spec.reaction ||
	           other->signal != new.spec.signal ||
	           !same_words(actor->spec->watches[other - specs].run, new.watch.run)) {
		reader_error(
		    reader, pair->key, &trail,
		    "`%.200s` is watched twice, with different reactions; keep one of "
		    "them",
		    path);
	}
}

/* `watch`: each target once, in the order of the file. */
void
read_watch(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail)
{
	struct conf_actor *actor = target;

	if (node->n > SPEC_WATCHES_MAX) {
		reader_error(reader, node, trail,
		             "%zu actors; an actor watches at most %d", node->n,
		             SPEC_WATCHES_MAX);
		return;
	}
	struct watch_spec *specs = arena_alloc(reader->keep, node->n, sizeof(*specs));
	actor->spec->watches =
	    arena_alloc(reader->keep, node->n, sizeof(*actor->spec->watches));
	if (specs == NULL || actor->spec->watches == NULL)
		return;
	actor->spec->core.watches = specs;
	for (size_t i = 0; i < node->n; i++)
		read_one(reader, &node->pairs[i], actor, specs, trail);
}

/* ---- watched actors that the file does not have ---- */

static void __attribute__((format(printf, 4, 5)))
warn(const struct lint *lint, const struct conf_actor *actor, uint32_t watch,
     const char *fmt, ...)
{
	char key[CONF_PATH_MAX + 8];
	va_list ap;

	(void)snprintf(key, sizeof(key), "watch.%s", actor->spec->watches[watch].path);
	va_start(ap, fmt);
	keys_vreport(lint, CONF_WARNING, actor, key, fmt, ap);
	va_end(ap);
}

static void
warn_stranger(const struct lint *lint, const struct conf_actor *actor, uint32_t watch)
{
	const struct conf *conf = lint->conf;
	const char *path = actor->spec->watches[watch].path;
	const uint32_t replica = needs_find(conf, path);
	struct suggest suggest = {.word = path};

	if (replica != CONF_NONE) {
		warn(lint, actor, watch,
		     "`%.200s` has replicas, and is no actor itself; watch one of them, "
		     "such as `%.200s`",
		     path, conf->actors[replica].path);
		return;
	}
	for (uint32_t i = 0; i < conf->n_actors && !lint->reports->truncated; i++)
		if (&conf->actors[i] != actor && !conf_is_below(conf, actor, i))
			suggest_try(&suggest, conf->actors[i].path);
	if (suggest.best != NULL)
		warn(lint, actor, watch,
		     "there is no actor `%.200s` in this file, did you mean `%.200s`?",
		     path, suggest.best);
	else
		warn(lint, actor, watch, "there is no actor `%.200s` in this file", path);
}

/* ---- circles of death pacts -------------------------------------------------------- */

struct pacts {
	const struct lint *lint;
	struct way way; /* places: actors; edges: their watches */
};

static bool
next_pact(void *data, uint32_t index, uint32_t watch, uint32_t *ret)
{
	const struct conf *conf = ((struct pacts *)data)->lint->conf;
	const struct conf_actor *actor = &conf->actors[index];

	*ret = WAY_NONE;
	if (watch >= actor->spec->core.n_watches)
		return false;
	if (actor->spec->core.watches[watch].reaction == REACTION_FAIL)
		*ret = conf_find(conf, actor->spec->watches[watch].path);
	return true;
}

/* The last pact on the way watches `index`, an actor of the way. */
static void
warn_circle(void *data, uint32_t index)
{
	const struct pacts *pacts = data;
	const struct conf *conf = pacts->lint->conf;
	const uint32_t last = pacts->way.at[pacts->way.n - 1];
	CLEANUP(strbuf_done) struct strbuf circle = STRBUF(65536);

	keys_write_circle(conf, &pacts->way, index, &circle);
	warn(pacts->lint, &conf->actors[last], pacts->way.tried[last] - 1,
	     "a circle of death pacts: when one of them ends all do: %.600s",
	     strbuf_str(&circle));
}

/*
 * Warn of watches of actors that the file does not know (they may be added at run time)
 * and of circles of death pacts.  Out of memory there are fewer warnings.
 */
void
watches_lint(const struct lint *lint)
{
	const struct conf *conf = lint->conf;
	struct pacts pacts = {
	    .lint = lint,
	    .way = {.edge = next_pact, .on_circle = warn_circle, .data = &pacts},
	};

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		for (uint32_t k = 0; k < actor->spec->core.n_watches; k++)
			if (conf_find(conf, actor->spec->watches[k].path) == CONF_NONE &&
			    strncmp(actor->spec->watches[k].path, "/system", 7) != 0)
				warn_stranger(lint, actor, k);
	}
	(void)way_search(&pacts.way, conf->n_actors);
}
