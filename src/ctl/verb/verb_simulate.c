/* SPDX-License-Identifier: ISC */
/* verb_simulate.c - what the policy will do if an actor keeps failing. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "ctl/text/phrase.h"
#include "ctl/text/table.h"
#include "ctl/verb/verb.h"

static enum colour
step_colour(const char *event)
{
	if (strcmp(event, "failure") == 0 || strcmp(event, "gave_up") == 0 ||
	    strcmp(event, "exit") == 0)
		return COLOUR_BAD;
	if (strcmp(event, "summary") == 0)
		return COLOUR_NONE;
	return strcmp(event, "started") == 0 ? COLOUR_GOOD : COLOUR_BUSY;
}

static void
add_cell(struct table *table, enum colour colour, const char *text)
{
	print_text(table_begin(table), text, strlen(text));
	table_end(table, colour);
}

/* A line a step: when, which actor, what; times count from the first failure. */
static void
add_steps(struct table *table, const json_t *steps)
{
	char at[DURATION_TEXT_MAX];
	const json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		const char *event = phrase_text(step, "event");

		add_cell(table, COLOUR_DIM,
		         age_format((uint64_t)phrase_number(step, "at_ms"), at));
		add_cell(table, COLOUR_NONE, phrase_text(step, "path"));
		add_cell(table, step_colour(event), event);
		add_cell(table, COLOUR_NONE, phrase_text(step, "text"));
	}
}

/* The steps, then what becomes of each worker. */
static int
print_answer(struct ctl *ctl, const json_t *answer)
{
	CLEANUP(table_done) struct table table;

	table_init(&table, 4);
	add_steps(&table, json_object_get(answer, "steps"));
	add_steps(&table, json_object_get(answer, "summaries"));
	return table_print(&table, &ctl->out, "") < 0 ? ctl_no_memory(ctl) : 0;
}

/* Add --times, if given; false: it is no number, and the user was told. */
static bool
read_times(struct ctl *ctl, json_t *parameters)
{
	int64_t times;

	if ((ctl->options.given & OPTION_TIMES) == 0)
		return true;
	if (!ctl_parse_number(ctl->options.times, &times)) {
		complain(ctl, NULL, "--times '%s': write a number, as 5",
		         ctl->options.times);
		return false;
	}
	return json_object_set_new(parameters, "times", json_integer(times)) == 0;
}

/* Print what would happen if the actor, or each actor in turn, kept failing. */
int
verb_simulate(struct ctl *ctl, char **names, uint32_t n)
{
	CLEANUP(ctl_call_done)
	struct call call = {.method = "Simulate",
	                    .target = n > 0 ? names[0] : NULL,
	                    .parameters =
	                        json_pack("{s:o*, s:o*}", "name",
	                                  n > 0 ? json_string(names[0]) : NULL, "cause",
	                                  json_string(ctl->options.cause)),
	                    .repeat = true};
	struct reply reply;
	json_auto_t *answer = NULL;
	int status =
	    read_times(ctl, call.parameters) ? ctl_call(ctl, &call, &reply) : CTL_USAGE;

	if (status == 0 && ctl->options.json) {
		ctl_array_print(ctl, &reply, "steps");
	} else if (status == 0) {
		status = ctl_load(ctl, &call, &reply, &answer);
		if (status == 0)
			status = print_answer(ctl, answer);
	}
	return status;
}
