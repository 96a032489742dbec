/* SPDX-License-Identifier: ISC */
/* exit_code_from.c - which actors the exit status of supd comes from. */
#include "config.h"

#include <stdio.h>

#include "conf/read/needs.h"
#include "conf/read/read.h"
#include "conf/schema/schema_types.h"
#include "conf/tree/build.h"

/*
 * `exit_code_from`: an actor, or all of some replicas.  The tree has to be there: what
 * the key says is kept with the actors.
 */
void
exit_code_from_take(struct reader *reader, const struct yaml *top)
{
	struct conf *conf = reader->conf;
	const struct yaml *node = node_get(top, "exit_code_from");
	const struct trail trail = {NULL, "exit_code_from", 0};
	char path[CONF_PATH_MAX + 1];

	if (node == NULL || !check_value(reader, node, &schema_text, &trail))
		return;
	(void)snprintf(path, sizeof(path), "%s%.990s",
	               node->text[0] == '/' ? "" : "/user/", node->text);
	bool is_one = conf_find(conf, path) != CONF_NONE;
	uint32_t first = needs_find(conf, path);
	if (first == CONF_NONE || conf->actors[first].parent == CONF_NONE) {
		reader_error(reader, node, &trail,
		             "there is no actor `%.200s`; write the path of one, such as "
		             "`tests` or `/user/app/tests`",
		             path);
		return;
	}
	if (conf->actors[first].spec->core.restart == RESTART_PERMANENT)
		reader_warn(
		    reader, node, &trail,
		    "%s is permanent: it is started again when it has ended; write "
		    "`restart: never` for it",
		    conf->actors[first].path);
	for (uint32_t i = first; i != CONF_NONE;
	     i = is_one ? CONF_NONE : needs_next_replica(conf, i))
		conf->actors[i].spec->core.gives_exit = true;
}
