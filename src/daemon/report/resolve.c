/* SPDX-License-Identifier: ISC */
/* resolve.c - from the names that people write to actors. */
#include "config.h"

#include "daemon/report/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "base/suggest.h"
#include "daemon/report/report.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/glob.h"
#include "daemon/state/system.h"

/* True if the reference is to no actor. */
bool
ref_is_none(struct ref ref)
{
	return ref.slot == REF_NONE.slot;
}

/* Give back the memory; the list is empty and usable again. */
void
ref_list_done(struct ref_list *list)
{
	free(list->at);
	map_done(&list->slots);
	*list = (struct ref_list){0};
}

/* Add an actor that the list does not have; -ENOMEM. */
static int
append_new(struct ref_list *list, struct ref ref)
{
	if (!ARRAY_RESERVE(list->at, list->n, list->cap))
		return -ENOMEM;
	list->at[list->n++] = ref;
	return 0;
}

/* Add an actor unless it is there already; -ENOMEM. */
static int
append(struct ref_list *list, struct ref ref)
{
	uint32_t index;

	if (map_get(&list->slots, ref.slot, &index))
		return 0;
	return map_put(&list->slots, ref.slot, (uint32_t)list->n) < 0
	           ? -ENOMEM
	           : append_new(list, ref);
}

static struct ref
first(const struct reporter *reporter)
{
	return core_ref(reporter->engine->core, CORE_USER);
}

/* What a name can mean, in the order in which it is tried. */
typedef bool meaning(const struct reporter *reporter, struct ref ref, const char *name);

static bool
is_glob_of_path(const struct reporter *reporter, struct ref ref, const char *name)
{
	return glob_selects(name, actors_path(reporter->actors, ref));
}

static bool
is_glob_of_last_name(const struct reporter *reporter, struct ref ref, const char *name)
{
	return glob_selects_last_name(name, actors_path(reporter->actors, ref));
}

/* True if the name is the path of this replica without "@N", with or without "/user/". */
static bool
is_base_of_path(const struct reporter *reporter, struct ref ref, const char *name)
{
	const struct actor *actor = actors_get(reporter->actors, ref);
	const char *path = actors_path(reporter->actors, ref);

	if (actor == NULL || actor->conf == NULL || actor->conf->base == NULL)
		return false;
	const char *base = actor->conf->base;
	if (name[0] != '/')
		path = glob_below_user(path);
	size_t parent_len = (size_t)(names_last(path) - path);
	return strncmp(path, name, parent_len) == 0 &&
	       strcmp(name + parent_len, base) == 0;
}

static bool
is_last_name(const struct reporter *reporter, struct ref ref, const char *name)
{
	return strcmp(names_last(actors_path(reporter->actors, ref)), name) == 0;
}

static bool
is_base_of_last_name(const struct reporter *reporter, struct ref ref, const char *name)
{
	const struct actor *actor = actors_get(reporter->actors, ref);

	return actor != NULL && actor->conf != NULL && actor->conf->base != NULL &&
	       strcmp(actor->conf->base, name) == 0;
}

/* Add all that the name means in this sense; how many they are, or -ENOMEM. */
static int
collect_below(const struct reporter *reporter, struct ref top, meaning *means,
              const char *name, struct ref_list *list)
{
	int found = 0;

	CORE_FOREACH (ref, reporter->engine->core, top) {
		if (!means(reporter, ref, name))
			continue;
		if (append(list, ref) < 0)
			return -ENOMEM;
		found++;
	}
	return found;
}

static int
collect(const struct reporter *reporter, meaning *means, const char *name,
        struct ref_list *list)
{
	return collect_below(reporter, first(reporter), means, name, list);
}

/* Add what the pattern matches: below /user, and only if it says so below /system. */
static int
collect_matches(const struct reporter *reporter, const char *name, struct ref_list *list)
{
	const struct ref system = actors_find(reporter->actors, SYSTEM_PATH);
	int r = collect(reporter, is_glob_of_path, name, list);

	if (r == 0 && strncmp(name, SYSTEM_PATH, strlen(SYSTEM_PATH)) == 0 &&
	    !ref_is_none(system))
		r = collect_below(reporter, system, is_glob_of_path, name, list);
	if (r == 0)
		r = collect(reporter, is_glob_of_last_name, name, list);
	return r;
}

