/* SPDX-License-Identifier: ISC */
/* living.c - a process that lives: the clocks of its watchdog and its probes.
 *
 * While the process is stopped its clocks stand, as it cannot report in time.
 */
#include "config.h"

#include <string.h>

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* True if this process runs, or would run if it were not stopped. */
bool
living_is_up(const struct node *node)
{
	return process_is_main_there(node) && node->state == STATE_RUNNING;
}

/* Take the event's name of the failure; `ret` is empty. */
void
living_take_key(char ret[CAUSE_KEY_MAX], const struct event *event)
{
	memcpy(ret, event->key, strnlen(event->key, CAUSE_KEY_MAX - 1));
}

/* ---- the watchdog ------------------------------------------------------------- */

/* A full period from now on; none where it has no watchdog. */
void
living_renew_watchdog(struct core *core, struct node *node)
{
	if (living_is_up(node))
		deadline_arm(core, node, TIMER_WATCHDOG, core->now_ms,
		             node->living.watchdog_ms == 0 ? UINT64_MAX
		                                           : node->living.watchdog_ms);
}

/* The process chooses another period. */
void
living_set_watchdog(struct core *core, struct node *node, uint64_t period_ms)
{
	node->living.watchdog_ms = period_ms;
	living_renew_watchdog(core, node);
}

/* ---- health --------------------------------------------------------------------- */

/*
 * Where in the interval this actor has its turn, so that not all of them are asked at
 * once: multiplicative hashing of the slot.
 */
static uint64_t
phase_ms(const struct core *core, const struct node *node)
{
	uint32_t hash = (node_slot(core, node) + 1) * UINT32_C(2654435761);

	return (uint64_t)((unsigned __int128)spec_of(node)->health.interval_ms * hash >>
	                  32);
}

static void
arm_health(struct core *core, struct node *node)
{
	const struct probe_spec *health = &spec_of(node)->health;

	if (!living_is_up(node))
		return;
	deadline_arm(core, node, TIMER_HEALTH, core->now_ms,
	             health->on ? health->initial_delay_ms + phase_ms(core, node)
	                        : UINT64_MAX);
}

/* What is asked for: the same whenever it is asked. */
static void
describe_probe(const struct node *node, struct action *action)
{
	action->life = node->process.life;
	action->serial = node->living.probe_serial;
	action->is_start = node->living.probing == PROBING_START;
}

/*
 * The probe that this actor waits for, as the action that asked for it; false: none.  As
 * core_hook(), for a new guardian, which cannot know how much of it was done.
 */
bool
core_probe(const struct core *core, struct ref ref, struct action *ret)
{
	const struct node *node = node_lookup(core, ref);

	if (node == NULL || node->living.probing == PROBING_NOTHING)
		return false;
	*ret = (struct action){.kind = ACTION_PROBE, .ref = ref};
	describe_probe(node, ret);
	return true;
}

/* True if the actor is probed in its current state. */
bool
living_is_probed(const struct node *node)
{
	if (node->state == STATE_STARTING)
		return node->phase == PHASE_PROCESS &&
		       spec_of(node)->start.ready == READY_PROBED;
	return living_is_up(node) && spec_of(node)->health.on;
}

static uint64_t
interval_ms(const struct node *node, enum probing probing)
{
	return probing == PROBING_START ? spec_of(node)->start.ready_interval_ms
	                                : spec_of(node)->health.interval_ms;
}

/* Ask for a probe; the time of the next probe counts from the answer. */
void
living_probe(struct turn *turn, struct node *node)
{
	if (node->living.probing != PROBING_NOTHING || !process_is_main_there(node))
		return;
	node->living.probing =
	    node->phase == PHASE_PROCESS ? PROBING_START : PROBING_HEALTH;
	node->living.probe_serial += node->living.probe_serial == UINT32_MAX ? 2 : 1;
	node->living.probed_ms = turn->now_ms;
	describe_probe(node, turn_act(turn, ACTION_PROBE, node));
}

/* Its next turn: a whole number of intervals after the last, however late the answer. */
void
living_arm_probe(struct core *core, struct node *node, enum probing probing)
{
	const uint64_t interval = interval_ms(node, probing);
	const uint64_t since_ms = core->now_ms - node->living.probed_ms;

	if (living_is_probed(node))
		deadline_arm(core, node, TIMER_HEALTH, core->now_ms,
		             interval - since_ms % interval);
}

/* A process that is frozen during a probe cannot answer in time: this probe does not
 * count, whatever its answer. */
void
living_frozen(struct core *core, struct node *node)
{
	const enum probing probing = node->living.probing;

	if (probing == PROBING_NOTHING)
		return;
	node->living.probing = PROBING_NOTHING;
	if (living_is_probed(node))
		deadline_arm(core, node, TIMER_HEALTH, core->now_ms,
		             interval_ms(node, probing));
}

/* The clocks stand while the process is stopped, and go on from there. */
static void
move_clocks(struct core *core, struct node *node)
{
	deadline_look(core, node, core->now_ms);
	if (node->living.sigstopped)
		living_frozen(core, node);
}

