/* SPDX-License-Identifier: ISC */
/* additions.c - actors that were added at run time: their configurations, and the log. */
#include "config.h"

#include "daemon/reload/additions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cleanup.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/reload/additions_log.h"
#include "daemon/reload/follow.h"
#include "daemon/reload/reload.h"
#include "daemon/state/actors.h"
#include "daemon/state/keeper.h"
#include "daemon/state/log.h"
#include "daemon/state/recording.h"
#include "ledger/handover.h"
#include "ledger/link.h"

_Static_assert(CONF_ADDED_MAX <= CORE_ADDED_MAX, "the core takes them at once");

/* ---- the table ---- */

/* Nothing was added. */
struct additions *
additions_new(void)
{
	struct additions *additions = calloc(1, sizeof(*additions));

	if (additions == NULL)
		return NULL;
	*additions = (struct additions){.next_id = ADDITION_BIT | 1, .log_fd = -1};
	return additions;
}

static void
grown_free(struct grown *grown)
{
	if (grown == NULL)
		return;
	for (uint32_t i = 0; i < CORE_ADDED_MAX; i++)
		free(grown->paths[i]);
	conf_free(grown->conf);
	free(grown->specs);
	free(grown);
}

/* Forget everything here; the walker keeps its copies. */
void
additions_free(struct additions *additions)
{
	if (additions == NULL)
		return;
	for (uint32_t i = 0; i < additions->n; i++)
		grown_free(additions->at[i]);
	free(additions->at);
	map_done(&additions->by_id);
	additions_log_close(additions);
	free(additions);
}

/* Everything that the core will ask for, from the configuration. */
static int
describe(struct grown *grown, const uint32_t incarnations[CORE_ADDED_MAX])
{
	const struct conf *conf = grown->conf;

	grown->spec.n = conf->n_actors;
	grown->specs = calloc(conf->n_actors, sizeof(*grown->specs));
	for (uint32_t i = 0; i < conf->n_actors; i++) {
		grown->spec.at[i].parent = i == 0 ? 0 : conf->actors[i].parent;
		grown->spec.at[i].incarnation = incarnations[i];
		grown->paths[i] = strdup(conf->actors[i].path);
		if (grown->paths[i] == NULL || grown->specs == NULL)
			return -ENOMEM;
		conf_name_spec(&conf->actors[i], &grown->specs[i]);
		grown->spec.at[i].spec = &grown->specs[i];
	}
	return 0;
}

static int
insert(struct additions *additions, struct grown *grown)
{
	uint32_t i = additions->n;

	if (!ARRAY_RESERVE(additions->at, i, additions->cap) ||
	    map_put(&additions->by_id, grown->id, i) < 0)
		return -ENOMEM;
	additions->at[i] = grown;
	additions->n++;
	additions->live_bytes += grown->bytes;
	return 0;
}

static void
drop(struct additions *additions, struct sockets *sockets, struct grown *grown)
{
	uint32_t i = 0;
	struct grown *last = additions->at[additions->n - 1];

	if (!map_get(&additions->by_id, grown->id, &i))
		return;
	map_remove(&additions->by_id, grown->id);
	/* The last element takes the free place. */
	additions->at[i] = last;
	if (last != grown)
		(void)map_put(&additions->by_id, last->id, i);
	additions->n--;
	additions->live_bytes -= grown->bytes;
	if (grown->is_open)
		mailboxes_close(sockets, &grown->mailboxes);
	grown_free(grown);
}

struct grown *
additions_find(const struct additions *additions, uint64_t id)
{
	uint32_t i;

	return map_get(&additions->by_id, id, &i) ? additions->at[i] : NULL;
}

/* As a successor would have it. */
static struct grown *
read_entry(const struct log_entry *entry, struct err *err)
{
	struct grown *grown = err_calloc(sizeof(*grown), err, "an actor to be added");

	if (grown == NULL)
		return NULL;
	*grown = (struct grown){
	    .id = entry->id,
	    .bytes = entry->bytes,
	    .conf = conf_unpack_block(entry + 1, entry->frozen, err),
	};
	if (grown->conf != NULL && grown->conf->n_actors <= CORE_ADDED_MAX) {
		if (describe(grown, entry->incarnations) == 0)
			return grown;
		err_set(err, ENOMEM, "names of actors to be added");
	}
	grown_free(grown);
	return NULL;
}

