/* SPDX-License-Identifier: ISC */
/* watch_list.c - lists of watches: by watcher, by target, by name. */
#include "config.h"

#include "base/assert.h"
#include "core/wait/wait.h"

#include "core/pure.h"

uint32_t
watch_index(const struct core *core, const struct watch *watch)
{
	return (uint32_t)(watch - (struct watch *)core_block(core, core->at.watches));
}

static void
put_back(struct core *core, struct watch *watch)
{
	*watch = (struct watch){.watcher = NONE, .next = core->watch_free};
	core->watch_free = watch_index(core, watch);
}

/* ---- names ----------------------------------------------------------------------- */

/* Both lists of a name are in the order of the indices, highest first, wherever the
 * core was moved to meanwhile: the same events give the same actions. */

static void
name_watch(struct core *core, struct watch *watch)
{
	const uint32_t i = watch_index(core, watch);
	uint32_t *link = &names_of(core, watch->name)->watches;

	while (*link != NONE && *link > i)
		link = &watch_in(core, *link)->next_named;
	watch->next_named = *link;
	*link = i;
}

static void
unname_watch(struct core *core, struct watch *watch)
{
	uint32_t *link = &names_of(core, watch->name)->watches;

	while (*link != watch_index(core, watch))
		link = &watch_in(core, *link)->next_named;
	*link = watch->next_named;
}

static void
name_node(struct core *core, struct node *node)
{
	const uint32_t slot = node_slot(core, node);
	uint32_t *link = &names_of(core, node->name)->nodes;

	while (*link != NONE && *link > slot)
		link = &node_in(core, *link)->watch.next_named;
	node->watch.next_named = *link;
	*link = slot;
}

static void
unname_node(struct core *core, struct node *node)
{
	uint32_t *link = &names_of(core, node->name)->nodes;

	while (*link != node_slot(core, node))
		link = &node_in(core, *link)->watch.next_named;
	*link = node->watch.next_named;
}

/* True if the node leaves its name to another node: it is being removed, or hidden. */
static bool
gives_way(const struct node *node)
{
	return node->growth.removing || node_is_hidden(node);
}

/* The node that has this name now; NULL: none. */
struct node *
watch_find_named(const struct core *core, uint64_t name)
{
	struct node *found = NULL;

	for (struct node *node = node_at(core, names_of(core, name)->nodes);
	     node != NULL && name != 0; node = node_at(core, node->watch.next_named)) {
		if (node->name == name && (found == NULL || gives_way(found)))
			found = node;
	}
	return found;
}

static void
clear_names(struct core *core)
{
	struct names *names = core_block(core, core->at.names);

	for (uint32_t i = 0; i < core->size.nodes; i++)
		names[i] = (struct names){NONE, NONE, NONE, NONE, NONE};
}

/* An empty pool. */
void
watch_init(struct core *core)
{
	core->watch_free = NONE;
	for (uint32_t i = core->size.watches; i-- > 0;)
		put_back(core, watch_in(core, i));
	clear_names(core);
}

/* Carry the watches of another core over into this one, which has at least as many. */
void
watch_move(struct core *core, const struct core *old)
{
	for (uint32_t i = core->size.watches; i-- > 0;) {
		if (i < old->size.watches)
			*watch_in(core, i) = *watch_in(old, i);
		else
			put_back(core, watch_in(core, i));
	}
	clear_names(core);
	for (uint32_t i = 0; i < core->size.watches; i++)
		if (watch_in(core, i)->watcher != NONE)
			name_watch(core, watch_in(core, i));
	for (uint32_t slot = 0; slot < core->top; slot++)
		if (node_in(core, slot)->used)
			name_node(core, node_in(core, slot));
}

/* ---- who watches whom -------------------------------------------------------------- */

static void
unbind(struct core *core, struct watch *watch)
{
	struct node *target = node_at(core, watch->target);
	struct watch *next = watch_at(core, watch->next_for);
	struct watch *prev = watch_at(core, watch->prev_for);

	if (target == NULL)
		return;
	*(prev != NULL ? &prev->next_for : &target->watch.watchers) = watch->next_for;
	if (next != NULL)
		next->prev_for = watch->prev_for;
	watch->next_for = watch->prev_for = NONE;
	watch->target = NONE;
	target->watch.n_watchers--;
}

static void
bind(struct core *core, struct watch *watch, struct node *target)
{
	uint32_t i = watch_index(core, watch);
	struct watch *first = watch_at(core, target->watch.watchers);

	ASSERT(watch->target == NONE);
	/* Oneself is not watched. */
	if (node_slot(core, target) == watch->watcher)
		return;
	watch->target = node_slot(core, target);
	watch->next_for = target->watch.watchers;
	if (first != NULL)
		first->prev_for = i;
	target->watch.watchers = i;
	target->watch.n_watchers++;
	/* The target appeared anew, and its beginning was missed. */
	if (watch->state == WATCH_IDLE && node_has_begun(target) &&
	    node_has_begun(node_in(core, watch->watcher)))
		watch_arm(core, watch);
}

/* A new node: watches of its name are bound to it, unless they have another target still.
 */
