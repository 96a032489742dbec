/* SPDX-License-Identifier: ISC */
/* conf.c - a configuration, wherever it came from. */
#include "config.h"

#include "conf/text/conf.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "conf/text/arena.h"
#include "conf/read/read.h"

/* Free a configuration with everything it owns; NULL is fine. */
void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	map_done(&conf->by_path);
	conf_drop_identities(conf);
	if (conf->thawed == NULL)
		free(conf->actors);
	else if (conf->is_mapped)
		(void)munmap(conf->thawed, conf->thawed_bytes);
	else
		free(conf->thawed);
	if (conf->memory != NULL)
		arena_done(conf->memory);
	free(conf->memory);
	free(conf);
}

/* The index of the actor with this path; CONF_NONE: there is none. */
uint32_t
conf_find(const struct conf *conf, const char *path)
{
	uint32_t index;

	return map_get_name(&conf->by_path, path, &index) ? index : CONF_NONE;
}
