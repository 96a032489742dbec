/* SPDX-License-Identifier: ISC */
/* verb_grow.c - actors that are added at run time: add, scale. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "ctl/verb/verb.h"

/* Call, and show the actors that come back. */
static int
call_and_show(struct ctl *ctl, struct call *call)
{
	if (ctl->options.json)
		ctl_array_begin(ctl);
	int status = verb_call(ctl, call);
	if (ctl->options.json)
		ctl_array_end(ctl);
	return status;
}

/* Put "name=value" into `with`; false: it is not of that form, and that was said. */
static bool
put_parameter(const struct ctl *ctl, json_t *with, const char *name, const char *text)
{
	const char *equals = strchr(text, '=');
	char key[256];

	if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof(key)) {
		complain(ctl, name, "'%s' is no parameter: write key=value", text);
		return false;
	}
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	if (json_object_set_new(with, key, json_string(equals + 1)) == 0)
		return true;
	complain(ctl, name, "'%s' is not UTF-8", text);
	return false;
}

/* The parameters of Add for a template: those of --with, and those that follow the name.
 */
static json_t *
template_parameters(const struct ctl *ctl, char **names, uint32_t n)
{
	const struct options *options = &ctl->options;
	json_auto_t *with = json_object();
	bool fine = true;

	for (uint32_t i = 0; fine && i < options->n_with; i++)
		fine = put_parameter(ctl, with, names[0], options->with[i]);
	for (uint32_t i = 1; fine && i < n; i++)
		fine = put_parameter(ctl, with, names[0], names[i]);
	return fine ? json_pack("{s:s, s:s, s:O}", "name", names[0], "use", options->use,
	                        "with", with)
	            : NULL;
}

static json_t *
command_parameters(const struct ctl *ctl, char **names, uint32_t n)
{
	json_auto_t *command = json_array();

	for (uint32_t i = 1; i < n; i++) {
		if (json_array_append_new(command, json_string(names[i])) == 0)
			continue;
		complain(ctl, names[0], "an argument of the command is not UTF-8");
		return NULL;
	}
	return json_pack("{s:s, s:O}", "name", names[0], "command", command);
}

/* Add an actor, from a template or a command; its name says below which supervisor. */
int
verb_add(struct ctl *ctl, char **names, uint32_t n)
{
	CLEANUP(ctl_call_done) struct call call = {.method = "Add", .target = names[0]};
	bool has_template = (ctl->options.given & OPTION_USE) != 0;

	if (!has_template && (n < 2 || ctl->options.n_with > 0))
		return complain_of(ctl, CTL_USAGE, names[0],
		                   "write --use TEMPLATE, or a command after --");
	call.parameters = has_template ? template_parameters(ctl, names, n)
	                               : command_parameters(ctl, names, n);
	return call.parameters != NULL ? call_and_show(ctl, &call) : CTL_USAGE;
}

/* Set the number of replicas; show the replicas that exist then. */
int
verb_scale(struct ctl *ctl, char **names, uint32_t n UNUSED)
{
	CLEANUP(ctl_call_done) struct call call = {.method = "Scale", .target = names[0]};
	int64_t replicas;

	if (!ctl_parse_number(names[1], &replicas) || replicas < 0)
		return complain_of(ctl, CTL_USAGE, names[0],
		                   "'%s' is no number of replicas", names[1]);
	call.parameters =
	    json_pack("{s:s, s:I}", "name", names[0], "replicas", (json_int_t)replicas);
	return call_and_show(ctl, &call);
}