void
watch_named(struct core *core, struct node *node)
{
	const uint64_t name = node->name;
	struct watch *next;

	name_node(core, node);
	for (struct watch *of = watch_at(core, names_of(core, name)->watches); of != NULL;
	     of = next) {
		const struct node *target = node_at(core, of->target);

		next = watch_at(core, of->next_named);
		if (of->name != name || name == 0 ||
		    (target != NULL && (node_has_begun(target) || !gives_way(target))))
			continue;
		unbind(core, of);
		bind(core, of, node);
	}
}

static void
drop(struct core *core, struct watch *watch)
{
	/* The command of the dropped watch goes on; its result is not needed. */
	if (watch->run_serial != 0)
		watch_run_ended(core, watch);
	watch_set_state(core, watch, WATCH_IDLE);
	unbind(core, watch);
	unname_watch(core, watch);
	put_back(core, watch);
	core->n_watches--;
}

static struct watch *
take(struct core *core, struct node *node, const struct watch_spec *spec)
{
	struct watch *watch = watch_at(core, core->watch_free);

	ASSERT(watch != NULL);
	core->watch_free = watch->next;
	core->n_watches++;
	*watch = (struct watch){
	    .name = spec->target,
	    .watcher = node_slot(core, node),
	    .next = NONE,
	    .target = NONE,
	    .next_for = NONE,
	    .prev_for = NONE,
	};
	name_watch(core, watch);
	struct node *target = watch_find_named(core, watch->name);
	if (target != NULL)
		bind(core, watch, target);
	if (node_has_begun(node))
		watch_set_state(core, watch, WATCH_NEW);
	return watch;
}

/* Take the watch for this target off a list of a node's; NULL: there is none. */
static struct watch *
pick(struct core *core, uint32_t *list, uint64_t name)
{
	for (uint32_t *link = list; *link != NONE; link = &watch_in(core, *link)->next) {
		struct watch *watch = watch_in(core, *link);

		if (watch->name != name)
			continue;
		*link = watch->next;
		return watch;
	}
	return NULL;
}

/* Death pacts that are remembered name a watch by its place in the list. */
static void
renumber(struct core *core, const struct node *node, uint32_t from, uint32_t to)
{
	const struct ref ref = node_ref(core, node);

	for (struct node *at = node_in(core, ref.slot); at != NULL;
	     at = node_parent(core, at)) {
		struct cause *cause = &at->failure.cause;

		if (at->failed != FAILED_NOT && cause->kind == CAUSE_DEATH_PACT &&
		    cause->watch == from && at->failure.origin.slot == ref.slot &&
		    at->failure.origin.tenant == ref.tenant)
			cause->watch = to;
	}
}

static bool
is_listed(const struct watch *watch, const struct watch_spec *specs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (specs[i].target == watch->name)
			return true;
	return false;
}

/* Drop the watches that the actor has no more; their untold ends are not told (D-04). */
static void
drop_others(struct core *core, struct node *node, const struct watch_spec *specs,
            uint32_t n)
{
	uint32_t *link = &node->watch.first;

	while (*link != NONE) {
		struct watch *watch = watch_in(core, *link);

		if (is_listed(watch, specs, n)) {
			link = &watch->next;
			continue;
		}
		*link = watch->next;
		renumber(core, node, watch->index + 1, 0);
		drop(core, watch);
	}
}

/*
 * Give the node these watches.  Watches that it had before go on as they are, with their
 * new reactions.
 */
void
watch_take_spec(struct core *core, struct node *node, const struct watch_spec *specs,
                uint32_t n)
{
	uint32_t old, *end = &node->watch.first;

	drop_others(core, node, specs, n);
	old = node->watch.first;
	/* Take all watches off the lists first: a new watch may get the place of an old
	 * watch. */
	for (struct watch *at = watch_at(core, old); at != NULL;
	     at = watch_at(core, at->next))
		renumber(core, node, at->index + 1, SPEC_WATCHES_MAX + 1 + at->index);
	for (uint32_t i = 0; i < n; i++) {
		struct watch *watch = pick(core, &old, specs[i].target);

		if (watch == NULL)
			watch = take(core, node, &specs[i]);
		else
			renumber(core, node, SPEC_WATCHES_MAX + 1 + watch->index, i + 1);
		watch->index = i;
		watch->reaction = specs[i].reaction;
		watch->signal = specs[i].signal;
		watch->next = NONE;
		*end = watch_index(core, watch);
		end = &watch->next;
	}
	*end = NONE;
	core->look_early = true;
}

/* The node is no more; the watches go over to the node that has its path now. */
void
watch_node_freed(struct core *core, struct node *node)
{
	while (node->watch.first != NONE) {
		struct watch *own = watch_at(core, node->watch.first);

		node->watch.first = own->next;
		drop(core, own);
	}
	unname_node(core, node);
	while (node->watch.watchers != NONE) {
		struct watch *of = watch_at(core, node->watch.watchers);
		struct node *successor = watch_find_named(core, of->name);

		if (of->state == WATCH_ARMED)
			watch_fall_due(core, of, false);
		unbind(core, of);
		if (successor != NULL)
			bind(core, of, successor);
	}
}
