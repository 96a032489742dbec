/* SPDX-License-Identifier: ISC */
/* conf.c - the actors of a configuration and their keys; the memory file that it equals.
 */
#include "config.h"

#include "conf/text/conf.h"

#include <unistd.h>

/* The index of the actor with this path; CONF_NONE: there is none. */
uint32_t
conf_find(const struct conf *conf, const char *path)
{
	uint32_t index;

	return map_get_name(&conf->by_path, path, &index) ? index : CONF_NONE;
}

/* True if the actor is below the supervisor of this index. */
bool
conf_is_below(const struct conf *conf, const struct conf_actor *actor, uint32_t top)
{
	uint32_t above = actor->parent;

	while (above != CONF_NONE && above != top)
		above = conf->actors[above].parent;
	return above == top;
}

/* Call it before the configuration is changed: it is not what its memory file says any
 * more. */
void
conf_unseal(struct conf *conf)
{
	if (conf->block.sealed_fd >= 0)
		(void)close(conf->block.sealed_fd);
	conf->block.sealed_fd = -1;
}
