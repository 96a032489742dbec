/* SPDX-License-Identifier: ISC */
/* witness_report.c - the core's reports of its decisions, and their effects. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "tests/sim/sim.h"
#include "tests/sim/witness_climb.h"

/* ---- limits ------------------------------------------------------------------------ */

static uint32_t
grants_within(const struct witness *witness, const struct witnessed *supervisor,
              uint32_t from, bool all)
{
	uint64_t now_ms = witness->rig->now_ms;
	uint32_t n = 0;

	for (uint32_t i = from; i < supervisor->n_grants; i++) {
		uint64_t grant = supervisor->grants[i];

		if (now_ms - grant / 2 <= supervisor->spec->policy.intensity.within_ms &&
		    (all || grant % 2 == 1))
			n++;
	}
	return n;
}

/* I14: an automatic restart at this supervisor; `sure`: it was granted. */
void
witness_count(struct witness *witness, struct witnessed *supervisor, bool sure)
{
	if (supervisor == NULL)
		return;
	if (supervisor->n_grants == SIM_STAMPS_MAX) {
		memmove(supervisor->grants, supervisor->grants + SIM_STAMPS_MAX / 2,
		        SIM_STAMPS_MAX / 2 * sizeof(*supervisor->grants));
		supervisor->n_grants = SIM_STAMPS_MAX / 2;
		supervisor->first_grant = 0;
	}
	supervisor->grants[supervisor->n_grants++] =
	    witness->rig->now_ms * 2 + (sure ? 1 : 0);
	if (sure && !supervisor->spec->policy.intensity.unlimited &&
	    !supervisor->intensity_changed &&
	    grants_within(witness, supervisor, supervisor->first_grant, false) >
	        supervisor->spec->policy.intensity.restarts)
		witness_blame(witness, "I14 slot %u restarts more than %u times",
		              supervisor->ref.slot,
		              supervisor->spec->policy.intensity.restarts);
}

static void
saw_gave_up(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL)
		return;
	if (node->spec->policy.intensity.unlimited && !node->intensity_changed)
		witness_blame(witness, "I14 slot %u gives up without a limit",
		              node->ref.slot);
	if (!node->intensity_changed &&
	    grants_within(witness, node, 0, true) < node->spec->policy.intensity.restarts)
		witness_blame(witness, "I14 slot %u gives up too early", node->ref.slot);
	witness_new_barrier(witness);
	witness_raise_barrier(witness, node);
	witness_mark(witness, node, &node->stop);
	witness_mark(witness, node, &node->down);
	node->maybe++;
	node->gave_up = witness->seq;
	if (node->spec->policy.decider.preset != PRESET_OTP)
		return;
	if (node->ref.slot != CORE_USER)
		node->retired = witness->seq;
	witness_ended_normally(witness, node);
}

/* ---- failures ---------------------------------------------------------------------- */

/* I19: base ≤ delay < base·(1 + jitter), for the failures that the backoff shows. */
static void
check_delay(struct witness *witness, const struct witnessed *node, uint64_t delay_ms)
{
	const struct backoff_spec *backoff = &node->spec->backoff;
	unsigned __int128 base = (unsigned __int128)backoff->min_ms << 40;
	unsigned __int128 max = (unsigned __int128)backoff->max_ms << 40;
	uint64_t base_ms;

	if (witness_pace_may_be(delay_ms))
		return;
	if (backoff->none) {
		if (delay_ms != 0)
			witness_blame(witness, "I19 slot %u is delayed without backoff",
			              node->ref.slot);
		return;
	}
	for (uint32_t n = 1; n < node->failures && base < max && n < 100; n++)
		base = base * backoff->factor_milli / 1000;
	base_ms = (uint64_t)((base < max ? base : max) >> 40);
	if (delay_ms < base_ms ||
	    (delay_ms > base_ms &&
	     (delay_ms - base_ms) * 1000 >= base_ms * backoff->jitter_milli))
		witness_blame(witness, "I19 slot %u: %d ms after %u failures (base %d)",
		              node->ref.slot, (int)delay_ms, node->failures,
		              (int)base_ms);
}

/* One more failure in the backoff of this node; the core may have reset it before. */
static void
count_failure(struct witness *witness, struct witnessed *node, uint64_t delay_ms)
{
	struct node_view view;

	if (!core_valid(witness->rig->core, node->ref))
		return;
	core_view(witness->rig->core, node->ref, witness->rig->now_ms, &view);
	node->failures++;
	if ((node->renewed || witness_is_healthy(witness, node)) &&
	    view.backoff.failures < node->failures)
		node->failures = view.backoff.failures;
	if (view.backoff.failures == node->failures)
		check_delay(witness, node, delay_ms);
}

static void
resumed_supervisor(struct witness *witness, struct witnessed *node)
{
	witness_restarted(witness, node, false);
	node->failures++;
	node->renewed = true;
}

