/* SPDX-License-Identifier: ISC */
/* reload_room.c - a ledger and tables that are large enough for the actors that come. */
#include "config.h"

#include <errno.h>

#include "base/bounds.h"
#include "daemon/messages/messages.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/procs.h"
#include "daemon/reload/additions.h"
#include "daemon/reload/follow.h"
#include "daemon/reload/reload.h"
#include "daemon/reload/reload_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "ledger/ledger.h"
#include "os/process/containment.h"
#include "os/spawn/spawn.h"

/* Events that the journal holds besides one for each actor: a successor may have to
 * replay them all. */
#define JOURNAL_MIN 1024

uint64_t
reload_pool_bytes(const struct conf *conf)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		const struct spec *parent = actor->parent == CONF_NONE
		                                ? NULL
		                                : &conf->actors[actor->parent].spec->core;

		bytes += core_spec_bytes(&actor->spec->core, parent);
		/* Most that are alike stand side by side. */
		if (i > 0 &&
		    (actor->spec == actor[-1].spec ||
		     core_spec_is_shared(&actor->spec->core, &actor[-1].spec->core)))
			bytes -= core_shared_bytes();
	}
	return bytes;
}

/* How many watches the actors of this configuration have together. */
uint32_t
reload_watches(const struct conf *conf)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		n += conf->actors[i].spec->core.n_watches;
	return n;
}

/* How much the windows of the children that supervisors have now take with this one. */
static uint64_t
limit_bytes(const struct reloader *reloader, const struct conf *conf)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < conf->n_actors; i++)
		if (conf->actors[i].spec->core.policy.limit.on)
			bytes += core_limit_bytes(
			    reloader->engine->core,
			    actors_find_static(reloader->actors, conf->actors[i].path),
			    &conf->actors[i].spec->core);
	return bytes;
}

/* How large a core has to be for everything that is there and everything that comes; what
 * was added and is not in the core yet needs room, too. */
static int
size_core(struct reloader *reloader, const struct conf *conf, uint32_t n_added,
          struct core_size *ret, struct err *err)
{
	struct core_size size = {.nodes = 1 + SYSTEM_ACTORS + n_added,
	                         .waiters = WAITERS_MAX,
	                         .watches = reload_watches(conf)};
	uint64_t bytes = core_root_bytes() + reload_pool_bytes(conf) +
	                 reload_pool_bytes(system_conf(reloader->system));
	struct core_size used, room;

	if (reloader->engine->core != NULL) {
		core_size(reloader->engine->core, &used);
		core_room(reloader->engine->core, &room);
		/* Count the nodes in use, not the capacity. */
		size.nodes = LARGER(used.nodes - room.nodes + n_added, used.nodes);
		size.watches =
		    LARGER(used.watches - room.watches + size.watches, used.watches);
		/* Twice: an updated node takes its new part before the old one is let go.
		 */
		bytes = 2 * bytes + (used.pool_bytes - room.pool_bytes) +
		        limit_bytes(reloader, conf);
	}
	size.nodes += reloader->additions->posted.nodes;
	size.watches += reloader->additions->posted.watches;
	bytes += reloader->additions->posted.pool_bytes;
	if (bytes > UINT32_MAX / 2)
		return err_set(err, ENOMEM, "%llu bytes of rules and windows",
		               (unsigned long long)bytes);
	size.pool_bytes = (uint32_t)bytes;
	*ret = size;
	return 0;
}

int
reload_reserve(struct reloader *reloader, uint32_t slots, struct err *err)
{
	if (actors_reserve(reloader->actors, slots, slots) == 0 &&
	    procs_reserve(reloader->processes->procs, slots) == 0 &&
	    messages_reserve(reloader->messages, slots) == 0 &&
	    post_reserve(reloader->post, slots) == 0)
		return 0;
	return err_set(err, ENOMEM, "memory for a tree of %u actors", slots);
}

static struct ledger_size
size_ledger(const struct core_size *core)
{
	return (struct ledger_size){
	    .slots = core->nodes,
	    .journal = JOURNAL_MIN + core->nodes,
	    .core_bytes = core_bytes(core),
	    .core_sure = core_sure_bytes(core),
	    .events_bytes = sizeof(struct events_ring),
	};
}

/* An empty ledger: *room, if it has that size (*room is NULL then), else a new one. */
static struct ledger *
empty_ledger(const struct ledger_size *size, struct ledger **room, struct err *err)
{
	struct ledger *ledger = room != NULL ? *room : NULL;
	struct ledger_size had;

	if (ledger != NULL) {
		ledger_size(ledger, &had);
		if (had.slots == size->slots && had.core_bytes == size->core_bytes) {
			*room = NULL;
			return ledger_complete(ledger, err);
		}
	}
	return ledger_new(size, err);
}

