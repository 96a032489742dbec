/* SPDX-License-Identifier: ISC */
/* processes.h - the processes of actors, their tasks and probes: the state of this room.
 */
#ifndef DAEMON_PROCESSES_H
#define DAEMON_PROCESSES_H

#include "base/err.h"
#include "daemon/processes/procs.h"

struct processes {
	/* What the room uses; borrowed. */
	struct ev_loop *loop;
	const struct engine *engine;
	struct actors *actors;
	const struct events *events;
	struct recording *recording;
	struct post *post;
	struct keeper *keeper;
	struct exits *exits; /* of children of the walker */
	struct proctable *proctable;
	struct cgroup_root *cgroups;
	const struct origin *origin;
	const struct launcher *launcher;
	struct spawner *spawner;
	struct messages *messages;
	struct sockets *sockets;
	struct bounded *closers; /* their children, too, end here */
	struct bounded *bounded;
	/* Its own. */
	struct procs *procs;
	struct tasks *tasks;
	struct prober *prober;
};

/* Begin, with what the room uses; `data` is for on_helper_failed().  NULL and a
 * sentence. */
struct processes *processes_new(const struct processes *with,
                                procs_helper_failed *on_helper_failed, void *data,
                                struct err *err);
void processes_free(struct processes *processes);

#endif
