/* SPDX-License-Identifier: ISC */
/* report_private.h - what the files about reports share.
 *
 *	report.c         which reports go where
 *	report_fields.c  a report as the fields of an event
 *	report_line.c    a report as a line of the log
 *	report_supd.c    what happens to supd itself
 */
#ifndef DAEMON_REPORT_PRIVATE_H
#define DAEMON_REPORT_PRIVATE_H

#include "core/core.h"
#include "daemon/report/report.h"

#define LINE_BYTES_MAX 2048

/* The failure of a task of an actor. */
struct hook_failure {
	const char *hook; /* as in the configuration */
	const char *reason;
	bool timed_out;
	struct cause cause;
	const char *step; /* what failed when it was to be started, or "" */
};

/* report.c */
bool report_is_for_stream(const struct reporter *reporter, struct ref ref,
                          enum report what);

/* report_fields.c */
const char *report_subject(const struct reporter *reporter, const struct action *action);
void report_hook_fields(const struct reporter *reporter,
                        const struct hook_failure *failure);
void report_fields(const struct reporter *reporter, const struct action *action);

#endif
