/* SPDX-License-Identifier: ISC */
/* shut_down.c - the end of supd is decided: written down, told, posted. */
#include "config.h"

#include "daemon/report/shut_down.h"

#include "daemon/report/report.h"
#include "daemon/report/systemd.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"

/*
 * Begin the shutdown: EVENT_SHUTDOWN stops all actors in order, EVENT_QUIT kills them.  A
 * further EVENT_SHUTDOWN changes nothing.
 */
void
shut_down(const struct reporter *reporter, enum event_kind kind)
{
	if (reporter->recording->facts.shutting_down && kind == EVENT_SHUTDOWN)
		return;
	if (!reporter->recording->facts.shutting_down) {
		reporter->recording->facts.shutting_down = true;
		record_facts(reporter->recording);
		systemd_stopping(reporter);
		report_supd(reporter, "shutting_down");
	}
	(void)post_event(reporter->post,
	                 &(struct event){.kind = kind, .ref = REF_NONE, .code = -1});
}
