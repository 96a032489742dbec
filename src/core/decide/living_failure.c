/* SPDX-License-Identifier: ISC */
/* living_failure.c - failures of a living process: watchdog, health, its own report, and
 * a stop from outside.
 *
 * The process is left as it is until a directive is carried out (SEMANTICS 1.2, "process
 * alive").
 */
#include "config.h"

#include "core/decide/marks.h"
#include "core/decide/motion.h"

#include "core/pure.h"

/* The process was silent for too long, or asks to be treated so. */
static void
watchdog_expired(struct turn *turn, struct node *node)
{
	living_expire(node, true);
	/* A silence is a single failure, also where the clock and the process both report
	 * it. */
	deadline_clear(turn->core, node, TIMER_WATCHDOG);
	failure_handle(turn, node,
	               &(const struct cause){.kind = CAUSE_WATCHDOG, .code = -1}, node);
	if (failure_is_moot(turn, node))
		return;
	/* After a mere escalation the process goes on, and its watchdog, too. */
	living_expire(node, false);
	if (deadline_due(turn->core, node, TIMER_WATCHDOG) == 0)
		living_renew_watchdog(turn->core, node);
}

/* The process asks to be treated as if it had been silent for too long. */
void
living_trigger_watchdog(struct turn *turn, struct node *node)
{
	if (node->state == STATE_STARTING || living_is_up(node))
		watchdog_expired(turn, node);
}

static void
count_good(struct node *node)
{
	if (node->living.bad == 0 ||
	    ++node->living.good < spec_of(node)->health.successes)
		return;
	node->living.bad = 0;
	node->living.good = 0;
}

static void
count_bad(struct turn *turn, struct node *node, const struct event *event)
{
	struct cause cause = {.kind = CAUSE_HEALTH, .code = -1, .error = event->error};

	living_take_key(cause.key, event);
	node->living.good = 0;
	if (++node->living.bad < spec_of(node)->health.failures)
		return;
	node->living.bad = 0;
	failure_handle(turn, node, &cause, node);
}

/* For the cause, in case the actor never becomes ready. */
static void
note_unready(struct node *node, const struct event *event)
{
	node->process.end =
	    (struct cause){.kind = CAUSE_NORMAL, .code = -1, .error = event->error};
	living_take_key(node->process.end.key, event);
}

/* An answer; one to another question than the one under way is stale. */
void
living_probed(struct turn *turn, struct node *node, const struct event *event)
{
	const bool is_good = event->code == PROBED_GOOD;
	const enum probing probing = node->living.probing;

	if (probing == PROBING_NOTHING || event->serial != node->living.probe_serial)
		return;
	node->living.probing = PROBING_NOTHING;
	living_arm_probe(turn->core, node, probing);
	if (event->code == PROBED_UNKNOWN)
		return;
	if (!living_is_probed(node))
		return;
	if (probing == PROBING_HEALTH && is_good)
		count_good(node);
	else if (probing == PROBING_HEALTH)
		count_bad(turn, node, event);
	else if (is_good)
		up_step(turn, node);
	else
		note_unready(node, event);
}

/* The process reports a failure of its own. */
void
living_self_report(struct turn *turn, struct node *node, const struct event *event)
{
	struct cause cause = {
	    .kind = CAUSE_SELF_REPORT,
	    .code = -1,
	    .error = event->error,
	};

	living_take_key(cause.key, event);
	if (node->state == STATE_STARTING || living_is_up(node))
		failure_handle(turn, node, &cause, node);
}

/* A signal stopped it that supd did not send. */
void
living_paused(struct turn *turn, struct node *node, const struct event *event)
{
	if (node->living.sigstopped)
		return;
	living_stand(turn->core, node);
	if (spec_of(node)->stopped_is_failure &&
	    (node->state == STATE_STARTING || living_is_up(node)))
		failure_handle(turn, node,
		               &(const struct cause){
		                   .kind = CAUSE_STOPPED,
		                   .code = -1,
		                   .signal = (uint8_t)event->signal,
		               },
		               node);
}

/* The watchdog expired, or the time for a probe has come. */
void
living_due(struct turn *turn, struct node *node, enum node_timer timer)
{
	if (timer == TIMER_WATCHDOG)
		watchdog_expired(turn, node);
	else
		living_probe(turn, node);
}
