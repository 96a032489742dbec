/* SPDX-License-Identifier: ISC */
/* report_supd.c - what happens to supd itself, as events and as lines of the log. */
#include "config.h"

#include "daemon/report/report_private.h"
#include "daemon/state/actors.h"
#include "daemon/state/events.h"
#include "daemon/state/log.h"
#include "os/process/reap.h"

void
report_process_adopted(const struct reporter *reporter, const struct node_view *view,
                       pid_t pid)
{
	events_begin(reporter->events,
	             &(const struct event_head){
	                 .kind = NOTICE_ADOPTED,
	                 .path = actors_path(reporter->actors, view->ref),
	                 .incarnation = view->run.incarnation,
	                 .generation = view->run.generation,
	             });
	events_number(reporter->events, FIELD_PID, pid);
	report_end(reporter, NULL,
	           report_is_for_stream(reporter, view->ref, REPORT_STARTED));
}

static void
log_taken_over(const struct upgrade_story *story, const char *end)
{
	const unsigned long long outage_ms = story->outage_ms;

	if (story->is_upgrade)
		log_line(LOG_LEVEL_NOTICE,
		         "supd %s: upgraded from %s, no guardian for %llu ms",
		         PACKAGE_VERSION, story->from, outage_ms);
	else if (story->fell_back)
		log_line(LOG_LEVEL_ERROR,
		         "supd %s: is back, because the binary that it was upgraded to "
		         "failed (%s), no guardian for %llu ms",
		         PACKAGE_VERSION, end, outage_ms);
	else
		log_line(LOG_LEVEL_WARNING,
		         "supd %s: took over after a crash (%s), no guardian for %llu ms",
		         PACKAGE_VERSION, end, outage_ms);
}

void
report_taken_over(const struct reporter *reporter, const struct upgrade_story *story,
                  const struct reap *reap)
{
	struct events *events = reporter->events;
	char end[REAP_TEXT_MAX];

	(void)os_reap_text(reap, end);
	events_begin(events,
	             &(const struct event_head){.kind = NOTICE_SUPD, .path = "/"});
	if (story->is_upgrade) {
		events_text(events, FIELD_WHAT, "upgraded");
		events_text(events, FIELD_FROM, story->from);
		events_text(events, FIELD_TO, PACKAGE_VERSION);
	} else {
		events_text(events, FIELD_WHAT,
		            story->fell_back ? "upgrade_failed" : "started");
		events_text(events, FIELD_AFTER, end);
	}
	events_number(events, FIELD_OUTAGE, (int64_t)story->outage_ms);
	events_end(events);
	log_taken_over(story, end);
}

void
report_supd(const struct reporter *reporter, const char *what)
{
	events_begin(reporter->events,
	             &(const struct event_head){.kind = NOTICE_SUPD, .path = "/"});
	events_text(reporter->events, FIELD_WHAT, what);
	events_end(reporter->events);
	/* The event "started" is soon followed by the event "ready". */
	log_line(strcmp(what, "started") == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_NOTICE,
	         "supd %s: %s", PACKAGE_VERSION, what);
}

void
report_leftovers(const struct reporter *reporter, size_t n)
{
	events_begin(reporter->events,
	             &(const struct event_head){.kind = NOTICE_SUPD, .path = "/"});
	events_text(reporter->events, FIELD_WHAT, "leftovers_killed");
	events_number(reporter->events, FIELD_PROCESSES, (int64_t)n);
	events_end(reporter->events);
	log_line(LOG_LEVEL_WARNING,
	         "%zu processes of a supd that died were still there and were killed", n);
}
