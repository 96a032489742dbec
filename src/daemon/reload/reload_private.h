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
	bool has_rested; /* a turn has gone by since it was in force */
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

/* Take the first part of the memory that a ledger for it needs, and then the next one;
 * false: all is taken, or there is no more memory now. */
void reload_take_memory(struct reloader *reloader, struct reload *reload);
bool reload_take_more(struct reload *reload);

/* Copy what is there into that memory: there is less to do in the turn of the apply where
 * nothing happens before it.  Else it is copied once more. */
void reload_fill_memory(struct reloader *reloader, struct reload *reload);

/* What the configuration needs of a ledger; borrows. */
struct coming reload_coming(struct reload *reload);

/* Add one actor of a configuration to the tree. */
void reload_add(struct reloader *reloader, const struct conf *conf, uint32_t index,
                struct tables *tables);

/* Make the tree that of this configuration; `retired` is for that of now. */
void reload_carry_out(struct reloader *reloader, const struct reload *reload,
                      struct tables *tables, struct retired *retired);

#endif
