/* SPDX-License-Identifier: ISC */
/* circle.c - cycles of `needs`: actors that wait for each other and could never start.
 *
 * A need is not the only reason to start after another actor: a sequential start is
 * another, a supervisor comes before its children, and may be ready only when they are
 * (DECISIONS 24).  Each actor is three steps: its turn comes, it begins, it is ready; an
 * actor that starts on demand is as good as ready when its turn has come.  The base name
 * of replicas is two more steps: all of them have begun, all of them are ready.  Edges
 * lead to the step that must come first.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "conf/read/keys.h"
#include "conf/read/needs.h"
#include "conf/text/way.h"

#define CIRCLE_TEXT_MAX 16384

enum step { STEP_TURN, STEP_BEGIN, STEP_READY, STEP_ALL_BEGIN, STEP_ALL_READY, STEPS };
#define STEP_OF(index, step) ((index)*STEPS + (step))

struct search {
	struct reader *reader;
	const struct conf *conf;
	uint32_t *previous; /* by actor: the sibling before it in the sequence */
	uint32_t *sibling;  /* … the next one */
	uint32_t *first;    /* … its first child */
	uint32_t *at;       /* by step: the child or replica that is next */
	struct way way;     /* its places are steps */
};

static const struct conf_actor *
actor_of(const struct search *search, uint32_t step)
{
	return &search->conf->actors[step / STEPS];
}

/* Put the children of each supervisor in a sequence. */
static void
line_up(struct search *search)
{
	const struct conf *conf = search->conf;
	/* Not in use yet: by supervisor, the newest child. */
	uint32_t *last = search->at;
	uint32_t *enabled = search->at + conf->n_actors;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const uint32_t parent = conf->actors[i].parent;

		search->first[i] = search->sibling[i] = search->previous[i] = CONF_NONE;
		last[i] = enabled[i] = CONF_NONE;
		if (parent == CONF_NONE)
			continue;
		if (last[parent] == CONF_NONE)
			search->first[parent] = i;
		else
			search->sibling[last[parent]] = i;
		last[parent] = i;
		if (!conf->actors[i].spec->core.enabled)
			continue;
		if (!conf->actors[parent].spec->core.policy.start_parallel)
			search->previous[i] = enabled[parent];
		enabled[parent] = i;
	}
}

/* The step that the k-th need of an actor leads to; CONF_NONE: to no actor. */
static uint32_t
needed_step(const struct search *search, const struct conf_actor *actor, uint32_t k)
{
	const struct conf *conf = search->conf;
	const uint32_t target = needs_find(conf, actor->spec->needs[k].path);
	enum need level = actor->spec->core.needs[k].level;

	if (target == CONF_NONE)
		return CONF_NONE;
	bool is_all = strcmp(conf->actors[target].path, actor->spec->needs[k].path) != 0;
	/* A one-shot is ready when it has completed; others need not be ready for it. */
	if (level == NEED_COMPLETED &&
	    conf->actors[target].spec->core.start.ready == READY_EXIT)
		level = NEED_READY;
	if (level == NEED_READY)
		return STEP_OF(target, is_all ? STEP_ALL_READY : STEP_READY);
	return STEP_OF(target, is_all ? STEP_ALL_BEGIN : STEP_BEGIN);
}

/* The next of those children that are started by themselves. */
static uint32_t
next_child(const struct search *search, uint32_t child)
{
	while (child != CONF_NONE && !search->conf->actors[child].spec->core.enabled)
		child = search->sibling[child];
	return child;
}

/* Edge number n of a step, to CONF_NONE where it leads nowhere; false: there is none.
 * The edges are asked for once, and in order. */
static bool
next_edge(void *data, uint32_t step, uint32_t n, uint32_t *ret)
{
	struct search *search = data;
	const struct conf_actor *actor = actor_of(search, step);
	const uint32_t index = step / STEPS;
	const enum step kind = (enum step)(step % STEPS);
	uint32_t *at = &search->at[step];

	*ret = CONF_NONE;
	if (kind == STEP_TURN) {
		if (n == 0 && actor->parent != CONF_NONE)
			*ret = STEP_OF(actor->parent, STEP_BEGIN);
		else if (n == 1 && search->previous[index] != CONF_NONE)
			*ret = STEP_OF(search->previous[index], STEP_READY);
		return n < 2;
	}
	if (kind == STEP_BEGIN) {
		if (n == 0)
			*ret = STEP_OF(index, STEP_TURN);
		else if (n - 1 < actor->spec->core.n_needs)
			*ret = needed_step(search, actor, n - 1);
		return n < actor->spec->core.n_needs + 1;
	}
	if (kind == STEP_READY) {
		*at = n == 0 ? CONF_NONE
		             : next_child(search, n == 1 ? search->first[index]
		                                         : search->sibling[*at]);
		if (n == 0)
			*ret = STEP_OF(index, actor->spec->core.on_demand ? STEP_TURN
			                                                  : STEP_BEGIN);
		else if (*at != CONF_NONE)
			*ret = STEP_OF(*at, STEP_READY);
		return *ret != CONF_NONE;
	}
	*at = n == 0 ? index : needs_next_replica(search->conf, *at);
	if (*at != CONF_NONE)
		*ret = STEP_OF(*at, kind == STEP_ALL_READY ? STEP_READY : STEP_BEGIN);
	return *ret != CONF_NONE;
}

