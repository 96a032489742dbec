/* SPDX-License-Identifier: ISC */
/* report_line.c - what the core reports, as a line of the log. */
#include "config.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "daemon/processes/unkillable.h"
#include "daemon/report/blame.h"
#include "daemon/report/report_private.h"
#include "daemon/state/cause.h"
#include "daemon/state/log.h"
#include "daemon/state/proctable.h"
#include "daemon/state/shell.h"

/* The same for a line of the log. */
void
report_hook_text(struct strbuf *sb, const struct hook_failure *failure)
{
	strbuf_addf(sb, ": %s: ", failure->hook);
	if (failure->timed_out)
		strbuf_adds(sb, "timed out, ");
	cause_text(sb, &failure->cause, NULL);
}

/* How loud a failure is: the rule's own level, else Akka's by directive (L-01). */
static bool
failure_level(const struct action *action, enum log_level *ret)
{
	switch (action->log) {
	case RULE_LOG_ERROR:
		*ret = LOG_LEVEL_ERROR;
		return true;
	case RULE_LOG_WARNING:
		*ret = LOG_LEVEL_WARNING;
		return true;
	case RULE_LOG_INFO:
		*ret = LOG_LEVEL_INFO;
		return true;
	case RULE_LOG_OFF:
		return false;
	case RULE_LOG_AS_DIRECTIVE:
	case RULE_LOG_MAX:
		break;
	}
	*ret =
	    action->directive == DIRECTIVE_RESUME ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR;
	return action->directive != DIRECTIVE_ESCALATE;
}

/* Escalations are told in the stream only; the rest as CONTROL.md has it. */
static bool
level_of(const struct action *action, enum log_level *ret)
{
	*ret = LOG_LEVEL_INFO;
	switch (action->report) {
	case REPORT_FAILURE:
		return failure_level(action, ret);
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_HOOK_FAILED:
	case REPORT_SHORTAGE:
		*ret = LOG_LEVEL_WARNING;
		return true;
	case REPORT_GAVE_UP:
	case REPORT_UNKILLABLE:
		*ret = LOG_LEVEL_ERROR;
		return true;
	case REPORT_ESCALATED:
		return false;
	case REPORT_STARTED:
	case REPORT_READY:
	case REPORT_EXITED:
	case REPORT_BACKOFF:
	case REPORT_STOPPING:
	case REPORT_STOPPED:
	case REPORT_TERMINATED:
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
	case REPORT_MAX:
		break;
	}
	return true;
}

/* What in the configuration asked for the step that failed. */
static void
add_blame(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	struct strbuf blame;

	strbuf_init(&blame, LINE_BYTES_MAX);
	if (blame_step(&blame, shell, actors_get(&shell->actors, action->origin),
	               action->cause.key))
		strbuf_addf(sb, " (%s)", strbuf_str(&blame));
	strbuf_done(&blame);
}

static void
failure_line(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, " ");
	cause_text(sb, &action->cause,
	           cause_about(&shell->actors, &action->cause, report_origin(action)));
	if (action->cause.kind == CAUSE_EXEC)
		add_blame(shell, action, sb);
	if (memcmp(&action->origin, &action->ref, sizeof(action->ref)) != 0)
		strbuf_addf(sb, " in %s", shell_path(shell, action->origin));
	strbuf_addf(sb, "; %s", directive_names[action->directive]);
	if (action->group)
		strbuf_addf(sb, " of its group (%s)", report_strategy(shell, action));
	/* A resume of a living process has no delay to report. */
	if (action->directive == DIRECTIVE_RESTART ||
	    (action->directive == DIRECTIVE_RESUME && action->delay_ms > 0))
		strbuf_addf(sb, " in %s", duration_format(action->delay_ms, text));
	strbuf_adds(sb, ", by ");
	rule_text(sb, shell->conf, action->rule_preset, action->rule_place,
	          action->reason);
	if (action->limit > 0)
		strbuf_addf(sb, "; %u of %u restarts", action->window, action->limit);
}

static void
started_line(const struct shell *shell, const struct action *action, struct strbuf *sb)
{
	if (proctable_pid(shell->proctable, action->ref) != 0)
		strbuf_addf(sb, ", pid %d",
		            (int)proctable_pid(shell->proctable, action->ref));
	if (action->window > 0)
		strbuf_addf(sb, ", after %u starts for which the machine had no room",
		            action->window);
}

static void
shortage_line(const struct action *action, struct strbuf *sb)
{
	strbuf_adds(sb, ": ");
	cause_text(sb, &action->cause, NULL);
	strbuf_adds(sb, "; the machine has no room for it now, the start is tried again "
	                "until there is room");
}

static void
line_text(struct shell *shell, const struct action *action, struct strbuf *sb)
{
	char text[DURATION_TEXT_MAX];
	struct hook_failure failure;

	strbuf_addf(sb, "%s: %s", report_subject(shell, action),
	            report_names[action->report]);
	switch (action->report) {
	case REPORT_STARTED:
		started_line(shell, action, sb);
		break;
	case REPORT_SHORTAGE:
		shortage_line(action, sb);
		break;
	case REPORT_EXITED:
		strbuf_adds(sb, ": ");
		cause_text(
		    sb, &action->cause,
		    cause_about(&shell->actors, &action->cause, report_origin(action)));
		break;
	case REPORT_FAILURE:
		strbuf_adds(sb, ":");
		failure_line(shell, action, sb);
		break;
	case REPORT_BACKOFF:
		strbuf_addf(sb, ": next start in %s",
		            duration_format(action->delay_ms, text));
		break;
	case REPORT_GAVE_UP:
		strbuf_addf(sb, ": more than %u restarts within %s, the last of %s",
		            action->limit, duration_format(action->delay_ms, text),
		            shell_path(shell, action->origin));
		break;
	case REPORT_HOOK_FAILED:
		report_hook_failure(shell, action, &failure);
		report_hook_text(sb, &failure);
		break;
	case REPORT_UNKILLABLE:
		strbuf_adds(sb, ": it ");
		unkillable_text(sb, shell, action->ref);
		break;
	case REPORT_READY:
	case REPORT_STOPPING:
	case REPORT_STOPPED:
	case REPORT_KILLED_AFTER_TIMEOUT:
	case REPORT_ESCALATED:
	case REPORT_SUSPENDED:
	case REPORT_RESUMED:
	case REPORT_MAX:
		break;
	case REPORT_TERMINATED:
		if (action->watch != 0)
			strbuf_addf(sb, ", told to %s: %s",
			            shell_path(shell, action->ref),
			            reaction_names[action->reaction]);
		break;
	}
}

/* Put the report into the log, at its level. */
void
report_line(struct shell *shell, const struct action *action)
{
	enum log_level level;
	struct strbuf sb;

	if (!level_of(action, &level) || !log_wants(level))
		return;
	strbuf_init(&sb, LINE_BYTES_MAX);
	line_text(shell, action, &sb);
	log_line(level, "%s", strbuf_str(&sb));
	strbuf_done(&sb);
}
