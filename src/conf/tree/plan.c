/* SPDX-License-Identifier: ISC */
/* plan.c - what changes from one configuration to the next. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "conf/text/conf.h"

/* Names of differences that are no keys of the file. */
static const char key_kind[] = "kind";
static const char key_order[] = "order";

struct planner {
	const struct conf *old, *new_conf;
	uint32_t *old_of; /* for each new actor the old one of its path, or CONF_NONE */
	bool *moved;      /* for each new actor: it changed places with siblings */
	const struct conf_key **differs; /* room for the keys of two actors */
	size_t cap;
	struct map alike; /* pairs of conf_defaults: do they say the same? */
	uint32_t near;    /* in the new one: behind the last that was looked for */
	struct conf_plan plan;
};

/* ---- order ---- */

/* Where each child of one supervisor came from, to find the fewest that must move. */
struct sibling {
	uint32_t parent, new_index, old_index;
	uint32_t before; /* the one before it in the longest run, or CONF_NONE */
};

/* The shortest tail that a run of each length can have (patience sorting). */
static uint32_t
find_pile(const struct sibling *siblings, const uint32_t *tails, uint32_t n_tails,
          uint32_t old_index)
{
	uint32_t low = 0, high = n_tails;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (siblings[tails[middle]].old_index < old_index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Mark the siblings outside the longest run that kept its order. */
static int
mark_moved(struct sibling *siblings, uint32_t n, bool *moved)
{
	CLEANUP_FREE uint32_t *tails = calloc(n, sizeof(*tails));
	uint32_t n_tails = 0;

	if (tails == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t pile =
		    find_pile(siblings, tails, n_tails, siblings[i].old_index);

		siblings[i].before = pile > 0 ? tails[pile - 1] : CONF_NONE;
		tails[pile] = i;
		if (pile == n_tails)
			n_tails++;
		moved[siblings[i].new_index] = true;
	}
	uint32_t last = n_tails > 0 ? tails[n_tails - 1] : CONF_NONE;
	for (; last != CONF_NONE; last = siblings[last].before)
		moved[siblings[last].new_index] = false;
	return 0;
}

static int
compare_siblings(const void *left, const void *right)
{
	const struct sibling *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return a->new_index < b->new_index ? -1 : a->new_index > b->new_index;
}

/* Find the siblings that must move, supervisor by supervisor. */
static int
find_moved(struct planner *planner)
{
	const struct conf *conf = planner->new_conf;
	CLEANUP_FREE struct sibling *siblings = calloc(conf->n_actors, sizeof(*siblings));
	uint32_t n = 0;
	int r = 0;

	if (siblings == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < conf->n_actors; i++)
		if (planner->old_of[i] != CONF_NONE)
			siblings[n++] = (struct sibling){conf->actors[i].parent, i,
			                                 planner->old_of[i], CONF_NONE};
	qsort(siblings, n, sizeof(*siblings), compare_siblings);
	for (uint32_t i = 0, end; i < n && r == 0; i = end) {
		end = i + 1;
		while (end < n && siblings[end].parent == siblings[i].parent)
			end++;
		r = mark_moved(siblings + i, end - i, planner->moved);
	}
	return r;
}

/* ---- keys ---- */

static const struct conf_socket *
find_socket(const struct conf_actor *actor, const char *name)
{
	for (size_t i = 0; i < actor->process->n_sockets; i++)
		if (strcmp(actor->process->sockets[i].name, name) == 0)
			return &actor->process->sockets[i];
	return NULL;
}

/* True if the process would get the same socket: same address, same name. */
static bool
is_same_socket(const struct conf_actor *old, const struct conf_actor *new_actor,
               const char *name)
{
	const struct conf_socket *a = find_socket(old, name);
	const struct conf_socket *b = find_socket(new_actor, name);

	return a != NULL && b != NULL && a->kind == b->kind && a->port == b->port &&
	       strcmp(a->address, b->address) == 0;
}

static bool
needs_process(const struct conf_actor *old, const struct conf_actor *new_actor,
              const struct conf_key *differs)
{
	static const char sockets[] = "sockets.";
	const size_t len = sizeof(sockets) - 1;

	if (strncmp(differs->key, sockets, len) == 0 &&
	    is_same_socket(old, new_actor, differs->key + len))
		return false;
	return differs->effect == CONF_RESTARTS;
}

static size_t
count_keys(const struct conf_keys *keys)
{
	return (size_t)(keys->end - keys->at) +
	       (size_t)(keys->default_end - keys->default_at);
}

/* The keys that differ; there is room for all of both. */
static size_t
compare_keys(struct conf_keys *old, struct conf_keys *new_keys,
             const struct conf_key **ret_differs)
{
	const struct conf_key *a = conf_keys_next(old), *b = conf_keys_next(new_keys);
	size_t n = 0;

	while (a != NULL || b != NULL) {
		const struct conf_key *differs = NULL;
		int order = 0;

		if (a == NULL || b == NULL)
			order = a == NULL ? 1 : -1;
		else
			order = strcmp(a->key, b->key);
		if (order < 0)
			differs = a;
		else if (order > 0 || strcmp(a->value, b->value) != 0)
			differs = b;
		if (order <= 0)
			a = conf_keys_next(old);
		if (order >= 0)
			b = conf_keys_next(new_keys);
		if (differs != NULL)
			ret_differs[n++] = differs;
	}
	return n;
}

static bool
make_room(struct planner *planner, const struct conf_keys *old,
          const struct conf_keys *new_keys)
{
	const size_t cap = count_keys(old) + count_keys(new_keys);

	if (cap <= planner->cap)
		return true;
	const struct conf_key **larger =
	    reallocarray(planner->differs, 2 * cap, sizeof(*larger));
	if (larger == NULL)
		return false;
	planner->differs = larger;
	planner->cap = 2 * cap;
	return true;
}

/* Leave out the keys that are in neither file, if they are the same: looked at once for
 * all actors that have them. */
static void
skip_defaults(struct planner *planner, const struct conf_actor *old, struct conf_keys *a,
              const struct conf_actor *new_actor, struct conf_keys *b)
{
	const uint64_t pair = (uint64_t)old->defaults << 32 | new_actor->defaults;
	struct conf_keys left = {NULL, NULL, a->default_at, a->default_end};
	struct conf_keys right = {NULL, NULL, b->default_at, b->default_end};
	uint32_t is_alike;

	if (!map_get(&planner->alike, pair, &is_alike)) {
		is_alike = compare_keys(&left, &right, planner->differs) == 0;
		/* Without memory it is looked at again. */
		(void)map_put(&planner->alike, pair, is_alike);
	}
	if (is_alike != 0) {
		a->default_at = a->default_end;
		b->default_at = b->default_end;
	}
}

static int
compare_actor(struct planner *planner, uint32_t new_index, struct conf_change *change)
{
	const struct conf_actor *old = &planner->old->actors[change->old_index];
	const struct conf_actor *actor = &planner->new_conf->actors[new_index];
	const bool has_moved = planner->moved[new_index];
	struct conf_keys a = conf_keys(planner->old, old);
	struct conf_keys b = conf_keys(planner->new_conf, actor);
	bool restarts = false;

	planner->plan.n_moved += has_moved;
	if (!make_room(planner, &a, &b))
		return -ENOMEM;
	skip_defaults(planner, old, &a, actor, &b);
	size_t n = compare_keys(&a, &b, planner->differs);
	if (n + has_moved == 0)
		return 0;
	change->keys = calloc(n + has_moved, sizeof(*change->keys));
	if (change->keys == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		change->keys[i] = planner->differs[i]->key;
		restarts = restarts || needs_process(old, actor, planner->differs[i]);
	}
	if (has_moved)
		change->keys[n] = key_order;
	change->n_keys = n + has_moved;
	change->kind = restarts ? CHANGE_RESTARTED : CHANGE_UPDATED;
	return 0;
}

static int
add_kind_key(struct conf_change *change)
{
	change->keys = calloc(1, sizeof(*change->keys));
	if (change->keys == NULL)
		return -ENOMEM;
	change->keys[change->n_keys++] = key_kind;
	return 0;
}

/* ---- the plan ---- */

static bool
is_same_kind(const struct planner *planner, uint32_t old_index, uint32_t new_index)
{
	return planner->old->actors[old_index].spec->core.kind ==
	       planner->new_conf->actors[new_index].spec->core.kind;
}

/* The actor of this path, looked for at that place first: most are behind the same as
 * before, and thousands of look-ups by name take some milliseconds. */
static uint32_t
find_near(const struct conf *conf, uint32_t near, const char *path)
{
	return near < conf->n_actors && strcmp(conf->actors[near].path, path) == 0
	           ? near
	           : conf_find(conf, path);
}

static int
plan_new_actor(struct planner *planner, uint32_t new_index)
{
	const char *path = planner->new_conf->actors[new_index].path;
	struct conf_change *change = &planner->plan.at[planner->plan.n++];

	*change = (struct conf_change){
	    .kind = CHANGE_UNCHANGED,
	    .old_index = planner->old_of[new_index],
	    .new_index = new_index,
	};
	if (change->old_index != CONF_NONE)
		return compare_actor(planner, new_index, change);
	change->kind = CHANGE_ADDED;
	planner->plan.n_added++;
	return conf_find(planner->old, path) != CONF_NONE ? add_kind_key(change) : 0;
}

static int
plan_old_actor(struct planner *planner, uint32_t old_index)
{
	const uint32_t new_index = find_near(planner->new_conf, planner->near,
	                                     planner->old->actors[old_index].path);

	planner->near = new_index + 1;
	if (new_index != CONF_NONE && planner->old_of[new_index] != CONF_NONE)
		return 0;
	struct conf_change *change = &planner->plan.at[planner->plan.n++];
	*change = (struct conf_change){
	    .kind = CHANGE_REMOVED,
	    .old_index = old_index,
	    .new_index = CONF_NONE,
	};
	return new_index != CONF_NONE ? add_kind_key(change) : 0;
}

static int
plan_all(struct planner *planner)
{
	const struct conf *conf = planner->new_conf;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const uint32_t near = i > 0 ? planner->old_of[i - 1] + 1 : 0;
		uint32_t old_index = find_near(planner->old, near, conf->actors[i].path);

		if (old_index != CONF_NONE && !is_same_kind(planner, old_index, i))
			old_index = CONF_NONE;
		planner->old_of[i] = old_index;
	}
	int r = find_moved(planner);
	if (r < 0)
		return r;
	planner->plan.at = calloc((size_t)planner->old->n_actors + conf->n_actors,
	                          sizeof(*planner->plan.at));
	if (planner->plan.at == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < conf->n_actors && r == 0; i++)
		r = plan_new_actor(planner, i);
	for (uint32_t i = 0; i < planner->old->n_actors && r == 0; i++)
		r = plan_old_actor(planner, i);
	return r;
}

/*
 * Compare two configurations, actor by actor, by path.  See conf.h for what the changes
 * mean.  The plan borrows from both configurations and is freed with conf_plan_done().
 * -ENOMEM: *ret_plan is as it was.
 */
int
conf_plan_make(const struct conf *old, const struct conf *new_conf,
               struct conf_plan *ret_plan)
{
	struct planner planner = {.old = old, .new_conf = new_conf};
	int r = -ENOMEM;

	planner.old_of = calloc(new_conf->n_actors, sizeof(*planner.old_of));
	planner.moved = calloc(new_conf->n_actors, sizeof(*planner.moved));
	if (planner.old_of != NULL && planner.moved != NULL)
		r = plan_all(&planner);
	free(planner.old_of);
	free(planner.moved);
	free(planner.differs);
	map_done(&planner.alike);
	if (r < 0)
		conf_plan_done(&planner.plan);
	else
		*ret_plan = planner.plan;
	return r;
}

/* Free a plan; one that was never made (all zero) is fine. */
void
conf_plan_done(struct conf_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		free(plan->at[i].keys);
	free(plan->at);
	*plan = (struct conf_plan){0};
}
