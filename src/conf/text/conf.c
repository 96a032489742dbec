/* SPDX-License-Identifier: ISC */
/* conf.c - the actors of a configuration and their keys; the memory file that it equals.
 */
#include "config.h"

#include "conf/text/conf.h"

#include <string.h>
#include <unistd.h>

#include "base/sum.h"

/* The index of the actor with this path; CONF_NONE: there is none. */
uint32_t
conf_find(const struct conf *conf, const char *path)
{
	uint32_t index;

	return map_get_name(&conf->by_path, path, &index) ? index : CONF_NONE;
}

/* The name of an actor, the end of its path: "api", or "api@1". */
const char *
conf_name(const struct conf_actor *actor)
{
	return strrchr(actor->path, '/') + 1;
}

/* The spec of an actor for core_add(): with its name, and that of its replicas, of which
 * actors with the same spec know nothing.  What it points to stays the configuration's.
 */
void
conf_name_spec(const struct conf_actor *actor, struct spec *ret)
{
	memcpy(ret, &actor->spec->core, sizeof(*ret));
	ret->name = sum_bytes(actor->path, strlen(actor->path), 0);
	if (actor->base != NULL)
		ret->base = sum_bytes(
		    actor->path, (size_t)(strrchr(actor->path, '@') - actor->path), 0);
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
