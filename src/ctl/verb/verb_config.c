/* SPDX-License-Identifier: ISC */
/* verb_config.c - the verbs about the configuration file: diff, apply. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "ctl/text/phrase.h"
#include "ctl/text/plan_text.h"
#include "ctl/verb/settle.h"
#include "ctl/verb/verb.h"

#define PATH_BYTES_MAX 4096

/* The parameters that diff and apply have in common; NULL: it was said what is wrong. */
static json_t *
plan_parameters(struct ctl *ctl, char **names, uint32_t n)
{
	json_auto_t *parameters = json_object();
	char directory[PATH_BYTES_MAX], file[2 * PATH_BYTES_MAX];

	if (n > 0 && (ctl->options.given & OPTION_UNDO) != 0) {
		complain(ctl, NULL, "--undo: a file does not belong to it");
		return NULL;
	}
	if (n > 0) {
		/* supd has another working directory. */
		if (getcwd(directory, sizeof(directory)) == NULL)
			directory[0] = '\0';
		(void)snprintf(file, sizeof(file), "%s%s%s",
		               names[0][0] == '/' ? "" : directory,
		               names[0][0] == '/' ? "" : "/", names[0]);
		if (json_object_set_new(parameters, "file", json_string(file)) < 0) {
			complain(ctl, NULL, "the name of the file is not UTF-8");
			return NULL;
		}
	}
	if ((ctl->options.given & OPTION_RERUN) != 0)
		(void)json_object_set_new(parameters, "rerun", json_true());
	if ((ctl->options.given & OPTION_UNDO) != 0)
		(void)json_object_set_new(parameters, "undo", json_true());
	return json_incref(parameters);
}

/* Call for a plan and print it; the plan is the caller's if the status is 0. */
static int
ask_for_plan(struct ctl *ctl, struct call *call, bool is_done, json_t **ret_plan)
{
	struct reply reply;
	json_auto_t *answer = NULL;
	int status = ctl_ask(ctl, call, &reply, &answer);

	if (status != 0)
		return status;
	*ret_plan = json_incref(json_object_get(answer, "plan"));
	if (ctl->options.json)
		ctl_array_print(ctl, &reply, "plan");
	else
		plan_text_print(&ctl->out, *ret_plan, is_done);
	return 0;
}

static size_t
count_changes(const json_t *plan)
{
	const json_t *change;
	size_t n = 0, i;

	json_array_foreach(plan, i, change)
	{
		n += strcmp(phrase_text(change, "change"), "unchanged") != 0;
	}
	return n;
}

/* What apply would do; with -e the exit status says whether that is anything. */
int
verb_diff(struct ctl *ctl, char **names, uint32_t n)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Diff",
	                    .parameters = plan_parameters(ctl, names, n),
	                    .repeat = true};
	json_auto_t *plan = NULL;

	if (call.parameters == NULL)
		return CTL_USAGE;
	int status = ask_for_plan(ctl, &call, false, &plan);
	if (status == 0 && (ctl->options.given & OPTION_EXIT) != 0 &&
	    count_changes(plan) > 0)
		status = CTL_NOT_RUNNING;
	return status;
}

/* Wait until what the plan starts has lived for a while, and what it removes is gone. */
static int
wait_for_plan(struct settle *settle, const json_t *plan)
{
	const json_t *change;
	size_t i;

	json_array_foreach(plan, i, change)
	{
		const char *effect = phrase_text(change, "effect");
		const bool is_removed = strcmp(effect, "remove") == 0;

		if (is_removed || strcmp(effect, "start") == 0 ||
		    strcmp(effect, "restart") == 0)
			settle_expect(settle, phrase_text(change, "path"), is_removed);
	}
	return settle_wait(settle);
}

/* The parameters of a trial, from --rollback and --commit-when-ready. */
static int
add_trial(struct ctl *ctl, json_t *parameters)
{
	const bool is_early = (ctl->options.given & OPTION_COMMIT) != 0;
	uint64_t ms;

	if ((ctl->options.given & OPTION_ROLLBACK) == 0) {
		if (is_early)
			complain(ctl, NULL, "--commit-when-ready: write --rollback too");
		return is_early ? CTL_USAGE : 0;
	}
	if (duration_parse(ctl->options.rollback, &ms) < 0 || ms == 0 || ms > INT64_MAX)
		return complain_of(ctl, CTL_USAGE, NULL,
		                   "--rollback '%s': write a duration, as 5s or 1m30s",
		                   ctl->options.rollback);
	(void)json_object_set_new(parameters, "rollback_ms",
	                          json_integer((json_int_t)ms));
	(void)json_object_set_new(parameters, "commit_when_ready",
	                          json_boolean(is_early));
	return 0;
}

/*
 * Put the file into force: all of it, or nothing when something is wrong; then wait as
 * start and stop do.  With --rollback it is on trial for so long, and all is as it was
 * before if that fails.  With --undo it is not the file, but what was in force before.
 */
int
verb_apply(struct ctl *ctl, char **names, uint32_t n)
{
	const bool on_trial = (ctl->options.given & OPTION_ROLLBACK) != 0;
	/* A second undo would undo the first. */
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Apply",
	                    .repeat =
	                        !on_trial && (ctl->options.given & OPTION_UNDO) == 0};
	CLEANUP(settle_done) struct settle settle;
	json_auto_t *plan = NULL;
	int status = settle_init(&settle, ctl);

	call.parameters = status == 0 ? plan_parameters(ctl, names, n) : NULL;
	if (status == 0)
		status =
		    call.parameters != NULL ? add_trial(ctl, call.parameters) : CTL_USAGE;
	if (status == 0) {
		status = ask_for_plan(ctl, &call, true, &plan);
		print_flush(&ctl->out);
		if (on_trial && (status == CTL_FAILED || status == CTL_TIMED_OUT) &&
		    !ctl->unreachable)
			complain(ctl, NULL,
			         "not kept: 'supctl diff' compares the file with what is "
			         "in force");
	}
	/* A trial has waited. */
	if (status == 0 && !on_trial && (ctl->options.given & OPTION_NO_WAIT) == 0)
		status = wait_for_plan(&settle, plan);
	return status;
}
