/* SPDX-License-Identifier: ISC */
/* rundir.h - `runtime_directory`: a directory of its own for an actor.
 *
 * Below supd's runtime directory: actors/ has one for each actor, gone/ what is being
 * removed.  An old one is moved there in one step, and so is never seen half empty;
 * removing it takes as long as it takes, between other work.
 */
#ifndef DAEMON_RUNDIR_H
#define DAEMON_RUNDIR_H

#include "base/err.h"
#include "daemon/actors.h"

struct shell;

struct rundirs *rundirs_new(struct shell *shell, struct err *err);
void rundirs_free(struct rundirs *rundirs);

/* Go on removing what is to be removed; where nobody is left who filled the others, they
 * go too. */
void rundirs_begin(struct rundirs *rundirs, bool is_anew);

/* Its directory, owned by its user, is there when this returns 0, with what was in it;
 * its path belongs to the caller.  -errno. */
int rundir_open(struct rundirs *rundirs, const struct actor *actor, char **ret_path);

/* supd's runtime directory was removed, with all that was in it: those of actors that run
 * are there again, empty. */
void rundirs_renew(struct rundirs *rundirs);

/* What is in it is given up. */
void rundir_clear(struct rundirs *rundirs, const struct actor *actor);

#endif