/* What the core needs in addition to what it has promised to others. */
static int
reserve(struct reloader *reloader, const struct conf *conf, const struct spec *above,
        struct err *err)
{
	struct additions *additions = reloader->additions;
	struct core_size need = additions->posted;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct spec *spec = &conf->actors[i].spec->core;

		if (i > 0)
			above = &conf->actors[conf->actors[i].parent].spec->core;
		need.pool_bytes += core_spec_bytes(spec, above);
		need.watches += spec->n_watches;
	}
	need.nodes += conf->n_actors;
	int r = reload_make_room(reloader, &need, err);
	if (r < 0)
		return r;
	additions->posted = need;
	return 0;
}

/* Its sockets, as those of the file before the first process of any of its actors. */
static int
open_sockets(struct sockets *sockets, struct grown *grown, struct err *err)
{
	if (grown->is_open)
		return 0;
	int r = mailboxes_open_added(sockets, &grown->mailboxes, grown->conf, err);
	grown->is_open = r == 0;
	return r;
}

/* It is in the tree already: better without them than not at all. */
static void
open_sockets_anyway(struct sockets *sockets, struct grown *grown)
{
	struct err err;

	if (open_sockets(sockets, grown, &err) < 0)
		log_line(LOG_LEVEL_ERROR, "%s", err.text);
}

void
additions_open(struct additions *additions, struct sockets *sockets)
{
	for (uint32_t i = 0; i < additions->n; i++)
		if (additions->at[i]->n_users > 0)
			open_sockets_anyway(sockets, additions->at[i]);
}

void
additions_close(struct additions *additions, struct sockets *sockets)
{
	for (uint32_t i = 0; i < additions->n; i++) {
		struct grown *grown = additions->at[i];

		if (grown->is_open)
			mailboxes_close(sockets, &grown->mailboxes);
		grown->is_open = false;
	}
}

uint64_t
additions_count_sockets(const struct additions *additions)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < additions->n; i++)
		n += additions->at[i]->mailboxes.n;
	return n;
}

/* A configuration that is in nobody's table yet, with its sockets; NULL and a sentence.
 */
static struct grown *
make_grown(struct reloader *reloader, const struct log_entry *entry,
           const struct spec *above, struct err *err)
{
	struct grown *grown = read_entry(entry, err);

	if (grown == NULL)
		return NULL;
	if (reserve(reloader, grown->conf, above, err) == 0 &&
	    open_sockets(reloader->sockets, grown, err) == 0) {
		if (insert(reloader->additions, grown) == 0) {
			/* Leave room for the next addition, too. */
			if (grown->mailboxes.n > 0)
				(void)follow_room(&reloader->limits,
				                  reloader->actors->conf);
			return grown;
		}
		err_set(err, ENOMEM, "one more actor");
		mailboxes_close(reloader->sockets, &grown->mailboxes);
	}
	grown_free(grown);
	return NULL;
}

struct grown *
additions_prepare(struct reloader *reloader, const struct conf *conf, struct ref parent,
                  struct err *err)
{
	const struct actor *above = actors_get(reloader->actors, parent);
	CLEANUP_FREE struct log_entry *entry = additions_log_make(reloader, conf, err);

	if (entry == NULL)
		return NULL;
	int r = keeper_has_room(reloader->keeper, follow_count(conf)) ? 0 : -EMFILE;
	if (r == 0)
		r = additions_log_make_room(reloader, entry->bytes);
	struct grown *grown =
	    r < 0 ? NULL : make_grown(reloader, entry, &above->conf->spec->core, err);
	if (r < 0)
		err_set(err, -r, "room for another actor");
	if (grown != NULL) {
		grown->at = additions_log_append(reloader->additions->log, entry);
		grown->is_posted = true;
		reloader->additions->n_posted++;
	}
	return grown;
}

