/* SPDX-License-Identifier: ISC */
/* strays.c - leftovers that SIGKILL does not end. */
#include "config.h"

#include "daemon/processes/strays.h"

#include <unistd.h>

#include "daemon/processes/procs_private.h"
#include "daemon/state/engine.h"
#include "daemon/state/log.h"
#include "daemon/state/post.h"
#include "daemon/state/recording.h"

/*
 * True if a process that claims to be of this actor may be: its user is that of the
 * actor, or one with all rights over the actor.
 */
static bool
may_be_of(const struct actor *actor, const struct leftover *left)
{
	return actor->conf->argv != NULL && (left->uid == 0 || left->uid == geteuid() ||
	                                     left->uid == actors_uid(actor));
}

/* The actor of a leftover; NULL: no actor that counts. */
static const struct actor *
owner_of(const struct procs *procs, const struct leftover *left)
{
	const struct actors *actors = procs->actors;
	const struct actor *actor = actors_get(actors, actors_find(actors, left->path));

	return actor != NULL && may_be_of(actor, left) ? actor : NULL;
}

/* The actor has nothing of its own yet: this is its first life. */
static void
begin_first_life(struct procs *procs, struct ref ref)
{
	struct processes *room = procs->room;
	struct proc *proc = &procs->table->at[ref.slot];
	struct event left = {.kind = EVENT_LEFT, .ref = ref, .code = -1};

	if (proc_is_used(proc))
		return;
	left.life = engine_view(room->engine, ref).process.life + 1;
	*proc = (struct proc){.ref = ref, .life = left.life, .child.pidfd = -1};
	containment_adopt(
	    &proc->child.containment, NULL, actors_path(room->actors, ref),
	    (struct proc_mark){room->recording->facts.secret, ref.slot, left.life});
	if (!mainpid_next(procs, proc))
		return;
	/* A successor must not start what we have held back. */
	if (!post_surely(room->post, &left, 1))
		post_event(room->post, &left);
}

/* A leftover without an actor: log the process and go on. */
static void
log_leftover(const struct leftover *left, const struct actor *actor)
{
	log_line(LOG_LEVEL_ERROR, "pid %d%s%s, of a supd that died, cannot be killed; %s",
	         (int)left->pid, left->path[0] != '\0' ? " of " : "", left->path,
	         actor != NULL ? "the actor is not started before it is gone"
	                       : "supd goes on without it");
}

/*
 * At the boot, before anything is started: these are processes of a supd that died, and
 * were killed, but do not end.  Those of actors that there are hold them up.
 */
void
strays_take(struct procs *procs, const struct leftovers *found)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct leftover *left = &found->left[i];
		const struct actor *actor = owner_of(procs, left);

		if (actor != NULL && !leftovers_add(&procs->strays, left))
			actor = NULL;
		log_leftover(left, actor);
	}
	for (size_t i = 0; i < found->n_silent; i++)
		log_line(LOG_LEVEL_WARNING,
		         "pid %d hangs in an exec or a mapping, so that /proc tells "
		         "nothing of it: if a supd that died left it behind, kill it by "
		         "hand",
		         (int)found->silent[i]);
	if (found->n_left > found->n)
		log_line(
		    LOG_LEVEL_ERROR,
		    "%zu more processes of a supd that died cannot be killed; supd goes "
		    "on without them",
		    found->n_left - found->n);
	/* What is posted surely needs a journal that has begun. */
	if (procs->strays.n > 0)
		post_checkpoint(procs->room->post);
	for (size_t i = 0; i < found->n; i++) {
		const struct actor *actor = owner_of(procs, &found->left[i]);

		if (actor != NULL)
			begin_first_life(procs, actor->ref);
	}
}
