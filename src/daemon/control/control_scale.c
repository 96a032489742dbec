/* SPDX-License-Identifier: ISC */
/* control_scale.c - Scale: so many instances of an actor with `replicas`. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "daemon/control/handlers.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/loading.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/post.h"

#define SCALE_MAX WAITERS_MAX

/* The replicas of a base name below a supervisor. */
struct replicas {
	struct ref parent;
	char *path;       /* of the base */
	const char *base; /* its last part */
	uint32_t wanted;
	bool *is_there; /* by number - 1, up to the wanted number */
	struct ref
	    *surplus; /* in the order of their start: they go in the reverse of it */
	size_t n_surplus, cap_surplus;
	uint32_t n_missing;
};

static void
replicas_done(struct replicas *replicas)
{
	free(replicas->path);
	free(replicas->is_there);
	free(replicas->surplus);
}

/* The number of this child among the replicas; 0: it is no replica of them. */
static uint32_t
replicas_number_of(const struct control_uses *uses, const struct replicas *replicas,
                   struct ref ref)
{
	const struct actor *actor = actors_get(uses->actors, ref);

	if (actor == NULL || actor->conf->base == NULL || actor->conf_owner != NULL ||
	    strcmp(actor->conf->base, replicas->base) != 0)
		return 0;
	return (uint32_t)strtoul(strrchr(actor->path, '@') + 1, NULL, 10);
}

static int
replicas_note_surplus(struct replicas *replicas, struct ref ref)
{
	if (!ARRAY_RESERVE(replicas->surplus, replicas->n_surplus, replicas->cap_surplus))
		return -ENOMEM;
	replicas->surplus[replicas->n_surplus++] = ref;
	return 0;
}

/* Count the existing replicas, and note those above the wanted number; -ENOMEM. */
static int
replicas_count(const struct control_uses *uses, struct replicas *replicas)
{
	replicas->is_there = calloc(replicas->wanted + 1, sizeof(bool));
	if (replicas->is_there == NULL)
		return -ENOMEM;
	replicas->n_missing = replicas->wanted;
	CORE_FOREACH_CHILD (ref, uses->engine->core, replicas->parent) {
		uint32_t number = replicas_number_of(uses, replicas, ref);

		if (number == 0 || engine_view(uses->engine, ref).growth.removing)
			continue;
		if (number > replicas->wanted) {
			if (replicas_note_surplus(replicas, ref) < 0)
				return -ENOMEM;
		} else {
			replicas->is_there[number - 1] = true;
			replicas->n_missing--;
		}
	}
	return 0;
}

/* The highest first. */
static void
reply_scaled(struct conn *conn)
{
	struct served_call *call = &conn->call;
	struct candidates candidates;

	ref_list_done(&call->list);
	/* Without a replica the answer has no actor. */
	(void)resolve_name(conn->control->uses.reporter, call->base_path, &call->list,
	                   &candidates);
	reply_actors(conn);
}

/* Prepare the missing replicas; false: an error was replied. */
static bool
replicas_add(struct conn *conn, const struct replicas *replicas, struct grown **grown)
{
	const struct conf_addition addition = {
	    .parent = actors_path(conn->control->uses.actors, replicas->parent),
	    .name = replicas->base,
	};
	CLEANUP_FREE uint32_t *numbers =
	    calloc(replicas->n_missing + 1, sizeof(*numbers));
	uint32_t n = 0;

	if (numbers == NULL)
		return reply_limit(conn, replicas->base, 0);
	for (uint32_t i = 0; i < replicas->wanted; i++)
		if (!replicas->is_there[i])
			numbers[n++] = i + 1;
	return n == 0 || grow_prepare_replicas(conn, replicas->parent,
	                                       &(struct conf_replicas){
	                                           .addition = &addition,
	                                           .numbers = numbers,
	                                           .n = n,
	                                       },
	                                       grown);
}

