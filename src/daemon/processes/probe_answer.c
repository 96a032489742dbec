/* SPDX-License-Identifier: ISC */
/* probe_answer.c - tells the core what came of a probe; commands that probe. */
#include "config.h"

#include "daemon/processes/probe_answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "daemon/processes/processes.h"
#include "daemon/processes/tasks.h"
#include "daemon/state/actors.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"

void
probe_answer(struct processes *room, const struct action *action, enum probed probed,
             int error, const char *fmt, ...)
{
	struct event event = {
	    .kind = EVENT_PROBED,
	    .ref = action->ref,
	    .life = action->life,
	    .serial = action->serial,
	    .code = probed,
	    .error = error,
	};
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(event.key, sizeof(event.key), fmt, ap);
	va_end(ap);
	if (probed != PROBED_GOOD)
		log_line(LOG_LEVEL_DEBUG, "%s: %s: %s%s%s",
		         actors_path(room->actors, action->ref),
		         action->is_start ? "not ready" : "not well", event.key,
		         event.key[0] != '\0' && error != 0 ? ": " : "",
		         error != 0 ? strerror(error) : "");
	post_event(room->post, &event);
}

void
probe_order_command(struct tasks *tasks, const struct action *action, uint64_t timeout_ms)
{
	tasks_order(tasks,
	            &(const struct task_order){
	                .ref = action->ref,
	                .kind = TASK_PROBE,
	                .which = action->is_start,
	                .reason = action->is_start ? TASK_ON_START : TASK_ON_HEALTH,
	                .serial = action->serial,
	                .life = action->life,
	                .timeout_ms = timeout_ms,
	            });
}

/* True if it may be the fault of supd, or of the machine, that the command could not be
 * started. */
static bool
is_our_fault(int error)
{
	return err_is_shortage(error) || error == EAGAIN || error == ECANCELED;
}

void
probe_command_ended(struct processes *room, const struct task_order *task,
                    const struct task_result *result)
{
	const struct action action = {
	    .ref = task->ref,
	    .life = task->life,
	    .serial = task->serial,
	    .is_start = task->which != 0,
	};
	const struct cause cause = task_cause(result);

	if (task_succeeded(result))
		probe_answer(room, &action, PROBED_GOOD, 0, "%s", "");
	else if (result->is_late)
		probe_answer(room, &action, PROBED_BAD, 0, "timeout");
	else if (result->error != 0)
		probe_answer(room, &action,
		             is_our_fault(result->error) ? PROBED_UNKNOWN : PROBED_BAD,
		             result->error, "%s", "");
	else if (cause.signal != 0)
		probe_answer(room, &action, PROBED_BAD, 0, "%s",
		             signal_name(cause.signal));
	else
		probe_answer(room, &action, PROBED_BAD, 0, "exit %d", (int)cause.code);
}
