/* SPDX-License-Identifier: ISC */
/* conf.c - the actors of a configuration, by path. */
#include "config.h"

#include "conf/text/conf.h"

/* The index of the actor with this path; CONF_NONE: there is none. */
uint32_t
conf_find(const struct conf *conf, const char *path)
{
	uint32_t index;

	return map_get_name(&conf->by_path, path, &index) ? index : CONF_NONE;
}