/* ---- what is said of a circle ------------------------------------------------------ */

static void
add_place(struct strbuf *sb, const struct conf *conf, uint32_t file, uint32_t line)
{
	strbuf_addf(sb, " (%s:%u)", conf->files[file], line);
}

/* The need that was tried last at this step; NULL: the edge is not a need. */
static const struct conf_need *
tried_need(const struct search *search, uint32_t step, uint32_t *ret_k)
{
	const struct conf_actor *actor = actor_of(search, step);

	if (step % STEPS != STEP_BEGIN || search->way.tried[step] < 2)
		return NULL;
	*ret_k = search->way.tried[step] - 2;
	return &actor->spec->needs[*ret_k];
}

/* Say why what is at this step of the way comes after the next; nothing where that is
 * plain. */
static void
add_link(const struct search *search, uint32_t step, struct strbuf *sb)
{
	const struct conf_actor *actor = actor_of(search, step);
	const char *comma = sb->len > 0 ? ", " : "";
	uint32_t k = 0;
	const struct conf_need *need = tried_need(search, step, &k);
	const struct conf_key *key;
	char name[CONF_PATH_MAX + 8];

	if (need != NULL) {
		(void)snprintf(name, sizeof(name), "needs.%.1000s", need->path);
		key = conf_keys_find(actor, name);
		strbuf_addf(sb, "%s%s needs %s %s", comma, actor->path, need->path,
		            need_names[actor->spec->core.needs[k].level]);
		if (key != NULL)
			add_place(sb, search->conf, key->file, key->line);
		return;
	}
	if (step % STEPS == STEP_TURN && search->way.tried[step] == 1)
		strbuf_addf(sb, "%s%s starts below %s", comma, actor->path,
		            search->conf->actors[actor->parent].path);
	else if (step % STEPS == STEP_TURN)
		strbuf_addf(sb, "%s%s starts after %s", comma, actor->path,
		            search->conf->actors[search->previous[step / STEPS]].path);
	else if (step % STEPS == STEP_READY && search->way.tried[step] > 1)
		strbuf_addf(sb, "%s%s is ready when %s is", comma, actor->path,
		            search->conf->actors[search->at[step]].path);
	else
		return;
	add_place(sb, search->conf, actor->place.file, actor->place.line);
}

/* Report a circle: the search has come back to a step that is on its way. */
static void
refuse(void *data, uint32_t back)
{
	struct search *search = data;
	const struct conf_actor *actor = NULL;
	const struct lint lint = keys_lint(search->reader);
	char name[CONF_PATH_MAX + 8] = "needs";
	CLEANUP(strbuf_done) struct strbuf links = STRBUF(CIRCLE_TEXT_MAX);
	CLEANUP(strbuf_done) struct strbuf message = STRBUF(2 * CIRCLE_TEXT_MAX);

	for (uint32_t i = way_find(&search->way, back); i < search->way.n; i++) {
		uint32_t k = 0;
		const struct conf_need *need = tried_need(search, search->way.at[i], &k);

		add_link(search, search->way.at[i], &links);
		if (need == NULL || actor != NULL)
			continue;
		actor = actor_of(search, search->way.at[i]);
		(void)snprintf(name, sizeof(name), "needs.%.1000s", need->path);
	}
	/* Without a need there is no circle. */
	if (actor == NULL)
		actor = actor_of(search, back);
	strbuf_addf(&message, "a cycle, of which no actor could ever start: %s%s",
	            strbuf_str(&links), links.failed ? ", ..." : "");
	keys_add(&lint, CONF_ERROR, actor, name, strbuf_str(&message));
}

/* Report every circle, with all edges of the circle. */
void
needs_circles(struct reader *reader)
{
	const struct conf *conf = reader->conf;
	const size_t n = conf->n_actors;
	struct search search = {
	    .reader = reader,
	    .conf = conf,
	    .previous = arena_alloc(reader->scratch, n, sizeof(uint32_t)),
	    .sibling = arena_alloc(reader->scratch, n, sizeof(uint32_t)),
	    .first = arena_alloc(reader->scratch, n, sizeof(uint32_t)),
	    .at = arena_alloc(reader->scratch, n * STEPS, sizeof(uint32_t)),
	    .way = {.edge = next_edge, .on_circle = refuse, .data = &search},
	};

	if (reader->scratch->failed)
		return;
	line_up(&search);
	if (!way_search(&search.way, (uint32_t)n * STEPS))
		reader->scratch->failed = true;
}
