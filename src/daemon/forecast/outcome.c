/* SPDX-License-Identifier: ISC */
/* outcome.c - what becomes of an actor that keeps failing, in a sentence. */
#include "config.h"

#include "daemon/forecast/outcome.h"

#include <inttypes.h>

#include "base/units.h"

/* Nothing has happened yet to this worker. */
void
outcome_init(struct outcome *outcome, struct ref worker)
{
	*outcome =
	    (struct outcome){.worker = worker, .restarted = worker, .depth = UINT32_MAX};
}

static bool
is_same(struct ref a, struct ref b)
{
	return a.slot == b.slot && a.tenant == b.tenant;
}

static uint32_t
depth_of(const struct core *core, struct ref ref)
{
	uint32_t depth = 0;

	for (; ref.slot != REF_NONE.slot; ref = core_parent(core, ref))
		depth++;
	return depth;
}

static void
take_failure(struct outcome *outcome, uint64_t at_ms, const struct core *core,
             const struct action *action)
{
	if (is_same(action->origin, outcome->worker)) {
		outcome->failures++;
		outcome->last_ms = at_ms;
		outcome->reason = action->ruling.reason;
	}
	if (action->ruling.directive == DIRECTIVE_RESTART &&
	    core_valid(core, action->ref) &&
	    depth_of(core, action->ref) < outcome->depth) {
		outcome->restarted = action->ref;
		outcome->depth = depth_of(core, action->ref);
		outcome->gave_up = 0;
	}
}

/* An action of the forecast, in order; a failure with the bounds of its delay. */
void
outcome_take(struct outcome *outcome, uint64_t at_ms, const struct core *core,
             const struct action *action, const struct delay_bounds *bounds)
{
	if (action->kind == ACTION_EXIT) {
		outcome->has_exit = true;
		outcome->status = action->status;
	} else if (action->kind == ACTION_REPORT && action->report == REPORT_FAILURE) {
		take_failure(outcome, at_ms, core, action);
		if (action->ruling.directive == DIRECTIVE_RESTART &&
		    is_same(action->ref, outcome->restarted)) {
			outcome->bounds = *bounds;
			outcome->gave_up++;
		}
	}
}

/* True if restarts with the newest delay never use up this bound.  The delay of a
 * supervisor may begin anew, because it lives for a while. */
static bool
is_never_reached(const struct outcome *outcome, uint64_t within_ms, uint32_t restarts)
{
	return is_same(outcome->restarted, outcome->worker) &&
	       outcome->bounds.min_ms > 0 && within_ms != DURATION_INFINITE &&
	       within_ms / outcome->bounds.min_ms < restarts;
}

/* True if neither the intensity nor the limit of the supervisor above ever ends it. */
static bool
is_endless(const struct outcome *outcome, const struct core *core,
           const struct simulation *simulation)
{
	const char *path =
	    simulation->path(simulation->user, core_parent(core, outcome->restarted));
	const uint32_t index = conf_find(simulation->conf, path);

	if (index == CONF_NONE)
		return false;
	const struct policy_spec *policy =
	    &simulation->conf->actors[index].spec->core.policy;
	return (policy->intensity.unlimited ||
	        is_never_reached(outcome, policy->intensity.within_ms,
	                         policy->intensity.restarts)) &&
	       (!policy->limit.on || is_never_reached(outcome, policy->limit.within_ms,
	                                              policy->limit.restarts));
}

static void
describe_pace(const struct outcome *outcome, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];

	if (outcome->bounds.max_ms == 0) {
		strbuf_adds(sb, ", without a delay");
		return;
	}
	strbuf_addf(sb, ", the last after %s", age_format(outcome->bounds.min_ms, text));
	if (outcome->bounds.max_ms > outcome->bounds.min_ms)
		strbuf_addf(sb, " to %s", age_format(outcome->bounds.max_ms, text));
}

static void
describe_restarts(const struct outcome *outcome, const struct core *core,
                  const struct simulation *simulation, struct strbuf *sb)
{
	const bool is_other = !is_same(outcome->restarted, outcome->worker) &&
	                      core_valid(core, outcome->restarted);

	if (outcome->depth == UINT32_MAX) {
		strbuf_adds(sb, "goes on, resumed each time");
		return;
	}
	strbuf_adds(sb, "runs again");
	if (is_other)
		strbuf_addf(sb, ", for %s was restarted %" PRIu32 " times",
		            simulation->path(simulation->user, outcome->restarted),
		            outcome->gave_up);
	describe_pace(outcome, sb);
	if (is_endless(outcome, core, simulation))
		strbuf_adds(sb, ": this goes on for ever");
	else
		strbuf_adds(sb, ": with more failures it may end (--times)");
}

/* Append the sentence; `core` is where the forecast has come to. */
void
outcome_describe(const struct outcome *outcome, const struct core *core,
                 const struct simulation *simulation, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];
	struct node_view view;

	if (outcome->failures > 0)
		strbuf_addf(sb, "after %" PRIu32 " failure%s", outcome->failures,
		            outcome->failures == 1 ? "" : "s");
	if (outcome->failures > 1)
		strbuf_addf(sb, " in %s", age_format(outcome->last_ms, text));
	strbuf_adds(sb, outcome->failures > 0 ? " " : "");
	if (outcome->has_exit) {
		strbuf_addf(sb, "supd ends with status %d", (int)outcome->status);
		return;
	}
	if (!core_valid(core, outcome->worker)) {
		strbuf_adds(sb, "it leaves the tree");
		return;
	}
	core_view(core, outcome->worker, simulation->now_ms, &view);
	if (view.state == STATE_RUNNING || view.state == STATE_STARTING) {
		strbuf_adds(sb, "it ");
		describe_restarts(outcome, core, simulation, sb);
		return;
	}
	strbuf_addf(sb, "it stays %s", node_state_names[view.state]);
	if (outcome->reason != 0)
		strbuf_addf(sb, " (%s)", decision_reason_names[outcome->reason]);
}
