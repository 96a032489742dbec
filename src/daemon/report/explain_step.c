/* SPDX-License-Identifier: ISC */
/* explain_step.c - an event of the story of a failure as a phrase about its actor. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "daemon/report/explain.h"

/* A number of an event; 0 when it has none of that name. */
json_int_t
explain_number(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

/* The cause of a failure, in words. */
const char *
explain_cause(const json_t *event)
{
	const char *text = explain_field(json_object_get(event, "cause"), "text");

	return text[0] != '\0' ? text : "failed";
}

/* Milliseconds for people. */
void
explain_add_duration(struct strbuf *sb, json_int_t ms)
{
	char text[DURATION_TEXT_MAX];

	strbuf_adds(sb, duration_format(ms > 0 ? (uint64_t)ms : 0, text));
}

static void
step_started(struct strbuf *sb, const json_t *event)
{
	strbuf_adds(sb, "started");
	if (explain_number(event, "pid") > 0)
		strbuf_addf(sb, " as process %" JSON_INTEGER_FORMAT,
		            explain_number(event, "pid"));
}

static void
step_cause(struct strbuf *sb, const json_t *event)
{
	strbuf_adds(sb, explain_cause(event));
}

/* What overruled the rule; NULL: nothing, or no rule had part in it. */
const char *
explain_overruled_by(const char *rule, const char *reason)
{
	const bool by_rule =
	    strcmp(reason, decision_reason_names[DECIDED_BY_RULE]) == 0 ||
	    strcmp(reason, decision_reason_names[DECIDED_BY_ON_FAILURE]) == 0;

	return by_rule || reason[0] == '\0' || strcmp(rule, reason) == 0 ? NULL : reason;
}

static void
step_failure(struct strbuf *sb, const json_t *event)
{
	const char *rule = explain_field(event, "rule");
	const char *reason = explain_overruled_by(rule, explain_field(event, "reason"));

	strbuf_addf(sb, "failed (%s): %s, decided by %s", explain_cause(event),
	            explain_field(event, "directive"), rule);
	if (reason != NULL)
		strbuf_addf(sb, " (%s)", reason);
}

static void
step_backoff(struct strbuf *sb, const json_t *event)
{
	strbuf_adds(sb, "waits ");
	explain_add_duration(sb, explain_number(event, "delay_ms"));
	strbuf_adds(sb, " before it starts again");
}

static void
step_terminated(struct strbuf *sb, const json_t *event)
{
	strbuf_addf(sb, "over for good (%s)", explain_cause(event));
}

static void
step_gave_up(struct strbuf *sb, const json_t *event)
{
	strbuf_addf(sb,
	            "gave up: one more restart would be more than %" JSON_INTEGER_FORMAT,
	            explain_number(event, "intensity"));
	if (json_object_get(event, "within") != NULL) {
		const json_t *within = json_object_get(event, "within");

		strbuf_adds(sb, " within ");
		if (json_is_string(within))
			strbuf_adds(sb, json_string_value(within));
		else
			explain_add_duration(sb, json_integer_value(within));
	}
	strbuf_addf(sb, ", the last to fail was %s", explain_field(event, "offender"));
}

static void
step_hook_failed(struct strbuf *sb, const json_t *event)
{
	strbuf_addf(sb, "%s failed (%s%s)", explain_field(event, "hook"),
	            json_is_true(json_object_get(event, "timed_out")) ? "timed out, "
	                                                              : "",
	            explain_cause(event));
}

static void
step_unkillable(struct strbuf *sb, const json_t *event)
{
	strbuf_adds(sb, explain_field(event, "text"));
}

static void
step_escalated(struct strbuf *sb, const json_t *event)
{
	strbuf_addf(sb, "passed the failure on to %s", explain_field(event, "to"));
}

static void
step_command(struct strbuf *sb, const json_t *event)
{
	strbuf_addf(sb,
	            "command %s of user %" JSON_INTEGER_FORMAT
	            " (process %" JSON_INTEGER_FORMAT ")",
	            explain_field(event, "verb"), explain_number(event, "uid"),
	            explain_number(event, "pid"));
}

/* An event as a phrase about its actor. */
void
explain_step(struct strbuf *sb, const json_t *event)
{
	static const struct {
		const char *event;
		const char *text;
		void (*add)(struct strbuf *sb, const json_t *event);
	} steps[] = {
	    {"started", NULL, step_started},
	    {"ready", "ready", NULL},
	    {"exited", NULL, step_cause},
	    {"failure", NULL, step_failure},
	    {"backoff", NULL, step_backoff},
	    {"shortage", NULL, step_cause},
	    {"stopping", "is being stopped", NULL},
	    {"stopped", "is gone", NULL},
	    {"killed_after_timeout", "did not stop in time and was killed", NULL},
	    {"unkillable", NULL, step_unkillable},
	    {"terminated", NULL, step_terminated},
	    {"gave_up", NULL, step_gave_up},
	    {"escalated", NULL, step_escalated},
	    {"hook_failed", NULL, step_hook_failed},
	    {"command", NULL, step_command},
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strcmp(steps[i].event, explain_field(event, "event")) != 0)
			continue;
		if (steps[i].add != NULL)
			steps[i].add(sb, event);
		else
			strbuf_adds(sb, steps[i].text);
		return;
	}
	strbuf_adds(sb, explain_field(event, "event"));
}
