/* SPDX-License-Identifier: ISC */
/* actors.c - what the daemon knows of an actor that the core does not. */
#include "config.h"

#include "daemon/state/actors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"

static void
clear(struct actor *actor)
{
	free(actor->path);
	free(actor->status);
	free(actor->tally);
	*actor = (struct actor){
	    .ref = REF_NONE, .predecessor = REF_NONE, .successor = REF_NONE};
}

/* Forget everything. */
void
actors_done(struct actors *actors)
{
	for (uint32_t slot = 0; slot < actors->cap; slot++)
		clear(&actors->at[slot]);
	free(actors->at);
	map_done(&actors->by_path);
	*actors = (struct actors){0};
}

/* Make room for slots below cap and n_paths names, so that actors_set cannot fail. */
int
actors_reserve(struct actors *actors, uint32_t cap, uint32_t n_paths)
{
	const struct actor none = {
	    .ref = REF_NONE, .predecessor = REF_NONE, .successor = REF_NONE};

	return map_reserve(&actors->by_path, n_paths) == 0 &&
	               ARRAY_EXTEND(actors->at, cap, actors->cap, &none)
	           ? 0
	           : -ENOMEM;
}

/* Name the tenant of a slot; there must be room.  A removed namesake keeps its slot, but
 * the name now means the new one. */
void
actors_set(struct actors *actors, struct ref ref, char *take_path)
{
	struct actor *actor = &actors->at[ref.slot];
	uint32_t predecessor;

	ASSERT(ref.slot < actors->cap);
	actors->n_set++;
	clear(actor);
	if (map_get_name(&actors->by_path, take_path, &predecessor)) {
		actor->predecessor = actors->at[predecessor].ref;
		actors->at[predecessor].successor = ref;
	}
	actor->ref = ref;
	actor->path = take_path;
	map_remove_name(&actors->by_path, take_path);
	(void)map_put_name(&actors->by_path, actor->path, ref.slot);
}

/* Name the actor of a slot again, as it was; its path names it unless a new actor, its
 * successor, has the path. */
int
actors_restore(struct actors *actors, struct ref ref, const char *path,
               struct ref successor)
{
	struct actor *actor = &actors->at[ref.slot];

	ASSERT(ref.slot < actors->cap);
	clear(actor);
	actor->path = strdup(path);
	if (actor->path == NULL)
		return -ENOMEM;
	actor->ref = ref;
	actor->successor = successor;
	if (successor.slot == REF_NONE.slot)
		(void)map_put_name(&actors->by_path, actor->path, ref.slot);
	return 0;
}

/* Take over the actor's part of this configuration, which must outlive the actor. */
void
actors_assign(struct actors *actors, struct ref ref, const struct conf *conf,
              uint64_t conf_id, uint32_t index)
{
	struct actor *actor = actors_get(actors, ref);

	ASSERT(actor != NULL);
	actor->conf = &conf->actors[index];
	actor->conf_id = conf_id;
	actor->conf_index = index;
}

/* True if the path means this actor, and not a younger one of the same name. */
bool
actors_has_name(const struct actors *actors, struct ref ref)
{
	const struct actor *actor = actors_get(actors, ref);
	uint32_t slot;

	return actor != NULL && map_get_name(&actors->by_path, actor->path, &slot) &&
	       slot == ref.slot;
}

/* The slot is free again.  A predecessor that still exists has the name again: the next
 * actor of that name waits for the predecessor's end. */
void
actors_clear(struct actors *actors, struct ref ref)
{
	struct actor *actor = actors_get(actors, ref);

	if (actor == NULL)
		return;
	struct actor *predecessor = actors_get(actors, actor->predecessor);
	if (actors_has_name(actors, ref)) {
		map_remove_name(&actors->by_path, actor->path);
		/* There is room: an entry was removed just now. */
		if (predecessor != NULL) {
			predecessor->successor = REF_NONE;
			(void)map_put_name(&actors->by_path, predecessor->path,
			                   predecessor->ref.slot);
		}
	}
	clear(actor);
}

/* What is known of an actor, or NULL. */
struct actor *
actors_get(const struct actors *actors, struct ref ref)
{
	return ref.slot >= actors->cap || actors->at[ref.slot].ref.slot != ref.slot ||
	               actors->at[ref.slot].ref.tenant != ref.tenant
	           ? NULL
	           : &actors->at[ref.slot];
}

/* The user that the actor's processes run as. */
uid_t
actors_uid(const struct actor *actor)
{
	const struct conf_process *process = actor->conf->process;

	return process->identity.has_user ? process->identity.uid : geteuid();
}

/* The actor of that path, or REF_NONE. */
struct ref
actors_find(const struct actors *actors, const char *path)
{
	uint32_t slot;

	return map_get_name(&actors->by_path, path, &slot) ? actors->at[slot].ref
	                                                   : REF_NONE;
}

/* The actor of that path in the configuration, even if an added actor has the path now.
 */
struct ref
actors_find_static(const struct actors *actors, const char *path)
{
	struct ref ref = actors_find(actors, path);
	const struct actor *actor = actors_get(actors, ref);

	while (actor != NULL && actor->grown != NULL) {
		ref = actor->predecessor;
		actor = actors_get(actors, ref);
	}
	return actor == NULL ? REF_NONE : ref;
}

const char *
actors_path(const struct actors *actors, struct ref ref)
{
	const struct actor *actor = actors_get(actors, ref);

	if (actor != NULL)
		return actor->path;
	return ref.slot == CORE_ROOT ? "/" : "?";
}

uint32_t
actors_index(const struct actors *actors, const struct actor *actor)
{
	ASSERT(actor->conf_owner == NULL && actor->grown == NULL);
	return (uint32_t)(actor->conf - actors->conf->actors);
}
