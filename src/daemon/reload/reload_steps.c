/* SPDX-License-Identifier: ISC */
/* reload_steps.c - the steps of a reload that cannot fail: the tree becomes another. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/reload_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/keeper.h"
#include "daemon/state/recording.h"
#include "ledger/ledger.h"

static struct ref
parent_ref(const struct reloader *reloader, const struct conf *conf,
           const struct conf_actor *actor)
{
	return actor->parent == CONF_NONE
	           ? core_ref(reloader->engine->core, CORE_ROOT)
	           : actors_find_static(reloader->actors,
	                                conf->actors[actor->parent].path);
}

void
reload_add(struct reloader *reloader, const struct conf *conf, uint32_t index,
           struct tables *tables)
{
	const struct conf_actor *actor = &conf->actors[index];
	struct ref predecessor = actors_find(reloader->actors, actor->path);
	struct spec spec;

	conf_name_spec(actor, &spec);
	struct ref ref =
	    core_add(reloader->engine->core, parent_ref(reloader, conf, actor), REF_NONE,
	             &spec, reloader->engine->now_ms);
	uint32_t incarnation = ledger_past(reloader->recording->ledger, actor->path);

	if (core_valid(reloader->engine->core, predecessor)) {
		/* The new one waits until the old one is gone. */
		const struct node_view view = engine_view(reloader->engine, predecessor);
		incarnation = view.run.incarnation;
		/* The file has the name now: the added actor goes. */
		if (view.growth.is_added && !view.growth.removing)
			core_remove(reloader->engine->core, predecessor,
			            reloader->engine->now_ms);
		core_hasten(reloader->engine->core, predecessor);
	}
	core_set_incarnation(reloader->engine->core, ref, incarnation + 1);
	actors_set(reloader->actors, ref, tables->paths[index]);
	tables->paths[index] = NULL;
	actors_assign(reloader->actors, ref, conf, tables->conf_id, index);
}

/*
 * True if the actor runs again with its new keys.  An actor that is done does not, as its
 * work would be done again: the keys count from its next start on, unless that work is
 * asked for, or it is `permanent` now.
 */
bool
reload_reruns(const struct reloader *reloader, const struct reload *reload,
              const struct conf_change *change, struct ref ref)
{
	return engine_view(reloader->engine, ref).state != STATE_DONE || reload->rerun ||
	       reload->conf->actors[change->new_index].spec->core.restart ==
	           RESTART_PERMANENT;
}

/* The actor of this path in the configuration, looked for in the slot behind `ref`: most
 * are there, and thousands of look-ups by name take some milliseconds. */
static struct ref
find_behind(const struct actors *actors, struct ref ref, const char *path)
{
	const struct actor *actor =
	    ref.slot + 1 < actors->cap ? &actors->at[ref.slot + 1] : NULL;

	return actor != NULL && actor->path != NULL && actor->grown == NULL &&
	               actor->successor.slot == REF_NONE.slot &&
	               strcmp(actor->path, path) == 0
	           ? actor->ref
	           : actors_find_static(actors, path);
}

/* Returns the actor; `behind` is the one before it. */
static struct ref
keep(struct reloader *reloader, const struct reload *reload,
     const struct conf_change *change, uint64_t conf_id, struct ref behind)
{
	const struct conf *conf = reload->conf;
	const struct conf_actor *actor = &conf->actors[change->new_index];
	struct ref ref = find_behind(reloader->actors, behind, actor->path);

	ASSERT(ref.slot != REF_NONE.slot);
	actors_assign(reloader->actors, ref, conf, conf_id, change->new_index);
	/* Rules carry places: after an edit even an unchanged actor has new ones. */
	core_update(reloader->engine->core, ref, &actor->spec->core,
	            reloader->engine->now_ms);
	if (change->kind == CHANGE_RESTARTED &&
	    reload_reruns(reloader, reload, change, ref))
		core_restart(reloader->engine->core, ref, reloader->engine->now_ms);
	return ref;
}

