/* SPDX-License-Identifier: ISC */
/* shell.c - path and configuration of an actor, and which supd this is. */
#include "config.h"

#include "daemon/state/shell.h"

#include "base/assert.h"

const char *
shell_path(const struct shell *shell, struct ref ref)
{
	const struct actor *actor = actors_get(&shell->actors, ref);

	if (actor != NULL)
		return actor->path;
	return ref.slot == CORE_ROOT ? "/" : "?";
}

uint32_t
shell_index(const struct shell *shell, const struct actor *actor)
{
	ASSERT(actor->conf_owner == NULL && actor->grown == NULL);
	return (uint32_t)(actor->conf - shell->conf->actors);
}

const char *
shell_version(void)
{
	return PACKAGE_VERSION;
}
