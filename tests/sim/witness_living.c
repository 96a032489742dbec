/* SPDX-License-Identifier: ISC */
/* witness_living.c - failures of live processes: watchdog, health, own reports, a stop by
 * signal (I5, I33).
 */
#include "config.h"

#include "tests/sim/sim.h"

/* Was this very message taken in already? */
static bool
is_repeated(struct wellbeing *wellbeing, const struct event *event)
{
	const uint32_t bit = UINT32_C(1) << (event->kind - EVENT_WATCHDOG);
	bool repeated;

	if (event->stamp == 0)
		return false;
	if (event->stamp != wellbeing->stamp)
		wellbeing->kinds = 0;
	wellbeing->stamp = event->stamp;
	repeated = (wellbeing->kinds & bit) != 0;
	wellbeing->kinds |= bit;
	return repeated;
}

/* The time of its watchdog begins anew. */
void
witness_living_heard(struct witness *witness, struct witnessed *node)
{
	struct wellbeing *wellbeing = &node->wellbeing;

	wellbeing->heard_ms = witness->rig->now_ms;
	wellbeing->stood = node->process.frozen || wellbeing->paused;
}

/* It is ready: from now on it has to report. */
void
witness_living_ready(struct witness *witness, struct witnessed *node)
{
	node->wellbeing.armed = node->process.there && !node->process.main_dead;
	witness_living_heard(witness, node);
}

/* The actor failed and lives: a report must follow, unless it goes down already. */
static void
fail(struct witness *witness, struct witnessed *node)
{
	const struct process *process = &node->process;

	if (node->stop > process->asked || process->stopped || process->killed)
		node->maybe++;
	else if (witness_runs(node->before))
		witness_owe(witness, node);
}

static void
probed(struct witness *witness, struct witnessed *node, int32_t code)
{
	struct wellbeing *wellbeing = &node->wellbeing;
	const struct probe_spec *health = &node->spec->health;

	wellbeing->probing = false;
	if (code == PROBED_UNKNOWN)
		return;
	if (!node->process.ready) {
		if (code != PROBED_GOOD || node->spec->start.ready != READY_PROBED)
			return;
		node->process.ready = true;
		node->process.ready_ms = witness->rig->now_ms;
		node->passed = witness->seq;
	} else if (code == PROBED_GOOD) {
		if (wellbeing->bad > 0 && ++wellbeing->good >= health->successes)
			wellbeing->bad = wellbeing->good = 0;
	} else if (witness_runs(node->before)) {
		wellbeing->good = 0;
		if (++wellbeing->bad < health->failures)
			return;
		wellbeing->bad = 0;
		wellbeing->sick = witness->seq;
	}
}

/* What a process says or suffers; false: it cannot have any effect (I34). */
bool
witness_living(struct witness *witness, struct witnessed *node, const struct event *event)
{
	struct wellbeing *wellbeing = &node->wellbeing;
	const uint64_t until_ms = witness->rig->now_ms + event->period_ms;

	if (!node->process.spawned || node->process.main_dead ||
	    is_repeated(wellbeing, event))
		return false;
	if (event->kind == EVENT_WATCHDOG) {
		witness_living_heard(witness, node);
	} else if (event->kind == EVENT_WATCHDOG_TRIGGER) {
		wellbeing->watchdog_expired = witness->seq;
	} else if (event->kind == EVENT_WATCHDOG_EVERY) {
		wellbeing->every_ms = event->period_ms;
		witness_living_heard(witness, node);
	} else if (event->kind == EVENT_EXTEND) {
		if (until_ms > node->process.extended_ms)
			node->process.extended_ms = until_ms;
	} else if (event->kind == EVENT_SELF_REPORT) {
		fail(witness, node);
	} else if (event->kind == EVENT_PAUSED) {
		if (!wellbeing->paused && node->spec->stopped_is_failure)
			fail(witness, node);
		wellbeing->paused = true;
		wellbeing->stood = true;
		wellbeing->probing = false;
	} else if (event->kind == EVENT_CONTINUED) {
		wellbeing->paused = false;
	} else if (event->kind == EVENT_PROBED) {
		/* An answer after a stop is no failure of the actor. */
		if (!wellbeing->probing || event->serial != wellbeing->serial)
			return false;
		probed(witness, node, event->code);
	}
	return true;
}