/* An exact path, with or without "/user/": a lookup. */
static struct ref
find_path(const struct reporter *reporter, const char *name)
{
	static const char prefix[] = "/user/";
	struct ref ref = REF_NONE;

	if (name[0] == '/')
		ref = actors_find(reporter->actors, name);
	else if (name[0] != '\0') {
		CLEANUP_FREE char *path = malloc(sizeof(prefix) + strlen(name));
		if (path == NULL)
			return REF_NONE;
		(void)stpcpy(stpcpy(path, prefix), name);
		ref = actors_find(reporter->actors, path);
	}
	/* A temporary actor that ended keeps its slot until its supervisor starts anew.
	 */
	return ref.slot == CORE_ROOT || !core_valid(reporter->engine->core, ref)
	           ? REF_NONE
	           : ref;
}

/* True if all have the same parent; else the name is ambiguous. */
static bool
are_siblings(const struct reporter *reporter, const struct ref_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (core_parent(reporter->engine->core, list->at[i]).slot !=
		    core_parent(reporter->engine->core, list->at[0]).slot)
			return false;
	return true;
}

static void
suggest_candidates(const struct reporter *reporter, const char *name,
                   struct candidates *ret)
{
	struct suggest suggest = {.word = names_last(name)};

	CORE_FOREACH (ref, reporter->engine->core, first(reporter)) {
		const char *path = actors_path(reporter->actors, ref);
		size_t best = suggest.distance;

		/* Right last name, wrong path: also worth a hint. */
		suggest_try(&suggest, names_last(path));
		if (suggest.distance < best)
			ret->n = 0;
		if (suggest.best != NULL && ret->n < CANDIDATES_MAX &&
		    suggest_distance(suggest.word, names_last(path)) == suggest.distance)
			ret->at[ret->n++] = path;
	}
}

/* A last name: fine if only one actor has it, or if all are replicas of one. */
static int
resolve_last_name(const struct reporter *reporter, const char *name,
                  struct ref_list *list, struct candidates *ret)
{
	CLEANUP(ref_list_done) struct ref_list found = {0};

	int r = collect(reporter, is_last_name, name, &found);
	bool single = r == 1;

	if (r == 0) {
		r = collect(reporter, is_base_of_last_name, name, &found);
		single = r > 0 && are_siblings(reporter, &found);
	}
	for (size_t i = 0; r > 0 && single && i < found.n; i++)
		if (append(list, found.at[i]) < 0)
			r = -ENOMEM;
	for (size_t i = 0; r > 0 && !single && i < found.n && i < CANDIDATES_MAX; i++)
		ret->at[ret->n++] = actors_path(reporter->actors, found.at[i]);
	return r > 0 && !single ? -ENOTUNIQ : r;
}

/*
 * Add the actors that a name means to the list, each only once.  "all" is /user, unless
 * an actor has that name.
 *
 * The number of actors meant; -ENOENT: none, the candidates are those with the nearest
 * last name; -ENOTUNIQ: several have that last name, they are the candidates; -ENOMEM.
 */
int
resolve_name(const struct reporter *reporter, const char *name, struct ref_list *list,
             struct candidates *ret_candidates)
{
	struct ref ref = find_path(reporter, name);
	int r;

	ret_candidates->n = 0;
	if (!ref_is_none(ref))
		return append(list, ref) < 0 ? -ENOMEM : 1;
	if (glob_is_pattern(name)) {
		r = collect_matches(reporter, name, list);
		return r == 0 ? -ENOENT : r;
	}
	r = collect(reporter, is_base_of_path, name, list);
	if (r == 0 && strchr(name, '/') == NULL)
		r = resolve_last_name(reporter, name, list, ret_candidates);
	if (r == 0 && strcmp(name, "all") == 0)
		return append(list, first(reporter)) < 0 ? -ENOMEM : 1;
	if (r == 0) {
		suggest_candidates(reporter, name, ret_candidates);
		r = -ENOENT;
	}
	return r;
}

/*
 * Where no actor has the name: the newest event of an actor of this path, or path below
 * /user, that is gone; valid until the next event is written.  false: the ring has none.
 */
bool
resolve_gone(const struct reporter *reporter, const char *name, struct event_view *ret)
{
	const struct events *events = reporter->events;

	for (uint64_t seq = events->next_seq; seq-- > events->first_seq;) {
		if (!events_view(events, seq, ret) || ret->record->kind >= REPORT_MAX)
			continue;
		const char *below = glob_below_user(ret->path);
		if (below != ret->path &&
		    strcmp(name[0] == '/' ? ret->path : below, name) == 0)
			return true;
	}
	return false;
}

/* All actors in start order, /user first, in a list that was empty and is to get no name;
 * -ENOMEM. */
int
resolve_all(const struct core *core, struct ref_list *list)
{
	const struct ref top = core_ref(core, CORE_USER);

	CORE_FOREACH (ref, core, top)
		if (append_new(list, ref) < 0)
			return -ENOMEM;
	return 0;
}
