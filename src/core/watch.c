/* SPDX-License-Identifier: ISC */
/* watch.c - death watch: telling watchers of final ends, and their reactions.
 *
 * A watch belongs to its watcher for as long as it is configured.  It is registered when
 * an incarnation of the watcher begins, and again when an incarnation of the target does;
 * it tells of a single end, of that incarnation only (Akka's DeathWatch, D-01 to D-10).
 *
 * An end waits until the watcher can take it: a restart of the watcher loses nothing.
 * Both lists of a watch are two-way or short, so that the cost of an end does not grow
 * with the tree.
 */
#include "config.h"

#include "base/assert.h"
#include "core/marks.h"
#include "core/motion.h"

#include "core/pure.h"

static uint32_t
watch_index(const struct core *core, const struct watch *watch)
{
	return (uint32_t)(watch - (struct watch *)core_block(core, core->watches_at));
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

static struct names *
names_of(const struct core *core, uint64_t name)
{
	return (struct names *)core_block(core, core->names_at) + name % core->size.nodes;
}

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
	uint32_t *link = &names_of(core, node->spec.name)->nodes;

	while (*link != NONE && *link > slot)
		link = &node_in(core, *link)->next_named;
	node->next_named = *link;
	*link = slot;
}

static void
unname_node(struct core *core, struct node *node)
{
	uint32_t *link = &names_of(core, node->spec.name)->nodes;

	while (*link != node_slot(core, node))
		link = &node_in(core, *link)->next_named;
	*link = node->next_named;
}

/* One that goes, or is hidden, gives way to another of its name. */
static bool
gives_way(const struct node *node)
{
	return node->removing || node->absent;
}

/* The node that has this name now; NULL: none. */
struct node *
watch_find_named(const struct core *core, uint64_t name)
{
	struct node *found = NULL;

	for (struct node *node = node_at(core, names_of(core, name)->nodes);
	     node != NULL && name != 0; node = node_at(core, node->next_named)) {
		if (node->spec.name == name && (found == NULL || gives_way(found)))
			found = node;
	}
	return found;
}