/* Put an actor that came behind this sibling, CONF_NONE: before all others. */
static void
place_behind(struct reloader *reloader, const struct conf *conf,
             const struct conf_actor *actor, uint32_t previous)
{
	const struct ref ref = actors_find_static(reloader->actors, actor->path);
	struct ref before;

	if (previous == CONF_NONE)
		before = core_first_child(reloader->engine->core,
		                          core_parent(reloader->engine->core, ref));
	else
		before = core_next_sibling(
		    reloader->engine->core,
		    actors_find_static(reloader->actors, conf->actors[previous].path));
	if (before.slot != ref.slot)
		core_place_before(reloader->engine->core, ref, before);
}

/* Those that came go to their places first: otherwise thousands of others, which are in
 * order, would be moved one by one in front of the last that came. */
static void
place_added(struct reloader *reloader, const struct conf *conf,
            const struct conf_plan *plan, uint32_t *seen)
{
	memset(seen, 0xff, sizeof(*seen) * conf->n_actors);
	for (size_t i = 0; i < plan->n; i++) {
		const uint32_t index = plan->at[i].new_index;

		if (index == CONF_NONE || conf->actors[index].parent == CONF_NONE)
			continue;
		const struct conf_actor *actor = &conf->actors[index];
		if (plan->at[i].kind == CHANGE_ADDED)
			place_behind(reloader, conf, actor, seen[actor->parent]);
		seen[actor->parent] = index;
	}
}

/* Siblings in the order of the file: from the last one backwards, each before the next.
 */
static void
put_in_order(struct reloader *reloader, const struct conf *conf, uint32_t *seen)
{
	memset(seen, 0xff, sizeof(*seen) * conf->n_actors);
	for (uint32_t i = conf->n_actors; i-- > 1;) {
		const struct conf_actor *actor = &conf->actors[i];
		const struct ref ref = actors_find_static(reloader->actors, actor->path);
		const uint32_t next = seen[actor->parent];

		/* Not core_ref(): to the core a deleted actor, which is still there, has
		 * none. */
		core_place_before(reloader->engine->core, ref,
		                  next == CONF_NONE ? REF_NONE
		                                    : reloader->actors->at[next].ref);
		seen[actor->parent] = ref.slot;
	}
}

/* What is known of an actor of the configuration that runs. */
static struct actor *
actor_at(struct reloader *reloader, const struct conf_actor *conf)
{
	struct ref ref = actors_find_static(reloader->actors, conf->path);

	ASSERT(ref.slot != REF_NONE.slot);
	return &reloader->actors->at[ref.slot];
}

/*
 * Removed actors keep their configuration until they are gone.  They are stopped from the
 * last one backwards; an actor below another removed actor is stopped by that supervisor.
 */
static void
remove_actors(struct reloader *reloader, const struct conf *old,
              const struct conf_plan *plan, struct retired *retired)
{
	for (size_t i = 0; i < plan->n; i++) {
		if (plan->at[i].kind != CHANGE_REMOVED)
			continue;
		struct actor *actor =
		    actor_at(reloader, &old->actors[plan->at[i].old_index]);
		actor->conf_owner = retired->conf;
		retired->users++;
	}
	for (size_t i = plan->n; i-- > 0;) {
		const struct conf_actor *actor = NULL;

		if (plan->at[i].kind != CHANGE_REMOVED)
			continue;
		actor = &old->actors[plan->at[i].old_index];
		if (actor_at(reloader, &old->actors[actor->parent])->conf_owner == NULL)
			core_remove(reloader->engine->core,
			            actor_at(reloader, actor)->ref,
			            reloader->engine->now_ms);
	}
}

/*
 * The file has another number of replicas than before: that is how many there are.  What
 * `scale` added beyond is removed, what it took away is back.
 */