bool
additions_has_posted(const struct additions *additions, const char *path)
{
	uint32_t left = additions->n_posted;

	/* They are the last ones, few, and soon none. */
	for (uint32_t i = additions->n; left > 0 && i-- > 0;) {
		const struct grown *grown = additions->at[i];

		left -= grown->is_posted;
		if (grown->is_posted && strcmp(grown->conf->actors[0].path, path) == 0)
			return true;
	}
	return false;
}

/* ---- in the tree, and out of it ---- */

void
additions_use(struct grown *grown)
{
	grown->n_users++;
}

void
additions_name(struct reloader *reloader, const struct action *action)
{
	struct grown *grown = additions_find(reloader->additions, action->addition_id);
	const uint32_t i = action->addition_index;

	/* An earlier guardian named the actor, as its record says. */
	if (actors_get(reloader->actors, action->ref) != NULL)
		return;
	ASSERT(grown != NULL && i < grown->spec.n && grown->paths[i] != NULL);
	open_sockets_anyway(reloader->sockets, grown);
	actors_set(reloader->actors, action->ref, grown->paths[i]);
	grown->paths[i] = NULL;
	actors_assign(reloader->actors, action->ref, grown->conf, grown->id, i);
	struct actor *actor = actors_get(reloader->actors, action->ref);
	actor->grown = grown;
	additions_use(grown);
	record_slot(reloader->recording, action->ref.slot);
	if (actor->predecessor.slot != REF_NONE.slot)
		record_slot(reloader->recording, actor->predecessor.slot);
}

void
additions_release(struct reloader *reloader, struct grown *grown)
{
	ASSERT(grown->n_users > 0);
	grown->n_users--;
	if (grown->n_users > 0 || grown->is_posted)
		return;
	if (!procs_are_starting(reloader->processes->procs))
		drop(reloader->additions, reloader->sockets, grown);
	else
		/* A child may read it. */
		reloader->additions->n_idle++;
}

void
additions_on_turn(struct reloader *reloader)
{
	struct additions *additions = reloader->additions;

	/* A removed element is replaced by the last element. */
	for (uint32_t i = additions->n; additions->n_posted > 0 && i-- > 0;) {
		struct grown *grown = additions->at[i];

		if (!grown->is_posted)
			continue;
		grown->is_posted = false;
		free(grown->specs);
		grown->specs = NULL;
		additions->n_posted--;
		if (grown->n_users == 0)
			drop(reloader->additions, reloader->sockets, grown);
	}
	additions->posted = (struct core_size){0};
	if (additions->n_idle == 0 || procs_are_starting(reloader->processes->procs))
		return;
	additions->n_idle = 0;
	for (uint32_t i = additions->n; i-- > 0;)
		if (additions->at[i]->n_users == 0 && !additions->at[i]->is_posted)
			drop(reloader->additions, reloader->sockets, additions->at[i]);
}

/* ---- after a death ---- */

static int
read_log(struct additions *additions, struct err *err)
{
	uint64_t used, at = additions_log_first(additions, &used);

	while (at < used) {
		const struct log_entry *entry =
		    additions_log_entry(additions, at, used, err);
		struct grown *grown = NULL;

		if (entry != NULL)
			grown = read_entry(entry, err);
		if (grown == NULL)
			return -EBADMSG;
		grown->at = at;
		grown->is_posted = true;
		if (insert(additions, grown) < 0) {
			grown_free(grown);
			return err_set(err, ENOMEM, "what was added at run time");
		}
		additions->n_posted++;
		if (entry->id >= additions->next_id)
			additions->next_id = entry->id + 1;
		at += entry->bytes;
	}
	return 0;
}

int
additions_adopt(struct reloader *reloader, struct err *err)
{
	int r = additions_log_adopt(reloader, err);

	return r <= 0 ? r : read_log(reloader->additions, err);
}

void
additions_drop_kept(struct keeper *keeper)
{
	const struct handover *handover = keeper_handover(keeper);

	for (size_t i = 0; handover != NULL && i < handover->n; i++)
		if (VAULT_KIND_OF(handover->vault[i].key) == VAULT_ADDITIONS)
			keeper_release(keeper, handover->vault[i].key);
}
