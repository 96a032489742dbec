/* SPDX-License-Identifier: ISC */
/* reload_steps.c - the steps of a reload that cannot fail: the tree becomes another. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "daemon/reload/reload_private.h"
#include "daemon/state/keeper.h"
#include "daemon/state/recording.h"
#include "daemon/state/shell.h"
#include "ledger/ledger.h"

static struct ref
parent_ref(const struct shell *shell, const struct conf *conf,
           const struct conf_actor *actor)
{
	if (actor->parent == CONF_NONE)
		return core_ref(shell->engine.core, CORE_ROOT);
	return actors_find_static(&shell->actors, conf->actors[actor->parent].path);
}

void
reload_add(struct shell *shell, const struct conf *conf, uint32_t index,
           struct tables *tables)
{
	const struct conf_actor *actor = &conf->actors[index];
	struct ref elder = actors_find(&shell->actors, actor->path);
	struct ref ref = core_add(shell->engine.core, parent_ref(shell, conf, actor),
	                          REF_NONE, &actor->spec, shell->engine.now_ms);
	uint32_t incarnation = ledger_past(shell->recording.ledger, actor->path);
	struct node_view view;

	if (core_valid(shell->engine.core, elder)) {
		/* The new one waits until the old one is gone. */
		engine_view(&shell->engine, elder, &view);
		incarnation = view.run.incarnation;
		/* The file has the name now: the added actor goes. */
		if (view.growth.is_added && !view.growth.removing)
			core_remove(shell->engine.core, elder, shell->engine.now_ms);
		core_hasten(shell->engine.core, elder);
	}
	core_set_incarnation(shell->engine.core, ref, incarnation + 1);
	actors_set(&shell->actors, ref, tables->paths[index]);
	tables->paths[index] = NULL;
	actors_assign(&shell->actors, ref, conf, tables->conf_id, index);
	record_slot(&shell->recording, ref.slot);
	if (shell->actors.at[ref.slot].elder.slot != REF_NONE.slot)
		record_slot(&shell->recording, shell->actors.at[ref.slot].elder.slot);
}

/* The work of an actor that is done is not done again, only because its keys changed;
 * they take effect at its next start.  An actor that is never done from now on starts. */
bool
reload_reruns(const struct shell *shell, const struct reload *reload,
              const struct conf_change *change, struct ref ref)
{
	struct node_view view;

	engine_view(&shell->engine, ref, &view);
	return view.state != STATE_DONE || reload->rerun ||
	       reload->conf->actors[change->new_index].spec.restart == RESTART_PERMANENT;
}

static void
keep(struct shell *shell, const struct reload *reload, const struct conf_change *change,
     uint64_t conf_id)
{
	const struct conf *conf = reload->conf;
	const struct conf_actor *actor = &conf->actors[change->new_index];
	struct ref ref = actors_find_static(&shell->actors, actor->path);

	ASSERT(ref.slot != REF_NONE.slot);
	actors_assign(&shell->actors, ref, conf, conf_id, change->new_index);
	record_slot(&shell->recording, ref.slot);
	/* Rules carry places: after an edit even an unchanged actor has new ones. */
	core_update(shell->engine.core, ref, &actor->spec, shell->engine.now_ms);
	if (change->kind == CHANGE_RESTARTED && reload_reruns(shell, reload, change, ref))
		core_restart(shell->engine.core, ref, shell->engine.now_ms);
}

/* Put an actor that came behind this elder sibling, CONF_NONE: before all others. */
static void
place_behind(struct shell *shell, const struct conf *conf, const struct conf_actor *actor,
             uint32_t elder)
{
	const struct ref ref = actors_find_static(&shell->actors, actor->path);
	struct ref before = REF_NONE;

	if (elder == CONF_NONE)
		before = core_first_child(shell->engine.core,
		                          core_parent(shell->engine.core, ref));
	else
		before = core_next_sibling(
		    shell->engine.core,
		    actors_find_static(&shell->actors, conf->actors[elder].path));
	if (before.slot != ref.slot)
		core_place_before(shell->engine.core, ref, before);
}

/* Those that came go to their places first: otherwise thousands of others, which are in
 * order, would be moved one by one in front of the last that came. */
static void
place_added(struct shell *shell, const struct conf *conf, const struct conf_plan *plan,
            uint32_t *seen)
{
	memset(seen, 0xff, sizeof(*seen) * conf->n_actors);
	for (size_t i = 0; i < plan->n; i++) {
		const uint32_t index = plan->at[i].new_index;
		const struct conf_actor *actor;

		if (index == CONF_NONE || conf->actors[index].parent == CONF_NONE)
			continue;
		actor = &conf->actors[index];
		if (plan->at[i].kind == CHANGE_ADDED)
			place_behind(shell, conf, actor, seen[actor->parent]);
		seen[actor->parent] = index;
	}
}

/* Siblings in the order of the file: from the last one backwards, each before the next.
 */