static void
follow_replicas(struct reloader *reloader, const struct conf *conf,
                const struct conf_actor *one)
{
	struct ref parent = parent_ref(reloader, conf, one);

	CORE_FOREACH_CHILD (ref, reloader->engine->core, parent) {
		const struct actor *actor = actors_get(reloader->actors, ref);

		if (actor->grown != NULL && actor->conf->base != NULL &&
		    strcmp(actor->conf->base, one->base) == 0 &&
		    conf_find(conf, actor->path) == CONF_NONE)
			core_remove(reloader->engine->core, ref,
			            reloader->engine->now_ms);
	}
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		struct ref ref = actors_find(reloader->actors, actor->path);

		if (actor->parent == one->parent && actor->base != NULL &&
		    strcmp(actor->base, one->base) == 0 && ref.slot != REF_NONE.slot &&
		    !core_valid(reloader->engine->core, ref))
			core_restore(reloader->engine->core, ref,
			             reloader->engine->now_ms);
	}
}

static bool
are_replicas_of_one(const struct conf_actor *a, const struct conf_actor *b)
{
	const size_t folder = (size_t)(strrchr(a->path, '/') - a->path) + 1;

	return a->base != NULL && b->base != NULL && strcmp(a->base, b->base) == 0 &&
	       strncmp(a->path, b->path, folder) == 0 &&
	       strchr(b->path + folder, '/') == NULL;
}

/* The actor in the new configuration, or any other of the same base; NULL: none is left.
 */
static const struct conf_actor *
namesake(const struct conf *old, const struct conf *conf,
         const struct conf_change *change)
{
	if (change->new_index != CONF_NONE)
		return &conf->actors[change->new_index];
	const struct conf_actor *gone = &old->actors[change->old_index];
	for (uint32_t i = 1; i < conf->n_actors; i++)
		if (are_replicas_of_one(gone, &conf->actors[i]))
			return &conf->actors[i];
	return NULL;
}

/* The replicas of each actor of which some came or went, in the order of the plan: those
 * of one actor follow each other in it, and are looked at once for all of them. */
static void
follow_all_replicas(struct reloader *reloader, const struct conf *old,
                    const struct conf *conf, const struct conf_plan *plan)
{
	const struct conf_actor *last = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct conf_change *change = &plan->at[i];
		const struct conf_actor *actor = change->new_index != CONF_NONE
		                                     ? &conf->actors[change->new_index]
		                                     : &old->actors[change->old_index];
		const struct conf_actor *one = NULL;

		if (change->kind != CHANGE_ADDED && change->kind != CHANGE_REMOVED)
			continue;
		if (actor->base == NULL ||
		    (last != NULL && are_replicas_of_one(last, actor)))
			continue;
		last = actor;
		one = namesake(old, conf, change);
		if (one != NULL)
			follow_replicas(reloader, conf, one);
		keeper_beat(reloader->keeper);
	}
}

void
reload_carry_out(struct reloader *reloader, const struct reload *reload,
                 struct tables *tables, struct retired *retired)
{
	const struct conf *conf = reload->conf;
	const struct conf_plan *plan = &reload->plan;
	const struct conf *old = reloader->actors->conf;
	struct ref kept = REF_NONE;

	/* Removed actors first: an actor of another kind comes back under the same name.
	 */
	remove_actors(reloader, old, plan, retired);
	for (size_t i = 0; i < plan->n; i++) {
		const struct conf_change *change = &plan->at[i];

		if (change->kind == CHANGE_ADDED)
			reload_add(reloader, conf, change->new_index, tables);
		else if (change->kind != CHANGE_REMOVED)
			kept = keep(reloader, reload, change, tables->conf_id, kept);
		/* A hundred thousand actors take a while. */
		if (i % 1024 == 0)
			keeper_beat(reloader->keeper);
	}
	if (plan->n_added + plan->n_moved > 0) {
		place_added(reloader, conf, plan, tables->seen);
		put_in_order(reloader, conf, tables->seen);
	}
	follow_all_replicas(reloader, old, conf, plan);
}
