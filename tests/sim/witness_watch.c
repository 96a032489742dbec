/* SPDX-License-Identifier: ISC */
/* witness_watch.c - notices of final ends to watchers, and their time (I23 to I26). */
#include "config.h"

#include <string.h>

#include "tests/sim/sim.h"

/* A spec has come: these are the watches now, earlier watches go on. */
void
witness_watches(struct witness *witness, struct witnessed *node)
{
	struct watched old[SIM_WATCHES];

	node->may_run = node->running != 0;
	memcpy(old, node->watches, sizeof(old));
	memset(node->watches, 0, sizeof(node->watches));
	for (uint32_t i = 0; i < node->spec->n_watches; i++) {
		struct watched *watch = &node->watches[i];

		*watch = (struct watched){.name = node->spec->watches[i].target,
		                          .since = witness->seq};
		for (uint32_t k = 0; k < SIM_WATCHES; k++)
			if (old[k].name == watch->name)
				*watch = old[k];
	}
}

/* It starts: a new incarnation, unless there is one. */
void
witness_begins(struct witness *witness, struct witnessed *node)
{
	node->may_go_on = false;
	node->exited_by_itself = false;
	if (node->begun != 0)
		return;
	node->begun = witness->seq;
}

/* Supervisors above that stop their children caused this end themselves. */
static void
note_own(struct witness *witness, const struct witnessed *target)
{
	struct witnessed *at = witness_parent(witness, target);

	for (; at != NULL; at = witness_parent(witness, at)) {
		for (uint32_t i = 0; i < at->spec->n_watches; i++) {
			struct watched *watch = &at->watches[i];

			if (!at->is_stopping || at->hook.serial != 0 ||
			    watch->name != target->name)
				continue;
			/* An end before this one may still have to be told. */
			watch->is_only =
			    witness->name_ended[target->name] <= watch->told ||
			    (watch->is_only &&
			     witness->name_ended[target->name] <= watch->own);
			watch->own = target->ended;
		}
		if (at->ref.slot == CORE_USER)
			break;
	}
}

/* REPORT_TERMINATED: its final end (I24). */
void
witness_ends(struct witness *witness, const struct action *report)
{
	struct witnessed *node = witness_find(witness, report->ref);

	if (node == NULL)
		return;
	if (node->begun == 0)
		witness_blame(witness, "I24 slot %u ends a second time", node->ref.slot);
	if (node->process.there || node->hook.serial != 0)
		witness_blame(witness, "I24 slot %u ends, its process is there",
		              node->ref.slot);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *other = &witness->nodes[i];

		if (other->used && other != node && other->begun != 0 &&
		    !other->process.unkillable && witness_below(witness, other, node))
			witness_blame(witness, "I24 slot %u ends before slot %u below it",
			              node->ref.slot, i);
	}
	node->begun = 0;
	node->ended = witness->seq;
	node->pacts = 0;
	note_own(witness, node);
	witness->name_ended[node->name] = witness->seq;
	witness_significant(witness, node);
}

/* Does the actor wait for its start? With an unkillable last process: for its end. */
static bool
is_pending(const struct witnessed *node)
{
	if (node->spec->kind == NODE_SUPERVISOR)
		return node->was_stopped > node->started;
	if (node->process.unkillable)
		return true;
	return !node->process.there && node->hook.serial == 0;
}

/* A watcher does for itself what comes of an end. */
static void
react(struct witness *witness, struct witnessed *node, const struct action *report)
{
	if (report->death.reaction == REACTION_RESTART ||
	    report->death.reaction == REACTION_STOP)
		node->own_stop = witness->seq;
	switch (report->death.reaction) {
	case REACTION_FAIL:
		witness->commotions++;
		node->pacts++;
		witness_owe(witness, node);
		break;
	case REACTION_RESTART:
		/* A child that runs once and is about to start counts as restarted by the
		 * notice. */
		if (!report->death.confirmed ||
		    (spec_runs_once(node->spec) && is_pending(node)))
			break;
		witness->commotions++;
		witness_restarted(witness, node, false);
		if (spec_runs_once(node->spec))
			break;
		node->counted_stop =
		    node->spec->kind != NODE_WORKER || node->spec->backoff.on_stop;
		break;
	case REACTION_STOP:
		node->taken = witness->seq;
		witness_mark(witness, node, &node->stop);
		witness_mark(witness, node, &node->down);
		witness_mark(witness, node, &node->told_down);
		break;
	case REACTION_SIGNAL:
	case REACTION_RUN:
	case REACTION_MAX:
		break;
	}
}