static void
clear_names(struct core *core)
{
	struct names *names = core_block(core, core->names_at);

	for (uint32_t i = 0; i < core->size.nodes; i++)
		names[i] = (struct names){NONE, NONE, NONE, NONE};
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

/* ---- from one state to the next ---------------------------------------------------- */

static void
look_at(struct core *core, struct node *watcher)
{
	watcher->rewatch = true;
	reconcile_queue(core, watcher);
}

static void
set_state(struct core *core, struct watch *watch, enum watch_state state)
{
	struct node *watcher = node_in(core, watch->watcher);

	core->n_early -= watch->early;
	watch->early = false;
	watcher->n_due -= watch->state == WATCH_DUE;
	watcher->n_due += state == WATCH_DUE;
	watch->state = state;
	if (state == WATCH_NEW || state == WATCH_DUE)
		look_at(core, watcher);
}

static bool
is_below(const struct core *core, const struct node *node, const struct node *top)
{
	while (node != NULL && node != top)
		node = node_parent(core, node);
	return node != NULL;
}

/* It is not told of an end until watch_restore(). */
static void
revoke(struct core *core, struct watch *watch)
{
	watch->unseen = !node_in(core, watch->target)->started;
	set_state(core, watch, WATCH_REVOKED);
}

static void
arm(struct core *core, struct watch *watch)
{
	const struct node *watcher = node_in(core, watch->watcher);

	/* As in watch_revoke(), for a watch that is bound to its target only now. */
	if (watcher->state == STATE_STOPPING && !watcher->children_started &&
	    is_below(core, node_at(core, watch->target), watcher)) {
		revoke(core, watch);
		return;
	}
	set_state(core, watch, WATCH_ARMED);
	watch->early = !node_in(core, watch->target)->started;
	core->n_early += watch->early;
}

/* The target ended, or cannot begin: the watcher is to be told. */
static void
fall_due(struct core *core, struct watch *watch, bool confirmed)
{
	const struct node *target = node_at(core, watch->target);

	watch->due = (struct telling){
	    .ended = REF_NONE,
	    .confirmed = confirmed,
	    .cause = {.kind = CAUSE_NORMAL, .code = -1},
	};
	if (target != NULL) {
		watch->due.ended = node_ref(core, target);
		watch->due.incarnation = target->incarnation;
	}
	if (target != NULL && confirmed) {
		/* ChildFailed, for the parent only (D-10). */
		watch->due.child_failed =
		    target->parent == watch->watcher && target->state == STATE_FAILED;
		watch->due.cause = *node_final_cause(target);
	}
	watch->order = ++core->n_told;
	set_state(core, watch, WATCH_DUE);
}

/* Has the supervisor begun to start, and will this child be started with it? */
static bool
is_about_to_open(const struct node *supervisor, const struct node *child)
{
	if (supervisor->state != STATE_STARTING || supervisor->may_start_children ||
	    child->kept_down)
		return false;
	return !supervisor->children_started ||
	       (!supervisor->resuming && supervisor->spec.keep_children == KEEP_RESTART &&
	        strategy_revives(child));
}

/*
 * The node is down: will it begin without a command?  Not if a supervisor above has
 * passed it over, or does not come up.
 */
bool
watch_is_coming(const struct core *core, const struct node *node)
{
	const struct node *above;

	for (; node->goal == GOAL_DOWN; node = above) {
		if (!node->spec.enabled || node->held || node->removing)
			return false;
		above = node_parent(core, node);
		if (above == NULL)
			return false;
		if (above->goal != GOAL_DOWN && node_is_live(above))
			return above->goal == GOAL_RESTART ||
			       is_about_to_open(above, node);
	}
	return true;
}

/* The watcher runs: from now on it is told of the end, or at once if that was before. */
static void
begin(struct core *core, struct watch *watch)
{
	const struct node *target = node_at(core, watch->target);

	if (target != NULL && (target->started || watch_is_coming(core, target)))
		arm(core, watch);
	else
		fall_due(core, watch, false);
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
	*(prev != NULL ? &prev->next_for : &target->watchers) = watch->next_for;
	if (next != NULL)
		next->prev_for = watch->prev_for;
	watch->next_for = watch->prev_for = NONE;
	watch->target = NONE;
	target->n_watchers--;
}

static void
bind(struct core *core, struct watch *watch, struct node *target)
{
	uint32_t i = watch_index(core, watch);
	struct watch *first = watch_at(core, target->watchers);

	ASSERT(watch->target == NONE);
	/* Oneself is not watched. */
	if (node_slot(core, target) == watch->watcher)
		return;
	watch->target = node_slot(core, target);
	watch->next_for = target->watchers;
	if (first != NULL)
		first->prev_for = i;
	target->watchers = i;
	target->n_watchers++;
	/* The target appeared anew, and its beginning was missed. */
	if (watch->state == WATCH_IDLE && target->started &&
	    node_in(core, watch->watcher)->started)
		arm(core, watch);
}

/* A new node: watches of its name are bound to it, unless they have another target still.
 */
void
watch_named(struct core *core, struct node *node)
{
	const uint64_t name = node->spec.name;
	struct watch *next;

	name_node(core, node);
	for (struct watch *of = watch_at(core, names_of(core, name)->watches); of != NULL;
	     of = next) {
		const struct node *target = node_at(core, of->target);

		next = watch_at(core, of->next_named);
		if (of->name != name || name == 0 ||
		    (target != NULL && (target->started || !gives_way(target))))
			continue;
		unbind(core, of);
		bind(core, of, node);
	}
}

static void
drop(struct core *core, struct watch *watch)
{
	/* The command ends some time; the result is not needed. */
	if (watch->run_serial != 0)
		watch_run_ended(core, watch);
	set_state(core, watch, WATCH_IDLE);
	unbind(core, watch);
	unname_watch(core, watch);
	put_back(core, watch);
	core->n_watches--;
}

static struct watch *
take(struct core *core, struct node *node, const struct watch_spec *spec)
{
	struct watch *watch = watch_at(core, core->watch_free);
	struct node *target;

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
	target = watch_find_named(core, watch->name);
	if (target != NULL)
		bind(core, watch, target);
	if (node->started)
		set_state(core, watch, WATCH_NEW);
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

		if (at->has_failure && cause->kind == CAUSE_DEATH_PACT &&
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

/* Those that the actor has no more: what was not told yet is not told (D-04). */
static void
drop_others(struct core *core, struct node *node, const struct watch_spec *specs,
            uint32_t n)
{
	uint32_t *link = &node->watches;

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
	uint32_t old, *end = &node->watches;

	drop_others(core, node, specs, n);
	old = node->watches;
	/* Out of the way first: one may come where another was. */
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

/* ---- what happens to nodes --------------------------------------------------------- */

/* A new incarnation begins: it watches, and is watched. */
void
watch_begun(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watches); own != NULL;
	     own = watch_at(core, own->next))
		set_state(core, own, WATCH_NEW);
	for (struct watch *of = watch_at(core, node->watchers); of != NULL;
	     of = watch_at(core, of->next_for)) {
		if (of->state == WATCH_ARMED ||
		    (of->state == WATCH_IDLE && node_in(core, of->watcher)->started))
			arm(core, of);
	}
}

/*
 * A watcher stops its children, perhaps to start them anew: that they end then is no news
 * to it (Akka unwatches in preRestart; DECISIONS 48).  What ended before is told.
 */
void
watch_revoke(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watches); own != NULL;
	     own = watch_at(core, own->next))
		if ((own->state == WATCH_ARMED || own->state == WATCH_NEW) &&
		    is_below(core, node_at(core, own->target), node))
			revoke(core, own);
}

