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
#include "core/wait/wait.h"

#include "core/pure.h"

/* ---- from one state to the next ---------------------------------------------------- */

/* Note that a watch of the node has to be looked at. */
void
watch_look(struct core *core, struct node *watcher)
{
	watcher->watch.is_new = true;
	queue_node(core, watcher);
}

void
watch_set_state(struct core *core, struct watch *watch, enum watch_state state)
{
	struct node *watcher = node_in(core, watch->watcher);

	core->n_early -= watch->early;
	watch->early = false;
	watcher->watch.n_due -= watch->state == WATCH_DUE;
	watcher->watch.n_due += state == WATCH_DUE;
	watch->state = state;
	if (state == WATCH_NEW || state == WATCH_DUE)
		watch_look(core, watcher);
}

static bool
is_below(const struct core *core, const struct node *node, const struct node *top)
{
	while (node != NULL && node != top)
		node = node_parent(core, node);
	return node != NULL;
}

/* Tell the watch of no end until watch_restore(). */
static void
revoke(struct core *core, struct watch *watch)
{
	watch->unseen = !node_has_begun(node_in(core, watch->target));
	watch_set_state(core, watch, WATCH_REVOKED);
}

void
watch_arm(struct core *core, struct watch *watch)
{
	const struct node *watcher = node_in(core, watch->watcher);

	/* As in watch_revoke(), for a watch that is bound to its target only now. */
	if (watcher->state == STATE_STOPPING &&
	    children_of(watcher)->are == CHILDREN_DOWN &&
	    is_below(core, node_at(core, watch->target), watcher)) {
		revoke(core, watch);
		return;
	}
	watch_set_state(core, watch, WATCH_ARMED);
	watch->early = !node_has_begun(node_in(core, watch->target));
	core->n_early += watch->early;
}

/* The target ended, or cannot begin: the watcher is to be told. */
void
watch_fall_due(struct core *core, struct watch *watch, bool confirmed)
{
	const struct node *target = node_at(core, watch->target);

	watch->due = (struct telling){
	    .ended = REF_NONE,
	    .confirmed = confirmed,
	    .cause = {.kind = CAUSE_NORMAL, .code = -1},
	};
	if (target != NULL) {
		watch->due.ended = node_ref(core, target);
		watch->due.incarnation = target->run.incarnation;
	}
	if (target != NULL && confirmed) {
		/* ChildFailed, for the parent only (D-10). */
		watch->due.child_failed = target->links.parent == watch->watcher &&
		                          target->state == STATE_FAILED;
		watch->due.cause = *node_final_cause(target);
	}
	watch->order = ++core->n_told;
	watch_set_state(core, watch, WATCH_DUE);
}

/* True if the supervisor has begun to start, and will start this child with it. */
static bool
is_about_to_open(const struct node *supervisor, const struct node *child)
{
	if (supervisor->state != STATE_STARTING ||
	    children_of(supervisor)->are == CHILDREN_OPEN || child->plan.stay != STAY_NOT)
		return false;
	return children_of(supervisor)->are == CHILDREN_DOWN ||
	       (!node_is_resuming(supervisor) &&
	        spec_of(supervisor)->policy.keep_children == KEEP_RESTART &&
	        node_revives(child));
}

/*
 * True if the node, which is down, will begin without a command: no supervisor above has
 * passed it over, or stays down.
 */
bool
watch_is_coming(const struct core *core, const struct node *node)
{
	const struct node *above;

	for (; node->goal == GOAL_DOWN; node = above) {
		if (!spec_of(node)->enabled || node->plan.stay == STAY_HELD ||
		    node->growth.removing)
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
begin_watching(struct core *core, struct watch *watch)
{
	const struct node *target = node_at(core, watch->target);

	if (target != NULL && (node_has_begun(target) || watch_is_coming(core, target)))
		watch_arm(core, watch);
	else
		watch_fall_due(core, watch, false);
}

/* ---- what happens to nodes --------------------------------------------------------- */

/* A new incarnation begins: it watches, and is watched. */
void
watch_begun(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watch.first); own != NULL;
	     own = watch_at(core, own->next))
		watch_set_state(core, own, WATCH_NEW);
	for (struct watch *of = watch_at(core, node->watch.watchers); of != NULL;
	     of = watch_at(core, of->next_for)) {
		if (of->state == WATCH_ARMED ||
		    (of->state == WATCH_IDLE &&
		     node_has_begun(node_in(core, of->watcher))))
			watch_arm(core, of);
	}
}

