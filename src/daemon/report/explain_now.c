/* SPDX-License-Identifier: ISC */
/* explain_now.c - how an actor is now, in a sentence. */
#include "config.h"

#include <string.h>

#include "daemon/messages/messages.h"
#include "daemon/messages/output.h"
#include "daemon/processes/unkillable_text.h"
#include "daemon/report/explain.h"
#include "daemon/report/report.h"
#include "daemon/report/view.h"
#include "daemon/report/waiting.h"
#include "daemon/state/cause.h"
#include "daemon/state/engine.h"
#include "daemon/state/glob.h"
#include "os/self/clock.h"

/* How many unhealthy actors below a supervisor are named. */
#define BELOW_MAX 10

static void
say_running(struct strbuf *sb, const struct reporter *reporter,
            const struct node_view *view, const char *since)
{
	const struct actor *actor = actors_get(reporter->actors, view->ref);

	strbuf_adds(sb, "running");
	if (actor != NULL && actor->pid != 0)
		strbuf_addf(sb, " as process %d", (int)actor->pid);
	strbuf_addf(sb, " since %s", since);
	if (view->degraded)
		strbuf_adds(sb, ", but an actor below it has failed");
	else if (!view->ready)
		strbuf_adds(sb, ", not ready");
}

/* A suspend by command may have named a supervisor above the actor. */
static void
say_suspended(struct strbuf *sb, const struct reporter *reporter,
              const struct node_view *view, const char *since)
{
	struct node_view above = *view;

	strbuf_addf(sb, "standing still since %s", since);
	while (above.suspends == 0 && !ref_is_none(above.parent))
		above = engine_view(reporter->engine, above.parent);
	if (above.suspends > 0)
		strbuf_addf(sb, ", until 'supctl resume %s'",
		            glob_below_user(actors_path(reporter->actors, above.ref)));
	if (view->suspended > 1)
		strbuf_addf(sb, "; it is suspended %u times in all", view->suspended);
}

static void
say_waiting(struct strbuf *sb, const struct reporter *reporter,
            const struct node_view *view, uint64_t now_ms)
{
	if (view->state == STATE_BACKOFF) {
		strbuf_adds(sb, "waiting for its next start");
		if (view->backoff.due_ms > now_ms) {
			strbuf_adds(sb, ", in ");
			explain_add_duration(sb,
			                     (int64_t)(view->backoff.due_ms - now_ms));
		}
		return;
	}
	strbuf_adds(sb, "waiting for ");
	if (view->on_standby)
		strbuf_adds(sb, "a client");
	else if (!waiting_text(sb, reporter, view))
		strbuf_adds(sb, "its turn");
}

static void
say_state(struct strbuf *sb, const struct reporter *reporter,
          const struct node_view *view, const char *since, uint64_t now_ms)
{
	switch (view->state) {
	case STATE_SUSPENDED:
		say_suspended(sb, reporter, view, since);
		break;
	case STATE_RUNNING:
		say_running(sb, reporter, view, since);
		break;
	case STATE_BACKOFF:
	case STATE_WAITING:
		say_waiting(sb, reporter, view, now_ms);
		break;
	case STATE_STARTING:
		strbuf_addf(sb, "starting since %s, not ready yet", since);
		break;
	case STATE_STOPPING:
		strbuf_addf(sb, "stopping since %s", since);
		break;
	case STATE_FAILED:
		strbuf_addf(sb, "failed since %s, until 'supctl start %s'", since,
		            glob_below_user(actors_path(reporter->actors, view->ref)));
		break;
	case STATE_STOPPED:
		strbuf_addf(sb, "stopped since %s", since);
		if (view->held)
			strbuf_adds(sb, ", and held until it is started by hand");
		break;
	case STATE_UNKILLABLE:
		unkillable_text(sb, reporter->actors, view->ref);
		strbuf_adds(sb, "; the actor is not started again before that is gone");
		break;
	case STATE_DONE:
	case NODE_STATE_MAX:
		strbuf_addf(sb, "done since %s: it ended normally", since);
		break;
	}
}

/* An actor that waits for its log stands still and looks as if it ran. */
static void
say_output(struct strbuf *sb, const struct reporter *reporter,
           const struct node_view *view)
{
	uint64_t lost = 0;
	const int error = output_blocked(reporter->messages->output,
	                                 actors_path(reporter->actors, view->ref), &lost);

	if (error != 0)
		strbuf_addf(sb, "; its log cannot be written: %s",
		            view_output_trouble(reporter, view->ref, error));
}

/* Where the story of an actor that is gone ends: its newest event. */
void
explain_gone(struct strbuf *sb, const struct event_view *last)
{
	char at[CLOCK_TEXT_MAX];

	strbuf_addf(sb,
	            "Now: gone, as a temporary actor that ended or one that was removed; "
	            "its last event, %s, was at %s.\n",
	            report_names[last->record->kind],
	            clock_format(last->record->wall_us, 3, at));
}

/* "/user/app/a, failed since …: exited with 3" */
static void
say_unwell(struct strbuf *sb, const struct reporter *reporter,
           const struct view_clock *clock, const struct node_view *view)
{
	char since[CLOCK_TEXT_MAX];

	strbuf_addf(sb, "%s, %s since %s", actors_path(reporter->actors, view->ref),
	            node_state_names[view->state],
	            clock_format(view_wall_us(clock, view->since_ms), 3, since));
	if (view->process.sigstopped)
		strbuf_adds(sb, ", stopped by a signal");
	else if (view->state == STATE_RUNNING)
		strbuf_adds(sb, ", does not pass its health check");
	else if (view->has_failure) {
		strbuf_adds(sb, ": ");
		cause_text(sb, &view->failure.cause,
		           cause_about(reporter->actors, &view->failure.cause,
		                       view->failure.origin));
	}
}

/* Name what is not well below a supervisor, and since when. */
void
explain_below(struct strbuf *sb, const struct reporter *reporter, struct ref top)
{
	struct view_clock clock = view_clock_now();
	size_t n = 0;

	CORE_FOREACH_BELOW (at, reporter->engine->core, top) {
		struct node_view view;

		core_view(reporter->engine->core, at, clock.mono_ms, &view);
		view.degraded = false;
		if (view_is_well(&view, false) || n++ >= BELOW_MAX)
			continue;
		strbuf_adds(sb, n == 1 ? "Below it: " : "; ");
		say_unwell(sb, reporter, &clock, &view);
	}
	if (n > BELOW_MAX)
		strbuf_addf(sb, "; and %zu more", n - BELOW_MAX);
	strbuf_adds(sb, n > 0 ? ".\n" : "");
}

/* Where all that led to: the state now. */
void
explain_now(struct strbuf *sb, const struct reporter *reporter, struct ref ref)
{
	struct view_clock clock = view_clock_now();
	struct node_view view;
	char since[CLOCK_TEXT_MAX];

	core_view(reporter->engine->core, ref, clock.mono_ms, &view);
	(void)clock_format(view_wall_us(&clock, view.since_ms), 3, since);
	strbuf_adds(sb, "Now: ");
	say_state(sb, reporter, &view, since, clock.mono_ms);
	say_output(sb, reporter, &view);
	if (view.run.restarts > 0)
		strbuf_addf(sb, "; %llu automatic restart%s in all",
		            (unsigned long long)view.run.restarts,
		            view.run.restarts == 1 ? "" : "s");
	strbuf_adds(sb, ".\n");
}
