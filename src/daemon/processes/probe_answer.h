/* SPDX-License-Identifier: ISC */
/* probe_answer.h - tells the core what came of a probe; commands that probe. */
#ifndef DAEMON_PROBE_ANSWER_H
#define DAEMON_PROBE_ANSWER_H

#include "core/core.h"

struct processes;
struct tasks;
struct task_order;
struct task_result;

/* The answer to the probe that this action asked for; of a bad one also what was wrong,
 * as an errno or in words. */
void probe_answer(struct processes *room, const struct action *action, enum probed probed,
                  int error, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Have the command run that this action asks for, for so long at most. */
void probe_order_command(struct tasks *tasks, const struct action *action,
                         uint64_t timeout_ms);

/* What came of a command that was run for a probe. */
void probe_command_ended(struct processes *room, const struct task_order *task,
                         const struct task_result *result);

#endif
