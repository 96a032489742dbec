/* SPDX-License-Identifier: ISC */
/* upgrade.h - the binary on disk takes over from the one that runs.
 *
 * In two steps.  First it is looked at: a child is made of it that says whether it can
 * (candidate.h), which may take its time and changes nothing.  Then, between two turns,
 * the guardian makes room: the walker starts the next one from the very file that was
 * looked at, and that one takes over as after a crash.
 */
#ifndef DAEMON_UPGRADE_H
#define DAEMON_UPGRADE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "daemon/report/report.h"

struct ledger;
struct link_hello;

/* What upgrades take from the other rooms; borrowed. */
struct upgrader {
	struct ev_loop *loop;
	struct engine *engine;       /* it ends when the next binary is to begin */
	const struct actors *actors; /* with the configuration in force */
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	const struct origin *origin;
	struct spawner *spawner;
};

/* It was looked at: see upgrade_verdict().  Called once, unless upgrade_free() is before.
 */
typedef void upgrade_on_checked(void *user);

/* Begin to look at the binary that stands where supd was started from.  NULL and a
 * sentence: there is none that could be run. */
struct upgrade *upgrade_new(const struct upgrader *upgrader,
                            upgrade_on_checked *on_checked, void *user, struct err *err);

/* End it, with the child that may still run; NULL is fine. */
void upgrade_free(struct upgrade *upgrade);

enum upgrade_verdict {
	UPGRADE_OPEN,    /* not known yet */
	UPGRADE_FIT,     /* it can take over */
	UPGRADE_CONF,    /* not with the configuration file: upgrade_errors() */
	UPGRADE_REFUSED, /* it cannot: upgrade_sentence() */
};
enum upgrade_verdict upgrade_verdict(const struct upgrade *upgrade);
/* The parameters of ConfigInvalid, borrowed. */
json_t *upgrade_errors(const struct upgrade *upgrade);
const char *upgrade_sentence(const struct upgrade *upgrade);

/* The path that is looked at: that of supd's binary. */
#define UPGRADE_PATH_MAX 1024
const char *upgrade_path(const char *binary, char buf[UPGRADE_PATH_MAX]);

/* Make room for it: everything that survives is put down, the loop ends, and so does the
 * process.  -errno: the walker cannot be told; nothing has changed. */
int upgrade_go(struct upgrade *upgrade);

/* ---- on the other side ---- */

/* To be called before anything is put down by us. */
void upgrade_tell(const struct link_hello *hello, const struct ledger *ledger,
                  struct upgrade_story *ret);

#endif