/* A resume: what lives goes on, what is dead comes up again. */
static void
saw_resume(struct witness *witness, struct witnessed *origin, bool start_failed,
           const struct action *action)
{
	/* A supervisor that gave up cannot be resumed: it is restarted. */
	if (action->cause.kind == CAUSE_INTENSITY) {
		resumed_supervisor(witness, origin);
		return;
	}
	if (!start_failed && origin->process.there && !origin->process.main_dead) {
		witness_living_heard(witness, origin);
		return;
	}
	/* The child is stopped alone, even under a resume from above. */
	if (spec_runs_once(origin->spec))
		return;
	/* The child goes on, unless it had not begun. */
	if (origin->spec->kind == NODE_SUPERVISOR && !start_failed &&
	    (origin->hook.hook != HOOK_PRE_START ||
	     (action->cause.kind != CAUSE_EARLY_EXIT && origin->hook.serial == 0)))
		return;
	if (origin->spec->kind == NODE_BOTH || start_failed)
		witness_mark(witness, origin, &origin->stop);
	if (origin->spec->kind != NODE_SUPERVISOR || start_failed)
		witness_resumed(witness, origin);
	if (start_failed)
		witness_restarted(witness, origin, false);
	origin->up = witness->seq;
	witness_delayed(witness, origin, action->delay_ms);
	witness_pace_told(witness, origin, action->delay_ms);
	count_failure(witness, origin, action->delay_ms);
}

/*
 * How many children have done their work and go down, to start anew?  They are counted
 * some time on their way.
 */
static uint32_t
count_retiring(const struct witness *witness, const struct witnessed *supervisor)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		const struct witnessed *node = &witness->nodes[i];

		n += node->used && node->parent == supervisor->ref.slot &&
		     node->ref.slot != CORE_USER && witness_retires(node);
	}
	return n;
}

/* I18: a resume is not counted. */
static void
check_resume(struct witness *witness, const struct witnessed *node,
             const struct action *action)
{
	const struct witnessed *parent = witness_parent(witness, node);

	if (parent != NULL && !parent->intensity_changed &&
	    action->window >
	        grants_within(witness, parent, 0, true) + count_retiring(witness, parent))
		witness_blame(witness, "I18 slot %u: %u restarts are counted",
		              parent->ref.slot, action->window);
}

static void
saw_failure(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	struct witnessed *origin = witness_find(witness, action->origin);
	bool start_failed;
	bool group = action->ruling.reason != DECIDED_TEMPORARY &&
	             action->ruling.reason != DECIDED_NEVER &&
	             action->ruling.reason != DECIDED_MANUAL_START &&
	             action->ruling.reason != DECIDED_NOT_ADDED;

	if (node == NULL || origin == NULL) {
		witness_blame(witness, "I33 a failure of nobody");
		return;
	}
	origin = witness_failed(witness, node, origin);
	start_failed = origin->start_failed;
	witness_check_told(witness, origin, action);
	witness_decided(witness, node, origin, action);
	/* It comes up when it is gone, as was decided before: nothing is counted. */
	if (action->cause.kind == CAUSE_UNKILLABLE && node == origin &&
	    action->ruling.directive == DIRECTIVE_RESTART)
		return;
	if (action->ruling.directive == DIRECTIVE_RESUME)
		check_resume(witness, node, action);
	if (action->ruling.reason == DECIDED_NOT_ADDED)
		witness_not_added(witness, node, action);
	if (spec_runs_once(node->spec) &&
	    (action->ruling.directive == DIRECTIVE_RESTART ||
	     (action->ruling.directive == DIRECTIVE_RESUME && node == origin)))
		witness_blame(witness, "I10 slot %u runs once", node->ref.slot);
	if (node == origin && node->told_down > node->up &&
	    (action->ruling.directive == DIRECTIVE_RESTART ||
	     action->ruling.directive == DIRECTIVE_RESUME))
		witness_blame(witness, "I4 slot %u: a stop was wanted, it is restarted",
		              node->ref.slot);
	switch (action->ruling.directive) {
	case DIRECTIVE_RESTART:
		witness_restarted(witness, node, group);
		witness_delayed(witness, node, action->delay_ms);
		if (node == origin)
			witness_pace_told(witness, node, action->delay_ms);
		witness_count(witness, witness_parent(witness, node), true);
		count_failure(witness, node, action->delay_ms);
		break;
	case DIRECTIVE_RESUME:
		saw_resume(witness, origin, start_failed, action);
		break;
	case DIRECTIVE_STOP:
		witness_stopped(witness, node, group);
		if (action->ruling.reason == DECIDED_TEMPORARY ||
		    action->ruling.reason == DECIDED_NEVER)
			node->exited_by_itself = true;
		else if (group)
			witness_group_stopped(witness, node);
		break;
	case DIRECTIVE_ESCALATE:
	case DIRECTIVE_MAX:
		break;
	}
}

