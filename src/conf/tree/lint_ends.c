/* SPDX-License-Identifier: ISC */
/* lint_ends.c - permanent actors with a program that is known to end by itself. */
#include "config.h"

#include <string.h>

#include "base/assert.h"
#include "base/names.h"
#include "conf/read/keys.h"
#include "conf/tree/lint.h"

static bool
ends_by_itself(const char *name)
{
	static const char *const programs[] = {"true", "false", "echo",  "printf",
	                                       "date", "ls",    "mkdir", "rm",
	                                       "id",   "uname", "whoami"};

	return names_find(programs, ARRAY_SIZE(programs), name) >= 0;
}

/* True for `sh -c "daemon &"`: the shell ends, and the program that it has started goes
 * on. */
static bool
goes_into_background(char *const *argv)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};

	if (argv[1] == NULL || strcmp(argv[1], "-c") != 0 || argv[2] == NULL)
		return false;
	size_t len = strlen(argv[2]);
	while (len > 0 && strchr(" \t\n;", argv[2][len - 1]) != NULL)
		len--;
	return len > 0 && argv[2][len - 1] == '&' &&
	       names_find(shells, ARRAY_SIZE(shells), names_last(argv[0])) >= 0;
}

/* Warn of every permanent actor with a program that is known to end by itself. */
void
lint_ends(const struct lint *lint)
{
	const struct conf *conf = lint->conf;

	for (uint32_t i = 0; i < conf->n_actors; i++) {
		const struct conf_actor *actor = &conf->actors[i];
		char *const *argv = actor->argv;

		if (argv == NULL || actor->spec->core.restart != RESTART_PERMANENT ||
		    actor->spec->core.on_demand)
			continue;
		if (goes_into_background(argv))
			lint_warn(lint, actor, "command",
			          "the shell ends when it has started this in the "
			          "background, and is started again, since the actor "
			          "is permanent: write it without the `&`");
		else if (ends_by_itself(names_last(argv[0])))
			lint_warn(lint, actor, "command",
			          "`%.200s` ends by itself, and is started again "
			          "whenever it has, since the actor is permanent: "
			          "write `restart: transient`, or `ready: exit`",
			          argv[0]);
	}
}
