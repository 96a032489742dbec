/* SPDX-License-Identifier: ISC */
/* report.h - what the core reports, as events of the stream and as lines of the log. */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"

struct reap;
struct task_order;
struct task_result;

/* What reports are made of, and where they go; all of it is borrowed. */
struct reporter {
	const struct engine *engine;
	struct actors *actors; /* with a tally of the failures of each */
	struct events *events; /* here every report becomes an event */
	struct recording *recording;
	struct post *post;
	struct keeper *keeper; /* for the service manager, which hears the walker only */
	struct ev_loop *loop;
	const struct origin *origin;
	const struct proctable *proctable;
	struct processes *processes;
	struct messages *messages; /* for the last words */
	struct sockets *sockets;
};

/* The outcome of an upgrade, as the guardian that took over tells it. */
struct upgrade_story {
	bool is_upgrade; /* we are the new binary */
	bool fell_back;  /* the new binary failed */
	char from[32];   /* version of the supd before us */
	uint64_t outage_ms;
};

void report(const struct reporter *reporter, const struct action *action);
/* End the event that was begun: put it into the stream, its line into the log. */
void report_end(const struct reporter *reporter, const struct action *action,
                bool is_for_stream);
/* Write the lines of events that were put off; a callback of log_put_off(), its argument
 * is the reporter. */
void report_lines(void *user);
/* A task that the core does not know of has failed; a callback, its first argument is the
 * reporter. */
void report_helper_failed(void *user, const struct task_order *order,
                          const struct task_result *result);
/* A process that a guardian before us started goes on under us. */
void report_process_adopted(const struct reporter *reporter, const struct node_view *view,
                            pid_t pid);
/* We have taken over from a guardian that ended so. */
void report_taken_over(const struct reporter *reporter, const struct upgrade_story *story,
                       const struct reap *reap);
/* An event about supd itself: started, ready, shutting_down. */
void report_supd(const struct reporter *reporter, const char *what);
/* This many processes of a supd that died were killed before anything was started. */
void report_leftovers(const struct reporter *reporter, size_t n);

#endif