/* The cause of a start timeout: the last answer of the probes, if there was any. */
struct cause
living_unready(const struct node *node)
{
	struct cause cause = node->process.end;

	cause.kind = CAUSE_START_TIMEOUT;
	return cause;
}

/* ---- the process's own reports, and stops from outside ---- */

/* The node has this long to start or to stop; if its process asks for more time, at most
 * CORE_EXTEND_FACTOR times as long. */
void
living_grant(struct turn *turn, struct node *node, uint64_t granted_ms)
{
	const uint64_t bound_ms = (UINT64_MAX - turn->now_ms) / CORE_EXTEND_FACTOR;

	deadline_arm(turn->core, node, TIMER_STATE, turn->now_ms, granted_ms);
	node->living.extend_until_ms =
	    granted_ms > bound_ms ? UINT64_MAX
	                          : turn->now_ms + granted_ms * CORE_EXTEND_FACTOR;
}

/* It needs longer than it was granted to start or to stop; this only lengthens. */
void
living_extend(struct core *core, struct node *node, uint64_t period_ms)
{
	const uint64_t most_ms = node->living.extend_until_ms > core->now_ms
	                             ? node->living.extend_until_ms - core->now_ms
	                             : 0;

	if (period_ms > most_ms)
		period_ms = most_ms;
	if (node->phase == PHASE_PROCESS ||
	    (node->phase == PHASE_END && node->process.killed == KILL_NOT_SENT))
		deadline_extend(core, node, TIMER_STATE, core->now_ms, period_ms);
}

/* A signal has stopped it. */
void
living_stand(struct core *core, struct node *node)
{
	node->living.sigstopped = true;
	move_clocks(core, node);
}

/* It goes on after a stop from outside. */
void
living_continued(struct core *core, struct node *node)
{
	node->living.sigstopped = false;
	move_clocks(core, node);
}

/*
 * True if this very message was taken in before.  The daemon reads it again when it died
 * after the journal had it and before its queue had lost it.
 */
static bool
is_repeated(struct node *node, const struct event *event)
{
	const uint32_t bit = UINT32_C(1) << (event->kind - EVENT_WATCHDOG);

	_Static_assert(EVENT_PROBED - EVENT_WATCHDOG < 32, "a bit for each of them");
	if (event->stamp == 0)
		return false;
	if (event->stamp != node->living.heard_stamp)
		node->living.heard = 0;
	node->living.heard_stamp = event->stamp;
	bool repeated = (node->living.heard & bit) != 0;
	node->living.heard |= bit;
	return repeated;
}

/* True if an event that the process caused is to be taken in: the process runs, with its
 * start acknowledged, and said this for the first time. */
bool
living_hears(struct node *node, const struct event *event)
{
	return node->process.state == PROCESS_RUNS && !is_repeated(node, event);
}

/* It is to be ended because of its watchdog, or is not. */
void
living_expire(struct node *node, bool is_expired)
{
	node->living.watchdog_expired = is_expired;
}

/* ---- begin and end of a process ---- */

/* A new process is asked for: nothing is held against it. */
void
living_renewed(struct node *node)
{
	node->living.sigstopped = false;
	node->living.watchdog_expired = false;
	node->living.probing = PROBING_NOTHING;
	node->living.bad = 0;
	node->living.good = 0;
	node->living.watchdog_ms = spec_of(node)->watchdog_ms;
}

/* The process was started: it may have to be probed for readiness. */
void
living_spawned(struct turn *turn, struct node *node)
{
	if (spec_of(node)->start.ready == READY_PROBED)
		deadline_arm(turn->core, node, TIMER_HEALTH, turn->now_ms, 0);
}

/* It is ready: from now on it has to report, and is asked. */
void
living_ready(struct core *core, struct node *node)
{
	living_renew_watchdog(core, node);
	arm_health(core, node);
}

/*
 * Resume: it is left running, or continued if it failed by being stopped, and has its
 * full time again.
 */
void
living_resume(struct turn *turn, struct node *node, const struct cause *cause)
{
	node->living.watchdog_expired = false;
	if (node->phase == PHASE_PROCESS && node->process.state >= PROCESS_RUNS)
		living_grant(turn, node, spec_of(node)->start.timeout_ms);
	if (cause->kind == CAUSE_STOPPED && node->living.sigstopped) {
		turn_act(turn, ACTION_CONTINUE, node)->life = node->process.life;
		living_continued(turn->core, node);
	}
	living_renew_watchdog(turn->core, node);
}

/* Its main process is no more. */
void
living_ended(struct core *core, struct node *node)
{
	node->living.probing = PROBING_NOTHING;
	if (node->living.sigstopped)
		living_continued(core, node);
}

/* It has another policy, and lives on: another `health` begins anew. */
void
living_updated(struct core *core, struct node *node, const struct probe_spec *old)
{
	const struct probe_spec *health = &spec_of(node)->health;

	if (health->on == old->on && health->what == old->what &&
	    health->failures == old->failures && health->successes == old->successes &&
	    health->interval_ms == old->interval_ms &&
	    health->initial_delay_ms == old->initial_delay_ms)
		return;
	node->living.bad = 0;
	node->living.good = 0;
	if (node->living.probing == PROBING_HEALTH)
		node->living.probing = PROBING_NOTHING;
	arm_health(core, node);
}