/* A ledger for a core of that size: the present one, moved, or an empty one.  The one in
 * force stays as it is. */
static struct ledger *
make_ledger(struct reloader *reloader, const struct core_size *core, uint64_t seed,
            struct ledger **room, struct err *err)
{
	const struct ledger_size size = size_ledger(core);

	if (reload_reserve(reloader, core->nodes, err) < 0)
		return NULL;
	struct ledger *ledger = empty_ledger(&size, room, err);
	if (ledger == NULL)
		return NULL;
	if (reloader->recording->ledger != NULL)
		ledger_copy(ledger, reloader->recording->ledger);
	if (reloader->engine->core != NULL)
		(void)core_move(ledger_core(ledger), core, reloader->engine->core);
	else
		(void)core_init(ledger_core(ledger), core, seed);
	return ledger;
}

struct ledger *
reload_new_ledger(struct reloader *reloader, const struct coming *coming, struct err *err)
{
	const struct ledger *now = reloader->recording->ledger;
	struct ledger *filled = coming->room_state == 0 ? NULL : *coming->room;
	struct core_size core;

	/* Actors that were added in this turn need more room. */
	if (filled != NULL && coming->room_state == ledger_state(now) &&
	    reloader->additions->posted.nodes == 0) {
		*coming->room = NULL;
		ledger_copy(filled, now);
		return filled;
	}
	if (size_core(reloader, coming->conf, coming->n_added, &core, err) < 0)
		return NULL;
	return make_ledger(reloader, &core, coming->seed, coming->room, err);
}

struct ledger *
reload_new_room(struct reloader *reloader, const struct coming *coming, struct err *err)
{
	struct core_size core;

	if (size_core(reloader, coming->conf, coming->n_added, &core, err) < 0)
		return NULL;
	struct ledger_size size = size_ledger(&core);
	return ledger_new(&size, err);
}

struct coming
reload_coming(struct reload *reload)
{
	return (struct coming){.conf = reload->conf,
	                       .n_added = reload->plan.n_added,
	                       .room = &reload->room,
	                       .room_state = reload->room_state};
}

void
reload_take_memory(struct reloader *reloader, struct reload *reload)
{
	struct core_size core;
	struct err err;

	if (size_core(reloader, reload->conf, reload->plan.n_added, &core, &err) < 0)
		return;
	const struct ledger_size size = size_ledger(&core);
	reload->room = ledger_begin(&size, &err);
}

bool
reload_take_more(struct reload *reload)
{
	struct err err;
	int r = reload->room == NULL ? 0 : ledger_take(reload->room, &err);

	if (r < 0) {
		ledger_free(reload->room);
		reload->room = NULL;
	}
	return r > 0;
}

void
reload_fill_memory(struct reloader *reloader, struct reload *reload)
{
	const struct coming coming = reload_coming(reload);
	struct err err;

	/* In the midst of a turn of the core there is nothing to be copied. */
	if (post_is_stepping(reloader->post))
		return;
	struct ledger *filled = reload_new_ledger(reloader, &coming, &err);
	ledger_free(reload->room);
	reload->room = filled;
	reload->room_state = ledger_state(reloader->recording->ledger);
}

int
reload_make_room(struct reloader *reloader, const struct core_size *need, struct err *err)
{
	struct ledger *before = reloader->recording->ledger, *ledger;
	struct core_size size, room;
	uint64_t in_use = core_pool_in_use(reloader->engine->core);

	core_size(reloader->engine->core, &size);
	core_room(reloader->engine->core, &room);
	if (room.nodes >= need->nodes && room.pool_bytes >= need->pool_bytes &&
	    room.watches >= need->watches)
		return 0;
	if (size.nodes - room.nodes + need->nodes > CONF_ACTORS_MAX ||
	    in_use + need->pool_bytes > UINT32_MAX / 4)
		return err_set(err, EDQUOT, "more than %d actors", CONF_ACTORS_MAX);
	if (room.nodes < need->nodes)
		size.nodes = 2 * size.nodes + need->nodes;
	if (room.watches < need->watches)
		size.watches = 2 * size.watches + need->watches;
	size.pool_bytes = (uint32_t)(2 * (in_use + need->pool_bytes));
	ledger = make_ledger(reloader, &size, 0, NULL, err);
	if (ledger == NULL)
		return -ENOMEM;
	reload_use_ledger(reloader, ledger);
	reload_hand_over(reloader);
	procs_drop_ledger(reloader->processes->procs, before);
	follow_limits(&reloader->limits, reloader->actors->conf);
	return 0;
}