static bool
is_alive(const struct witnessed *node, const struct action *action)
{
	return node != NULL && node->process.there && node->process.spawned &&
	       !node->process.main_dead && node->process.life == action->life;
}

/* ACTION_PROBE */
void
witness_probe(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (!is_alive(node, action)) {
		witness_blame(witness, "I5 a probe of nobody (slot %u life %u)",
		              action->ref.slot, action->life);
		return;
	}
	if (node->wellbeing.probing && !node->spec_changed)
		witness_blame(witness, "I33 slot %u: two probes at a time",
		              node->ref.slot);
	if (action->is_start == node->process.ready)
		witness_blame(witness, "I33 slot %u: the wrong probe", node->ref.slot);
	node->wellbeing.probing = true;
	node->wellbeing.serial = action->serial;
}

/* ACTION_CONTINUE */
void
witness_continue(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (!is_alive(node, action)) {
		witness_blame(witness, "I5 nobody is continued (slot %u life %u)",
		              action->ref.slot, action->life);
		return;
	}
	if (!node->wellbeing.paused)
		witness_blame(witness, "I33 slot %u is continued, and was not stopped",
		              node->ref.slot);
	node->wellbeing.paused = false;
}

/*
 * REPORT_FAILURE with a timeout as its cause: did the time pass? True: a cause of this
 * kind, which needs no separate report.
 */
bool
witness_living_failed(struct witness *witness, struct witnessed *node,
                      const struct cause *cause)
{
	struct wellbeing *wellbeing = &node->wellbeing;
	const uint64_t due_ms = wellbeing->heard_ms + wellbeing->every_ms;

	if (cause->kind == CAUSE_WATCHDOG) {
		if (wellbeing->watchdog_expired < witness->op_began &&
		    (!wellbeing->armed || wellbeing->every_ms == 0 ||
		     witness->rig->now_ms < due_ms))
			witness_blame(witness, "I33 slot %u: its watchdog had time",
			              node->ref.slot);
		witness_living_heard(witness, node);
	} else if (cause->kind == CAUSE_HEALTH) {
		if (wellbeing->sick < witness->op_began && !node->spec_changed)
			witness_blame(witness, "I33 slot %u is not as ill as that",
			              node->ref.slot);
	} else {
		return false;
	}
	if (!node->process.there || node->process.main_dead)
		witness_blame(witness, "I33 slot %u fails as if it lived",
		              node->ref.slot);
	return true;
}

/* The turn is over: an actor silent for too long has failed. */
void
witness_check_living(struct witness *witness, const struct witnessed *node,
                     const struct node_view *view)
{
	const struct wellbeing *wellbeing = &node->wellbeing;
	const struct process *process = &node->process;

	if (view->process.sigstopped != (wellbeing->paused && process->there &&
	                                 process->spawned && !process->main_dead))
		witness_blame(witness, "I33 slot %u: sigstopped is %d", node->ref.slot,
		              view->process.sigstopped);
	if (!witness->ticked || !witness->punctual || !wellbeing->armed ||
	    wellbeing->stood || wellbeing->every_ms == 0 || !process->there ||
	    process->main_dead || view->state != STATE_RUNNING ||
	    node->stop > process->asked || node->may_be_stopped ||
	    process->barrier != 0 || witness_is_kept(witness, node))
		return;
	if (witness->rig->now_ms > wellbeing->heard_ms + wellbeing->every_ms)
		witness_blame(witness, "I33 slot %u: its watchdog is asleep",
		              node->ref.slot);
}
