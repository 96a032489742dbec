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
#include "daemon/state/actors.h"

struct ev_loop;

struct rundirs *rundirs_new(struct ev_loop *loop, const struct actors *actors,
                            const char *runtime_dir, struct err *err);
void rundirs_free(struct rundirs *rundirs);

/* Go on with removals; at a new start all directories of earlier actors are removed. */
void rundirs_begin(struct rundirs *rundirs, bool is_anew);

/* When this returns 0 the actor's directory exists, owned by its user, with its former
 * content; the path belongs to the caller. -errno. */
int rundir_open(struct rundirs *rundirs, const struct actor *actor, char **ret_path);

/* supd's runtime directory was removed with its content: make the directories of running
 * actors again, empty. */
void rundirs_renew(struct rundirs *rundirs);

/* Remove the content of the directory. */
void rundir_clear(struct rundirs *rundirs, const struct actor *actor);

#endif
