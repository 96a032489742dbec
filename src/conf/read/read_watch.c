/* SPDX-License-Identifier: ISC */
/* read_watch.c - `watch`: the ends that an actor is told of, and the reactions. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/suggest.h"
#include "base/sum.h"
#include "conf/read/keys.h"
#include "conf/read/needs.h"
#include "conf/schema/schema_types.h"

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

/* False if this actor cannot have the reaction, which was reported. */
static bool
read_reaction(struct reader *reader, const struct conf_actor *actor,
              const struct yaml *node, struct watch_spec *spec, char ***ret_run,
              const struct trail *trail)
{
	const struct trail below = {trail, "run", 0};
	const struct yaml *signal;

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
		read_words(reader, node_get(node, "run"), &below, ret_run);
		return *ret_run != NULL;
	}
	signal = node_get(node, "signal");
	if (signal == NULL)
		return true;
	spec->signal = (int32_t)read_value(&schema_signal, signal).number;
	if (actor->spec.kind != NODE_SUPERVISOR)
		return true;
	reader_error(reader, node, trail,
	             "a supervisor has no process that could be sent a signal");
	return false;
}

/* Are these the same command, or both none? */
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
	for (uint32_t i = 0; i < actor->spec.n_watches; i++)
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
	struct watch_spec spec = {0};
	const struct watch_spec *other;
	struct conf_watch watch = {.path = path};

	if (path == NULL ||
	    !read_reaction(reader, actor, pair->value, &spec, &watch.run, &trail))
		return;
	if (strcmp(path, actor->path) == 0) {
		reader_warn(reader, pair->key, &trail,
		            "an actor is not told of its own end; this has no effect");
		return;
	}
	spec.target = sum_bytes(path, strlen(path), 0);
	other = find_watch(actor, specs, spec.target);
	if (other == NULL) {
		actor->watches[actor->spec.n_watches] = watch;
		specs[actor->spec.n_watches++] = spec;
	} else if (other->reaction != spec.reaction || other->signal != spec.signal ||
	           !same_words(actor->watches[other - specs].run, watch.run)) {
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
	struct watch_spec *specs;

	if (node->n > SPEC_WATCHES_MAX) {
		reader_error(reader, node, trail,
		             "%zu actors; an actor watches at most %d", node->n,
		             SPEC_WATCHES_MAX);
		return;
	}
	specs = arena_alloc(reader->keep, node->n, sizeof(*specs));
	actor->watches = arena_alloc(reader->keep, node->n, sizeof(*actor->watches));
	if (specs == NULL || actor->watches == NULL)
		return;
	actor->spec.watches = specs;
	for (size_t i = 0; i < node->n; i++)
		read_one(reader, &node->pairs[i], actor, specs, trail);
}

/* ---- watched actors that the file does not have ---- */

static void __attribute__((format(printf, 4, 5)))
warn(const struct lint_watch *lint, const struct conf_actor *actor, uint32_t watch,
     const char *fmt, ...)
{
	char key[CONF_PATH_MAX + 8];
	va_list ap;

	(void)snprintf(key, sizeof(key), "watch.%s", actor->watches[watch].path);
	va_start(ap, fmt);
	keys_vreport(lint->reports, CONF_WARNING, lint->conf, actor, key, fmt, ap);
	va_end(ap);
}

static void
warn_stranger(const struct lint_watch *lint, const struct conf_actor *actor,
              uint32_t watch)
{
	const struct conf *conf = lint->conf;
	const char *path = actor->watches[watch].path;
	char first[CONF_PATH_MAX + 1];
	struct suggest suggest;
	uint32_t replica;

	(void)snprintf(first, sizeof(first), "%.990s@1", path);
	replica = conf_find(conf, first);
	if (replica != CONF_NONE && conf->actors[replica].base != NULL) {
		warn(lint, actor, watch,
		     "`%.200s` has replicas, and is no actor itself; watch one of them, "
		     "such as `%.200s`",
		     path, first);
		return;
	}
	suggest_init(&suggest, path);
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

/* How the search has gone so far. */
enum visit { NOT_SEEN, ON_THE_WAY, DONE };

struct pacts {
	const struct lint_watch *lint;
	unsigned char *visits; /* enum visit, one for each actor */
	uint32_t *way;         /* actors, from the first to where the search is */
	uint32_t *tried;       /* of each on the way, how many of its watches */
	uint32_t n_way;
};

/* The last pact on the way watches `index`, an actor of the way. */
static void
warn_circle(const struct pacts *pacts, uint32_t index, uint32_t watch)
{
	const struct conf *conf = pacts->lint->conf;
	struct strbuf circle;
	uint32_t i = 0;

	while (pacts->way[i] != index)
		i++;
	strbuf_init(&circle, 65536);
	for (; i < pacts->n_way; i++)
		strbuf_addf(&circle, "%s -> ", conf->actors[pacts->way[i]].path);
	strbuf_adds(&circle, conf->actors[index].path);
	warn(pacts->lint, &conf->actors[pacts->way[pacts->n_way - 1]], watch,
	     "a circle of death pacts: when one of them ends all do: %.600s",
	     strbuf_str(&circle));
	strbuf_done(&circle);
}

/* Follow the pacts from an actor; the actors reached are done afterwards. */
static void
follow(struct pacts *pacts, uint32_t first)
{
	const struct conf *conf = pacts->lint->conf;

	pacts->way[0] = first;
	pacts->tried[0] = 0;
	pacts->n_way = 1;
	while (pacts->n_way > 0) {
		uint32_t index = pacts->way[pacts->n_way - 1];
		uint32_t watch = pacts->tried[pacts->n_way - 1]++;
		const struct conf_actor *actor = &conf->actors[index];
		uint32_t next;

		pacts->visits[index] = ON_THE_WAY;
		if (watch >= actor->spec.n_watches) {
			pacts->visits[index] = DONE;
			pacts->n_way--;
			continue;
		}
		next = conf_find(conf, actor->watches[watch].path);
		if (actor->spec.watches[watch].reaction != REACTION_FAIL ||
		    next == CONF_NONE || pacts->visits[next] == DONE)
			continue;
		if (pacts->visits[next] == ON_THE_WAY) {
			warn_circle(pacts, next, watch);
			continue;
		}
		pacts->way[pacts->n_way] = next;
		pacts->tried[pacts->n_way++] = 0;
	}
}

/*
 * Warn of watches of actors that the file does not know (they may be added at run time)
 * and of circles of death pacts.  Out of memory there are fewer warnings.
 */
void
watches_lint(const struct lint_watch *lint)
{
	const struct conf *conf = lint->conf;
	struct pacts pacts = {
	    .lint = lint,
	    .visits = calloc(conf->n_actors, 1),
	    .way = calloc(conf->n_actors, sizeof(uint32_t)),
	    .tried = calloc(conf->n_actors, sizeof(uint32_t)),
	};

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];

		for (uint32_t k = 0; k < actor->spec.n_watches; k++)
			if (conf_find(conf, actor->watches[k].path) == CONF_NONE &&
			    strncmp(actor->watches[k].path, "/system", 7) != 0)
				warn_stranger(lint, actor, k);
		if (pacts.visits != NULL && pacts.way != NULL && pacts.tried != NULL &&
		    pacts.visits[i] == NOT_SEEN)
			follow(&pacts, i);
	}
	free(pacts.visits);
	free(pacts.way);
	free(pacts.tried);
}
