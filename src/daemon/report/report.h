/* SPDX-License-Identifier: ISC */
/* report.h - what the core reports, as events of the stream and as lines of the log. */
#ifndef DAEMON_REPORT_H
#define DAEMON_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/core.h"

struct reap;
struct shell;
struct task_order;
struct task_result;

/* The outcome of an upgrade, as the guardian that took over tells it. */
struct upgrade_story {
	bool is_upgrade; /* we are the new binary */
	bool fell_back;  /* the new binary failed */
	char from[32];   /* version of the supd before us */
	uint64_t outage_ms;
};

void report(struct shell *shell, const struct action *action);
/* A helper process that the core does not know of did not do what it was for. */
void report_helper_failed(struct shell *shell, const struct task_order *order,
                          const struct task_result *result);
/* A process that a guardian before us started goes on under us. */
void report_process_adopted(struct shell *shell, const struct node_view *view, pid_t pid);
/* We have taken over from a guardian that ended so. */
void report_taken_over(struct shell *shell, const struct upgrade_story *story,
                       const struct reap *reap);
/* An event about supd itself: started, ready, shutting_down. */
void report_supd(struct shell *shell, const char *what);
/* So many processes of a supd that died were killed before anything was started. */
void report_leftovers(struct shell *shell, size_t n);

#endif
