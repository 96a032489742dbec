/* SPDX-License-Identifier: ISC */
/* read_hooks.c - the actor's own commands around its starts and stops. */
#include "config.h"

#include "base/assert.h"
#include "conf/read/read.h"
#include "conf/schema/schema_types.h"

#define HOOK(name, sentence)                                                     \
	{                                                                        \
		name, &schema_command, NULL, sentence, CONF_IN_PLACE, AT_NESTED, \
		    .read = NULL                                                 \
	}
static const struct schema_key hooks_keys[] = {
    HOOK("pre_start", "Run before each start; if the hook fails, so does the start."),
    HOOK("post_start", "Run once the actor is ready, the first time."),
    HOOK("pre_restart", "Run before the actor is stopped to be started again."),
    HOOK("post_restart",
         "Run once the actor is ready again; if the hook fails, so does the start."),
    HOOK("pre_stop", "Run before the actor is stopped."),
    HOOK("post_stop", "Run when no process of the actor is left."),
    {"hook_timeout", &schema_period, NULL, "The same as the actor's own hook_timeout.",
     CONF_IN_PLACE, AT_NESTED, .read = NULL},
};
TABLE(hooks_table, hooks_keys, NULL);
const struct schema_type schema_hooks = {
    .name = "hooks",
    .allowed = "a mapping from hooks to commands, such as {pre_start: [mkdir, /run/x]}",
    .table = &hooks_table,
    .where = AT_NESTED,
};

/* `hooks`: the core is told which there are, the shell what they are.  A hook_timeout
 * among them is nearer than the actor's, which was read before. */
void
read_hooks(struct reader *reader, const struct yaml *node, void *target,
           const struct trail *trail)
{
	const struct yaml *timeout = node_get(node, "hook_timeout");
	struct conf_actor *actor = target;

	if (timeout != NULL)
		actor->spec->core.hook_timeout_ms =
		    read_value(&schema_period, timeout).number;
	for (size_t hook = 0; hook < HOOK_MAX; hook++) {
		const struct yaml *command = node_get(node, hook_names[hook]);

		actor->process->hooks[hook] = NULL;
		actor->spec->core.hooks &= ~(UINT32_C(1) << hook);
		if (command != NULL)
			read_words(reader, command,
			           &(struct trail){trail, hook_names[hook], 0},
			           &actor->process->hooks[hook]);
		if (actor->process->hooks[hook] != NULL)
			actor->spec->core.hooks |= UINT32_C(1) << hook;
	}
}