/* All of it is posted, or nothing. */
static void
replicas_scale(struct conn *conn, struct replicas *replicas)
{
	const size_t n = replicas->n_surplus + replicas->n_missing;
	CLEANUP_FREE struct grown **grown =
	    calloc(replicas->n_missing + 1, sizeof(struct grown *));
	struct served_call *call = &conn->call;
	size_t target = 0;

	if (grown == NULL) {
		reply_limit(conn, replicas->base, 0);
	} else if (n == 0) {
		reply_scaled(conn);
	} else if (wait_prepare(conn, n) && replicas_add(conn, replicas, grown)) {
		token_keep(conn, KEEP_ALWAYS);
		grow_event(conn, replicas->path, "scale");
		for (size_t i = 0; i < replicas->n_surplus; i++)
			wait_post(conn, target++,
			          &(const struct event){.kind = EVENT_DELETE,
			                                .ref = replicas->surplus[i],
			                                .stop = true});
		for (uint32_t i = 0; i < replicas->n_missing; i++)
			grow_post(conn, target++, replicas->parent, grown[i]);
		call->finish = reply_scaled;
		call->fail = grow_reply_not_added;
		call->state = CALL_TARGETS;
	}
}

/* The path of the base that a name means; NULL: an error was replied. */
static char *
replicas_find_base(struct conn *conn, const char *name)
{
	const struct control_uses *uses = &conn->control->uses;
	struct ref_list *list = &conn->call.list;
	char *path = name[0] == '/'
	                 ? strdup(name)
	                 : grow_path(uses, core_ref(uses->engine->core, CORE_USER), name);

	/* The name as given, even without a replica. */
	if (path != NULL && conf_has_replicas(uses->actors->conf, path))
		return path;
	free(path);
	if (!call_resolve_name(conn, name, list))
		return NULL;
	const struct actor *actor = actors_get(uses->actors, list->at[0]);
	path = NULL;
	if (actor != NULL && actor->conf->base != NULL &&
	    strcmp(names_last(name), actor->conf->base) == 0)
		path = grow_path(uses, core_parent(uses->engine->core, list->at[0]),
		                 actor->conf->base);
	if (path != NULL && conf_has_replicas(uses->actors->conf, path))
		return path;
	free(path);
	reply_invalid_state(conn, list->at[0],
	                    "it has no `replicas` in the configuration");
	return NULL;
}

/* Give an actor with `replicas` another number of them: missing instances are added, or
 * those with the highest numbers stopped and deleted. */
void
handle_scale(struct conn *conn)
{
	const struct control_uses *uses = &conn->control->uses;
	const char *name = param_string(conn, "name");
	int64_t wanted = param_int(conn, "replicas", 0);
	CLEANUP(replicas_done) struct replicas replicas = {.parent = REF_NONE};

	if (grow_refuses(conn, name))
		return;
	replicas.path = replicas_find_base(conn, name);
	if (replicas.path == NULL)
		return;
	conn->call.base_path = strdup(replicas.path);
	if (conn->call.base_path == NULL) {
		reply_limit(conn, name, 0);
		return;
	}
	if (token_resumes(conn, reply_scaled, grow_reply_not_added))
		return;
	replicas.base = names_last(replicas.path);
	CLEANUP_FREE char *above =
	    strndup(replicas.path, (size_t)(replicas.base - replicas.path) - 1);
	if (above != NULL)
		replicas.parent = actors_find(uses->actors, above);
	if (wanted > SCALE_MAX)
		reply_limit(conn, replicas.path, SCALE_MAX);
	else if (!core_valid(uses->engine->core, replicas.parent))
		grow_reply_state(conn, replicas.path, "stopped",
		                 "its supervisor is not there");
	else {
		replicas.wanted = (uint32_t)wanted;
		if (replicas_count(uses, &replicas) < 0)
			reply_limit(conn, replicas.path, 0);
		else
			replicas_scale(conn, &replicas);
	}
}
