/* SPDX-License-Identifier: ISC */
/* actors.c - what the shell knows of an actor that the core does not. */
#include "config.h"

#include "daemon/actors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* Nothing known; holds no memory. */
void
actors_init(struct actors *actors)
{
	*actors = (struct actors){0};
	map_init(&actors->by_path);
	map_init(&actors->past_by_path);
}

static void
clear(struct actor *actor)
{
	free(actor->path);
	free(actor->status);
	*actor = (struct actor){.ref = REF_NONE, .elder = REF_NONE, .heir = REF_NONE};
}

/* Forget everything. */
void
actors_done(struct actors *actors)
{
	for (uint32_t slot = 0; slot < actors->cap; slot++)
		clear(&actors->at[slot]);
	for (uint32_t i = 0; i < actors->n_past; i++)
		free(actors->past[i].path);
	free(actors->past);
	free(actors->at);
	map_done(&actors->past_by_path);
	map_done(&actors->by_path);
	actors_init(actors);
}

/* Make room for slots below cap and n_paths names, so that actors_set cannot fail. */
int
actors_reserve(struct actors *actors, uint32_t cap, uint32_t n_paths)
{
	struct actor *grown;

	if (map_reserve(&actors->by_path, n_paths) < 0)
		return -ENOMEM;
	if (cap <= actors->cap)
		return 0;
	grown = realloc(actors->at, sizeof(*grown) * cap);
	if (grown == NULL)
		return -ENOMEM;
	for (uint32_t slot = actors->cap; slot < cap; slot++)
		grown[slot] = (struct actor){
		    .ref = REF_NONE,
		    .elder = REF_NONE,
		    .heir = REF_NONE,
		};
	actors->at = grown;
	actors->cap = cap;
	return 0;
}

/* Name the tenant of a slot; there must be room.  A removed namesake keeps its slot, but
 * the name now means the new one. */
void
actors_set(struct actors *actors, struct ref ref, char *take_path,
           const struct conf_actor *conf)
{
	struct actor *actor = &actors->at[ref.slot];
	uint32_t elder;

	ASSERT(ref.slot < actors->cap);
	clear(actor);
	if (map_get_name(&actors->by_path, take_path, &elder)) {
		actor->elder = actors->at[elder].ref;
		actors->at[elder].heir = ref;
	}
	actor->ref = ref;
	actor->path = take_path;
	actor->conf = conf;
	map_remove_name(&actors->by_path, take_path);
	(void)map_put_name(&actors->by_path, actor->path, ref.slot);
}

/* Remember how many of this name there were.  Without memory, or with very many names,
 * the next one begins anew. */
static void
remember(struct actors *actors, char *take_path, uint32_t incarnation)
{
	uint32_t at;

	if (map_get_name(&actors->past_by_path, take_path, &at)) {
		actors->past[at].incarnation = incarnation;
		free(take_path);
		return;
	}
	if (actors->past == NULL)
		actors->past = calloc(ACTORS_PAST_MAX, sizeof(*actors->past));
	at = actors->n_past;
	if (actors->past == NULL || at == ACTORS_PAST_MAX ||
	    map_put_name(&actors->past_by_path, take_path, at) < 0) {
		free(take_path);
		return;
	}
	actors->past[at] = (struct past_actor){take_path, incarnation};
	actors->n_past++;
}

/* The slot is free again; its tenant was the incarnation-th of its name. */
void
actors_clear(struct actors *actors, struct ref ref, uint32_t incarnation)
{
	struct actor *actor = actors_get(actors, ref);
	uint32_t slot;

	if (actor == NULL)
		return;
	if (map_get_name(&actors->by_path, actor->path, &slot) && slot == ref.slot) {
		map_remove_name(&actors->by_path, actor->path);
		remember(actors, actor->path, incarnation);
		actor->path = NULL;
	}
	clear(actor);
}

/* The incarnation of the last one of this name that is gone, or 0. */
uint32_t
actors_past(const struct actors *actors, const char *path)
{
	uint32_t at;

	return map_get_name(&actors->past_by_path, path, &at)
	           ? actors->past[at].incarnation
	           : 0;
}

/* What is known of an actor, or NULL. */
struct actor *
actors_get(const struct actors *actors, struct ref ref)
{
	if (ref.slot >= actors->cap || actors->at[ref.slot].ref.slot != ref.slot ||
	    actors->at[ref.slot].ref.tenant != ref.tenant)
		return NULL;
	return &actors->at[ref.slot];
}

/* The actor of that path, or REF_NONE. */
struct ref
actors_find(const struct actors *actors, const char *path)
{
	uint32_t slot;

	if (!map_get_name(&actors->by_path, path, &slot))
		return REF_NONE;
	return actors->at[slot].ref;
}