/*
 * The children start anew: register watches of the children that start now or later.  A
 * target that neither ended with the restart nor begins after it is reported as absent
 * (D-02).
 */
void
watch_restore(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watches); own != NULL;
	     own = watch_at(core, own->next)) {
		const struct node *target = node_at(core, own->target);

		if (own->state != WATCH_REVOKED)
			continue;
		if (target != NULL && (target->started || watch_is_coming(core, target)))
			arm(core, own);
		else if (own->unseen)
			fall_due(core, own, false);
		else
			set_state(core, own, WATCH_IDLE);
	}
}

/*
 * The final end of a node, or, if it was not `was_started`, of what could have begun.  It
 * is told to its watchers; itself it is not told of anything any more (D-08).
 */
void
watch_ended(struct core *core, struct node *node, bool was_started)
{
	for (struct watch *of = watch_at(core, node->watchers); of != NULL;
	     of = watch_at(core, of->next_for))
		if (of->state == WATCH_ARMED)
			fall_due(core, of, was_started);
	for (struct watch *own = watch_at(core, node->watches); own != NULL;
	     own = watch_at(core, own->next))
		set_state(core, own, WATCH_IDLE);
	core->look_early = core->look_early || node_is_supervisor(node);
}

/* The node is no more; the watches go over to the node that has its path now. */
void
watch_node_freed(struct core *core, struct node *node)
{
	while (node->watches != NONE) {
		struct watch *own = watch_at(core, node->watches);

		node->watches = own->next;
		drop(core, own);
	}
	unname_node(core, node);
	while (node->watchers != NONE) {
		struct watch *of = watch_at(core, node->watchers);
		struct node *heir = watch_find_named(core, of->name);

		if (of->state == WATCH_ARMED)
			fall_due(core, of, false);
		unbind(core, of);
		if (heir != NULL)
			bind(core, of, heir);
	}
}