/* An end that is confirmed is one that was seen, and is told once (I23). */
static void
check_end(struct witness *witness, const struct witnessed *node, struct watched *watch,
          const struct action *report)
{
	const struct witnessed *target = witness_find(witness, report->origin);
	uint64_t since = watch->since > node->begun ? watch->since : node->begun;

	if (!report->death.confirmed) {
		if (watch->told > since && watch->own < watch->told)
			witness_blame(witness, "I23 slot %u is told twice of nobody",
			              node->ref.slot);
		return;
	}
	if (target == NULL)
		return;
	if (target->name != watch->name)
		witness_blame(witness, "I23 slot %u is told of slot %u", node->ref.slot,
		              target->ref.slot);
	if (target->ended == 0 || target->ended < since)
		witness_blame(witness, "I24 slot %u is told of no end of slot %u",
		              node->ref.slot, target->ref.slot);
	if (target->ended == watch->end)
		witness_blame(witness, "I23 slot %u is told twice of slot %u",
		              node->ref.slot, target->ref.slot);
	if (report->death.child_failed && target->parent != node->ref.slot)
		witness_blame(witness, "I23 slot %u is no child that failed",
		              target->ref.slot);
	if (target->ended == watch->own && watch->is_only &&
	    node->spec->kind == NODE_SUPERVISOR &&
	    node->spec->policy.keep_children == KEEP_NO && !node->spec_changed)
		witness_blame(witness,
		              "I23 slot %u is told that its restart ended slot %u",
		              node->ref.slot, target->ref.slot);
	watch->end = target->ended;
}

/* REPORT_TERMINATED, told to a watcher. */
void
witness_told(struct witness *witness, const struct action *report)
{
	struct witnessed *node = witness_find(witness, report->ref);
	uint32_t i = report->death.watch - 1;

	if (node == NULL || i >= node->spec->n_watches) {
		witness_blame(witness, "I23 slot %u is told, and does not watch",
		              report->ref.slot);
		return;
	}
	if (node->begun == 0)
		witness_blame(witness, "I23 slot %u is told, and is down",
		              node->ref.slot);
	if (node->spec->watches[i].reaction != report->death.reaction)
		witness_blame(witness, "I23 slot %u does something else", node->ref.slot);
	check_end(witness, node, &node->watches[i], report);
	node->watches[i].told = witness->seq;
	react(witness, node, report);
}

/* ACTION_SIGNAL, ACTION_REACT */
void
witness_message(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL || node->begun == 0) {
		witness_blame(witness, "I23 a reaction of nobody");
		return;
	}
	if (action->kind == ACTION_REACT) {
		if ((node->running != 0 && !node->may_run) ||
		    action->serial <= witness->run_serial)
			witness_blame(witness, "I23 slot %u: two commands at a time",
			              node->ref.slot);
		witness->run_serial = action->serial;
		node->running = action->serial;
		node->may_run = false;
	}
	if (action->kind == ACTION_SIGNAL &&
	    (!node->process.there || !node->process.spawned || node->process.main_dead ||
	     node->process.life != action->life))
		witness_blame(witness, "I5 a signal to nobody (slot %u life %u)",
		              action->ref.slot, action->life);
}

/* EVENT_REACT_DONE; false: it cannot have any effect (I34). */
bool
witness_message_done(struct witness *witness, const struct event *event)
{
	struct witnessed *node = witness_find(witness, event->ref);

	if (node == NULL || node->running == 0 || node->running != event->serial)
		return false;
	node->running = 0;
	return true;
}

static bool
lives_named(struct witness *witness, uint64_t name)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		if (node->used && node->name == name &&
		    (node->begun != 0 || witness_is_awaited(witness, node)))
			return true;
	}
	return false;
}

/* The world is calm: a running watcher was told of every end of its watched actors, also
 * of unknown paths (I23, I25).
 */
void
witness_check_watches(struct witness *witness, const struct witnessed *node)
{
	struct node_view view;

	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	/* An actor that waits for its needs may come still. */
	if (view.state != STATE_RUNNING || view.growth.removing ||
	    witness_holds_up(witness))
		return;
	for (uint32_t i = 0; i < node->spec->n_watches; i++) {
		const struct watched *watch = &node->watches[i];

		if (watch->name == node->name || lives_named(witness, watch->name) ||
		    witness->name_shared[watch->name])
			continue;
		const uint64_t known =
		    watch->told > watch->own ? watch->told : watch->own;

		if (known < watch->since || known < node->begun ||
		    known < witness->name_ended[watch->name])
			witness_blame(witness, "I25 slot %u was not told of name %u",
			              node->ref.slot, (unsigned int)watch->name);
	}
}