static void
put_in_order(struct shell *shell, const struct conf *conf, uint32_t *seen)
{
	memset(seen, 0xff, sizeof(*seen) * conf->n_actors);
	for (uint32_t i = conf->n_actors; i-- > 1;) {
		const struct conf_actor *actor = &conf->actors[i];
		struct ref ref = actors_find_static(&shell->actors, actor->path);
		struct ref before = REF_NONE;
		uint32_t next = seen[actor->parent];

		if (next != CONF_NONE)
			before =
			    actors_find_static(&shell->actors, conf->actors[next].path);
		core_place_before(shell->engine.core, ref, before);
		seen[actor->parent] = i;
	}
}

/* What the shell knows of an actor of the configuration that runs. */
static struct actor *
actor_at(struct shell *shell, const struct conf_actor *conf)
{
	struct ref ref = actors_find_static(&shell->actors, conf->path);

	ASSERT(ref.slot != REF_NONE.slot);
	return &shell->actors.at[ref.slot];
}

/*
 * Removed actors keep their configuration until they are gone.  They are stopped from the
 * last one backwards; an actor below another removed actor is stopped by that supervisor.
 */
static void
remove_actors(struct shell *shell, const struct conf *old, const struct conf_plan *plan,
              struct retired *retired)
{
	for (size_t i = 0; i < plan->n; i++) {
		struct actor *actor;

		if (plan->at[i].kind != CHANGE_REMOVED)
			continue;
		actor = actor_at(shell, &old->actors[plan->at[i].old_index]);
		actor->conf_owner = retired->conf;
		retired->users++;
		record_slot(&shell->recording, actor->ref.slot);
	}
	for (size_t i = plan->n; i-- > 0;) {
		const struct conf_actor *actor = NULL;

		if (plan->at[i].kind != CHANGE_REMOVED)
			continue;
		actor = &old->actors[plan->at[i].old_index];
		if (actor_at(shell, &old->actors[actor->parent])->conf_owner == NULL)
			core_remove(shell->engine.core, actor_at(shell, actor)->ref,
			            shell->engine.now_ms);
	}
}

/*
 * The file has another number of replicas than before: that is how many there are.  What
 * `scale` added beyond is removed, what it took away is back.
 */
static void
follow_replicas(struct shell *shell, const struct conf *conf,
                const struct conf_actor *one)
{
	struct ref parent = parent_ref(shell, conf, one);

	for (struct ref ref = core_first_child(shell->engine.core, parent);
	     ref.slot != REF_NONE.slot;
	     ref = core_next_sibling(shell->engine.core, ref)) {
		const struct actor *actor = actors_get(&shell->actors, ref);

		if (actor->grown != NULL && actor->conf->base != NULL &&
		    strcmp(actor->conf->base, one->base) == 0 &&
		    conf_find(conf, actor->path) == CONF_NONE)
			core_remove(shell->engine.core, ref, shell->engine.now_ms);
	}
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		struct ref ref = actors_find(&shell->actors, actor->path);

		if (actor->parent == one->parent && actor->base != NULL &&
		    strcmp(actor->base, one->base) == 0 && ref.slot != REF_NONE.slot &&
		    !core_valid(shell->engine.core, ref))
			core_restore(shell->engine.core, ref, shell->engine.now_ms);
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
	const struct conf_actor *gone;

	if (change->new_index != CONF_NONE)
		return &conf->actors[change->new_index];
	gone = &old->actors[change->old_index];
	for (uint32_t i = 1; i < conf->n_actors; i++)
		if (are_replicas_of_one(gone, &conf->actors[i]))
			return &conf->actors[i];
	return NULL;
}

/* The replicas of each actor of which some came or went, in the order of the plan: those
 * of one actor follow each other in it, and are looked at once for all of them. */
static void
follow_all_replicas(struct shell *shell, const struct conf *old, const struct conf *conf,
                    const struct conf_plan *plan)
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
			follow_replicas(shell, conf, one);
		keeper_beat(shell->keeper);
	}
}

void
reload_carry_out(struct shell *shell, const struct reload *reload, struct tables *tables,
                 struct retired *retired)
{
	const struct conf *conf = reload->conf;
	const struct conf_plan *plan = &reload->plan;
	const struct conf *old = shell->actors.conf;

	/* Removed actors first: an actor of another kind comes back under the same name.
	 */
	remove_actors(shell, old, plan, retired);
	for (size_t i = 0; i < plan->n; i++) {
		const struct conf_change *change = &plan->at[i];

		if (change->kind == CHANGE_ADDED)
			reload_add(shell, conf, change->new_index, tables);
		else if (change->kind != CHANGE_REMOVED)
			keep(shell, reload, change, tables->conf_id);
		/* Ten thousand actors take a while. */
		keeper_beat(shell->keeper);
	}
	place_added(shell, conf, plan, tables->seen);
	put_in_order(shell, conf, tables->seen);
	follow_all_replicas(shell, old, conf, plan);
}