/* What is new among the watches of a node is registered. */
void
watch_register(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watches); own != NULL;
	     own = watch_at(core, own->next))
		if (own->state == WATCH_NEW)
			begin(core, own);
}

/* Its command is run, about the end that is told now. */
void
watch_run_begun(struct core *core, struct watch *watch)
{
	watch->run = watch->due;
	node_in(core, watch->watcher)->running = watch_index(core, watch);
}

/* Its command is over: the next one may be run. */
void
watch_run_ended(struct core *core, struct watch *watch)
{
	struct node *watcher = node_in(core, watch->watcher);

	ASSERT(watcher->running == watch_index(core, watch));
	watcher->running = NONE;
	watch->run_serial = 0;
	if (watcher->n_due > 0)
		look_at(core, watcher);
}

/* The watcher was told; a target that began since then is watched anew. */
void
watch_was_told(struct core *core, struct watch *watch)
{
	const struct node *target = node_at(core, watch->target);

	if (target != NULL && target->started)
		arm(core, watch);
	else
		set_state(core, watch, WATCH_IDLE);
}

/* What waits to be told can be told in some states and not in others. */
void
watch_state_changed(struct core *core, struct node *node)
{
	if (node->n_due > 0)
		look_at(core, node);
}

/*
 * A node that was coming does not come, and so do the nodes below: tell the watchers that
 * waited for their beginning.  Linear in the number of watches, but only while there are
 * such nodes.
 */
void
watch_look_early(struct core *core)
{
	core->look_early = false;
	core->recheck_needs = true;
	for (uint32_t i = 0; i < core->size.watches && core->n_early > 0; i++) {
		struct watch *watch = watch_in(core, i);

		if (watch->watcher != NONE && watch->early &&
		    !watch_is_coming(core, node_in(core, watch->target)))
			fall_due(core, watch, false);
	}
}

/* ---- is everything as it must be? -------------------------------------------------- */

static const char *
check_watch(const struct core *core, const struct watch *watch)
{
	const struct node *watcher = node_in(core, watch->watcher);
	const struct node *target = node_at(core, watch->target);

	if (!watcher->used || (target != NULL && !target->used))
		return "a watch by or for an actor that does not exist";
	if (watch->state != WATCH_IDLE && !watcher->started)
		return "a watch of an actor that is down";
	if (watch->state == WATCH_ARMED && target == NULL)
		return "a watch without a target that waits for its end";
	if (watch->state == WATCH_ARMED && watch->early == target->started)
		return "a watch that is wrong about the beginning of its target";
	if (watch->early && watch->state != WATCH_ARMED)
		return "a watch that waits for a beginning and not for the end";
	return NULL;
}

/* NULL, or what is wrong with the watches; linear in their number. */
const char *
watch_check(const struct core *core)
{
	uint32_t used = 0, early = 0, listed = 0, bound = 0;

	for (uint32_t i = 0; i < core->size.watches; i++) {
		const struct watch *watch = watch_in(core, i);
		const char *wrong;

		if (watch->watcher == NONE)
			continue;
		wrong = check_watch(core, watch);
		if (wrong != NULL)
			return wrong;
		used++;
		early += watch->early;
		bound += watch->target != NONE;
	}
	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct node *node = node_in(core, slot);
		uint32_t due = 0;

		if (!node->used)
			continue;
		for (const struct watch *own = watch_at(core, node->watches); own != NULL;
		     own = watch_at(core, own->next)) {
			due += own->state == WATCH_DUE;
			listed += own->watcher == slot;
			if ((own->run_serial != 0) !=
			    (node->running == watch_index(core, own)))
				return "wrong about the watch for which a command runs";
		}
		if (due != node->n_due)
			return "wrong count of what an actor is to be told";
		bound -= node->n_watchers;
	}
	if (used != core->n_watches || listed != used || early != core->n_early)
		return "wrong count of watches";
	return bound == 0 ? NULL : "wrong count of watchers";
}
