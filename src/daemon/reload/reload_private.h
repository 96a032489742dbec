/* SPDX-License-Identifier: ISC */
/* reload_private.h - what the files about a reload share.
 *
 *	reload.c        everything that can fail, and the order of all
 *	reload_now.c    SIGHUP
 *	reload_room.c   a ledger and tables that are large enough
 *	reload_steps.c  the steps that cannot fail
 */
#ifndef DAEMON_RELOAD_PRIVATE_H
#define DAEMON_RELOAD_PRIVATE_H

#include "daemon/reload/reload.h"
#include "daemon/state/system.h"

/* A configuration that is not in force any more, but still has actors. */
struct retired {
	struct retired *next;
	struct conf *conf;
	uint64_t id;
	uint32_t users;
};

/* Memory that the steps need, taken before the first of them. */
struct tables {
	char **paths;   /* of actors to be added, by index; what is left is freed */
	uint32_t *seen; /* by supervisor: the last of its children; or CONF_NONE */
	uint32_t n;
	uint64_t conf_id;               /* the new configuration's */
	char *own_paths[SYSTEM_ACTORS]; /* at the start: of supd's own actors */
	int metrics_fd;                 /* as of metrics_open() */
};

/* The configuration is there, or the reports say why not: compare.  As reload_prepare().
 */
int reload_compare(struct reloader *reloader, struct reload *reload, struct err *err);

/* Have the memory taken that a ledger for it needs, as far as there is memory now. */
void reload_take_memory(struct reloader *reloader, struct reload *reload);

/* Have that memory mapped, which would else be done in the midst of its use. */
void reload_touch_memory(const struct reload *reload);

/* Add one actor of a configuration to the tree. */
void reload_add(struct reloader *reloader, const struct conf *conf, uint32_t index,
                struct tables *tables);

/* Make the tree that of this configuration; `retired` is for that of now. */
void reload_carry_out(struct reloader *reloader, const struct reload *reload,
                      struct tables *tables, struct retired *retired);

#endif