static void
saw_started(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node == NULL || node->spec->kind == NODE_WORKER)
		return;
	witness_check_decided(witness, node);
	witness->user_failed = witness->user_failed && node->ref.slot != CORE_USER;
	node->started = witness->seq;
	witness_begins(witness, node);
	witness_renew(witness, node);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (witness->nodes[i].used && &witness->nodes[i] != node &&
		    witness_below(witness, &witness->nodes[i], node))
			witness->nodes[i].may_forget = true;
}

/* A supervisor is ready; any actor is on its way down, or has ended for good. */
static void
saw_turning_point(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node != NULL && action->report == REPORT_READY) {
		node->is_fresh = false;
		witness_living_ready(witness, node);
	}
	if (node != NULL && action->report == REPORT_TERMINATED) {
		node->may_forget = true;
		witness_ends(witness, action);
	} else if (node != NULL && action->report != REPORT_READY) {
		node->stands = false;
		if (action->report != REPORT_STOPPING)
			node->gave_up = 0;
		else if (node->stopping == 0)
			node->stopping = witness->seq;
		if (action->report == REPORT_STOPPED)
			node->was_stopped = witness->seq;
		/* Its work was done: the actor starts anew, with its group. */
		if (action->report == REPORT_STOPPED && node->retired > node->started &&
		    node->spec->restart == RESTART_PERMANENT &&
		    node->told_down < node->retired) {
			witness_may_restart(witness, node);
			witness_count(witness, witness_parent(witness, node), false);
		}
	} else if (node != NULL && node->spec->kind == NODE_SUPERVISOR)
		node->process.ready_ms = witness->rig->now_ms;
}

/* I36: an unkillable process was killed, exists, and had its timeout. */
static void
saw_unkillable(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);
	struct process *process = node == NULL ? NULL : &node->process;

	witness->undying = true;
	if (process == NULL || !process->there || !process->killed ||
	    process->unkillable ||
	    (!process->left &&
	     witness->rig->now_ms <
	         process->killed_ms + node->spec->stop.kill_timeout_ms)) {
		witness_blame(witness, "I36 slot %u is not unkillable", action->ref.slot);
		return;
	}
	process->unkillable = true;
	/* Without it the actor may be as down as others are. */
	node->renewed = true;
}

/*
 * One that cannot start, because of a child, stops what it has started before it fails in
 * turn: the failure of the child has been told with that.
 */
static void
saw_failed_start(struct witness *witness, struct witnessed *node)
{
	const struct action *escalated = &witness->escalated;
	struct witnessed *origin = witness_find(witness, escalated->origin);

	if (!witness_start_fails(witness, node) || origin == NULL)
		return;
	origin = witness_failed(witness, node, origin);
	witness_check_told(witness, origin, escalated);
	witness_decided(witness, node, origin, escalated);
	witness_new_barrier(witness);
	witness_raise_barrier(witness, node);
	witness_mark(witness, node, &node->stop);
	node->gave_up = witness->seq;
	node->start_failed = true;
	node->failed_child = escalated->origin;
	node->start_cause = escalated->cause;
}

/* ACTION_REPORT */
void
witness_report(struct witness *witness, const struct action *action)
{
	struct witnessed *node = witness_find(witness, action->ref);

	if (node != NULL && action->report == REPORT_STOPPING) {
		node->is_stopping = true;
		saw_failed_start(witness, node);
	} else if (node != NULL &&
	           (action->report == REPORT_STOPPED || action->report == REPORT_STARTED))
		node->is_stopping = false;
	witness_reports_reached(witness, action);
	switch (action->report) {
	case REPORT_FAILURE:
		if (!witness_exit_in_vain(witness, action))
			saw_failure(witness, action);
		break;
	case REPORT_GAVE_UP:
		saw_gave_up(witness, action);
		break;
	case REPORT_STARTED:
		saw_started(witness, action);
		break;
	case REPORT_READY:
	case REPORT_STOPPED:
	case REPORT_EXITED:
	case REPORT_STOPPING:
		saw_turning_point(witness, action);
		break;
	case REPORT_TERMINATED:
		if (action->death.watch != 0) {
			witness_told(witness, action);
			break;
		}
		saw_turning_point(witness, action);
		break;
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
		witness_stands(witness, action);
		break;
	case REPORT_UNKILLABLE:
		saw_unkillable(witness, action);
		break;
	case REPORT_BACKOFF:
	case REPORT_SHORTAGE:
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_HOOK_FAILED:
		break;
	case REPORT_ESCALATED:
		witness_climbs(witness, action);
		break;
	case REPORT_MAX:
		witness_blame(witness, "a report of no kind");
		break;
	}
}
