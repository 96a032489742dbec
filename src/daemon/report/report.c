/* SPDX-License-Identifier: ISC */
/* report.c - what the core reports, as events of the stream and as lines of the log. */
#include "config.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/tasks.h"
#include "daemon/report/report_private.h"
#include "daemon/state/engine.h"
#include "daemon/state/events.h"
#include "daemon/state/log.h"
#include "daemon/state/recording.h"
#include "daemon/state/system.h"
#include "os/self/clock.h"

static void
report_begin(const struct reporter *reporter, const struct action *action)
{
	events_begin(reporter->events, &(const struct event_head){
	                                   .kind = (uint8_t)action->report,
	                                   .path = report_subject(reporter, action),
	                                   .incarnation = action->incarnation,
	                                   .generation = action->generation,
	                               });
}

/*
 * True if the report is for the stream.  That tells of what `status` lists: everything
 * below /user.  Of supd's own actors the failures are told as well, so that they can be
 * explained.
 */
bool
report_is_for_stream(const struct reporter *reporter, struct ref ref, enum report what)
{
	const struct actor *actor = actors_get(reporter->actors, ref);

	return actor == NULL || !system_has(actor) || what == REPORT_FAILURE;
}

/* Put one report into the stream and, at its level, into the log. */
void
report(const struct reporter *reporter, const struct action *action)
{
	/* The root is outside of what people see. */
	if (action->ref.slot == CORE_ROOT)
		return;
	struct actor *actor = actors_get(reporter->actors, action->ref);
	if (action->report == REPORT_FAILURE && actor != NULL) {
		if (actor->tally == NULL)
			actor->tally = calloc(1, sizeof(*actor->tally));
		/* Without memory its figures lack a failure. */
		if (actor->tally != NULL)
			actor->tally->failures[action->cause.kind]++;
		actor->failed_at_wall_us = clock_wall_us();
		record_slot(reporter->recording, action->ref.slot);
	}
	report_begin(reporter, action);
	report_fields(reporter, action);
	report_end(reporter, action,
	           report_is_for_stream(reporter, action->ref, action->report));
}

void
report_helper_failed(void *user, const struct task_order *order,
                     const struct task_result *result)
{
	const struct reporter *reporter = user;
	const struct hook_failure failure = {
	    .hook = task_name(order),
	    .reason = task_reason_names[order->reason],
	    .timed_out = result->is_late,
	    .cause = task_cause(result),
	    .step = result->error != 0 ? spawn_step_names[result->step] : "",
	};
	struct event_head head = {.kind = REPORT_HOOK_FAILED,
	                          .path = actors_path(reporter->actors, order->ref)};
	const uint64_t by = tasks_tell_by(reporter->processes->tasks, order);

	if (by == 0)
		return;
	if (core_valid(reporter->engine->core, order->ref)) {
		const struct node_view view = engine_view(reporter->engine, order->ref);
		head.incarnation = view.run.incarnation;
		head.generation = view.run.generation;
	}
	events_begin(reporter->events, &head);
	report_hook_fields(reporter, &failure);
	reporter->events->by = by;
	report_end(reporter, NULL, true);
	reporter->events->by = 0;
}