/*
 * A watcher stops its children, perhaps to start them anew: that they end then is no news
 * to it (Akka unwatches in preRestart; DECISIONS 48).  What ended before is told.
 */
void
watch_revoke(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watch.first); own != NULL;
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
	for (struct watch *own = watch_at(core, node->watch.first); own != NULL;
	     own = watch_at(core, own->next)) {
		const struct node *target = node_at(core, own->target);

		if (own->state != WATCH_REVOKED)
			continue;
		if (target != NULL &&
		    (node_has_begun(target) || watch_is_coming(core, target)))
			watch_arm(core, own);
		else if (own->unseen)
			watch_fall_due(core, own, false);
		else
			watch_set_state(core, own, WATCH_IDLE);
	}
}

/*
 * The final end of a node, or, if it was not `was_started`, of what could have begun.  It
 * is told to its watchers; itself it is not told of anything any more (D-08).
 */
void
watch_ended(struct core *core, struct node *node, bool was_started)
{
	for (struct watch *of = watch_at(core, node->watch.watchers); of != NULL;
	     of = watch_at(core, of->next_for))
		if (of->state == WATCH_ARMED)
			watch_fall_due(core, of, was_started);
	for (struct watch *own = watch_at(core, node->watch.first); own != NULL;
	     own = watch_at(core, own->next))
		watch_set_state(core, own, WATCH_IDLE);
	core->look_early = core->look_early || node_is_supervisor(node);
}

/* Register the new watches of a node. */
void
watch_register(struct core *core, struct node *node)
{
	for (struct watch *own = watch_at(core, node->watch.first); own != NULL;
	     own = watch_at(core, own->next))
		if (own->state == WATCH_NEW)
			begin_watching(core, own);
	node->watch.is_new = false;
}

/* Its command is run, about the end that is told now. */
void
watch_run_begun(struct core *core, struct watch *watch)
{
	watch->run = watch->due;
	node_in(core, watch->watcher)->watch.running = watch_index(core, watch);
}

/* The command of the watcher has ended: the next may run. */
void
watch_run_ended(struct core *core, struct watch *watch)
{
	struct node *watcher = node_in(core, watch->watcher);

	ASSERT(watcher->watch.running == watch_index(core, watch));
	watcher->watch.running = NONE;
	watch->run_serial = 0;
	if (watcher->watch.n_due > 0)
		watch_look(core, watcher);
}

/* The watcher was told; a target that began since then is watched anew. */
void
watch_was_told(struct core *core, struct watch *watch)
{
	const struct node *target = node_at(core, watch->target);

	if (target != NULL && node_has_begun(target))
		watch_arm(core, watch);
	else
		watch_set_state(core, watch, WATCH_IDLE);
}

/* Tell a watcher of ends that were held back, if its new state allows that. */
void
watch_state_changed(struct core *core, struct node *node)
{
	if (node->watch.n_due > 0)
		watch_look(core, node);
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
			watch_fall_due(core, watch, false);
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
	if (watch->state != WATCH_IDLE && !node_has_begun(watcher))
		return "a watch of an actor that is down";
	if (watch->state == WATCH_ARMED && target == NULL)
		return "a watch without a target that waits for its end";
	if (watch->state == WATCH_ARMED && watch->early == node_has_begun(target))
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

		if (watch->watcher == NONE)
			continue;
		const char *wrong = check_watch(core, watch);
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
		for (const struct watch *own = watch_at(core, node->watch.first);
		     own != NULL; own = watch_at(core, own->next)) {
			due += own->state == WATCH_DUE;
			listed += own->watcher == slot;
			if ((own->run_serial != 0) !=
			    (node->watch.running == watch_index(core, own)))
				return "wrong about the watch for which a command runs";
		}
		if (due != node->watch.n_due)
			return "wrong count of what an actor is to be told";
		bound -= node->watch.n_watchers;
	}
	if (used != core->n_watches || listed != used || early != core->n_early)
		return "wrong count of watches";
	return bound == 0 ? NULL : "wrong count of watchers";
}
