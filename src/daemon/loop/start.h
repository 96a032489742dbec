/* SPDX-License-Identifier: ISC */
/* start.h - the ways in which a guardian begins.
 *
 *	fresh   there was none before, or none that started anything: from the file
 *	adopt   take over what the one before us left
 *	anew    end what the one before us left, and begin with its configuration
 */
#ifndef DAEMON_START_H
#define DAEMON_START_H

#include "daemon/recovery/upgrade.h"

struct supd;

struct start {
	enum { START_FRESH, START_ADOPT, START_ANEW } how;
	struct conf *conf;
	struct loop *loop; /* the caller's */
	struct ledger
	    *ledger;         /* START_ADOPT; START_ANEW: where the events are, or NULL */
	struct ledger *room; /* START_FRESH: memory of the ledger, until that is made */
	const char *what;    /* START_ANEW: the event that tells why */
	struct upgrade_story story;
};

/* Find out which kind of start this is, and get the configuration; 0 or an exit status.
 */
int start_choose(struct supd *supd, struct start *ret);

/* All rooms are open: begin, and serve clients; 0 or an exit status. */
int start_begin(struct supd *supd, struct start *start);

/* The path of the control socket; the caller's. */
char *start_control_path(const struct conf *conf, const char *runtime_dir);

#endif
